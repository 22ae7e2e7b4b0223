"""Histograms of latencies, in nanoseconds, as text: read, and added up.

Source: HdrHistogram V2 encoding, decoded and added by the `hdrh` package.
"""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Sequence

import numpy as np
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

_UNREADABLE = (
    TypeError,
    ValueError,
    IndexError,
    binascii.Error,
    zlib.error,
    HdrCookieException,
    HdrLengthException,
)

BYTES_MAX = 4 << 20
"""Of a histogram that is inflated: far more than one has."""
_HEADER_BYTES = 8


def _require_bounded(text: str) -> None:
    """ValueError if it inflates to more than a histogram has; no more is inflated than that."""
    packed = binascii.a2b_base64(text)[_HEADER_BYTES:]
    unpacking = zlib.decompressobj()
    unpacking.decompress(packed, BYTES_MAX)
    if unpacking.unconsumed_tail:
        raise ValueError("it is too large")


def merge(encoded: Sequence[str]) -> tuple[HdrHistogram | None, int]:
    """One histogram of all, and how many could not be read.

    Histograms grow with what they hold, so the widest takes in the others.
    """
    decoded, unreadable = [], 0
    for text in encoded:
        try:
            _require_bounded(text)
            decoded.append(HdrHistogram.decode(text))
        except _UNREADABLE:
            unreadable += 1
    if not decoded:
        return None, unreadable
    widest, *others = sorted(decoded, key=lambda h: -h.highest_trackable_value)
    for other in others:
        widest.add(other)
    return widest, unreadable


def value_at(histogram: HdrHistogram, percent: float) -> float:
    """The latency that `percent` of all are no longer than, in nanoseconds; 0 of none.

    As `get_value_at_percentile`, whose loop in Python takes a millisecond.
    """
    counts = np.ctypeslib.as_array(histogram.counts)
    wanted = histogram.get_target_count_at_percentile(percent)
    index = int(np.searchsorted(np.cumsum(counts), wanted))
    if index == len(counts):
        return 0.0
    value = histogram.get_value_from_index(index)
    if percent:
        return float(histogram.get_highest_equivalent_value(value))
    return float(histogram.get_lowest_equivalent_value(value))
