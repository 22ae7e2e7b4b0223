"""A study to begin with: commented, and one that can be run as it is."""

from __future__ import annotations

from dataclasses import dataclass

from assay.changes import Change
from assay.study.designs import arms
from assay.study.model import Study
from assay.study.phases import least_runs
from assay.targets import TARGETS, Target
from assay.workloads import WORKLOADS


@dataclass(frozen=True)
class Sketch:
    """What a new study is about. `budget` as a study file has it."""

    target: Target
    workload: str
    change: Change
    budget: str


def template(sketch: Sketch) -> str:
    """The study file of a sketch."""
    kind, change = sketch.target.kind, sketch.change
    off, on = (_value(change, level) for level in (change.off, change.on))
    name = f"{kind}-{change.name.partition('.')[2] or change.name}".replace("_", "-")
    return f'''# Every key: docs/studies.md. What may stand here: `assay list targets {kind}`,
# `assay list workloads {sketch.workload}`, `assay list changes --target {kind}`.
name = "{name}"
question = "Does {change.name} make {kind} faster in {sketch.workload}?"

[target]
kind = "{kind}"              # further keys: settings that all arms share

[workload]
kind = "{sketch.workload}"   # {WORKLOADS[sketch.workload].text}

[measure]
primary = "throughput"       # the one metric that gets verdicts
warmup = "1s"                # or "auto": a pilot finds out how long
window = "2s"                # or "auto"

[[factor]]
name = "{change.name.rpartition(".")[2]}"
change = "{change.name}"     # {change.text}
off = {off}
on = {on}

[design]
kind = "one-at-a-time"       # more factors: a table [[factor]] for each; or factorial, ladder, ...

[decide]
smallest = "2%"              # the smallest effect worth having: half of it costs four times as long
margin = "2%"                # the largest difference that counts as none
budget = "{sketch.budget}"
'''


def least_s(study: Study) -> float:
    """Seconds before anything can be decided, by the targets' own guesses."""
    made = arms(study)
    each = [
        TARGETS[case.target].seconds(study.launch(case, arm, seed=0))
        for case in study.opening
        for arm in made
    ]
    return sum(each) / len(each) * least_runs(study, made) * len(study.opening)


def _value(change: Change, level: str) -> str:
    """A level as TOML has it: a number where the change takes numbers."""
    number = change.numeric_setting is not None and not change.sized
    return level if number else f'"{level}"'
