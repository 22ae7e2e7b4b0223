"""What a study tells while it runs: the protocol that displays implement."""

from __future__ import annotations

from typing import Protocol

from assay.plan import Plan, PlannedMeasuring, PlannedPilot
from assay.record import Replay, RunRecord, Step


class Watcher(Protocol):
    """Told everything; asked once whether to go on. Displays and tests implement it."""

    def piloting(self, done: int, total: int, left_s: float) -> None:
        """A pilot goes on, before there is a plan: `done` of `total` runs, a guess of the rest."""
        ...

    def piloted(self, found: PlannedPilot | None) -> None:
        """The pilot is over: what it found, or None where it was cut off."""
        ...

    def chosen(self, found: PlannedMeasuring) -> None:
        """How the arms will be measured, where the study left that to a pilot."""
        ...

    def started(self, plan: Plan, replay: Replay) -> None:
        """The plan is on disk; runs already made (after --resume) are in `replay`."""
        ...

    def running(self, step: Step, operations: int, spent_s: float) -> None:
        """A run began (both numbers 0), or its window goes on."""
        ...

    def ran(self, record: RunRecord, replay: Replay) -> None:
        """A run ended and is on disk."""
        ...

    def waiting(self, foreign_cpus: float, spent_s: float, limit_s: float) -> None:
        """A block was void, and others take so many CPUs: told again and again, until the machine
        is quiet or `limit_s` are over."""
        ...

    def sized(self, sentence: str, capped: bool) -> bool:
        """The first blocks are in: what their noise means for the budget, and whether that is
        less than the study needs. False ends the study here."""
        ...

    def finished(self, replay: Replay, why: str) -> None:
        """The last run is over; `why` is empty unless the study stopped early."""
        ...


class Silent:
    """A watcher that says nothing."""

    def piloting(self, done: int, total: int, left_s: float) -> None: ...

    def piloted(self, found: PlannedPilot | None) -> None: ...

    def chosen(self, found: PlannedMeasuring) -> None: ...

    def started(self, plan: Plan, replay: Replay) -> None: ...

    def running(self, step: Step, operations: int, spent_s: float) -> None: ...

    def ran(self, record: RunRecord, replay: Replay) -> None: ...

    def waiting(self, foreign_cpus: float, spent_s: float, limit_s: float) -> None: ...

    def sized(self, sentence: str, capped: bool) -> bool:
        return True

    def finished(self, replay: Replay, why: str) -> None: ...
