"""The agent: Assay as it runs on one machine, asked by verbs.

It does not know who asks: Ray's relay through a keeper, a keeper alone, or a test in the same
process. What has to be arranged around it (Ray is stopped, a window is quiet) it is given.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from typing import IO, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.core import interrupt
from assay.core.errors import AssayError, InputError, RunError
from assay.fleet import rays
from assay.fleet.clean_start import leftovers
from assay.fleet.protocol import Answer, Control, as_problem, read_answer, read_request
from assay.host import host_facts

LONGEST_IDLE_S = 10.0
PR_SET_PDEATHSIG = 1


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


Quiet = Callable[[float], AbstractContextManager[None]]
"""Stops Ray's processes for at most so many seconds, as long as the block runs."""


class Agent:
    """The verbs. `rays` gives Ray's processes here; `quiet` stops them; `facts` are the host's."""

    def __init__(
        self,
        rays: Callable[[], list[int]] = lambda: [],
        quiet: Quiet = nullcontext,
        facts: Callable[[], dict[str, Any]] = host_facts,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._rays, self._quiet, self._facts, self._sleep = rays, quiet, facts, sleep
        self._verbs: dict[str, Callable[[Mapping[str, Any]], BaseModel]] = {
            "hello": self._hello,
            "clock": self._clock,
            "idle": self._idle,
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


class _Kept:
    """An agent's side of its keeper: requests from stdin, answers to stdout, words between."""

    def __init__(self, given: IO[bytes], out: IO[bytes]) -> None:
        self._given, self._out = given, out
        self._agent = Agent(lambda: rays.processes(os.getppid()), self._quiet)

    def serve(self) -> None:
        """Answer until the keeper closes the pipe."""
        for line in self._given:
            request = read_request(line)
            try:
                answer = Answer(
                    id=request.id, result=self._agent.answer(request.verb, request.request)
                )
            except AssayError as error:
                answer = Answer(id=request.id, error=as_problem(error))
            except Exception as error:  # whatever it is, the head has to know
                wrong = RunError(f"{request.verb}: {type(error).__name__}: {error}")
                answer = Answer(id=request.id, error=as_problem(wrong))
            self._send(answer.line())

    @contextmanager
    def _quiet(self, seconds: float) -> Iterator[None]:
        self._ask(Control(control="stop", seconds=seconds))
        try:
            yield
        finally:
            self._ask(Control(control="go_on"))

    def _ask(self, control: Control) -> None:
        self._send(control.line())
        line = self._given.readline()
        if not line or not isinstance(read_answer(line), Control):
            raise RunError("the keeper of an agent does not answer")

    def _send(self, line: bytes) -> None:
        self._out.write(line)
        self._out.flush()


def main() -> None:
    """`python -m assay.fleet.agent`: below a keeper, with which it ends."""
    interrupt.listen()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # Whatever else is written goes to stderr: stdout is the keeper's.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        _Kept(sys.stdin.buffer, out).serve()
    except (KeyboardInterrupt, BrokenPipeError):
        return


if __name__ == "__main__":
    main()
