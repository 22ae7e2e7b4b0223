"""What a study answers: the types of `verdicts.json`, and how they are put together.

They are pydantic models, so that the file, its JSON schema and the objects in
Python are one thing. The numbers in them are made by `ruling.py`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from assay.core.terms import Direction
from assay.plan.names import BASELINE
from assay.reasons import Reason
from assay.stats.contrast import Kind

Outcome = Literal["held", "not held", "unclear", "not measured"]
"""What became of a prediction."""

Scope = Literal["case", "suite"]
"""Whether a row is of one case or of all together."""

SUITE: Literal["suite"] = "suite"
"""The case name of verdicts over all cases: the mean of the logs, per block."""


class VerdictRecord(BaseModel):
    """The base of what `verdicts.json` is made of: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ContrastRow(VerdictRecord):
    """What is compared: `of` given a setting, against an arm."""

    kind: Kind
    of: str
    given: str
    against: str


class WitnessRow(VerdictRecord):
    """Whether every level was seen in force in every run of the contrast, and the evidence."""

    held: bool
    evidence: list[str]


class Bounded(VerdictRecord):
    """An estimate and its 95 % interval; None where nothing bounds it."""

    value: float
    low: float | None
    high: float | None


class KindRow(VerdictRecord):
    """The same comparison for one kind of request; effects are fractions, up is better.

    "helps" and "hurts" are discoveries: the share of false ones among them, over all kinds and
    comparisons of a metric, is held at the false discovery rate of the plan.
    """

    request: str
    metric: str
    word: str
    estimate: float
    low: float | None
    high: float | None
    blocks: int
    reason: str
    reasons: list[Reason]


class Row(VerdictRecord):
    """One verdict. Effects are fractions, up is better; None where nothing bounds them.

    `estimate`, `low` and `high` are of the typical run: the pseudo-median over blocks of the log
    ratio. `total` is of total work: the ratio of arithmetic means, with Student's interval at the
    same look; None before the first look, where more arms than two are compared, and in bundles of
    version 1 of the statistics.
    `reasons` are codes with their fields, `reason` is their text; bundles made before there were
    codes have the text only. `predicted` and `outcome` are of rows of kind "prediction" only:
    which way the metric was to go as measured, and what became of that. `by_kind` is of rows on the
    primary metric in one case, once the study is over.
    """

    case: str
    scope: Scope = "case"
    contrast: ContrastRow
    arm: str
    metric: str
    word: str
    strength: str
    estimate: float | None
    low: float | None
    high: float | None
    blocks: int
    total: Bounded | None = None
    effort: str | None
    dose: dict[str, float]
    witness: WitnessRow
    reason: str
    reasons: list[Reason] = []
    predicted: Direction | None = None
    outcome: Outcome | None = None
    by_kind: list[KindRow] = []

    @model_validator(mode="before")
    @classmethod
    def _as_written_before(cls, said: Any) -> Any:
        """Rows over all cases had "suite" in place of their kind, and no scope."""
        if not isinstance(said, dict) or said.get("case") != SUITE or "scope" in said:
            return said
        contrast = said["contrast"]
        if contrast["kind"] == SUITE:
            contrast = {**contrast, "kind": _kind_of_suite(contrast)}
        return {**said, "scope": SUITE, "contrast": contrast}


def _kind_of_suite(contrast: dict[str, str]) -> Kind:
    """What a row over all cases compared, by what it was compared with."""
    of, given, against = contrast["of"], contrast["given"], contrast["against"]
    if not against:
        return "interaction" if ":" in of else "main"
    if not given:
        return "change"
    climbed = given == against and (of.startswith(f"{given}+") or given == BASELINE)
    return "step" if climbed else "simple"


class Absentee(VerdictRecord):
    """A level left out because this host cannot do it."""

    factor: str
    level: str
    why: str


class PlannedSize(VerdictRecord):
    """What the noise of the first blocks means for the study's size.

    Here and below `sentence` is the text of `reasons`, which older bundles do not have.
    """

    blocks: int
    capped: bool
    noise: float
    visible: float
    sentence: str
    reasons: list[Reason] = []


class EffectRow(VerdictRecord):
    """One effect in a screen; fractions, up is better. It suggests, or it does not.

    `aliases` are the effects that these cells cannot tell it from.
    """

    name: str
    kind: str
    estimate: float
    low: float
    high: float
    suggests: bool
    given: str
    aliases: list[str]


