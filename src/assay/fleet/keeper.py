"""The keeper: owns one agent and its lease, and outlives both relay and agent.

    relay (Ray's worker) --stdin/stdout--> keeper --stdin/stdout--> agent

It passes requests on, one at a time, and answers back. `renew` it answers itself: the head is
there. The agent ends, with all that it started, when the lease runs out, when the relay ends (the
pipe closes), or when the keeper is asked to end; when the agent ends by itself the keeper sees it.
In each case what the agent changed and did not bring back is brought back, by the journals that
every `assay` command looks at. Ray's processes that the agent had stopped are continued at the
latest when their time is over.

    state      until
    waiting    a request comes: it goes to the agent
    busy       the agent answers: the next request that waits goes to it
    ending     the agent's process group is gone and its journals are empty; then it exits

It reads and passes lines on, and imports little until it ends: nothing of it runs in a window.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

from assay.core.errors import AssayError, InputError
from assay.fleet import rays
from assay.fleet.clean_start import clean
from assay.fleet.protocol import RENEW, AgentAnswer, Control, as_problem, read_answer, read_request

AGENT = (sys.executable, "-P", "-m", "assay.fleet.agent_process")
PATIENCE_S = 10.0
"""How long an agent has to bring back by itself what it changed, once it is told to end."""
LONGEST_STOP_S = 45.0
"""Of Ray's processes: `nodes.QUIET` has Ray give a host up after two minutes."""


class _AskedToEnd(Exception):
    """A signal: end."""


class Lines:
    """What comes from a descriptor, cut into lines."""

    def __init__(self, file: IO[bytes]) -> None:
        self.descriptor = file.fileno()
        self._rest = b""

    def read(self) -> list[bytes] | None:
        """The lines that are whole by now; None at the end. Call it when there is something."""
        data = os.read(self.descriptor, 1 << 16)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


class Keeper:
    """One agent and its lease. `lease_s` is how long it goes on without `renew`."""

    def __init__(
        self,
        agent: subprocess.Popen[bytes],
        lease_s: float,
        relay: IO[bytes],
        out: IO[bytes],
        recover: Callable[[], None],
    ) -> None:
        assert agent.stdin is not None, "it is a pipe"
        assert agent.stdout is not None, "it is a pipe"
        self._agent, self._lease_s, self._out, self._recover = agent, lease_s, out, recover
        self._to_agent = agent.stdin
        self._relay, self._answers = Lines(relay), Lines(agent.stdout)
        self._waiting: deque[bytes] = deque()
        self._is_busy = False
        self._stopped: list[int] = []
        self._go_on_at = 0.0
        self._until = time.monotonic() + lease_s

    def run(self) -> str:
        """Pass lines on until it is over; why it was."""
        try:
            return self._pass_on()
        except _AskedToEnd:
            return "it was asked to end"
        except BrokenPipeError:
            return "the relay or the agent ended"
        finally:
            self._end()

    def _pass_on(self) -> str:
        with selectors.DefaultSelector() as selector:
            selector.register(self._relay.descriptor, selectors.EVENT_READ, self._hear_relay)
            selector.register(self._answers.descriptor, selectors.EVENT_READ, self._hear_agent)
            while True:
                for key, _ in selector.select(self._patience_s()):
                    why = key.data()
                    if why:
                        return str(why)
                now = time.monotonic()
                if self._stopped and now >= self._go_on_at:
                    self._go_on()
                if now >= self._until:
                    return f"no word of the head for {self._lease_s:g} s"

    def _patience_s(self) -> float:
        end = min(self._until, self._go_on_at) if self._stopped else self._until
        return max(0.0, end - time.monotonic())

    def _hear_relay(self) -> str:
        lines = self._relay.read()
        if lines is None:
            return "the relay ended"
        for line in lines:
            self._take(line)
        return ""

    def _take(self, line: bytes) -> None:
        try:
            request = read_request(line)
        except InputError as error:
            self._say(AgentAnswer(id=-1, error=as_problem(error)))
            return
        if request.verb == RENEW:
            self._until = max(self._until, time.monotonic() + self._lease_s)
            self._say(AgentAnswer(id=request.id, result={}))
            return
        self._waiting.append(line + b"\n")
        self._feed()

    def _feed(self) -> None:
        """The agent has one request at a time: while it is busy its input is for `Control`."""
        if self._waiting and not self._is_busy:
            self._is_busy = True
            self._tell(self._waiting.popleft())

    def _hear_agent(self) -> str:
        lines = self._answers.read()
        if lines is None:
            return f"the agent ended with code {self._agent.wait()}"
        for line in lines:
            said = read_answer(line)
            if isinstance(said, Control):
                self._obey(said)
            else:
                self._is_busy = False
                self._say(said)
                self._feed()
        return ""

    def _obey(self, control: Control) -> None:
        if control.control == "stop":
            seconds = min(control.seconds, LONGEST_STOP_S)
            self._go_on_at = time.monotonic() + seconds
            # No renewal can come before Ray goes on.
            self._until = max(self._until, self._go_on_at + self._lease_s)
            pids = self._stopped = rays.stop(rays.processes(os.getpid()))
        else:
            pids = self._stopped
            self._go_on()
        self._tell(Control(control="done", pids=pids).line())

    def _go_on(self) -> None:
        if self._stopped:
            rays.go_on(self._stopped)
            self._until = time.monotonic() + self._lease_s
        self._stopped = []

    def _tell(self, line: bytes) -> None:
        self._to_agent.write(line)
        self._to_agent.flush()

    def _say(self, answer: AgentAnswer) -> None:
        self._out.write(answer.line())
        self._out.flush()

    def _end(self) -> None:
        """The agent and all that it started end; what is left of its changes is brought back."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._go_on()
        with suppress(OSError):
            self._to_agent.close()
        self._agent.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._agent.wait(PATIENCE_S)
        with suppress(OSError):
            os.killpg(self._agent.pid, signal.SIGKILL)
        self._agent.wait()
        self._recover()


def start_agent(words: Sequence[str] = AGENT) -> subprocess.Popen[bytes]:
    """An agent, in a process group that can be ended whole."""
    return subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )


def bring_back() -> None:
    """What the agent left: values of the host, settings of attached servers, commands of studies.
    Errors are written to stderr: the next `assay` command or agent tries again."""
    from assay.bench.recovery import take_back
    from assay.fleet.host_study import abandoned

    found = take_back(abandoned)
    for what in found.done:
        _note(f"brought back: {what}")
    for error in found.failed:
        _note(f"not brought back: {error.message}")


def _note(text: str) -> None:
    sys.stderr.write(f"assay keeper: {text}\n")
    sys.stderr.flush()


def _ask(number: int, frame: object) -> None:
    raise _AskedToEnd


def main(arguments: Sequence[str]) -> None:
    """`python -m assay.fleet.keeper LEASE_S [AGENT...]`, the agent's words as JSON."""
    clean()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _ask)
    words = json.loads(arguments[1]) if len(arguments) > 1 else AGENT
    try:
        agent = start_agent(words)
        keeper = Keeper(agent, float(arguments[0]), sys.stdin.buffer, sys.stdout.buffer, bring_back)
        _note(keeper.run())
    except AssayError as error:
        _note(error.message)


if __name__ == "__main__":
    main(sys.argv[1:])
