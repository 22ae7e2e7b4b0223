"""The agent: Assay as it runs on one machine, asked by verbs.

It does not know who asks: its own process below a keeper (`agent_process.py`), or a test in the
same process. What has to be arranged around it (Ray is stopped, a window is quiet) it is given.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.bench.life import Quiet, nothing_to_quieten
from assay.bench.machine_runs import MachineSeams
from assay.core.errors import InputError
from assay.fleet import rays
from assay.fleet.clean_start import leftovers
from assay.fleet.host_study import HostStudies
from assay.host import host_facts

LONGEST_IDLE_S = 10.0


class AgentHello(BaseModel):
    """Who an agent is. `machine` is the kernel's architecture; `facts` are those of the host, as a
    bundle has them; `leftovers` is what of Ray's it could not take back."""

    model_config = ConfigDict(frozen=True)

    version: str
    python: str
    machine: str
    boot: str
    user: int
    leftovers: list[str]
    facts: dict[str, Any]

    @property
    def is_emulated(self) -> bool:
        """Whether its `assayer` is of another architecture than the kernel: no time counts."""
        return str(self.facts["arch"]) != self.machine


class AgentClock(BaseModel):
    """What the clocks of a host show, in ns."""

    model_config = ConfigDict(frozen=True)

    wall_ns: int
    monotonic_ns: int


class IdleRequest(BaseModel):
    """For how long to look at Ray's processes, and whether they are stopped meanwhile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: float
    stopped: bool = False


class Agent:
    """The verbs. `rays` gives Ray's processes here; `quiet` stops them; `facts` are the host's."""

    def __init__(
        self,
        rays: Callable[[], list[int]] = lambda: [],
        quiet: Quiet = nothing_to_quieten,
        facts: Callable[[], dict[str, Any]] = host_facts,
        sleep: Callable[[float], object] = time.sleep,
        seams: MachineSeams | None = None,
    ) -> None:
        self._rays, self._quiet, self._facts, self._sleep = rays, quiet, facts, sleep
        self._studies = HostStudies(seams or MachineSeams(quiet=quiet), facts)
        self._verbs: dict[str, Callable[[Mapping[str, Any]], BaseModel]] = {
            "hello": self._hello,
            "clock": self._clock,
            "idle": self._idle,
            **self._studies.verbs,
        }

    def answer(self, verb: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request; InputError if it is none that this version knows."""
        if verb not in self._verbs:
            raise InputError(
                f"an agent of Assay {version('assay')} knows no verb {verb!r}",
                next_step="install the same version on all hosts",
            )
        try:
            return self._verbs[verb](request).model_dump()
        except ValidationError as error:
            said = " ".join(str(error).split())
            raise InputError(f"{verb} was asked with what it does not take: {said}") from error

    def end(self) -> None:
        """It answers nothing any more: another agent may go on with its study."""
        self._studies.release()

    def _hello(self, request: Mapping[str, Any]) -> BaseModel:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return AgentHello(
            version=version("assay"),
            python=platform.python_version(),
            machine=platform.machine(),
            boot=boot,
            user=os.geteuid(),
            leftovers=leftovers(),
            facts=self._facts(),
        )

    def _clock(self, request: Mapping[str, Any]) -> BaseModel:
        return AgentClock(wall_ns=time.time_ns(), monotonic_ns=time.monotonic_ns())

    def _idle(self, request: Mapping[str, Any]) -> BaseModel:
        asked = IdleRequest.model_validate(request)
        seconds = min(asked.seconds, LONGEST_IDLE_S)
        pids = self._rays()
        with self._quiet(seconds + 1.0) if asked.stopped else nullcontext():
            return rays.idle_cost(pids, seconds, self._sleep)
