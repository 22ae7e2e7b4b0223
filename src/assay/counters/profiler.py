"""Sampling beside one window: a profiler, told when the window begins and ends."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay import native
from assay.core.errors import RunError
from assay.counters.window import PATIENCE_S, Reader, failed

HZ = 199
"""Samples a second of each thread's CPU time; not a round number, as other things happen by."""

NAMING_S = 60.0
"""How long naming what was sampled may take: symbol tables of large servers are read once a run."""


@dataclass(frozen=True)
class Possible:
    """How this host samples: by which event, and what it cannot, with the reason."""

    event: str
    absent: Mapping[str, str]


def profilable(facts: Mapping[str, Any]) -> Possible:
    """What of a profile can be had here, found out by opening one of this very process."""
    session = native.Session("profile", _request(os.getpid(), _has_pmu(facts), check_only=True))
    try:
        manifest = Reader(session).manifest()
    except RunError as error:
        # A process that hangs in opening events cannot be ended, and is left alone.
        return Possible("", {"profile": f"it could not be opened: {error.message}"})
    session.stop()
    return Possible(manifest["event"] or "", manifest["absent"])


def _has_pmu(facts: Mapping[str, Any]) -> bool:
    """Events of the processor are asked for only where the facts found that one can be opened."""
    return bool(facts.get("can", {}).get("pmu", {}).get("ok"))


def _request(pid: int, hardware: bool, **more: Any) -> dict[str, Any]:
    return {"pid": pid, "hz": HZ, "hardware": hardware, **more}


class Profiling:
    """One profiler beside one run, begun when its server is there."""

    def __init__(self, pid: int, hardware: bool) -> None:
        self._session = native.Session("profile", _request(pid, hardware), keep_open=True)
        self._reader = Reader(self._session)
        self._asked_s = 0.0

    def mark(self) -> None:
        """The window begins here, or ends here unless another mark follows."""
        self._asked_s = self._asked_s or time.monotonic()
        self._session.say("mark")

    def finish(self) -> tuple[native.ProfileResult, float]:
        """End it while the server is still there: what was sampled between the first mark and the
        last, and how late the first was, in seconds. RunError if it could not begin, or ended by
        itself."""
        self._session.say(None)
        self._reader.join(NAMING_S)
        late = self._reader.is_alive()
        self._session.stop(PATIENCE_S)
        if late:
            raise RunError(f"sampling during the run failed: naming took over {NAMING_S:.0f} s")
        if self._reader.error is not None:
            raise failed("sampling", self._reader.error)
        result = self._reader.heard[-1]
        assert isinstance(result, native.ProfileResult)
        return result, result.began_s - self._asked_s

    def stop(self) -> None:
        """End it, whatever state it is in. Safe to call twice."""
        self._session.stop()