class ScreenRow(VerdictRecord):
    """What the screen of a study found, and the arms it hands on to be confirmed."""

    blocks: int
    cells: int
    resolution: int | None
    generators: list[str]
    aliases: list[list[str]]
    effects: list[EffectRow]
    unestimable: dict[str, str]
    unestimable_reasons: dict[str, Reason] = {}
    predicted: dict[str, float]
    shortlist: list[str]
    sentence: str
    reasons: list[Reason] = []


class BeatenRow(VerdictRecord):
    """Why an arm is out of the best set: `by` is better by more than `low`, a fraction."""

    by: str
    low: float
    sentence: str
    reasons: list[Reason] = []


class BestRow(VerdictRecord):
    """The arms that may be the best, and the one that costs least.

    `out` holds the others; `pareto` lists the arms that no other beats
    in both effort and the lower bound of the gain.
    """

    inside: list[str]
    out: dict[str, BeatenRow]
    sweet_spot: str | None
    pareto: list[str]
    sentence: str
    reasons: list[Reason] = []


class ScalingRow(VerdictRecord):
    """Throughput over threads: the Universal Scalability Law fitted to every block.

    `measured` and `curve` are operations per second at each of `levels`; all estimates are None
    where the fit is refused.
    """

    case: str
    configuration: str
    blocks: int
    levels: list[int]
    measured: list[float]
    curve: list[float]
    contention: Bounded | None
    coherency: Bounded | None
    peak: Bounded | None
    refused: str
    sentence: str
    reasons: list[Reason] = []


class CurveLevelRow(VerdictRecord):
    """What an arm measured at a point, in the metric's unit: the geometric mean over its blocks.

    `low` and `high`: Student's interval of all arms and points together; no verdict is read off it.
    `reached`: operations per second, where requests were sent at a fixed rate; `saturated`: whether
    some run could not keep up with it. `value` is None for the latency of a saturated arm, which is
    that of its queue.
    """

    arm: str
    value: float | None
    low: float | None
    high: float | None
    runs: int
    reached: float | None
    saturated: bool


class CurvePointRow(VerdictRecord):
    """A point of an axis. `case`: the case that it is; `added`: by a refinement."""

    case: str
    value: float
    text: str
    added: bool
    levels: list[CurveLevelRow]


class CurveEffectRow(VerdictRecord):
    """A comparison at a point; fractions, up is better. [`low`, `high`] is the band: the intervals
    of all points and comparisons hold together. None where nothing bounds it, and where the point
    cannot be compared."""

    value: float
    text: str
    word: str
    estimate: float | None
    low: float | None
    high: float | None
    blocks: int
    reason: str


class CrossingRow(VerdictRecord):
    """Where an effect changes its sign: an estimate, and an interval that holds with the band.

    `rising`: from worse to better.
    """

    value: float
    low: float
    high: float
    rising: bool


class CurveContrastRow(VerdictRecord):
    """One comparison over all points of a curve."""

    contrast: ContrastRow
    arm: str
    effects: list[CurveEffectRow]
    crossings: list[CrossingRow]
    sentence: str
    reasons: list[Reason]


class CurveRow(VerdictRecord):
    """A case over an axis; `case` is empty where there is one."""

    case: str
    axis: str
    varies: str
    logarithmic: bool
    points: list[CurvePointRow]
    contrasts: list[CurveContrastRow]


class Verdicts(VerdictRecord):
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
    planned: PlannedSize | None
    extensions: int
    verdicts: list[Row]
    screen: ScreenRow | None
    best: BestRow | None
    scaling: list[ScalingRow]
    curves: list[CurveRow] = []
    recommended: str | None
    stopped: str
    told_apart: str
    warnings: list[str]
    warning_reasons: list[Reason] = []
    """Of each warning its code and fields; empty in bundles made before they had any."""
    end: str = ""
    """The digest that follows the last run's: how many runs there are, and why no more were made.
    Empty in bundles made before it was recorded."""

    @model_validator(mode="before")
    @classmethod
    def _as_written_before(cls, said: Any) -> Any:
        """Warnings had codes without fields."""
        return (
            {k: v for k, v in said.items() if k != "warning_codes"}
            if isinstance(said, dict)
            else said
        )
