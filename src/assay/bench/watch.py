"""What a study tells while it runs: the protocol that displays implement."""

from __future__ import annotations

from typing import Protocol

from assay.record import Replay, RunRecord, Step
from assay.study import Plan


class Watcher(Protocol):
    """Told everything, able to change nothing. Displays and tests implement it."""

    def started(self, plan: Plan, replay: Replay) -> None:
        """The plan is on disk; runs already made (after --resume) are in `replay`."""
        ...

    def running(self, step: Step, operations: int, spent_s: float) -> None:
        """A run began (both numbers 0), or its window goes on."""
        ...

    def ran(self, record: RunRecord, replay: Replay) -> None:
        """A run ended and is on disk."""
        ...

    def waiting(self, limit_s: float) -> None:
        """A block was void: waiting for a quiet machine, `limit_s` at most."""
        ...

    def sized(self, sentence: str) -> None:
        """The first blocks are in: what their noise means for the budget."""
        ...

    def finished(self, replay: Replay, why: str) -> None:
        """The last run is over; `why` is empty unless the study stopped early."""
        ...


class Silent:
    """A watcher that says nothing."""

    def started(self, plan: Plan, replay: Replay) -> None: ...

    def running(self, step: Step, operations: int, spent_s: float) -> None: ...

    def ran(self, record: RunRecord, replay: Replay) -> None: ...

    def waiting(self, limit_s: float) -> None: ...

    def sized(self, sentence: str) -> None: ...

    def finished(self, replay: Replay, why: str) -> None: ...
