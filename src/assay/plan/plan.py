"""The plan: everything that is fixed before the first run, as it stands in `plan.json`.

A plan is enough to go on with a killed study and to recompute its verdicts: the
arms, the whole schedule, the seed and the rule. Nothing in it depends on a
measurement that counts: warm-up and window may come from a pilot, which it shows.
"""

from __future__ import annotations

import random
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, model_validator

from assay.core.errors import StatisticsError
from assay.core.terms import Direction
from assay.plan.measuring import LEAD_S, LEAST_ROUNDS, Measuring, PlannedMeasuring
from assay.plan.phases import PlannedAxis, PlannedScaling, PlannedScreen
from assay.plan.pilot import PlannedPilot
from assay.stats.constants import COMPUTABLE, STANDARD, VERSION, VERSIONS, Constants
from assay.stats.rule import Rule

MAX_BLOCKS = 400
"""Blocks written down beforehand; the budget ends a study long before."""


NAMES_KEPT = 200
"""Names of functions in which two builds differ; a compiler or a flag may change thousands."""

MAX_SLOTS = 40_000
"""Runs written down beforehand, where many arms would make 400 blocks unwieldy."""


class Planned(BaseModel):
    """The base of the plan's parts: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedFactor(Planned):
    change: str
    levels: list[str]
    effort: str
    dose_unit: str | None
    predicts: dict[str, dict[str, Direction]] = {}
    """Of each level but the first: which way metrics should go, as measured, against the first."""
    mechanism: str = ""
    """The share of time in what the change would take away: a metric, or a family of them."""


class PlannedArm(Planned):
    name: str
    levels: dict[str, str]
    effort: str | None
    placebo: bool


class PlannedCase(Planned):
    name: str
    target: str
    workload: str
    stand_in: str | None
    attached: str = ""
    """The address of a server that ran already, and was not private; empty for one of ours."""


class PlannedAbsent(Planned):
    factor: str
    level: str
    why: str


class PlannedBuild(Planned):
    """An executable that was made for a level, and all that its contents follow from."""

    factor: str
    level: str
    recipe: str
    arm: str
    sha256: str
    version: str
    source_sha256: str
    compiler: str
    flags: str


class PlannedDifference(Planned):
    """In which functions and data a build differs from the baseline's, by name.

    At most `NAMES_KEPT` names of each kind are kept; `counts` has how many there are. `functions`
    is how many functions the baseline's build has; `numbers` are changed in numbers alone.
    """

    functions: int
    counts: dict[str, int]
    added: list[str] = []
    removed: list[str] = []
    changed: list[str] = []
    numbers: list[str] = []
    data: list[str] = []


class PlannedVariation(Planned):
    """A build that arms run: what it was made of, and how it differs from the baseline's.

    `mark` begins the build id of all its links; `code` is a digest of the functions and data of
    its objects; `layout` tells whether each block links it anew in another order.
    """

    arms: list[str]
    program: str
    variation: str
    layout: str
    mark: str
    code: str
    source: str
    source_sha256: str
    commit: str
    compiler: str
    flags: str
    size_bytes: int
    build_s: float
    warnings: int
    without_network: bool
    patches: dict[str, str] = {}
    """The texts of patches, by the name of their file."""
    differs: PlannedDifference | None = None


class PlannedNetwork(Planned):
    """Server and client were two hosts of one machine, joined by queues."""

    queues: int


class PlannedServer(Planned):
    """An executable that was here already: whose it is ("target redis", "factor=level"), and what
    it was."""

    of: str
    sha256: str
    version: str


class PlannedCounters(Planned):
    """What is counted beside each run, and what of it cannot be counted here, with the reason."""

    groups: list[str] = []
    absent: dict[str, str] = {}


class PlannedProfile(Planned):
    """How the server is sampled over each window: so many times a second of each thread's CPU time.

    `absent`: what of it cannot be had here, with the reason; under "profile" where nothing can.
    """

    hz: int
    event: str
    absent: dict[str, str] = {}

    @property
    def possible(self) -> bool:
        """Whether runs are sampled at all."""
        return "profile" not in self.absent


class PlannedStatistics(Planned):
    """The statistics that decide the study: their version, and every constant of it.

    The constants of a version that this Assay does not know are kept as they were written.
    """

    version: int = VERSION
    constants: Constants | dict[str, JsonValue] = STANDARD

    @model_validator(mode="before")
    @classmethod
    def _as_written_before(cls, said: Any) -> Any:
        """Constants that a version did not write down have the values that it had."""
        known = VERSIONS.get(said.get("version", VERSION)) if isinstance(said, dict) else None
        given = said.get("constants") if known is not None else None
        if known is None or not isinstance(given, dict):
            return said
        try:
            return {**said, "constants": Constants.model_validate(known.model_dump() | given)}
        except ValidationError:
            return said


class Slot(Planned):
    """One place in a block's order."""

    case: str
    arm: str


