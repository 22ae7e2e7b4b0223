"""A histogram out of a bundle costs no more than a histogram does."""

from __future__ import annotations

import base64
import zlib

from hdrh.histogram import HdrHistogram

from assay.core.histograms import BYTES_MAX, merge


def test_a_histogram_that_inflates_without_end_is_not_read() -> None:
    """1.4 MB of text took a minute and more."""
    bomb = base64.b64encode(bytes(8) + zlib.compress(bytes(64 * BYTES_MAX))).decode()
    good = HdrHistogram(1, 3_600_000_000, 3)
    good.record_value(1000)
    merged, unreadable = merge([bomb, good.encode().decode()])
    assert unreadable == 1
    assert merged is not None
    assert merged.total_count == 1
