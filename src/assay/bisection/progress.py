"""What a search tells while it runs: the protocol that displays implement."""

from __future__ import annotations

from typing import Protocol

from assay.bench import Silent, Watcher
from assay.bisection.lines import Entry
from assay.bisection.plan import SearchPlan
from assay.bisection.replay import NextRun, SearchReplay


class SearchWatcher(Watcher, Protocol):
    """A watcher of studies, which a pilot tells, that is told of a search too."""

    def searching(self, plan: SearchPlan, replay: SearchReplay) -> None:
        """The plan is on disk; lines already there (after --resume) are in `replay`."""
        ...

    def building(self, name: str, replay: SearchReplay | None) -> None:
        """A node is being built; there is no replay before there is a plan."""
        ...

    def step_running(self, step: NextRun, replay: SearchReplay, spent_s: float) -> None:
        """A run began, or its window goes on."""
        ...

    def step_done(self, entry: Entry, replay: SearchReplay) -> None:
        """A build or a run ended and is on disk."""
        ...

    def over(self, replay: SearchReplay) -> None:
        """Nothing more is to be done, or it was stopped."""
        ...


class SilentSearch(Silent):
    """One that says nothing."""

    def searching(self, plan: SearchPlan, replay: SearchReplay) -> None: ...

    def building(self, name: str, replay: SearchReplay | None) -> None: ...

    def step_running(self, step: NextRun, replay: SearchReplay, spent_s: float) -> None: ...

    def step_done(self, entry: Entry, replay: SearchReplay) -> None: ...

    def over(self, replay: SearchReplay) -> None: ...
