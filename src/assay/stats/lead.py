"""How much of a slice's beginning is not like the rest, from what a pilot saw there.

A server that had no turn finds its caches and queues emptied by the others. What ended in each
millisecond of the beginning is compared with the rest of the same slices, all arms together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LEFT = 0.005
"""What the beginning may still add to a slice, or take from it, as a share of the slice."""

LEAST_S = 0.001


def lead_of(early: Sequence[Sequence[int]], rates: Sequence[float], slice_s: float) -> float:
    """Seconds of a slice to leave out; 0 where nothing was seen.

    `early`: of each slice, operations that ended in each whole millisecond of its beginning, the
    same number of milliseconds for all; `rates`: operations in a millisecond of the rest of it.
    """
    usual = float(np.sum(rates))
    if not len(early) or usual <= 0:
        return 0.0
    share = np.sum(np.asarray(early, dtype=float), axis=0) / usual
    # What is missing from the beginning, or too much in it, if it counts from each millisecond on.
    missing = np.cumsum((1.0 - share)[::-1])[::-1]
    beyond = np.abs(missing) > LEFT * slice_s * 1000
    whole = np.flatnonzero(beyond)
    return max(LEAST_S, (whole[-1] + 1) / 1000) if len(whole) else LEAST_S