class Plan(Planned):
    """`plan.json`. Times in seconds; `schedule[b]` is block b's order of all arms.

    `base` is the folder that paths of executables start at, where the study names any.
    """

    version: str
    study: str
    question: str
    source: str
    study_sha256: str
    base: str
    overrides: dict[str, Any]
    seed: int
    design: str
    order: list[str]
    primary: str
    also: list[str]
    warmup_s: float
    window_s: float
    smallest: float
    margin: float
    alpha: float
    budget_s: float
    full: bool
    screen: PlannedScreen | None
    scaling: PlannedScaling | None
    factors: dict[str, PlannedFactor]
    cases: list[PlannedCase]
    arms: list[PlannedArm]
    absent: list[PlannedAbsent]
    schedule: list[list[Slot]]
    pilot: PlannedPilot | None = None
    builds: list[PlannedBuild] = []
    variations: list[PlannedVariation] = []
    servers: list[PlannedServer] = []
    counters: PlannedCounters = PlannedCounters()
    profile: PlannedProfile | None = None
    network: PlannedNetwork | None = None
    measuring: Measuring = "runs"
    slice_s: float = 0.1
    """Where runs are made of slices: how long one is, and how much of its beginning counts not."""
    lead_s: float = LEAD_S
    measured_by: PlannedMeasuring | None = None
    """None where the study file says how."""
    statistics: PlannedStatistics | None = None
    """None in plans made before version 1 of the statistics was called so."""
    axis: PlannedAxis | None = None

    @property
    def runs_budget_s(self) -> float:
        """What pilots left of the budget."""
        piloted = (self.pilot, self.measured_by)
        return self.budget_s - sum(found.took_s for found in piloted if found)

    @property
    def constants(self) -> Constants:
        """The constants that decide the study; StatisticsError where they cannot be given."""
        said = self.statistics
        if said is None:
            return VERSIONS[1]
        if said.version in COMPUTABLE and isinstance(said.constants, Constants):
            return said.constants
        raise StatisticsError(
            f"decided by version {said.version} of the statistics; this is version {VERSION}",
            next_step=f"recompute it with Assay {self.version}, which made the plan",
        )

    @property
    def rule(self) -> Rule:
        """The decision rule. Raises as `constants`."""
        fixed = self.constants
        return Rule(
            self.smallest,
            self.margin,
            self.alpha,
            reserve=fixed.reserve,
            equivalence=fixed.equivalence,
            constants=fixed,
        )

    @property
    def rounds(self) -> int:
        """How many slices each arm has in a window."""
        return rounds_of(self.window_s, self.slice_s)

    @property
    def by_case(self) -> bool:
        """Whether the arms of a case stand together in a block: because they live side by side, or
        because a case is a point of an axis, and its arms are compared with each other alone."""
        return self.measuring == "slices" or self.axis is not None

    @property
    def has_suite(self) -> bool:
        """Whether there is a verdict over all cases; the points of an axis have none."""
        return len(self.cases) > 1 and self.axis is None

    @property
    def baseline(self) -> str:
        """The arm that others are compared with."""
        return self.arms[0].name


def block_order(
    seed: int, block: int, attempt: int, slots: list[Slot], by_case: bool = False
) -> list[Slot]:
    """One block's random order: a uniform permutation drawn from seed, block and attempt.

    `by_case`: the arms of a case stand together, and the cases are in a random order.

    The slots are sorted first, so that the order in which a study file lists
    its arms changes nothing. Restricted to the arms still live it is a uniform
    permutation of those.
    """
    ordered = sorted(slots, key=lambda s: (s.case, s.arm))
    random.Random(f"assay {seed} block {block} attempt {attempt}").shuffle(ordered)
    if by_case:
        cases = list(dict.fromkeys(slot.case for slot in ordered))
        ordered.sort(key=lambda slot: cases.index(slot.case))
    return ordered


def rounds_of(window_s: float, slice_s: float) -> int:
    """How many slices each arm has in a window."""
    return max(LEAST_ROUNDS, round(window_s / slice_s))


def turns(
    seed: int, case: str, block: int, attempt: int, arms: int, rounds: int
) -> tuple[int, ...]:
    """The arm of each slice of a case's block: every round a uniform permutation of all arms."""
    drawn = random.Random(f"assay {seed} turns {case} block {block} attempt {attempt}")
    return tuple(arm for _ in range(rounds) for arm in drawn.sample(range(arms), arms))


def workload_seed(seed: int, block: int) -> int:
    """The seed of the load's inputs: the same for every run of a block, new in each block."""
    return random.Random(f"assay {seed} workload {block}").getrandbits(63)
