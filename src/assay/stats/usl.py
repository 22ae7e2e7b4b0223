"""How throughput scales with threads: the Universal Scalability Law, fitted block by block.

    X(N) = lam N / (1 + sigma (N-1) + kappa N (N-1))

lam is the throughput of one thread, sigma (contention) the share of its time that only one
thread at a time can spend, kappa (coherency) what each pair of threads costs each other. The
law is linear in N/X = a + b (N-1) + c N (N-1), with lam = 1/a, sigma = b/a, kappa = c/a: a fit
is one weighted least squares without starting values. The weights (X/N)^2 make relative errors
of throughput equal at all levels.

Every block, all levels in random order, gets a fit of its own, and intervals are t intervals
over blocks. What favours a whole block moves its lam only, so drift from block to block leaves
sigma and kappa alone and makes the interval of lam too short: compare throughputs by contrasts.

The peak, where the slope is zero, is at N^2 = (1-sigma)/kappa, a ratio of two means. Its interval
is Fieller's: the N at which a slope of zero is not rejected. Where sigma is known well that is
[1/sqrt(u_hi), 1/sqrt(u_lo)] with u = kappa/(1-sigma) per block; behind one lock 1-sigma comes
near zero, and u is too wild to find a peak. One is claimed only where the slope at the last
level is significantly negative: in at most level/2 of the studies of a curve that still rises.

Threads beyond the CPUs stop throughput as contention does, and are none. `_bends_at_cpus` says
what is refused. It sees throughput only, hence not: CPUs that are two to a core (the bend at
half of them looks like contention), a load generator on the same CPUs, a server that waits and
fills its CPUs far above their number.

Contention is a share of the time of one thread, not a length: whoever halves the work outside a
lock has more of it, and more throughput. Read it beside the throughput, never instead.

Not here: two configurations compared (`usl_compare.py`); levels and order (study, bench).

Sources: Gunther, Guerrilla Capacity Planning (2007); Fieller, JRSS B 16 (1954) 175; Student's t.
The test of a bend follows no source, and its constants were found by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.reasons import Code, Reason, Refusal, worded
from assay.stats.constants import STANDARD, Constants
from assay.stats.robustness import mean_interval

_COEFFICIENTS = 3

Array = NDArray[np.float64]
Block = Mapping[int, float]


@dataclass(frozen=True)
class Fit:
    """One curve: lam in operations per second, sigma and kappa as fractions.

    Noise can make sigma or kappa negative; what is drawn for people never is (`Scaling.curve`).
    """

    throughput_of_one: float
    contention: float
    coherency: float

    def at(self, n: float) -> float:
        """Throughput with `n` threads."""
        return self.throughput_of_one * n / (1 + (self.contention + self.coherency * n) * (n - 1))


@dataclass(frozen=True)
class Estimate:
    """A value and its interval; an end that is None is unbounded."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Scaling:
    """How one configuration scales.

    levels             all that ran; the reasons say if those above the CPUs are not fitted
    throughput_of_one  operations per second, from the mean of logs; contention: sigma, a
                       fraction; coherency: kappa
    peak               threads; None when its interval reaches beyond the last level fitted
    refused            why there is no answer, or None; else estimates are None, `curve` is empty
    curve              the drawn curve at each level, no coefficient negative
    measured           geometric mean over blocks at each level
    """

    config: str
    levels: tuple[int, ...]
    blocks: int
    throughput_of_one: Estimate | None
    contention: Estimate | None
    coherency: Estimate | None
    peak: Estimate | None
    peak_seen: bool
    refused: Reason | None
    reasons: tuple[Reason, ...]
    curve: tuple[float, ...]
    measured: tuple[float, ...]

    @property
    def sentence(self) -> str:
        """The reasons as one text."""
        return worded(self.reasons, ", ")


def fit(
    levels: Sequence[int], throughput: Sequence[float], weights: Sequence[float] | None = None
) -> Fit:
    """The curve of one block.

    `throughput`: operations per second at each of `levels`. `weights`: of N/X at each level, by
    default (X/N)^2 of this block. Raises ValueError on fewer than three different levels, levels
    below one thread, throughput or weights that are not positive, or when no curve fits.
    """
    counts, values = np.asarray(levels, dtype=np.float64), np.asarray(throughput, dtype=np.float64)
    if len(set(levels)) < _COEFFICIENTS:
        raise ValueError(f"{len(set(levels))} levels; a curve with three parameters needs 3")
    if len(counts) != len(values) or (weights is not None and len(counts) != len(weights)):
        raise ValueError("every level needs one throughput and one weight")
    _check(counts, values)
    given = (values / counts) ** 2 if weights is None else np.asarray(weights, dtype=np.float64)
    if not np.all(np.isfinite(given) & (given > 0)):
        raise ValueError("weights must be positive numbers")
    lam, sigma, kappa = parameters(counts, values[np.newaxis], given)
    return Fit(float(lam[0]), float(sigma[0]), float(kappa[0]))


