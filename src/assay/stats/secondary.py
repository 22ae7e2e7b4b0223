"""Every metric but the primary one: leads, not verdicts.

A study measures many things and promises an error rate for one. The others get ordinary
fixed-sample intervals on the blocks the study happened to run, with the false discovery rate
held at 10 % over all of them, and the word "suggests". They are where the next study comes from.

Sources: Benjamini & Hochberg, JRSS B 57 (1995); intervals of the selected at q*R/m: Benjamini &
Yekutieli, JASA 100 (2005).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.reasons import Code, Reason
from assay.stats.constants import STANDARD
from assay.stats.robustness import read_off
from assay.stats.rule import Rule, Strength, Word
from assay.stats.sequence import Judgement, Series, as_fractions
from assay.stats.signed_rank import SignedRank

FALSE_DISCOVERY_RATE = STANDARD.false_discovery_rate


def suggest(
    series: Mapping[str, Series],
    rule: Rule | None = None,
) -> dict[str, Judgement]:
    """Judge secondary contrasts together, each on all its blocks.

    `series`: any name -> (block index, contrast in log units); name metric and arm in one key.
    `rule`: its margin is used, for "no difference", and its constants; without a rule that word is
    not given.
    Returns judgements of strength "suggests"; those without data are left out.
    """
    samples = {
        name: SignedRank(value for _, value in series[name])
        for name in sorted(series)
        if len(series[name]) > 0
    }
    rate = (STANDARD if rule is None else rule.constants).false_discovery_rate
    chosen = benjamini_hochberg({name: sample.p_value() for name, sample in samples.items()}, rate)
    level = rate * max(len(chosen), 1) / max(len(samples), 1)
    return {
        name: _suggestion(name, sample, rule, rate, level if name in chosen else None)
        for name, sample in samples.items()
    }


def benjamini_hochberg(p_values: Mapping[str, float], rate: float) -> set[str]:
    """The names whose p value is at most that of the largest k with p_(k) <= rate*k/m."""
    ordered = sorted(p_values.values())
    passing = [p for k, p in enumerate(ordered, start=1) if p <= rate * k / len(ordered)]
    return {name for name, p in p_values.items() if passing and p <= passing[-1]}


def _suggestion(
    name: str, sample: SignedRank, rule: Rule | None, rate: float, selected_level: float | None
) -> Judgement:
    plain = sample.interval(rate)
    level = rate if selected_level is None else selected_level
    interval = sample.interval(level)
    word = read_off(interval, plain, 0.0 if rule is None else rule.margin_log)
    if selected_level is None and word in (Word.HELPS, Word.HURTS):
        word = Word.UNDECIDED
        reason = Reason.of(Code.CHANCE)
    elif word in (Word.HELPS, Word.HURTS):
        reason = Reason.of(Code.ABOVE_ZERO if word is Word.HELPS else Code.BELOW_ZERO)
    elif word is Word.NO_DIFFERENCE:
        interval, level = plain, rate
        reason = Reason.of(Code.WITHIN_MARGIN, margin=rule.margin if rule else 0.0)
    else:
        reason = Reason.of(Code.INCLUDES_ZERO)
    low, high = as_fractions(interval)
    return Judgement(
        name=name,
        word=word,
        estimate=math.expm1(sample.estimate),
        low=low,
        high=high,
        blocks=sample.count,
        look=None,
        final=True,
        level=level,
        reasons=(reason, Reason.of(Code.SECONDARY)),
        strength=Strength.SUGGESTS,
    )
