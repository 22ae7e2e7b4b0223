"""What a plan has from its study file and its seed, derived anew: a difference is an alteration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from assay.core import document
from assay.core.errors import StudyError
from assay.plan import CONTROL, CONTROLS
from assay.plan.plan import Plan, Slot, block_order
from assay.study.designs import arms
from assay.study.file import AUTO, StudyFile, check
from assay.study.model import Absent, Arm, Study
from assay.study.read import override, read
from assay.targets import TARGETS, Target


def planned_study(
    plan: Plan, text: str, name: str = "study.toml", targets: Mapping[str, Target] = TARGETS
) -> Study:
    """The study of a plan, without the levels that its machine could not do. StudyError if this
    version of Assay, or this machine, cannot read it."""
    study = read(name, text, Path(plan.base or "."), plan.overrides, targets)
    for absent in plan.absent:
        if absent.factor in study.factors:
            study = study.without(Absent(absent.factor, absent.level, absent.why))
    return study


def planned_arms(plan: Plan, study: Study) -> list[Arm]:
    """The arms of a study, its control under the name that the plan has for it."""
    known = next((a.name for a in plan.arms if a.name in CONTROLS), CONTROL)
    return [replace(a, name=known) if a.name == CONTROL else a for a in arms(study)]


def other_arms(plan: Plan, study: Study) -> list[str]:
    """Where the cases, factors and arms of a plan are not those of its study, in words."""
    pairs: dict[str, tuple[object, object]] = {
        "cases": (
            [(c.name, c.target, c.workload) for c in plan.cases],
            [(c.name, c.target, c.workload) for c in study.cases],
        ),
        "axis": (
            None if plan.axis is None else plan.axis.model_copy(update={"cpus": 0}),
            study.axis,
        ),
        "factors": (
            {name: (f.change, f.levels) for name, f in plan.factors.items()},
            {name: (f.change.name, list(f.levels)) for name, f in study.factors.items()},
        ),
        "arms": (
            [(a.name, a.levels, a.placebo) for a in plan.arms],
            [(a.name, dict(a.levels), a.placebo) for a in planned_arms(plan, study)],
        ),
    }
    return [
        f"plan.json.{name} says {said}; the study gives {given}"
        for name, (said, given) in pairs.items()
        if said != given
    ]


def underived(plan: Plan, text: str) -> list[str]:
    """Where `plan.json` is not what the study file and the seed give, in words.

    The rule, the metrics, the times and the order of every block follow from them. Times that a
    pilot chose are not held against the file; `other_arms` has cases, factors and arms.
    """
    try:
        file = _read(plan, text)
    except StudyError as error:
        return [f"study.toml is no study for this version of Assay: {error.problems[0].message}"]
    said = plan.model_dump()
    found = [
        f"plan.json.{name} says {said[name]!r}; the study gives {given!r}"
        for name, given in _given(file).items()
        if said[name] != given
    ]
    return found + list(_disordered(plan))


def _read(plan: Plan, text: str) -> StudyFile:
    doc = document.parse("study.toml", text)
    for key, value in plan.overrides.items():
        override(doc.values, key, value)
    file, problems = check(doc)
    if problems:
        raise StudyError(doc.name, problems)
    return file


def _given(file: StudyFile) -> Mapping[str, object]:
    """By field of a plan, what the study file gives."""
    measure, decide = file.measure, file.decide
    given = {
        "study": file.name,
        "question": file.question,
        "design": file.design.kind,
        "primary": measure.primary,
        "also": list(dict.fromkeys(measure.also)),
        "smallest": decide.smallest,
        "margin": decide.margin,
        "alpha": decide.alpha,
        "budget_s": decide.budget,
        "warmup_s": measure.warmup,
        "window_s": measure.window,
        "measuring": measure.design,
    }
    return {name: value for name, value in given.items() if value != AUTO}


def _disordered(plan: Plan) -> Iterator[str]:
    """Blocks whose order is not the one that the seed draws."""
    slots = [Slot(case=case.name, arm=arm.name) for case in plan.cases for arm in plan.arms]
    for block, said in enumerate(plan.schedule):
        if said != block_order(plan.seed, block, 0, slots, plan.by_case):
            yield f"plan.json.schedule[{block}] is not the order that seed {plan.seed} draws"
            return