def scaling(
    config: str,
    blocks: Sequence[Block],
    cpus: int,
    level: float = 0.05,
    constants: Constants = STANDARD,
) -> Scaling:
    """Fit every block and put intervals of two-sided `level` around the means.

    `blocks`: complete blocks, threads -> operations per second. `cpus`: those the server may
    use. Raises ValueError when blocks differ in their levels, on levels or throughput that are
    not positive, and on `cpus` below one; everything else that is missing is a refusal.
    """
    levels, table = read(blocks)
    mean = np.exp(np.mean(np.log(table), axis=0)) if len(blocks) else levels
    used, refused = usable(levels, table, cpus, constants)
    if not refused:
        fitted, weights = levels[:used], (mean[:used] / levels[:used]) ** 2
        try:
            lam, sigma, kappa = parameters(fitted, table[:, :used], weights)
        except Refusal as none_fits:
            refused = none_fits.reason
    names = tuple(int(n) for n in levels)
    measured = tuple(float(x) for x in mean)
    if refused:
        return Scaling(
            config=config,
            levels=names,
            blocks=len(blocks),
            throughput_of_one=None,
            contention=None,
            coherency=None,
            peak=None,
            peak_seen=False,
            refused=refused,
            reasons=(refused.having(of=""),),
            curve=(),
            measured=measured,
        )
    curve = tuple(map(_drawn(fitted, mean[:used], weights).at, names))
    peak = _peak(1 - sigma, kappa, level, names[used - 1])
    contention, coherency = _estimate(sigma, level), _estimate(kappa, level)
    found = [
        Reason.of(Code.CONTENTION, **asdict(contention)),
        Reason.of(Code.COHERENCY, **asdict(coherency)),
        _peak_reason(peak, names[:used], measured),
        *_miss(names[:used], curve, measured, constants.usl_miss_said),
    ]
    if used < len(names):
        found.append(Reason.of(Code.FITTED_UP_TO, threads=names[used - 1], cpus=cpus))
    return Scaling(
        config=config,
        levels=names,
        blocks=len(blocks),
        throughput_of_one=_estimate(np.log(lam), level, math.exp),
        contention=contention,
        coherency=coherency,
        peak=peak,
        peak_seen=peak is not None,
        refused=None,
        reasons=tuple(found),
        curve=curve,
        measured=measured,
    )


def read(blocks: Sequence[Block]) -> tuple[Array, Array]:
    """Ascending levels and the throughputs, shape (blocks, levels). Raises as `scaling`."""
    levels = sorted(blocks[0]) if blocks else []
    for number, block in enumerate(blocks):
        if sorted(block) != levels:
            raise ValueError(f"block {number} has levels {sorted(block)}, the first has {levels}")
    counts = np.array(levels, dtype=np.float64)
    table = np.array([[block[n] for n in levels] for block in blocks], dtype=np.float64)
    _check(counts, table)
    return counts, table


def usable(
    levels: Array, table: Array, cpus: int, constants: Constants = STANDARD
) -> tuple[int, Reason | None]:
    """How many of the lowest levels a fit may use, and why none may, or None."""
    if cpus < 1:
        raise ValueError(f"a server needs at least one CPU, not {cpus}")
    if len(table) == 0:
        return 0, Reason.of(Code.NO_CURVE_BLOCKS)
    least = constants.usl_levels_min
    if len(levels) < least:
        return 0, Reason.of(Code.NO_CURVE_LEVELS, levels=len(levels), least=least)
    if len(table) < constants.usl_blocks_min:
        wanted = constants.usl_blocks_min
        return 0, Reason.of(Code.NO_CURVE_INTERVAL, blocks=len(table), least=wanted)
    if not _bends_at_cpus(levels, np.exp(np.mean(np.log(table), axis=0)), cpus, constants):
        return len(levels), None
    inside = int(np.sum(levels <= cpus))
    if inside >= least:
        return inside, None
    return 0, Reason.of(Code.NO_CURVE_CPUS, cpus=cpus, inside=inside, least=least)


def parameters(levels: Array, table: Array, weights: Array) -> tuple[Array, Array, Array]:
    """lam, sigma, kappa of each row of `table`, a block. Refusal when one has no curve."""
    root = np.sqrt(weights)
    a, b, c = np.linalg.lstsq(
        _columns(levels) * root[:, np.newaxis], (levels / table * root).T, rcond=None
    )[0]
    if not np.all(a > 0):
        raise Refusal(Reason.of(Code.NO_CURVE_SHAPE))
    return 1 / a, b / a, c / a


def _columns(levels: Array) -> Array:
    return np.stack([np.ones_like(levels), levels - 1, levels * (levels - 1)], axis=1)


def _check(levels: Array, throughput: Array) -> None:
    if not np.all(levels >= 1):
        raise ValueError("a level is a number of threads, at least 1")
    if not np.all(np.isfinite(throughput) & (throughput > 0)):
        raise ValueError("throughput must be positive at every level")


