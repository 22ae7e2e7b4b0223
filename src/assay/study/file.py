"""The study file's shape: which keys there are, of which type, with which unit.

Only what one key can be wrong about is checked here; whether the whole makes
sense is `study.read`. Every mistake found carries its line and column.
"""

from __future__ import annotations

import copy
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from assay.core.document import Document, Path
from assay.core.errors import Problem, StudyError
from assay.core.parameters import nearest
from assay.core.units import parse_duration, parse_percent

Duration = Annotated[float, BeforeValidator(parse_duration)]
Percent = Annotated[float, BeforeValidator(parse_percent)]
AUTO: Literal["auto"] = "auto"
"""What stands for a time that a pilot is to choose."""


def _duration_or_auto(text: object) -> object:
    try:
        return AUTO if text == AUTO else parse_duration(text)
    except ValueError as error:
        raise ValueError(f'{error}, or "{AUTO}" to let a pilot choose') from None


def _name(text: str) -> str:
    if not (0 < len(text) <= NAME_LENGTH and text.isprintable()):
        raise ValueError(f"should be 1 to {NAME_LENGTH} characters that can be printed")
    return text


def _level_names(levels: Any) -> Any:
    for level in levels or ():
        if isinstance(level, str):
            _name(level)
    return levels


NAME_LENGTH = 80
Name = Annotated[str, AfterValidator(_name)]
Pilotable = Annotated[float | Literal["auto"], BeforeValidator(_duration_or_auto)]
Effort = Literal["A", "B", "C", "D", "E", "F"]


class StudyTable(BaseModel):
    """The base of every table: unknown keys are mistakes, types are not bent."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class OpenSection(BaseModel):
    """A table whose further keys depend on its `kind`."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    kind: str

    @property
    def further(self) -> dict[str, Any]:
        """The keys beside `kind`."""
        return dict(self.__pydantic_extra__ or {})


class CaseSection(StudyTable):
    name: Name
    target: OpenSection
    workload: OpenSection


class MeasureSection(StudyTable):
    primary: str
    warmup: Pilotable = 0.5
    window: Pilotable
    also: list[str] = []
    counters: list[str] = []
    profile: bool = False
    timeline: bool = False
    promise: str | None = None
    design: Literal["auto", "slices", "calibrated", "runs"] = "auto"
    slice: Duration | None = None


class FactorSection(StudyTable):
    name: Name
    change: str
    off: Any = None
    on: Any = None
    levels: Annotated[dict[str, Any] | list[Any] | None, AfterValidator(_level_names)] = None
    absent: Literal["error", "skip"] = "error"
    effort: Effort | None = None
    predicts: dict[str, Literal["up", "down", "same"]] | None = None
    requires: list[str] = []
    setting: str | None = None
    variable: str | None = None
    touches: list[str] | None = None
    machine: Literal["x86_64", "aarch64"] | None = None
    device: str | None = None


class AxisSection(StudyTable):
    name: Name
    varies: str | None = None
    points: Any = None
    first: Any = Field(None, alias="from")
    last: Any = Field(None, alias="to")
    steps: Annotated[int, Field(ge=2, le=32)] | None = None
    spacing: Literal["log", "linear"] | None = None
    extra: Annotated[int, Field(ge=1, le=8)] | None = None
    usl: bool = False


class ArmSection(StudyTable):
    name: Name
    levels: dict[str, Any] = {}
    placebo: bool = False


class DesignSection(StudyTable):
    kind: Literal[
        "arms", "one-at-a-time", "ladder", "factorial", "sweep", "screen", "race", "scaling"
    ]
    order: list[str] | None = None
    factor: str | None = None
    compare: str | None = None
    size: Annotated[int, Field(ge=4, le=256)] | None = None
    blocks: Annotated[int, Field(ge=3, le=60)] | None = None
    control: bool | None = Field(None, validation_alias=AliasChoices("control", "sentinel"))
    """By its second name in studies of bundles made before it had the first."""


class DecideSection(StudyTable):
    smallest: Percent = 0.02
    margin: Percent = 0.02
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    budget: Duration = 600.0


