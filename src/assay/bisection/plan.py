"""What fixes a search before its first run, as it stands in `plan.json` of its bundle."""

from __future__ import annotations

from typing import Literal

from assay.core.errors import StatisticsError
from assay.plan import PlannedMeasuring, PlannedPilot, PlannedStatistics
from assay.plan.plan import Planned
from assay.stats.constants import VERSION
from assay.stats.rule import Rule

COMMITS = "commits"
"""What is searched, where it is no factor of the study."""
FACTOR = "commit"
"""The name of the factor whose levels are commits."""


class PlannedNode(Planned):
    """One thing that can be built and measured: a commit, or a level of a factor.

    `name` is the full id of a commit, or the level; `title` what is said of it. `merged` says that
    a commit is a merge.
    """

    name: str
    title: str = ""
    merged: bool = False

    @property
    def short(self) -> str:
        """What it is called in a line: ten characters of a commit's id."""
        is_id = len(self.name) == 40 and not self.name.strip("0123456789abcdef")
        return self.name[:10] if is_id else self.name


class SearchPlan(Planned):
    """`plan.json` of a search. Times in seconds; the first node is good, the last is bad.

    `over`: "commits", or the factor of the study whose levels are searched; `repo` and `paths`: the
    repository and the folders of it that were looked at; `expected`: the smallest effect worth
    finding, as a fraction.
    """

    kind: Literal["search"] = "search"
    version: str
    study: str
    question: str
    study_sha256: str
    base: str
    overrides: dict[str, str]
    seed: int
    over: str
    repo: str
    paths: list[str]
    good: str
    bad: str
    nodes: list[PlannedNode]
    case: str
    target: str
    workload: str
    stand_in: str | None
    primary: str
    warmup_s: float
    window_s: float
    measuring: Literal["runs", "slices"]
    slice_s: float
    lead_s: float
    expected: float
    margin: float
    alpha: float
    budget_s: float
    pilot: PlannedPilot | None = None
    measured_by: PlannedMeasuring | None = None
    statistics: PlannedStatistics = PlannedStatistics()

    @property
    def rule(self) -> Rule:
        """The rule of the ends; StatisticsError where another version of the statistics decided."""
        if self.statistics.version != VERSION:
            raise StatisticsError(
                f"decided by version {self.statistics.version} of the statistics; "
                f"this is version {VERSION}",
                next_step=f"recompute it with Assay {self.version}, which made the plan",
            )
        return Rule(self.expected, self.margin, self.alpha)

    @property
    def factor(self) -> str:
        """The factor whose levels are the nodes."""
        return FACTOR if self.over == COMMITS else self.over

    @property
    def runs_budget_s(self) -> float:
        """What pilots left of the budget."""
        return self.budget_s - sum(p.took_s for p in (self.pilot, self.measured_by) if p)
