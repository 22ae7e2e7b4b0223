"""Identical arms: how often are they told apart? Assay, its rivals, and the negative control.

Every method sees the very same simulated studies. A limit that nothing can fail proves nothing,
so the limits are also put to a method in wide use, and the benchmark fails when it passes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from assay.stats import Rule

from .noise import HOSTILE, NOISES, Maker, streams
from .procedure import planned, sign, whole
from .rivals import CONTROL, beside
from .rows import Promise, Table, alarms_allowed, grid, share, summary, three_digits
from .scale import Scale, Steps

DEVIATIONS = (0.01, 0.02, 0.05)


@dataclass(frozen=True)
class Setting:
    """What Assay is asked: its rule, a number of blocks planned for, and a budget for its own plan.

    The rivals that pair get as many blocks as are planned for.
    """

    rule: Rule
    blocks: int
    budget: int


GRADED = Setting(Rule(0.02, 0.02), blocks=40, budget=40)
HARASSED = Setting(Rule(0.01, 0.01), blocks=30, budget=60)
OWN_PLAN = "Assay, its own plan"

Counts = dict[str, int]
"""Method -> studies in which it told identical arms apart."""


def conditions() -> dict[str, tuple[str, float]]:
    """Name of a condition of the first table -> grade and deviation."""
    return {f"{kind} noise, CV {dev:.0%}": (kind, dev) for kind in NOISES for dev in DEVIATIONS}


@cache
def false_alarms(condition: str, studies: int, seed: int) -> Counts:
    """What every method makes of studies without an effect, under one condition."""
    make, setting = _machine(condition)
    rule, rivals = setting.rule, beside(setting.blocks)
    fixed = f"Assay, {setting.blocks} blocks planned"
    counts = dict.fromkeys([OWN_PLAN, fixed, *rivals], 0)
    for stream in streams(make, studies, setting.budget, 0.0, (seed, condition)):
        for values in stream.contrasts:
            counts[OWN_PLAN] += sign(whole(values, rule, setting.budget)) != 0
            counts[fixed] += sign(planned(values, rule, setting.blocks)) != 0
        for method, rival in rivals.items():
            counts[method] += int(np.count_nonzero(rival(stream)))
    return counts


def _machine(condition: str) -> tuple[Maker, Setting]:
    if condition in HOSTILE:
        return HOSTILE[condition], HARASSED
    kind, deviation = conditions()[condition]
    return NOISES[kind].at(deviation), GRADED


def accepted(alarms: Mapping[str, int], studies: int) -> bool:
    """The acceptance test of a method: no condition with more false alarms than 5 % allow."""
    return all(count <= alarms_allowed(studies) for count in alarms.values())


def grades(scale: Scale) -> Steps:
    """Three grades of noise, three deviations."""
    wide = [[kind if not k else "" for k in range(3)] for kind in NOISES]
    heads = [list(itertools.chain(*wide)), [f"{dev:.0%}" for _ in NOISES for dev in DEVIATIONS]]
    title = f"noise of three grades and run-to-run CV; budget {GRADED.budget} blocks"
    return _table(scale, list(conditions()), heads, title)


def hostile(scale: Scale) -> Steps:
    """Nine machines with one bad habit each."""
    heads = ["t2", "modes", "stick", "slot", "drift", "sine", "burst", "skew", "round"]
    title = f"machines with a bad habit; budget {HARASSED.budget} blocks"
    return _table(scale, list(HOSTILE), [heads], title)


def _table(scale: Scale, names: list[str], heads: list[list[str]], title: str) -> Steps:
    found = {}
    for k, name in enumerate(names):
        found[name] = false_alarms(name, scale.studies, scale.seed)
        yield (k + 1) / len(names)
    methods = list(found[names[0]])
    limit, rows = alarms_allowed(scale.studies), []
    for name, counts in found.items():
        ours = [m for m in methods if m.startswith("Assay")]
        rows += [share(f"A/A, {name}, {m}", counts[m], scale.studies, at_most=limit) for m in ours]
        rows += [
            share(
                f"A/A, {name}, {OWN_PLAN}", counts[OWN_PLAN], scale.studies,
                rival=m, theirs=counts[m] / scale.studies,
            )
            for m in methods if m not in ours
        ]  # fmt: skip
    body = [(m, [three_digits(found[n][m] / scale.studies) for n in names]) for m in methods]
    most = three_digits(limit / scale.studies)
    head = (
        f"two identical arms told apart; {title}\n"
        f"{scale.studies} studies each, at most {limit} ({most})"
    )
    return Table(f"{head}\n{grid(heads, body, first=44)}\n{summary(rows)}", rows)


def control(scale: Scale) -> Steps:
    """The same limits, put to grouped runs and Mann-Whitney: they must reject it."""
    names = [*conditions(), *HOSTILE]
    alarms: dict[str, dict[str, int]] = {OWN_PLAN: {}, CONTROL: {}}
    for k, name in enumerate(names):
        for method, counts in alarms.items():
            counts[name] = false_alarms(name, scale.studies, scale.seed)[method]
        yield (k + 1) / len(names)
    limit = alarms_allowed(scale.studies)
    broken = sum(count > limit for count in alarms[CONTROL].values())
    fails = not accepted(alarms[CONTROL], scale.studies)
    row = Promise(
        "negative control: conditions that reject it", CONTROL, "conditions", float(broken),
        goal=">= 1", met=fails,
    )  # fmt: skip
    said = "fails as it must" if fails else "PASSES, so the limits prove nothing"
    passes = "passes" if accepted(alarms[OWN_PLAN], scale.studies) else "FAILS"
    return Table(
        f"the same limits put to both, under {len(names)} conditions\n"
        f"  {OWN_PLAN}: {passes}\n"
        f"  negative control: {said} ({CONTROL}; too many false alarms under {broken})",
        [row],
    )