class NetworkSection(StudyTable):
    hosts: Literal["one", "two"] = "two"
    queues: Annotated[int, Field(ge=1, le=64)] = 1


class StudyFile(StudyTable):
    name: str
    question: str
    source: str | None = None
    target: OpenSection | None = None
    workload: OpenSection | None = None
    case: list[CaseSection] | None = None
    measure: MeasureSection
    factor: list[FactorSection] = []
    arm: list[ArmSection] = []
    axis: list[AxisSection] = []
    design: DesignSection
    decide: DecideSection = DecideSection()
    network: NetworkSection | None = None
    build: dict[str, Any] | None = None


STAND_INS = {"name": "?", "question": "?", "primary": "throughput", "window": "100ms"}
"""What takes the place of a required key that is wrong, so that the reading can go on."""


def check(document: Document) -> tuple[StudyFile, list[Problem]]:
    """The document as a StudyFile, and every mistake of shape in it.

    With mistakes the StudyFile has defaults and stand-ins in their places: good
    enough to find more mistakes in the same pass, not to run. StudyError when
    even that cannot be had.
    """
    try:
        return StudyFile.model_validate(document.values), []
    except ValidationError as error:
        mistakes = error.errors()
    problems = [_translate(document, e) for e in mistakes]
    values = copy.deepcopy(document.values)
    for mistake in mistakes:
        _mend(values, _path(mistake))
    try:
        return StudyFile.model_validate(values), problems
    except ValidationError as error:
        raise StudyError(document.name, problems) from error


def _mend(values: Any, path: Path) -> None:
    """Take a wrong value out, or put its stand-in there."""
    *parents, key = path
    for part in parents:
        reachable = isinstance(values, dict | list) and (
            part in values
            if isinstance(values, dict)
            else isinstance(part, int) and part < len(values)
        )
        if not reachable:
            return
        values = values[part]
    if isinstance(values, dict):
        values.pop(key, None)
        if key in STAND_INS:
            values[key] = STAND_INS[key]


def _path(error: Any) -> Path:
    return tuple(p for p in error["loc"] if not _is_union_tag(p))


def _translate(document: Document, error: Any) -> Problem:
    path = _path(error)
    key, kind = str(path[-1]) if path else "", error["type"]
    around = ".".join(str(p) for p in path[:-1] if not isinstance(p, int)) or "the top level"
    known = _keys_at(path[:-1])
    if kind == "extra_forbidden":
        message = f"unknown key {key!r} in {around}{nearest(key, known)}"
        return document.problem(path, message, f"allowed here: {', '.join(known)}")
    if kind == "missing":
        message = f"{key!r} is missing in {around}"
        return document.problem(path[:-1], message, f"add {key} = ...; {_example(key)}")
    said = error["msg"].removeprefix("Value error, ").replace("Input should be", "should be")
    return document.problem(path, f"{key}: {said}", f"correct it; {_example(key)}")


def _is_union_tag(part: str | int) -> bool:
    """Pydantic puts the alternatives of a union into a path; they are no keys."""
    return isinstance(part, str) and ("[" in part or part in ("dict", "list"))


_EXAMPLES = {
    "primary": 'for example primary = "throughput"',
    "window": 'for example window = "500ms", or window = "auto"',
    "warmup": 'for example warmup = "200ms", or warmup = "auto"',
    "budget": 'for example budget = "10min"',
    "smallest": 'for example smallest = "2%"',
    "margin": 'for example margin = "2%"',
    "alpha": "for example alpha = 0.05",
    "kind": "`assay list` shows every kind",
    "change": "`assay list changes` shows every change",
    "measure": 'a [measure] table with primary = "throughput" and window = "500ms"',
    "design": 'a [design] table with kind = "one-at-a-time"',
}


def _example(key: str) -> str:
    return _EXAMPLES.get(key, "docs/studies.md describes every key")


def _keys_at(path: Path) -> list[str]:
    """The keys that the table at a path may have."""
    model: type[BaseModel] = StudyFile
    for part in path:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part)
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return []
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found:
            return found
    return None
