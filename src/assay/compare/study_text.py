"""The study that a comparison is, as a file that `assay run` reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.compare.question import Contender, Question
from assay.core.toml import toml_list, toml_text, toml_value
from assay.core.units import format_duration

KIND, WORKLOAD, FACTOR = "job", "to-exit", "command"


def study_text(
    asked: Question, budget_s: float, typical_s: Mapping[str, float] | None = None
) -> str:
    """The study. `typical_s`: how long an execution takes, by case; a guess where it is missing."""
    names = [c.name for c in asked.contenders]
    question = f"Which is better: {', '.join(names)}?"
    lines = [
        f"# Written by `assay compare`. {FACTOR} is the change; the first level is the baseline.",
        f"name = {toml_text('compare')}",
        f"question = {toml_text(question)}",
        "",
        *_cases(asked, typical_s or {}),
        "[measure]",
        f"primary = {toml_text(asked.primary)}",
        f"also = {toml_list(asked.also)}",
        f"warmup = {toml_text(asked.warmup)}",
        f"window = {toml_text(asked.window)}",
        f"design = {toml_text('runs')}",
        "",
        "[[factor]]",
        f"name = {toml_text(FACTOR)}",
        f"change = {toml_text('setting')}",
        "",
        "[factor.levels]",
        *(_level(c) for c in asked.contenders),
        "",
        "[design]",
        f"kind = {toml_text('arms')}",
        "",
    ]
    for name in names[1:]:
        level = f"{{ {FACTOR} = {toml_text(name)} }}"
        lines += ["[[arm]]", f"name = {toml_text(name)}", f"levels = {level}", ""]
    lines += [
        "[decide]",
        f"smallest = {toml_text(asked.smallest)}",
        f"margin = {toml_text(asked.smallest)}",
        f"budget = {toml_text(f'{budget_s:.0f}s')}   # {format_duration(budget_s)}",
    ]
    return "\n".join(lines) + "\n"


def _cases(asked: Question, typical_s: Mapping[str, float]) -> list[str]:
    cases = asked.cases()
    if cases == [{}]:
        common = _settings(asked, typical_s.get(""))
        return ["[target]", *common, "", "[workload]", f"kind = {toml_text(WORKLOAD)}", ""]
    lines = []
    for values in cases:
        name = case_name(values)
        let = f"let = {toml_list(f'{n}={v}' for n, v in values.items())}"
        common = _settings(asked, typical_s.get(name))
        lines += ["[[case]]", f"name = {toml_text(name)}", "[case.target]", *common, let]
        lines += ["[case.workload]", f"kind = {toml_text(WORKLOAD)}", ""]
    return lines


def case_name(values: Mapping[str, str]) -> str:
    """What a case of a scan is called; empty without a scan."""
    return ",".join(f"{n}={v}" for n, v in values.items())


def _settings(asked: Question, typical_s: float | None) -> list[str]:
    given: dict[str, Any] = {"kind": KIND}
    if asked.directory is not None:
        given["directory"] = str(asked.directory)
    for name in ("prepare", "between_arms", "cleanup"):
        if getattr(asked, name):
            given[name] = list(getattr(asked, name))
    if asked.value is not None:
        given |= {"value": asked.value, "unit": asked.unit, "better": asked.better}
    if asked.any_code:
        given["any_code"] = True
    given["patience"] = asked.patience
    if typical_s is not None:
        given["typical"] = f"{1000 * typical_s:.3f}ms"
    return [f"{name} = {toml_value(value)}" for name, value in given.items()]


def _level(contender: Contender) -> str:
    env = f", env = {toml_list(contender.env)}" if contender.env else ""
    return f"{toml_text(contender.name)} = {{ command = {toml_list(contender.words)}{env} }}"
