"""What people do instead, each on the same simulated runs, at the size it is usually done at.

Every rival answers for many studies at once: +1 where it would say that the arm is faster, -1
slower, 0 nothing. Those that run one arm after the other, or in strict turns, take the runs in
the order of time; the paired ones get Assay's blocks in random order.

Sources: Welch, Biometrika 34 (1947); Mann & Whitney, Ann. Math. Stat. 18 (1947), with the normal
limit, continuity and ties corrected; golang.org/x/perf/cmd/benchstat (median and Mann-Whitney,
alpha .05); hyperfine src/benchmark/relative_speed.rs (ratio of means, propagated deviation).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr
from scipy.stats import rankdata

from .noise import Floats, Stream

Signs = NDArray[np.int8]
Rival = Callable[[Stream], Signs]

_WINDOWS, _WINDOW_DEVIATION = 60, 0.018  # one-second windows of a run, and how they scatter in it
_FIRST_PEEK = 3  # blocks before the first t test of those who look after every block


def grouped(stream: Stream, each: int) -> tuple[Floats, Floats]:
    """AAA...BBB...: baseline and arm, `each` runs, log units."""
    return stream.runs[:, :each], stream.runs[:, each : 2 * each] + stream.effect


def alternating(stream: Stream, each: int) -> tuple[Floats, Floats]:
    """ABAB...: baseline and arm, `each` runs, log units."""
    return stream.runs[:, : 2 * each : 2], stream.runs[:, 1 : 2 * each : 2] + stream.effect


def any_percent(stream: Stream) -> Signs:
    """Three runs, then three; the means differ by 1 % or more."""
    base, arm = (np.exp(x).mean(axis=1) for x in grouped(stream, 3))
    return _signs(np.abs(arm / base - 1) >= 0.01, arm - base)


def welch_of_three(stream: Stream) -> Signs:
    """Three runs, then three; Welch's t at 5 %."""
    return _welch(*grouped(stream, 3))


def benchstat(stream: Stream) -> Signs:
    """Ten runs, then ten; Mann-Whitney at 5 %."""
    return _mann_whitney(*grouped(stream, 10))


def mann_whitney_in_turns(stream: Stream) -> Signs:
    """Ten runs each in strict turns; Mann-Whitney at 5 %."""
    return _mann_whitney(*alternating(stream, 10))


def hyperfine(stream: Stream) -> Signs:
    """Ten runs, then ten; the ratio of means, give or take its propagated deviation, excludes 1."""
    base, arm = (np.exp(x) for x in grouped(stream, 10))
    ratio = arm.mean(axis=1) / base.mean(axis=1)
    spread = [x.std(axis=1, ddof=1) / x.mean(axis=1) for x in (base, arm)]
    return _signs(np.abs(ratio - 1) > ratio * np.hypot(*spread), ratio - 1)


def paired_t(blocks: int) -> Rival:
    """A paired t test at 5 %, once, after so many blocks."""

    def rival(stream: Stream) -> Signs:
        found = _paired_p(stream.contrasts[:, :blocks], blocks)
        return _signs(found[:, -1] < 0.05, stream.contrasts[:, :blocks].mean(axis=1))

    return rival


def paired_t_peeking(blocks: int) -> Rival:
    """A paired t test after every block from the third on; stop at the first p < .05."""

    def rival(stream: Stream) -> Signs:
        values = stream.contrasts[:, :blocks]
        hits = _paired_p(values, _FIRST_PEEK) < 0.05
        stop = hits.argmax(axis=1) + _FIRST_PEEK
        total = np.take_along_axis(np.cumsum(values, axis=1), stop[:, None] - 1, axis=1)[:, 0]
        return _signs(hits.any(axis=1), total)

    return rival


def windows(stream: Stream) -> Signs:
    """One run each, cut into 60 windows that are taken for observations; Welch's t at 5 %."""
    rng = np.random.default_rng(_WINDOWS)
    shape = (len(stream.runs), _WINDOWS)
    base, arm = (x + rng.normal(0, _WINDOW_DEVIATION, shape) for x in grouped(stream, 1))
    return _welch(base, arm)


USUAL: dict[str, Rival] = {
    "means differ by 1 %, 3+3 runs, AAABBB": any_percent,
    "Welch t, 3+3 runs, AAABBB": welch_of_three,
    "Mann-Whitney (benchstat), 10+10, A..AB..B": benchstat,
    "Mann-Whitney, 10+10, ABAB": mann_whitney_in_turns,
    "ratio +- sd (hyperfine), 10+10, A..AB..B": hyperfine,
    "Welch t on 60 windows of one run each": windows,
}
"""Rivals that come with a size of their own."""

CONTROL = "Mann-Whitney (benchstat), 10+10, A..AB..B"
"""The one that the acceptance limits must reject."""


def beside(blocks: int) -> dict[str, Rival]:
    """All rivals, the paired ones with as many blocks as Assay may use."""
    return {
        **USUAL,
        f"paired t once, {blocks} random blocks": paired_t(blocks),
        f"paired t after every block, to {blocks}": paired_t_peeking(blocks),
    }


def _signs(claims: NDArray[np.bool_], difference: Floats) -> Signs:
    return np.where(claims, np.sign(difference), 0).astype(np.int8)


def _welch(base: Floats, arm: Floats) -> Signs:
    difference = arm.mean(axis=1) - base.mean(axis=1)
    parts = [x.var(axis=1, ddof=1) / x.shape[1] for x in (base, arm)]
    total = np.maximum(parts[0] + parts[1], 1e-300)  # runs that are all equal differ surely
    free = total**2 / np.maximum(
        sum(part**2 / (x.shape[1] - 1) for part, x in zip(parts, (base, arm), strict=True)), 1e-300
    )
    p = 2 * stdtr(np.maximum(free, 1.0), -np.abs(difference) / np.sqrt(total))
    return _signs(p < 0.05, difference)


def _mann_whitney(base: Floats, arm: Floats) -> Signs:
    n, m = base.shape[1], arm.shape[1]
    ranks = rankdata(np.hstack([base, arm]), axis=1)
    above = ranks[:, n:].sum(axis=1) - m * (m + 1) / 2 - n * m / 2  # U of the arm, centred
    variance = n * m / (n + m - 1) * ranks.var(axis=1)  # of mid-ranks, so ties are accounted for
    z = (np.abs(above) - 0.5) / np.sqrt(np.maximum(variance, 1e-300))
    return _signs(2 * ndtr(-z) < 0.05, above)


def _paired_p(values: Floats, first: int) -> Floats:
    """p of a one-sample t test after `first`, `first` + 1, ... blocks, shape (studies, tests)."""
    count = np.arange(1, values.shape[1] + 1)
    mean = np.cumsum(values, axis=1) / count
    square = np.cumsum(values**2, axis=1) - count * mean**2
    deviation = np.sqrt(np.maximum(square, 1e-300) / np.maximum(count - 1, 1))
    t = mean * np.sqrt(count) / np.maximum(deviation, 1e-12)
    return (2 * stdtr(np.maximum(count - 1, 1), -np.abs(t)))[:, first - 1 :]