def _bends_at_cpus(levels: Array, mean: Array, cpus: int, constants: Constants) -> bool:
    """Whether the curve, as far as anybody can tell, bends because threads share CPUs.

    Only asked when a level lies above `cpus`. Two signs, either is enough:

    the top     The first level within 5 % of the largest throughput is the last one at or below
                the CPUs, or the first at or above them.
    the kink    Another curve, whose threads beyond the CPUs add nothing (N replaced by
                min(N, cpus)), fits the means nearly as well, while the plain one misses them by
                more than 2 % (root mean square). "Nearly": at most 2.5 times its misfit, so that 20
                or 30 % more throughput from batching beyond the CPUs still counts as a bend.

    A server whose threads wait (for a disk, a client, a sleeping lock) goes on growing beyond
    the CPUs: its top is elsewhere and the second curve misses by far, so all its levels are
    fitted; so is one flat or falling long before. Simulated, 97 to 100 % of the servers that stop
    at the CPUs are found, about half or more of those that gain another 20 % from batching.
    """
    if levels[-1] <= cpus:
        return False
    top = levels[np.argmax(mean >= constants.usl_near_top * np.max(mean))]
    below, above = levels[levels <= cpus], levels[levels >= cpus]
    if top in (below[-1] if len(below) else above[0], above[0]):
        return True
    plain, kinked = _misfit(levels, mean), _misfit(np.minimum(levels, cpus), mean)
    return plain > constants.usl_misfit_seen and kinked <= constants.usl_clearly * plain


def _misfit(levels: Array, mean: Array) -> float:
    """Root mean square of what a fit leaves, relative to throughput."""
    rows = _columns(levels) * (mean / levels)[:, np.newaxis]
    left = 1 - rows @ np.linalg.lstsq(rows, np.ones_like(mean), rcond=None)[0]
    return float(np.sqrt(np.mean(left**2)))


def _drawn(levels: Array, mean: Array, weights: Array) -> Fit:
    """The best curve through the means with sigma and kappa not below zero.

    Non-negative least squares of two coefficients: of the four choices of which are zero, the
    best one that is allowed. A line through the origin always is.
    """
    rows = _columns(levels) * np.sqrt(weights)[:, np.newaxis]
    target = levels / mean * np.sqrt(weights)
    best, least = np.zeros(_COEFFICIENTS), math.inf
    for kept in ([0], [0, 1], [0, 2], [0, 1, 2]):
        found = np.zeros(_COEFFICIENTS)
        found[kept] = np.linalg.lstsq(rows[:, kept], target, rcond=None)[0]
        left = float(np.sum((target - rows @ found) ** 2))
        if found[0] > 0 and np.all(found >= 0) and left < least:
            best, least = found, left
    return Fit(float(1 / best[0]), float(best[1] / best[0]), float(best[2] / best[0]))


def _estimate(values: Array, level: float, back: Callable[[float], float] = float) -> Estimate:
    """The mean over blocks and its t interval, taken back to the scale that is shown."""
    low, high = mean_interval(values, level)
    return Estimate(back(float(np.mean(values))), back(low), back(high))


def _peak(headroom: Array, kappa: Array, level: float, last: int) -> Estimate | None:
    """Where the slope is zero, headroom = kappa N^2; None unless the interval ends by `last`.

    `headroom`: 1-sigma of each block. Fieller: those v = N^2 for which the t test does not
    reject mean(headroom - v kappa) = 0, that is q2 v^2 - 2 q1 v + q0 <= 0. They are bounded
    exactly when kappa itself is significant. Ends below one thread are one thread.
    """
    first, second = float(np.mean(headroom)), float(np.mean(kappa))
    spread = np.cov(headroom, kappa) / len(kappa) * float(stdtrit(len(kappa) - 1, level / 2)) ** 2
    q2, q1, q0 = second**2 - spread[1, 1], first * second - spread[0, 1], first**2 - spread[0, 0]
    if second <= 0 or q2 <= 0:
        return None
    reach = math.sqrt(max(0.0, q1**2 - q2 * q0))
    value, low, high = (
        math.sqrt(max(1.0, v)) for v in (first / second, (q1 - reach) / q2, (q1 + reach) / q2)
    )
    return Estimate(value, low, high) if high <= last else None


def _peak_reason(peak: Estimate | None, levels: Sequence[int], measured: Sequence[float]) -> Reason:
    first, last = levels[0], levels[-1]
    if peak is None:
        top = max(zip(measured, levels, strict=False))[1]
        return Reason.of(Code.NO_PEAK, threads=last, top=top)
    if peak.high is not None and peak.high <= first:
        return Reason.of(Code.FALLING, threads=first)
    return Reason.of(Code.PEAK, **asdict(peak))


def _miss(
    levels: Sequence[int], curve: Sequence[float], measured: Sequence[float], least: float
) -> list[Reason]:
    """Where the curve misses what was measured by most, if by more than `least`."""
    misses = [(abs(c / m - 1), n) for n, c, m in zip(levels, curve, measured, strict=False)]
    worst, where = max(misses)
    return [Reason.of(Code.CURVE_MISSES, threads=where, by=worst)] if worst > least else []
