"""The pilot as the plan records it: its runs, its cost, and what it found."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from assay.reasons import Code, Reason


class Piloted(BaseModel):
    """The base of what a plan says about its pilot: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PilotedArm(Piloted):
    """One arm in one case. Variances are relative, of the primary metric in one interval or run.

    `cuts_s`: where each run became steady; `settled`: whether that was seen, in most of the runs;
    `inside_variance`: of one interval, so that n of them have 1/n of it; `between_variance`: of
    whole runs, beyond what their intervals explain.
    """

    arm: str
    cuts_s: list[float]
    settled: bool
    inside_variance: float
    between_variance: float


class PilotedCase(Piloted):
    """One case: noise as contrasts see it (blocks and arms taken out), and what follows from it.

    `overhead_s`: what a run takes beside warm-up and window; `intervals`: how many make the
    cheapest window.
    """

    case: str
    inside_variance: float
    between_variance: float
    overhead_s: float
    intervals: int
    arms: list[PilotedArm]


class PlannedPilot(Piloted):
    """`pilot` in `plan.json`. Times in seconds; `chosen` names what the plan took from it."""

    chosen: list[str]
    runs: int
    took_s: float
    length_s: float
    interval_s: float
    warmup_s: float
    window_s: float
    cases: list[PilotedCase]

    @property
    def unsettled(self) -> list[str]:
        """Arms that were still changing when the longest pilot ended."""
        return list(dict.fromkeys(a.arm for c in self.cases for a in c.arms if not a.settled))

    @property
    def warning(self) -> Reason | None:
        """What the pilot could not see."""
        if not self.unsettled:
            return None
        return Reason.of(Code.PILOT_UNSETTLED, arms=tuple(self.unsettled), length_s=self.length_s)

    @property
    def overhead_s(self) -> float:
        """What a run takes beside warm-up and window, on average."""
        return sum(c.overhead_s for c in self.cases) / len(self.cases)

    @property
    def last_cut_s(self) -> float:
        """When the slowest run became steady."""
        return max(cut for c in self.cases for a in c.arms for cut in a.cuts_s)
