"""Whether one configuration scales better than another: contention and coherency, block by block.

Each block runs both configurations at every level in one random order. Suppose the choice makes
no difference. Exchanging the two names at every level at once turns the block's order into
another permutation that was equally likely, and turns the block's difference of sigma, and that
of kappa, into its negative: both fits use the same levels and the same weights, those of the
pooled means, which an exchange does not move. So each difference is symmetric about zero under
any drift, tail or slot effect, and the signed-rank test that decides everything else decides
this too. It needs no law to be true of the server: a wrong one is wrong for both alike. (How many
levels are used follows from the two means, which the exchange in one block can move a little;
no excess of false answers was found where that matters.)

A fixed sample, two questions: Holm's method at alpha, once, when all blocks are there. Only
"helps", "hurts" and "undecided" are given, as nobody has said which difference would be none.

`SignedRank` rounds to 1e-12, meant for log units. The noise of kappa is at least about the noise
of a throughput over the square of the last level: 1e-8 at 1000 threads and 1 %, so it does no
harm here (tests).

Not here: whether the other configuration is *faster*. One whose single thread got faster can
have more contention and more throughput at every level; that is a contrast of throughput.

Sources: Holm, Scand. J. Stat. 6 (1979); the fit is `usl.py`, the test `signed_rank.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.reasons import Code, Reason, Refusal, worded
from assay.stats.constants import STANDARD, Constants
from assay.stats.robustness import robustness
from assay.stats.rule import Word
from assay.stats.signed_rank import SignedRank
from assay.stats.usl import Array, Block, parameters, read, usable

PARAMETERS = ("contention", "coherency")


@dataclass(frozen=True)
class Compared:
    """One parameter of `config` against that of `against`.

    estimate   the parameter of `against` minus that of `config`: positive is better. A plain
               difference, of fractions for contention; None when refused
    low, high  its interval at two-sided `level`, the share of alpha it was decided at (Holm);
               None when so few blocks cannot reject at any value
    """

    parameter: str
    config: str
    against: str
    word: Word
    estimate: float | None
    low: float | None
    high: float | None
    blocks: int
    level: float
    reasons: tuple[Reason, ...]

    @property
    def reason(self) -> str:
        """The reasons as one text."""
        return worded(self.reasons)


def compare(
    config: str,
    against: str,
    mine: Sequence[Block],
    theirs: Sequence[Block],
    cpus: int,
    alpha: float = 0.05,
    constants: Constants = STANDARD,
) -> list[Compared]:
    """Contention, then coherency, of `config` against `against`, together at error `alpha`.

    `mine`, `theirs`: their throughputs in the same blocks, in the same order, threads ->
    operations per second. Raises ValueError when blocks or levels of the two differ, and as
    `scaling` does.
    """
    if len(mine) != len(theirs):
        raise ValueError(f"{config} has {len(mine)} blocks, {against} has {len(theirs)}")
    levels, table = read(mine)
    other_levels, other_table = read(theirs)
    if not np.array_equal(levels, other_levels):
        raise ValueError(f"{config} and {against} have different levels")
    used, refused = usable(levels, table, cpus, constants)
    other_used, other_refused = usable(levels, other_table, cpus, constants)
    why = refused.having(of=config) if refused else None
    why = why or (other_refused.having(of=against) if other_refused else None)
    if why is not None:
        return _refused(config, against, why, mine, alpha)
    used = min(used, other_used)
    try:
        differences = _differences(levels[:used], table[:, :used], other_table[:, :used])
    except Refusal as none_fits:
        return _refused(config, against, none_fits.reason.having(of=""), mine, alpha)
    samples = dict(zip(PARAMETERS, map(SignedRank, differences), strict=True))
    found, last = holm(samples, alpha), int(levels[used - 1])
    return [
        _compared(parameter, config, against, samples[parameter], found[parameter], last)
        for parameter in PARAMETERS
    ]


def holm(samples: Mapping[str, SignedRank], alpha: float) -> dict[str, float]:
    """The level at which each sample is decided: alpha over those not rejected before it."""
    levels: dict[str, float] = {}
    while len(levels) < len(samples):
        level = alpha / (len(samples) - len(levels))
        open_ones = {name: s for name, s in samples.items() if name not in levels}
        passed = [name for name, s in open_ones.items() if _word(s, level) is not Word.UNDECIDED]
        levels |= dict.fromkeys(passed or open_ones, level)
    return levels


def _refused(
    config: str, against: str, reason: Reason, blocks: Sequence[Block], alpha: float
) -> list[Compared]:
    level, word = alpha / len(PARAMETERS), Word.UNDECIDED
    return [
        Compared(name, config, against, word, None, None, None, len(blocks), level, (reason,))
        for name in PARAMETERS
    ]


def _differences(levels: Array, mine: Array, theirs: Array) -> tuple[Array, Array]:
    """Theirs minus mine, per block: sigma, kappa."""
    pooled = np.exp(np.mean(np.log(np.concatenate([mine, theirs])), axis=0))
    weights = (pooled / levels) ** 2
    _, sigma, kappa = parameters(levels, mine, weights)
    _, other_sigma, other_kappa = parameters(levels, theirs, weights)
    return other_sigma - sigma, other_kappa - kappa


def _word(sample: SignedRank, level: float) -> Word:
    low, high = sample.interval(level)
    return Word.HELPS if low > 0 else Word.HURTS if high < 0 else Word.UNDECIDED


def _compared(
    parameter: str, config: str, against: str, sample: SignedRank, level: float, last: int
) -> Compared:
    word = _word(sample, level)
    low, high = (None if math.isinf(end) else end for end in sample.interval(level))
    if low is None:
        least = 1 - math.floor(math.log2(level))
        reason = Reason.of(Code.TOO_FEW_BLOCKS, used=sample.count, least=least)
    elif word is Word.UNDECIDED:
        reason = Reason.of(Code.INCLUDES_ZERO)
    else:
        side = "above" if word is Word.HELPS else "below"
        reason = Reason.of(Code.SCALES, side=side, parameter=parameter, against=against)
    remark = robustness(sample.values, word, level, level, 0.0) if low is not None else ()
    used = Reason.of(Code.SCALING_BLOCKS, blocks=sample.count, threads=last)
    why = (reason, used, *remark)
    return Compared(
        parameter, config, against, word, sample.estimate, low, high, sample.count, level, why
    )
