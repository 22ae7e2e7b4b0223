"""How many blocks a study needs, and what a given number of blocks can see.

Asked when the first 8 blocks are in, and again each time the blocks have doubled. The noise is
estimated from absolute contrasts only: for a sample that is symmetric about zero, |c| says nothing
about the signs, so planning from data that are used again for the verdict spends no error.

The noise is the root mean square of |c|, values beyond 2.5 robust deviations counted as that much,
so that a wild block in the pilot does not double the study. An effect lifts |c| and would make the
plan too generous, but it shows in the absolute values themselves: they crowd around its size
instead of spreading down to zero. So where |c| is no larger than twice the smallest effect worth
having, the noise is at most what the spread of |c| stands for. Where |c| is twice that spread the
contrast is called clear, whatever its size: its noise is read from the spread too, and it does
not set the size of the study, which it will leave early.

The factor 1.25 covers the cost of several looks and the efficiency of ranks, the constants 4 and
8 the granularity of small samples. These three and the three of the noise were chosen by
simulation (nine pairs of noise and effect, `make bench-verdict`), not derived.

Sources: the two-sample-size formulas are the textbook normal ones (Cohen, Statistical Power
Analysis (1988), chapter 2; for equivalence Julious, Stat. Med. 23 (2004)); 0.6745 is the third
quartile of the normal distribution (MAD to standard deviation); clipping before squaring is
Winsor's (Tukey, 1962); the spread of |Z| is that of the half-normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from assay.reasons import Code, Reason
from assay.stats.boundary import Schedule, schedule
from assay.stats.constants import STANDARD, Constants
from assay.stats.rule import Rule

PILOT_BLOCKS = STANDARD.first_look
_HALF_NORMAL_SD = 0.6028  # standard deviation of |Z|, sqrt(1 - 2/pi)


@dataclass(frozen=True)
class Sizing:
    """What a study will cost and what it can see.

    blocks              planned blocks, pilot included, after the cap
    noise               contrast -> standard deviation of one block's contrast, as a fraction
    needed_for_smallest blocks for 90 % power at the smallest effect worth having
    needed_for_margin   blocks for 90 % chance of "no difference" when there is none
    visible             smallest effect (fraction) that `blocks` see with 90 % power
    capped              the budget allows fewer blocks than the questions need
    smallest            the rule's smallest effect, repeated for `reason`
    worst               the pair noise, as a fraction, that set the size
    """

    blocks: int
    noise: dict[str, float]
    needed_for_smallest: int
    needed_for_margin: int
    visible: float
    capped: bool
    smallest: float
    worst: float

    def reason(self, block_s: float | None = None) -> Reason:
        """What to tell a person before the rest of the budget is spent.

        `block_s`: seconds that one block takes, for the time of the whole study; None leaves
        the time out.
        """
        return Reason.of(
            Code.STUDY_SIZE,
            noise=self.worst,
            smallest=self.smallest,
            smallest_blocks=self.needed_for_smallest,
            margin_blocks=self.needed_for_margin,
            blocks=self.blocks,
            visible=self.visible if self.capped else None,
            block_s=block_s,
        )


def plan_blocks(
    series: Mapping[str, Sequence[float]], rule: Rule, cap: int | None, share: int | None = None
) -> Sizing:
    """Size a study from its pilot.

    `series`: contrast name -> its log contrasts of the first 8 complete blocks (at least one
    value each). `cap`: the most blocks the budget allows, None for no limit; a pilot that is
    already run counts even when the cap is smaller. `share`: into how many parts alpha is divided,
    by default one for each contrast. Raises ValueError on an empty series.
    """
    if not series or any(len(values) == 0 for values in series.values()):
        raise ValueError("a plan needs at least one block of every contrast")
    family = len(series) if share is None else share
    pilots = {name: _pilot_noise(values, rule) for name, values in series.items()}
    noise_log = {name: noise for name, (noise, _) in pilots.items()}
    open_ones = [noise for noise, is_clear in pilots.values() if not is_clear]
    worst = max(open_ones or noise_log.values())
    for_smallest = blocks_for_smallest(worst, rule, family)
    for_margin = blocks_for_margin(worst, rule)
    wanted = max(for_smallest, for_margin, least_blocks(rule, family))
    pilot = max(len(values) for values in series.values())
    blocks = wanted if cap is None else max(min(wanted, cap), pilot)
    return Sizing(
        blocks=blocks,
        noise={name: math.expm1(noise) for name, noise in noise_log.items()},
        needed_for_smallest=for_smallest,
        needed_for_margin=for_margin,
        visible=visible_effect(worst, rule, family, blocks),
        capped=blocks < wanted,
        smallest=rule.smallest,
        worst=math.expm1(worst),
    )


def plan_looks(
    series: Mapping[str, Sequence[tuple[int, float]]],
    rule: Rule,
    cap: int | None,
    done: int,
    share: int | None = None,
) -> tuple[Sizing, Schedule] | None:
    """The size of a study after `done` blocks, and its looks; None while nothing is known.

    `series`: contrast name -> (block index, log contrast), ascending. `cap` and `share` as for
    `plan_blocks`.
    The study is sized from its first blocks, and anew each time they have doubled, until its end
    is reached. It can only become longer: in simulations of noise with wild blocks a shorter plan
    gave up studies that the longer one decided. What was planned of blocks that are done stays.
    """
    at, found = rule.constants.first_look, None
    while at <= done and (found is None or at < found[1].planned):
        values = {name: [c for b, c in pairs if b < at] for name, pairs in series.items()}
        known = {name: cs for name, cs in values.items() if cs}
        if not known:
            return None
        size = plan_blocks(known, rule, cap, share)
        if found is None:
            found = size, schedule(size.blocks, rule.alpha_main, rule.constants)
        else:
            end = max(size.blocks, found[1].planned)
            again = found[1].replanned(at, end, rule.alpha_main, rule.constants)
            found = replace(size, blocks=end), again
        if not rule.constants.plans_anew:
            break
        at *= 2
    return found


def blocks_for_smallest(noise_log: float, rule: Rule, family: int) -> int:
    """Blocks that find `rule.smallest` with 90 % power among `family` contrasts (Bonferroni)."""
    ratio = _detection_z(rule, family) * noise_log / rule.smallest_log
    fixed = rule.constants
    return study_size(math.ceil(fixed.inflation * ratio**2) + fixed.extra_smallest, fixed)


def blocks_by_ranks(contrasts: NDArray[np.float64], rule: Rule, family: int) -> int:
    """Blocks that find `rule.smallest` with 90 % power, by contrasts of equal arms, at least two.

    The smaller of two numbers, each enough: that of their deviation, which a few wild contrasts
    lift, and Noether's for the signed-rank test. It needs only the share of Walsh averages that
    the effect lifts over zero, and is too large where the effect exceeds the noise.
    Source: Noether, J. Am. Stat. Assoc. 82 (1987), 645.
    """
    used = contrasts[np.linspace(0, len(contrasts) - 1, min(len(contrasts), 400)).astype(int)]
    both = np.concatenate([used, -used])
    first, second = np.triu_indices(len(both), 1)
    lifted = float(np.mean(np.abs(both[first] + both[second]) / 2 < rule.smallest_log)) / 2
    normal = blocks_for_smallest(float(np.sqrt(np.mean(contrasts**2))), rule, family)
    if lifted == 0:
        return normal
    fixed = rule.constants
    blocks = fixed.inflation * _detection_z(rule, family) ** 2 / (3 * lifted**2)
    return min(normal, study_size(math.ceil(blocks) + fixed.extra_smallest, fixed))


def blocks_for_margin(noise_log: float, rule: Rule) -> int:
    """Blocks that show "no difference larger than `rule.margin`" in 90 % of studies without one."""
    fixed = rule.constants
    z = float(ndtri(fixed.both_sides)) - float(ndtri(rule.alpha_equivalence / 2))
    ratio = z * noise_log / rule.margin_log
    return study_size(math.ceil(fixed.inflation * ratio**2) + fixed.extra_margin, fixed)


def least_blocks(rule: Rule, family: int) -> int:
    """The fewest blocks at whose last look an exact test can reject among `family` contrasts."""
    alpha = rule.alpha_main / family
    blocks = rule.constants.first_look
    while 2.0 ** (1 - blocks) > _last_level(rule, blocks, alpha):
        blocks += 1
    return blocks


def _last_level(rule: Rule, blocks: int, alpha: float) -> float:
    return schedule(blocks, rule.alpha_main, rule.constants).levels(alpha)[-1]


def visible_effect(noise_log: float, rule: Rule, family: int, blocks: int) -> float:
    """The inverse of `blocks_for_smallest`: the effect (fraction) that `blocks` see."""
    effective = max(blocks - rule.constants.extra_smallest, 1) / rule.constants.inflation
    return math.expm1(_detection_z(rule, family) * noise_log / math.sqrt(effective))


def study_size(blocks: int, constants: Constants = STANDARD) -> int:
    """The next size on a coarse ladder: 8 10 12 15 20 25 30 40 50 60 80 100 130 160 200 ...

    Steps of 12 to 33 % are as fine as the noise estimate deserves.
    """
    for size in constants.sizes:
        if blocks <= size:
            return size
    scale = 10
    while True:
        for step in constants.decade:
            if blocks <= step * scale:
                return step * scale
        scale *= 10


def _detection_z(rule: Rule, family: int) -> float:
    return -float(ndtri(rule.alpha_main / (2 * family))) + float(ndtri(rule.constants.power))


def _pilot_noise(values: Sequence[float], rule: Rule) -> tuple[float, bool]:
    """Standard deviation in log units, and whether an effect is clear, both from |c| alone."""
    fixed = rule.constants
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    clipped = np.minimum(sizes, fixed.winsor * float(np.median(sizes)) / 0.6745)
    level = math.sqrt(float(np.mean(clipped**2)))
    spread = float(np.std(sizes, ddof=1)) / _HALF_NORMAL_SD if len(sizes) > 1 else level
    is_clear = level > fixed.clear * spread
    may_be_lifted = is_clear or level < fixed.lifted * rule.smallest_log
    return (min(level, spread) if may_be_lifted else level), is_clear
