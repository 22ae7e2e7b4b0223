"""Runs in slices with a calibration between them: what the machine's own speed did is taken out.

Between two slices a loop that no arm has a part in says how fast the machine is. How much of that
a run follows (the slope) is seen inside runs alone: from slice to slice, never between arms, so
labels have no say in it. Only as much is taken out as is sure, and nothing where whole blocks (the
means of their arms) vary as much with it as without. A block's levels depend on it and those before
it.

Source: control variates with a coefficient from outside the comparison (Glynn & Szechtman, Some new
perspectives on the method of control variates, 2002); Hodges & Lehmann (1963) for the
pseudo-median.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_SLICES, LEAST_BLOCKS = 3, 3
"""Fewer say nothing of how a run, or a block, follows the machine."""


@dataclass(frozen=True)
class CalibratedRun:
    """One run: the log of what each slice did, and of the machine's speed around it."""

    did: Sequence[float]
    speed: Sequence[float]


@dataclass
class _Seen:
    """What the insides of runs show so far: sums of squares and products, and their freedom."""

    xx: float = 0.0
    xy: float = 0.0
    yy: float = 0.0
    freedom: int = 0

    def add(self, run: CalibratedRun) -> None:
        if len(run.did) < LEAST_SLICES:
            return
        x, y = (np.asarray(v) - np.mean(v) for v in (run.speed, run.did))
        self.xx += float(x @ x)
        self.xy += float(x @ y)
        self.yy += float(y @ y)
        self.freedom += len(x) - 1

    @property
    def slope(self) -> float:
        """How much of the machine's speed a run follows at least: one standard error below what
        was seen, from 0 to 1."""
        if self.xx <= 0 or self.freedom < 2:
            return 0.0
        seen = self.xy / self.xx
        left = max(0.0, self.yy - seen * self.xy)
        error = math.sqrt(left / (self.freedom - 1) / self.xx)
        return min(1.0, max(0.0, seen - error))


def calibrated_levels(
    blocks: Sequence[Mapping[str, CalibratedRun]],
) -> Iterator[dict[str, float]]:
    """Arm -> level (log) of each block in turn; runs have at least one slice."""
    seen = _Seen()
    means: list[tuple[float, float]] = []
    """Of each block that has runs: the machine's speed, and what its arms did."""
    for block in blocks:
        if not block:
            yield {}
            continue
        for run in block.values():
            seen.add(run)
        runs = block.values()
        usual = fmean(pseudo_median(run.speed) for run in runs)
        means.append((usual, fmean(pseudo_median(run.did) for run in runs)))
        slope = seen.slope if _narrows(seen.slope, means) else 0.0
        yield {
            arm: pseudo_median(np.asarray(run.did) - slope * (np.asarray(run.speed) - usual))
            for arm, run in block.items()
        }


def _narrows(slope: float, means: Sequence[tuple[float, float]]) -> bool:
    """Whether blocks are more alike with it; two say nothing of that."""
    speed, did = np.array(means).T
    return len(means) < LEAST_BLOCKS or float(np.var(did - slope * speed)) < float(np.var(did))


def pseudo_median(values: Sequence[float] | Floats) -> float:
    """The median of all means of two values, each with itself too."""
    series = np.asarray(values, dtype=float)
    first, second = np.triu_indices(len(series))
    return float(np.median((series[first] + series[second]) / 2))
