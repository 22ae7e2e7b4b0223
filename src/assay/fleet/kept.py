"""An agent below a keeper on this machine, asked from several threads at once.

Ray's relay is this and nothing more; without Ray it is a fleet of one, and what tests of leases
use.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from assay.core.errors import LostError, RunError
from assay.fleet.clean_start import clean_environment
from assay.fleet.protocol import AgentAnswer, Control, Request, read_answer

ENDS_S = 25.0
"""How long a keeper may take to end: its agent's patience, and the way back of what was changed."""


class KeptAgent:
    """A keeper with its agent. `agent`: another program in the agent's place."""

    def __init__(
        self, lease_s: float, agent: Sequence[str] = (), log: IO[bytes] | int | None = None
    ) -> None:
        words = [sys.executable, "-P", "-m", "assay.fleet.keeper", str(lease_s)]
        self.process = subprocess.Popen(
            [*words, *([json.dumps(list(agent))] if agent else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=clean_environment(os.environ),
            start_new_session=True,
        )
        self._numbers = itertools.count(1)
        self._answers: dict[int, queue.SimpleQueue[AgentAnswer | None]] = {}
        self._lock, self._is_over = threading.Lock(), False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def exchange(self, verb: str, request: Mapping[str, Any], patience_s: float) -> AgentAnswer:
        """The answer to a request; LostError where none comes in time."""
        number = next(self._numbers)
        mine: queue.SimpleQueue[AgentAnswer | None] = queue.SimpleQueue()
        try:
            with self._lock:
                if self._is_over:
                    raise LostError("the agent has ended")
                self._answers[number] = mine
                self._send(Request(id=number, verb=verb, request=dict(request)))
            answer = mine.get(timeout=patience_s)
        except queue.Empty:
            raise LostError(f"no answer to {verb!r} in {patience_s:g} s") from None
        finally:
            self._answers.pop(number, None)
        if answer is None:
            raise LostError(f"the agent ended before it answered {verb!r}")
        return answer

    def end(self) -> None:
        """The agent ends, and what it changed is brought back. Safe to call twice."""
        assert self.process.stdin is not None, "it is a pipe"
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None, "it is a pipe"
        self._listener.join(ENDS_S)
        self.process.stdout.close()

    def _send(self, request: Request) -> None:
        assert self.process.stdin is not None, "it is a pipe"
        try:
            self.process.stdin.write(request.line())
            self.process.stdin.flush()
        except (OSError, ValueError) as error:
            raise LostError("the agent has ended") from error

    def _listen(self) -> None:
        assert self.process.stdout is not None, "it is a pipe"
        with suppress(OSError, ValueError, RunError):
            for line in self.process.stdout:
                answer = read_answer(line)
                waits = None if isinstance(answer, Control) else self._answers.get(answer.id)
                if waits is not None and isinstance(answer, AgentAnswer):
                    waits.put(answer)
        with self._lock:
            self._is_over = True
        for left in list(self._answers.values()):
            left.put(None)
