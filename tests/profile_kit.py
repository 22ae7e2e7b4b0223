"""Profiles that a test says, in bundles of a fake study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.bench import life, profiling, study_run
from assay.plan import PlannedProfile
from assay.record import Bundle, ProfiledFunction, ProfiledStack, RunProfile
from fakes import STUDY, FakeTarget, run_fake

WANTING = STUDY.replace('also = ["latency_p99"]', 'also = ["latency_p99"]\nprofile = true')

Chains = Mapping[tuple[str, ...], int]


def profile_of(chains: Chains, **fields: Any) -> RunProfile:
    """A profile of these chains, outermost first; of 0.3 s, as the fake study's window."""
    names = list(dict.fromkeys(name for chain in chains for name in chain))
    said: dict[str, Any] = {
        "event": "cpu-clock",
        "hz": 199,
        "kernel": True,
        "seconds": 0.3,
        "late_s": 0.001,
        "samples": sum(chains.values()),
        "lost": 0,
        "cpu_s": 0.01,
        "functions": [ProfiledFunction(name=n, module="server") for n in names],
        "stacks": [
            ProfiledStack(frames=[names.index(n) for n in chain], count=count)
            for chain, count in chains.items()
        ],
    }
    return RunProfile(**said | fields)


class Told(profiling.Unprofiled):
    """A profiler that says what it is told, once its window has begun and ended."""

    def __init__(self, profile: RunProfile) -> None:
        self.profile, self.marks = profile, 0

    def telling(self, on_interval: Any) -> Any:
        def told(done: int, spent_s: float) -> None:
            self.marks += 1
            on_interval(done, spent_s)

        return told

    def begin(self) -> None:
        self.marks += 1

    def finish(self) -> RunProfile | None:
        assert self.marks == 2, "a window has two ends"
        return self.profile


def profiled_bundle(
    folder: Path,
    fake: FakeTarget,
    study: Any,
    says: Callable[[Mapping[str, Any], int], RunProfile],
    monkeypatch: pytest.MonkeyPatch,
) -> Bundle:
    """A study whose servers are profiled: `says` gives a run's profile by the server's settings and
    number."""

    @contextmanager
    def profiled(planned: PlannedProfile | None, server: Any) -> Any:
        assert planned is not None
        assert planned.possible
        yield Told(says(server.launch.settings, server.number))

    planned = PlannedProfile(hz=199, event="cpu-clock")
    monkeypatch.setattr(life, "profiled", profiled)
    monkeypatch.setattr(study_run, "planned_profile", lambda study, facts: planned)
    return run_fake(folder, fake, study)
