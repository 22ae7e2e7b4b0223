"""Before the first run: what this host cannot do of what the study asks, said with the remedy.

A level with `absent = "skip"` that cannot be had is left out and recorded;
any other is an error, and nothing has been started by then.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from assay.bench.builds import with_builds
from assay.bench.environment import check_surroundings
from assay.bench.variations import with_variations
from assay.builds import RECIPES, Recipe
from assay.changes import lacking
from assay.core.errors import InputError, MissingError
from assay.core.metrics import COUNTED, GROUPS_OF
from assay.counters import asked, probe, why_absent
from assay.host.namespaces import Pair, made
from assay.plan import BASELINE
from assay.study import Absent, Arm, Factor, Study, arms
from assay.targets import Target


def fit(
    study: Study,
    facts: Mapping[str, Any],
    targets: Mapping[str, Target],
    recipes: Mapping[str, Recipe] = RECIPES,
) -> Study:
    """The study as this host can run it, what it builds built.

    MissingError for what it needs and the host lacks.
    """
    study = with_variations(with_builds(_without_lacking(study, facts), recipes))
    while True:
        absent = _first_refused(study, targets)
        if absent is None:
            break
        study = study.without(absent)
    if len(arms(study)) < 2:
        left = "; ".join(f"{a.factor}={a.level}: {a.why}" for a in study.absent)
        raise MissingError(
            f"nothing is left to compare on this machine: {left}",
            next_step="run the study on a host that has what it names",
        )
    return study


def uncounted(study: Study, facts: Mapping[str, Any]) -> dict[str, str]:
    """What of the study's counters cannot be counted here, by name, with the reason.

    MissingError where a metric of the study follows from it.
    """
    if not study.counters:
        return {}
    absent = dict(probe(asked(study.counters, facts), os.getpid()))
    for name in (study.primary, *study.also):
        base, _, counter = name.partition(".")
        needs = (counter,) if base == COUNTED else GROUPS_OF.get(base, ())
        asked_for = [n for n in needs if base == COUNTED or n in study.counters]
        whys = [why_absent(n, absent) for n in asked_for]
        if whys and all(whys):
            raise MissingError(
                f"{name} cannot be had here: {whys[0]}",
                next_step="leave it out of [measure], or run the study on a host that counts it",
            )
    return absent


def _without_lacking(study: Study, facts: Mapping[str, Any]) -> Study:
    """Levels whose processor is not here go out, or stop the study; so does what it cannot do."""
    for factor in list(study.factors.values()):
        for name, level in factor.levels.items():
            why = lacking(level.needs, facts)
            if not why:
                continue
            if name == factor.off or factor.absent == "error":
                raise MissingError(
                    f"{factor.name}={name} {why}",
                    next_step='run it there, or write absent = "skip" in its [[factor]]',
                )
            if factor.name in study.factors:
                study = study.without(Absent(factor.name, name, why))
    return study


def _first_refused(study: Study, targets: Mapping[str, Target]) -> Absent | None:
    """The first level that a target refuses on this host; None when every arm can start."""
    with nullcontext() if study.network is None else made(study.network.queues) as pair:
        return _first_refused_in(study, targets, pair)


def _first_refused_in(
    study: Study, targets: Mapping[str, Target], pair: Pair | None
) -> Absent | None:
    for arm in arms(study):
        for case in study.cases:
            launch, target = study.launch(case, arm, seed=1), targets[case.target]
            try:
                check_surroundings(target, launch, study.application(arm, case.target), pair)
            except MissingError as error:
                return _blame(study, arm, error)
            except InputError as error:
                error.message = f"arm {arm.name}: {error.message}"
                raise
    return None


def _blame(study: Study, arm: Arm, error: MissingError) -> Absent:
    """The skippable level that an arm's refusal is about: the one that others do without."""
    off = [f for f in study.factors.values() if arm.levels[f.name] != f.off]
    if arm.name != BASELINE and len(off) == 1 and off[0].absent == "skip":
        return Absent(off[0].name, arm.levels[off[0].name], error.message)
    skippable: list[Factor] = [f for f in off if f.absent == "skip"]
    if len(skippable) == 1:
        return Absent(skippable[0].name, arm.levels[skippable[0].name], error.message)
    raise MissingError(f"arm {arm.name}: {error.message}", next_step=error.next_step) from error
