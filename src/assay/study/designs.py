"""Designs: which arms a study runs. One function each, and one line in the table below.

arms            the arms the file lists, and the baseline
one-at-a-time   the baseline, and each level of each factor alone
ladder          factors added one after the other, in the order given
factorial       every legal combination of levels
sweep           the levels of one numeric factor, in order
screen          every legal combination; which of them are run is the plan's (`plan.py`)
race            the arms the file lists, or else every legal combination
scaling         the levels of one numeric factor, for each level of another where one is compared

A study of four arms or more also runs an A/A control: the baseline under another name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from assay.plan.names import BASELINE, CONTROL
from assay.study.model import Arm, DesignKind, Factor, Study

CONTROL_FROM = 4
"""Arms from which on a study watches itself with a control, unless it says otherwise."""


def arms(study: Study) -> tuple[Arm, ...]:
    """The study's arms, baseline first; those that break a factor's `requires` left out."""
    legal = [a for a in _DESIGNS[study.design](study) if not unmet(study, a)]
    if _wants_control(study, legal):
        legal.append(Arm(CONTROL, _all_off(study), placebo=True))
    return tuple(legal)


def _wants_control(study: Study, legal: list[Arm]) -> bool:
    if study.control is not None:
        return study.control
    placebo = any(a.placebo for a in legal)
    return study.design != "scaling" and len(legal) >= CONTROL_FROM and not placebo


def unmet(study: Study, arm: Arm) -> str:
    """Which requirement an arm breaks, in words; empty when it is legal."""
    applications = {c.target: study.application(arm, c.target) for c in study.cases}
    for name, level in arm.levels.items():
        factor = study.factors[name]
        if level == factor.off:
            continue
        for other in factor.requires:
            partner = study.factors.get(other)
            if partner is None or arm.levels[other] == partner.off:
                return f"{name} requires {other}"
        for case in study.cases:
            settings = {**case.settings, **applications[case.target].settings}
            for setting, allowed in factor.change.requires.items():
                if settings.get(setting) not in allowed:
                    words = " or ".join(str(a) for a in allowed)
                    return f"{name} requires {setting} = {words}, not {settings.get(setting)}"
    return ""


def _all_off(study: Study) -> dict[str, str]:
    return {f.name: f.off for f in study.factors.values()}


def _named(study: Study, levels: dict[str, str]) -> Arm:
    on = [study.factors[f] for f in study.factors if levels[f] != study.factors[f].off]
    name = "+".join(f.label(levels[f.name]) for f in on) or BASELINE
    return Arm(name, levels)


def _ordered(study: Study) -> Iterable[Factor]:
    return [study.factors[name] for name in study.order]


def _listed(study: Study) -> list[Arm]:
    off = _all_off(study)
    return [
        Arm(BASELINE, off),
        *(Arm(a.name, {**off, **a.levels}, a.placebo) for a in study.arms_listed),
    ]


def _one_at_a_time(study: Study) -> list[Arm]:
    off = _all_off(study)
    found = [_named(study, off)]
    for factor in study.factors.values():
        found += [_named(study, {**off, factor.name: level}) for level in factor.others]
    return found


def _ladder(study: Study) -> list[Arm]:
    levels = _all_off(study)
    found = [_named(study, levels)]
    for factor in _ordered(study):
        levels = {**levels, factor.name: factor.others[-1]}
        on = [f for f in _ordered(study) if levels[f.name] != f.off]
        found.append(Arm("+".join(f.label(levels[f.name]) for f in on), levels))
    return found


def _factorial(study: Study) -> list[Arm]:
    names = list(study.factors)
    combinations = itertools.product(*(study.factors[n].levels for n in names))
    return [_named(study, dict(zip(names, c, strict=True))) for c in combinations]


def _sweep(study: Study) -> list[Arm]:
    off = _all_off(study)
    (factor,) = _ordered(study)
    return [
        Arm(
            BASELINE if level == factor.off else f"{factor.name}={level}",
            {**off, factor.name: level},
        )
        for level in factor.levels
    ]


def _race(study: Study) -> list[Arm]:
    return _listed(study) if study.arms_listed else _factorial(study)


def _scaling(study: Study) -> list[Arm]:
    off = _all_off(study)
    threads, *compared = _ordered(study)
    configurations = [{f.name: v} for f in compared for v in f.levels] or [{}]
    return [
        _named(study, {**off, **configuration, threads.name: level})
        for configuration in configurations
        for level in threads.levels
    ]


_DESIGNS: dict[DesignKind, Callable[[Study], list[Arm]]] = {
    "arms": _listed,
    "one-at-a-time": _one_at_a_time,
    "ladder": _ladder,
    "factorial": _factorial,
    "sweep": _sweep,
    "screen": _factorial,
    "race": _race,
    "scaling": _scaling,
}
