"""An agent as a process below its keeper: requests from stdin, answers to stdout.

Arms that live side by side measure at the same time, so Ray is stopped when the first of them
begins, and continued when the last has ended. Where the keeper had to continue it before, by its
timer, the window was not quiet and the run has failed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from assay.core import interrupt
from assay.core.errors import AssayError, RunError
from assay.fleet import rays
from assay.fleet.agent import Agent
from assay.fleet.keeper import LONGEST_STOP_S
from assay.fleet.protocol import (
    AgentAnswer,
    Control,
    Request,
    as_problem,
    read_answer,
    read_request,
)

PR_SET_PDEATHSIG = 1


class KeptProcess:
    """The agent's side of the two pipes."""

    def __init__(self, given: IO[bytes], out: IO[bytes]) -> None:
        self._given, self._out = given, out
        self._lock, self._inside, self._stopped = threading.Lock(), 0, 0
        self._agent = Agent(lambda: rays.processes(os.getppid()), self.quiet)

    def serve(self) -> None:
        """AgentAnswer until the keeper closes the pipe."""
        try:
            for line in self._given:
                self._send(self._answer(read_request(line)).line())
        finally:
            self._agent.end()

    def _answer(self, request: Request) -> AgentAnswer:
        try:
            result = self._agent.answer(request.verb, request.request)
            return AgentAnswer(id=request.id, result=result)
        except AssayError as error:
            return AgentAnswer(id=request.id, error=as_problem(error))
        except Exception as error:  # whatever it is, the head has to know
            wrong = RunError(f"{request.verb}: {type(error).__name__}: {error}")
            return AgentAnswer(id=request.id, error=as_problem(wrong))

    @contextmanager
    def quiet(self, seconds: float) -> Iterator[None]:
        """Ray is stopped as long as anybody's block runs."""
        with self._lock:
            if not self._inside:
                self._stopped = self._ask(Control(control="stop", seconds=LONGEST_STOP_S))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                went_on = not self._inside and not self._ask(Control(control="go_on"))
        if went_on and self._stopped:
            raise RunError(f"Ray went on after {LONGEST_STOP_S:g} s, before the window was over")

    def _ask(self, control: Control) -> int:
        """How many processes were stopped until now, as the keeper has it."""
        self._send(control.line())
        line = self._given.readline()
        answer = read_answer(line) if line else None
        if not isinstance(answer, Control):
            raise RunError("the keeper of an agent does not answer")
        return len(answer.pids)

    def _send(self, line: bytes) -> None:
        self._out.write(line)
        self._out.flush()


def main() -> None:
    """`python -m assay.fleet.agent_process`: below a keeper, with which it ends."""
    interrupt.listen()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # Whatever else is written goes to stderr: stdout is the keeper's.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        KeptProcess(sys.stdin.buffer, out).serve()
    except (KeyboardInterrupt, BrokenPipeError):
        return


if __name__ == "__main__":
    main()
