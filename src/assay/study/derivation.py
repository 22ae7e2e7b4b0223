"""What a plan has from its study file and its seed, derived anew: a difference is an alteration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.core import document
from assay.core.errors import StudyError
from assay.plan.plan import Plan, Slot, block_order
from assay.study.file import AUTO, StudyFile, check
from assay.study.read import override


def underived(plan: Plan, text: str) -> list[str]:
    """Where `plan.json` is not what the study file and the seed give, in words.

    The rule, the metrics, the times and the order of every block follow from them. Times that a
    pilot chose, and arms and levels, which need the study's targets, are not held against the file.
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
    by_case = plan.measuring == "slices"
    for block, said in enumerate(plan.schedule):
        if said != block_order(plan.seed, block, 0, slots, by_case):
            yield f"plan.json.schedule[{block}] is not the order that seed {plan.seed} draws"
            return
