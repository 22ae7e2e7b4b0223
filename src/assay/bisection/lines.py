"""The lines of a search's `runs.jsonl`: what was built and what was run, in order, chained."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from assay.record.run import Recorded, RunRecord


class BuildLine(Recorded):
    """One node, built or not.

    `code` is one digest of all that the build could do differently: equal codes are one node.
    `seconds` is what the build took when it was made, `took_s` what it took now.
    """

    kind: Literal["build"] = "build"
    node: int
    status: Literal["ok", "failed"]
    reason: str
    code: str
    sha256: str
    seconds: float
    started: str
    took_s: float
    digest: str = ""


class RunLine(Recorded):
    """One run, as studies record it; `stage` is what it was made for, `node` what ran."""

    kind: Literal["run"] = "run"
    stage: int
    node: int
    run: RunRecord
    digest: str = ""

    @property
    def took_s(self) -> float:
        return self.run.took_s


class DifferenceLine(Recorded):
    """What a confirmed culprit changed: functions and data whose contents differ from those of the
    node before. Where there are more than `DIFFERENCES_KEPT`, `count` says how many."""

    kind: Literal["difference"] = "difference"
    after: int
    node: int
    names: list[str]
    count: int
    digest: str = ""

    @property
    def took_s(self) -> float:
        return 0.0


DIFFERENCES_KEPT = 50

Entry = BuildLine | RunLine | DifferenceLine
SearchLine = Annotated[Entry, Field(discriminator="kind")]
LINES: TypeAdapter[Entry] = TypeAdapter(SearchLine)
