"""The sequential engine: from contrasts block by block to verdicts, look by look.

Pure and deterministic. The bench calls it after every block, `assay verify` calls it once on
the finished runs, and both get the same answer, because every call replays all looks from the
first. Nothing is remembered between calls.

A contrast goes through these states, and only at looks:

    open ── interval above or below zero ────────────> helps / hurts     final
         ── equivalence interval inside the margin ──> no difference     final
         ── neither within reach by the end ───────────> undecided         final
         ── last look ───────────────────────────────> undecided         final
    undecided ── end of an extension that was asked for ──> tested once more, as above

The family shares alpha by Holm's method at every look: with `left` hypotheses not rejected so
far, each open one is tested at the look's nominal level for alpha/left; a rejection lowers
`left` at once. Spending linear in time keeps nominal levels monotone in alpha, which is what
makes Holm valid in a group-sequential study. Where `share` is given there is no such gain: each
contrast has alpha/share to the end, so that all their intervals hold together, as those of the
points of a curve must, and so that contrasts may join later, on blocks of their own. Equivalence
is claimed at 5 % per side for each contrast on its own; it is a statement about that contrast and
is not corrected for the others.

An extension adds half as many blocks again and tests once, at its end, the contrasts that are
still undecided, out of what the rule kept back; the union bound holds whatever led to it.

A sample that has not grown since the last look is not judged again: a later look's level is made
for new blocks, and an arm that left a race has none.

Not here: which runs count (bench), and how many blocks a study takes (`sample_size.py`).

Sources: Holm, Scand. J. Stat. 6 (1979); Maurer & Bretz, Stat. Biopharm. Res. 5 (2013) and
Tamhane et al., Stat. Med. 40 (2021) 5333, group-sequential Holm; Jennison & Turnbull (2000),
chapter 9 repeated intervals, chapter 10 predictive-power futility; Schuirmann (1987), TOST.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from scipy.special import chdtri, ndtri

from assay.reasons import Code, Reason, worded
from assay.stats.boundary import Schedule, once, schedule
from assay.stats.constants import STANDARD, Constants
from assay.stats.robustness import read_off, robustness, within
from assay.stats.rule import Rule, Strength, Word
from assay.stats.sample_size import blocks_for_margin, blocks_for_smallest, study_size
from assay.stats.signed_rank import Interval, SignedRank

Series = Sequence[tuple[int, float]]

Withhold = Callable[[str, int, float], Reason | None]
"""Why "no difference" is not to be said of a contrast at a look, or None: the contrast's name, the
blocks there are at that look, and its nominal two-sided level."""


def _never(name: str, blocks: int, level: float) -> Reason | None:
    return None


@dataclass(frozen=True)
class Judgement:
    """What is known about one contrast. Effects are fractions: exp(theta) - 1.

    estimate   Hodges-Lehmann estimate over the blocks used; None without any block
    low, high  the repeated interval; None when unbounded: before the first look, and when so
               few blocks cannot reject at any value
    blocks     blocks of this contrast that were used (those missing do not count)
    look       index of the look (from 0) this was read at, extensions counting on; None before
               the first
    final      nothing will change this any more
    level      two-sided error that the interval stands for, over all planned looks or at the end
               of its extension: alpha/left for helps, hurts and undecided; for "no difference"
               that of equivalence
    until      blocks that the look had, those of this contrast that are missing among them
    nominal    two-sided level of a difference at that look
    """

    name: str
    word: Word
    estimate: float | None
    low: float | None
    high: float | None
    blocks: int
    look: int | None
    final: bool
    level: float
    reasons: tuple[Reason, ...]
    strength: Strength = Strength.CONFIRMED
    until: int | None = None
    nominal: float | None = None

    @property
    def reason(self) -> str:
        """The reasons as one text."""
        return worded(self.reasons)


def judge(
    series: Mapping[str, Series],
    rule: Rule,
    planned: int | Schedule,
    blocks_done: int,
    family: Collection[str] | None = None,
    extensions: int = 0,
    withhold: Withhold = _never,
    share: int | None = None,
) -> dict[str, Judgement]:
    """Replay every look a study has reached after `blocks_done` blocks.

    `planned`: its blocks, or its looks where it was planned anew on its way.

    `series`: contrast -> (block index, contrast in log units, up is better), ascending in block;
    indices count from 0, so they are below `blocks_done`; blocks may be missing. Values after
    the look that decided a contrast, or beyond `planned`, are not looked at. `family`: all
    contrasts that share alpha, those without data included; by default the keys of `series`.
    `extensions`: how many were asked for after the study had ended undecided (`extended` says
    how many blocks that makes). `withhold`: what else "no difference" depends on; a contrast it is
    withheld from stays open until the planned end. `share`: into how many equal parts alpha is
    divided, whoever else has the others; None for Holm's method within the family.
    Returns one judgement per member of the family. Raises ValueError on a contrast outside the
    family, on blocks out of order or out of range, and on values that are not finite.
    """
    if isinstance(planned, int):
        planned = schedule(planned, rule.alpha_main, rule.constants)
    stages = [_Look(k, planned, rule) for k in range(len(planned.looks))]
    for number in range(1, extensions + 1):
        total = extended(planned.planned, number, rule.constants)
        stages.append(_Look(0, once(total), rule.extension(number), number, len(stages)))
    return _replay(series, stages, blocks_done, family, withhold, share)


def extended(planned: int, extensions: int, constants: Constants = STANDARD) -> int:
    """Blocks in all after so many extensions, each half as many blocks again."""
    for _ in range(extensions):
        planned += math.ceil(planned * constants.extension_blocks)
    return planned


def judge_once(
    series: Mapping[str, Series],
    rule: Rule,
    blocks: int,
    family: Collection[str] | None = None,
    withhold: Withhold = _never,
    share: int | None = None,
) -> dict[str, Judgement]:
    """Judge a finished sample of `blocks` blocks as one look that spends all of `alpha`.

    For data somebody else gathered with a size fixed beforehand: there is no next look, so
    nothing is kept in reserve. Arguments and errors as for `judge`.
    """
    look = _Look(0, once(blocks), replace(rule, reserve=0.0))
    return _replay(series, [look], blocks, family, withhold, share)


@dataclass(frozen=True)
class _Look:
    """One look: its index among the looks that share an error, and the rule that gives it.

    `extension` numbers the extension it ends, 0 for the planned looks; `earlier` counts the
    looks of the study before those of `schedule`.
    """

    index: int
    schedule: Schedule
    rule: Rule
    extension: int = 0
    earlier: int = 0

    @property
    def position(self) -> int:
        return self.earlier + self.index

    @property
    def blocks(self) -> int:
        return self.schedule.looks[self.index]

    @property
    def planned(self) -> int:
        return self.schedule.planned

    @property
    def last(self) -> bool:
        return self.index == len(self.schedule.looks) - 1

    def level(self, alpha: float) -> float:
        return self.schedule.levels(alpha)[self.index]

    def final_z(self, alpha: float) -> float:
        return -float(ndtri(self.schedule.levels(alpha)[-1] / 2))

    def place(self) -> dict[str, int]:
        """Where it stands, as fields of a reason."""
        if self.extension:
            return {"extension": self.extension, "blocks": self.blocks}
        return {"look": self.index + 1, "looks": len(self.schedule.looks), "blocks": self.blocks}


def _replay(
    series: Mapping[str, Series],
    stages: Sequence[_Look],
    blocks_done: int,
    family: Collection[str] | None,
    withhold: Withhold,
    share: int | None,
) -> dict[str, Judgement]:
    names = sorted(series if family is None else set(family))
    _check(series, names, blocks_done)
    left = asked = len(names) if share is None else share
    counts: dict[str, int] = {}
    found = {name: _before_first_look(name, series, stages[0], left) for name in names}
    for look in stages:
        if look.extension:
            _reopen(found, look)
        if look.blocks > blocks_done:
            continue
        samples = {
            name: sample
            for name in names
            if not found[name].final and (sample := _sample(series.get(name, ()), look.blocks))
        }
        still = {n for n, s in samples.items() if s.count == counts.get(n) and not look.extension}
        counts.update({name: sample.count for name, sample in samples.items()})
        for name in still:
            del samples[name]
            found[name] = replace(found[name], final=look.last)
        rejected = _reject(samples, look, left, found, once=share is not None)
        left = left if share is not None else left - rejected
        for name in names:
            if not found[name].final and name not in still:
                found[name] = _settle(name, samples.get(name), look, left, asked, withhold)
    return found


def _reopen(found: dict[str, Judgement], look: _Look) -> None:
    """What an extension takes up again: everything that ended undecided."""
    for name, judgement in found.items():
        if judgement.word is Word.UNDECIDED:
            reason = Reason.of(Code.EXTENDED, extension=look.extension, block=look.blocks)
            found[name] = replace(judgement, final=False, reasons=(reason, *judgement.reasons))


def _check(series: Mapping[str, Series], names: list[str], blocks_done: int) -> None:
    strangers = sorted(set(series) - set(names))
    if strangers:
        raise ValueError(f"not in the family: {', '.join(strangers)}")
    for name, values in series.items():
        indices = [block for block, _ in values]
        if any(late <= early for early, late in itertools.pairwise(indices)):
            raise ValueError(f"{name}: blocks must ascend, each once")
        if indices and not 0 <= indices[0] <= indices[-1] < blocks_done:
            raise ValueError(f"{name}: block indices must lie in 0..{blocks_done - 1}")


def _sample(values: Series, blocks: int) -> SignedRank | None:
    chosen = [value for block, value in values if block < blocks]
    return SignedRank(chosen) if chosen else None


def _reject(
    samples: dict[str, SignedRank],
    look: _Look,
    left: int,
    found: dict[str, Judgement],
    once: bool,
) -> int:
    """Holm at one look: write helps and hurts into `found`, return how many there are; `once`:
    without giving what they free to the others."""
    rejected = 0
    while left > 0:
        alpha = look.rule.alpha_main / left
        level = look.level(alpha)
        passed = [
            name
            for name, sample in samples.items()
            if not found[name].final and _clears_zero(sample.interval(level))
        ]
        if not passed:
            break
        for name in passed:
            found[name] = _answer(name, samples[name], look, alpha)
        rejected += len(passed)
        left = 0 if once else left - len(passed)
    return rejected


def _clears_zero(interval: Interval) -> bool:
    return interval[0] > 0 or interval[1] < 0


def _settle(
    name: str,
    sample: SignedRank | None,
    look: _Look,
    left: int,
    family: int,
    withhold: Withhold,
) -> Judgement:
    """A contrast that was not rejected at this look: no difference, hopeless, or still open."""
    rule = look.rule
    alpha = rule.alpha_main / left
    if sample is None:
        why = (Reason.of(Code.NO_COMPLETE_BLOCK),)
        return Judgement(
            name, Word.UNDECIDED, None, None, None, 0, look.position, look.last, alpha, why
        )
    if within(sample.interval(look.level(rule.alpha_equivalence)), rule.margin_log):
        found = _answer(name, sample, look, alpha)
        against = withhold(name, look.blocks, look.level(alpha))
        if against is None:
            return found
        reasons = (against, *found.reasons)
        return replace(found, word=Word.UNDECIDED, reasons=reasons, final=look.last)
    can_reject = not math.isinf(sample.interval(look.level(alpha))[0])
    hopeless = can_reject and not look.last and _is_futile(sample, look, alpha)
    return _undecided(name, sample, look, alpha, hopeless, family)


def _answer(name: str, sample: SignedRank, look: _Look, alpha: float) -> Judgement:
    """Write up a contrast that has its answer: helps, hurts or no difference."""
    rule = look.rule
    level, level_equal = look.level(alpha), look.level(rule.alpha_equivalence)
    interval, equal = sample.interval(level), sample.interval(level_equal)
    word, nominal = read_off(interval, equal, rule.margin_log), level
    if word is Word.NO_DIFFERENCE:
        interval, alpha = equal, rule.alpha_equivalence
        reason = Reason.of(Code.WITHIN_MARGIN, margin=rule.margin, **look.place())
    else:
        code = Code.ABOVE_ZERO if word is Word.HELPS else Code.BELOW_ZERO
        small = {"less_than": rule.margin} if within(equal, rule.margin_log) else {}
        reason = Reason.of(code, **small, **look.place())
    remark = robustness(sample.values, word, level, level_equal, rule.margin_log)
    found = _judgement(name, word, sample, interval, look, True, alpha, (reason, *remark))
    return replace(found, nominal=nominal)


def _undecided(
    name: str, sample: SignedRank, look: _Look, alpha: float, hopeless: bool, family: int
) -> Judgement:
    """Write up a contrast without an answer, finally or so far."""
    rule = look.rule
    level, level_equal = look.level(alpha), look.level(rule.alpha_equivalence)
    interval = sample.interval(level)
    final = look.last or hopeless
    if math.isinf(interval[0]):
        least = least_count(level)
        reason = Reason.of(Code.TOO_FEW_BLOCKS, used=sample.count, least=least, **look.place())
    else:
        futile = {"planned": look.planned} if hopeless else {}
        reason = Reason.of(Code.INCLUDES_ZERO, margin=rule.margin, **futile, **look.place())
    remark: tuple[Reason, ...] = ()
    if final and not math.isinf(interval[0]):
        remark = robustness(sample.values, Word.UNDECIDED, level, level_equal, rule.margin_log)
    why = (reason, _needs(sample, rule, family), *remark)
    return _judgement(name, Word.UNDECIDED, sample, interval, look, final, alpha, why)


def _judgement(
    name: str,
    word: Word,
    sample: SignedRank,
    interval: Interval,
    look: _Look,
    final: bool,
    alpha: float,
    reasons: tuple[Reason, ...],
) -> Judgement:
    low, high = as_fractions(interval)
    estimate = math.expm1(sample.estimate)
    return Judgement(
        name, word, estimate, low, high, sample.count, look.position, final, alpha, reasons,
        until=look.blocks, nominal=look.level(alpha),
    )  # fmt: skip


def least_count(level: float) -> int:
    """The fewest values of which an exact test can reject at a two-sided nominal level."""
    return 1 - math.floor(math.log2(level))


def as_fractions(interval: Interval) -> tuple[float | None, float | None]:
    """An interval in log units as fractions; None where unbounded."""
    low, high = (None if math.isinf(end) else math.expm1(end) for end in interval)
    return low, high


def _before_first_look(
    name: str, series: Mapping[str, Series], first: _Look, family: int
) -> Judgement:
    rule = first.rule
    sample = _sample(series.get(name, ()), first.blocks)
    why = [Reason.of(Code.FIRST_LOOK, block=first.blocks)]
    if sample is not None:
        why.append(_needs(sample, rule, family))
    estimate = None if sample is None else math.expm1(sample.estimate)
    count = 0 if sample is None else sample.count
    alpha = rule.alpha_main / family
    return Judgement(
        name, Word.UNDECIDED, estimate, None, None, count, None, False, alpha, tuple(why)
    )


def _needs(sample: SignedRank, rule: Rule, family: int) -> Reason:
    """How many blocks the two questions need at the noise seen; never fewer than were used."""
    if sample.count < 3:
        return Reason.of(Code.NOISE_UNKNOWN)
    noise, more = sample.noise(), study_size(sample.count + 1, rule.constants)
    smallest = max(blocks_for_smallest(noise, rule, family), more)
    margin = max(blocks_for_margin(noise, rule), more)
    return Reason.of(
        Code.BLOCKS_NEEDED,
        smallest_blocks=smallest,
        smallest=rule.smallest,
        margin_blocks=margin,
        margin=rule.margin,
    )


def _is_futile(sample: SignedRank, look: _Look, alpha: float) -> bool:
    """Whether neither answer is within reach by the planned end.

    Given n of N blocks and a flat prior, the final estimate is about normal around the present
    one with variance s^2 (1/n - 1/N) (Jennison & Turnbull, section 10.3). Hopeless means: with
    the noise at its lower 97.5 % limit (chi-square), and the estimate 1.645 such deviations
    further from zero, the final interval would still include zero; and as many nearer to zero,
    the final equivalence interval would still reach beyond the margin. Stopping for futility
    only ever loses power, never error rate.
    """
    noise, free = sample.noise(), sample.count - 1
    if free < 1:
        return False
    far = look.rule.constants.futility_z
    drift = far * noise * math.sqrt(max(0.0, 1 / sample.count - 1 / look.planned))
    least = noise * math.sqrt(free / float(chdtri(free, 0.025)) / look.planned)
    size = abs(sample.estimate)
    equivalence = look.final_z(look.rule.alpha_equivalence) * least
    return (
        size + drift < look.final_z(alpha) * least
        and max(0.0, size - drift) + equivalence > look.rule.margin_log
    )
