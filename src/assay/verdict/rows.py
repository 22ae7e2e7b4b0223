"""What a study answers: the types of `verdicts.json`, and how they are put together.

They are pydantic models, so that the file, its JSON schema and the objects in
Python are one thing. The numbers in them are made by `ruling.py`.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

SUITE = "suite"
"""The case name of verdicts over all cases: the mean of the logs, per block."""


class Frozen(BaseModel):
    """The base of what `verdicts.json` is made of: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ContrastRow(Frozen):
    """What is compared: `of` given a setting, against an arm."""

    kind: str
    of: str
    given: str
    against: str


class WitnessRow(Frozen):
    """Whether every level was seen in force in every run of the contrast, and the evidence."""

    held: bool
    evidence: list[str]


class Row(Frozen):
    """One verdict. Effects are fractions, up is better; None where nothing bounds them."""

    case: str
    contrast: ContrastRow
    arm: str
    metric: str
    word: str
    strength: str
    estimate: float | None
    low: float | None
    high: float | None
    blocks: int
    effort: str | None
    dose: dict[str, float]
    witness: WitnessRow
    reason: str


class Absentee(Frozen):
    """A level left out because this host cannot do it."""

    factor: str
    level: str
    why: str


class Planned(Frozen):
    """What the noise of the first blocks means for the study's size."""

    blocks: int
    capped: bool
    noise: float
    visible: float
    sentence: str


class Verdicts(Frozen):
    """`verdicts.json`, and what `assay run --json` prints."""

    study: str
    primary: str
    baseline: str
    blocks: int
    runs: int
    voids: dict[str, int]
    failures: dict[str, int]
    stand_ins: list[str]
    absent: list[Absentee]
    planned: Planned | None
    verdicts: list[Row]
    recommended: str | None
    stopped: str
    warnings: list[str]
