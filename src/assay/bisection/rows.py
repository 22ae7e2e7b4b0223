"""What a search found, as it stands in `found.json`: numbers and codes, for people and programs."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

AnswerWord = Literal["named", "range", "same", "no difference", "undecided", "stopped"]


class FoundRow(BaseModel):
    """The base of what is found: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FoundCulprit(FoundRow):
    """A confirmed change: it came after node `after`, with node `node` at the latest.

    `unbuilt`: nodes between the two, none of which builds; empty where `node` alone is to blame.
    `estimate`, `low`, `high`: of `node` against `after`, as fractions, up is better, by fresh
    blocks. `share`: of the difference of the ends, by the estimates.
    """

    node: int
    name: str
    title: str
    after: int
    after_name: str
    unbuilt: list[int]
    merged: bool
    estimate: float
    low: float
    high: float
    blocks: int
    share: float | None
    functions: list[str]
    differing: int
    """How many functions and data differ between the two; `functions` names the first of them."""


class FoundRange(FoundRow):
    """A range with a change that was not pinned down: after `after`, with `node` at the latest."""

    after: int
    node: int
    after_name: str
    name: str
    why: Literal["unclear", "unconfirmed", "stopped"]


class FoundStage(FoundRow):
    """One thing that was asked. Effects are fractions against the earlier node, up is better:
    of the middle where there is one, and then `right_*` of the later end against the middle."""

    kind: Literal["ends", "step", "same", "pair"]
    after: int
    node: int
    middle: int | None
    answer: str
    blocks: int
    planned: int | None
    estimate: float | None
    low: float | None
    high: float | None
    right_estimate: float | None
    right_low: float | None
    right_high: float | None
    error: float
    """Of its false answers, on one side."""


class FoundNode(FoundRow):
    """A node that was touched. `level` is its speed against the good end, as a fraction."""

    node: int
    name: str
    title: str
    built: bool
    reason: str
    level: float | None


class Found(FoundRow):
    """`found.json`. `end` is chained to the last line."""

    answer: AnswerWord
    over: str
    primary: str
    better: bool | None
    """Whether the bad end is faster; None where the ends are not told apart."""
    ends: FoundStage | None
    culprits: list[FoundCulprit]
    ranges: list[FoundRange]
    stages: list[FoundStage]
    nodes: list[FoundNode]
    searched: int
    builds: int
    unbuilt: int
    runs: int
    took_s: float
    stopped: str
    end: str
