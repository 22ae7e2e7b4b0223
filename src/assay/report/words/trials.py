"""What came of a candidate: the trial beside its bound, and what changed between two looks."""

from __future__ import annotations

from collections.abc import Iterator

from assay.core.units import format_percent
from assay.diagnosis import Candidate, Diagnosis, Trial
from assay.report.words.diagnosed import gain


def trial_sentence(trial: Trial) -> str:
    """What was measured, and whether the bound holds."""
    if trial.why:
        return f"{trial.candidate} was not measured: {trial.why}"
    ends = (trial.low, trial.high)
    interval = ", ".join("unbounded" if end is None else format_percent(end) for end in ends)
    effect = "" if trial.effect is None else f"{format_percent(trial.effect)} "
    return f"{trial.level}: {trial.word}, {effect}[{interval}]; {_of_bound(trial)}"


def _of_bound(trial: Trial) -> str:
    if trial.bound is None:
        return "nothing bounded it"
    bound = f"the bound was {format_percent(trial.bound)}"
    if trial.holds is None:
        return bound
    return f"{bound} and holds" if trial.holds else f"{bound} and does not hold"


def news(before: Diagnosis, now: Diagnosis) -> Iterator[str]:
    """What stands otherwise than at the look before, candidates in their order."""
    then = {c.name: c for c in before.candidates}
    for candidate in now.candidates:
        old = then.get(candidate.name)
        if old is None or old.standing != candidate.standing:
            yield _changed(old, candidate)
    here = {c.name for c in now.candidates}
    for name in then:
        if name not in here:
            yield f"{name}: gone"


def _changed(old: Candidate | None, now: Candidate) -> str:
    was = f" (was: {old.standing})" if old else ""
    most = gain(now)
    return f"{now.name}: {now.standing}{was}{', ' + most if most else ''}"
