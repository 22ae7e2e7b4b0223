"""One server process: started in a folder of its own, ended with whoever started it.

Two things end a server whose parent was killed. The kernel signals the process
itself (`setpriv --pdeathsig`); a watcher, a shell that waits for a pipe to close
and then for the server, kills the rest of its process group and removes its
folder. Ctrl-C does not reach the server: it has a session of its own, and is
stopped when its run is.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from assay.core.endings import how_it_ended, memory_kills
from assay.core.errors import MissingError, RunError
from assay.linux.own_user import group_of, opened
from assay.linux.procfs import listens
from assay.targets.private_folder import FolderGuard

PATIENCE_S = 120.0
"""How long a server may take to be ready: it may have a log to replay."""
STOP_S = 30.0
GATE_S = 10.0
"""How long a process may take to come to the gate before its server."""
_LAST, _SAID = 2000, 4 << 20


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def setpriv() -> str:
    """The program that changes users and ties lives; MissingError without it."""
    return _of_util_linux("setpriv")


def _of_util_linux(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise MissingError(f"{name} is not here", next_step="sudo apt-get install util-linux")
    return found


@contextlib.contextmanager
def _gate(folder: Path) -> Iterator[list[str]]:
    """Words before a command that is not to begin until this block is over: it waits for the lock
    of a file, which it then keeps. Should we die, the lock is free and the death signal ends it."""
    held, path = tempfile.mkstemp(prefix=".gate-", dir=folder)
    try:
        os.fchmod(held, 0o644)
        fcntl.flock(held, fcntl.LOCK_EX)
        yield [_of_util_linux("flock"), "--no-fork", path]
    finally:
        os.close(held)


def run_as(command: Sequence[str], folder: Path, user: int | None) -> str:
    """Runs a short program to its end; what it printed. RunError with its words if it fails."""
    with opened(command, user) as (words, held):
        done = subprocess.run(
            as_user(words, user),
            cwd=folder,
            env=_env(os.environ, folder, user),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            pass_fds=held,
        )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-_LAST:]
        raise RunError(f"{command[0]} ended with code {done.returncode}: {said}")
    return done.stdout


def as_user(command: Sequence[str], user: int | None) -> list[str]:
    """The words of a command as another user, with no group but that user's."""
    if user is None:
        return list(command)
    ids = [f"--reuid={user}", f"--regid={group_of(user)}", "--clear-groups"]
    return [setpriv(), *ids, "--", *command]


def _env(given: Mapping[str, str], folder: Path, user: int | None) -> dict[str, str]:
    """The home of another user is the server's folder: root's is closed to it."""
    home = {} if user is None else {"HOME": str(folder)}
    return {**given, **home, "TMPDIR": str(folder)}


class Process:
    """A server that runs; `log` gets what it prints. Without a `watcher` it has one of its own."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        user: int | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        orphan_signal: signal.Signals = signal.SIGKILL,
        name: str = "",
        watcher: FolderGuard | None = None,
        before: Sequence[str] = (),
        directory: Path | None = None,
    ) -> None:
        """`before` are words that stand before all others: programs that become the next.
        `directory` is where it works, if that is not its folder."""
        self.name = name or Path(command[0]).name
        self._log, self._stop_signal, self._at_once = log, stop_signal, orphan_signal
        self._kills = memory_kills()
        self._log_start = log.stat().st_size if log.exists() else 0
        # Changing the user takes the death signal away, so it is set after that.
        tied = [setpriv(), "--pdeathsig", orphan_signal.name.removeprefix("SIG"), "--"]
        self._watcher = FolderGuard(folder) if watcher is None else watcher
        self._own = self._watcher if watcher is None else None
        try:
            with log.open("ab") as output, _gate(folder) as gate, opened(command, user) as own:
                words, held = own
                self._process = subprocess.Popen(
                    [*before, *as_user([*tied, *gate, *words], user)],
                    cwd=directory or folder,
                    env=_env(os.environ if env is None else env, folder, user),
                    pass_fds=held,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
                self.pid = self._process.pid
                self._watcher.guard(self.pid)
                self._environ = _environ(self.pid)
        except BaseException:
            if self._own is not None:
                self._own.dismiss()
            raise

    def wait_until(
        self,
        is_ready: Callable[[], bool],
        is_fatal: Callable[[str], str],
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Waits until it is ready. RunError when it has ended, or its log says it never will be."""
        end = time.monotonic() + patience_s
        while True:
            ended = self._process.poll() is not None
            why = is_fatal(self.said())
            if why or ended:
                raise RunError(f"{self.name} did not start: {why or self.last_words()}")
            if is_ready():
                return
            if time.monotonic() > end:
                raise RunError(
                    f"{self.name} was not ready after {patience_s:g} s: {self.last_words()}"
                )
            time.sleep(0.01)

    def listens(self, port: int) -> bool:
        """Whether it listens on a port itself: another server that does is not to be asked."""
        return self._process.poll() is None and listens(self.pid, port)

    def environ(self, names: Sequence[str]) -> dict[str, str]:
        """Those variables of the environment that it was started with, as the kernel showed them.

        nginx writes its title over them, so they are looked at in the moment before it is there.
        """
        return {name: self._environ[name] for name in names if name in self._environ}

    def said(self) -> str:
        """What it has printed, of much the end."""
        with self._log.open("rb") as log:
            log.seek(max(self._log_start, log.seek(0, os.SEEK_END) - _SAID))
            return log.read().decode("utf-8", "replace")

    def last_words(self) -> str:
        """The end of what it printed, and how it ended if it has."""
        code = self._process.poll()
        how = "" if code is None else how_it_ended(code, self._kills)
        lines = [line for line in self.said().splitlines() if line.strip()][-5:]
        return "; ".join([how, *lines] if how else lines) or "it printed nothing"

    def ended(self) -> str:
        """How it ended; empty while it runs."""
        code = self._process.poll()
        return "" if code is None else how_it_ended(code, self._kills)

    def stop(self, patience_s: float = STOP_S, *, at_once: bool = False) -> bool:
        """Ends it and all it started: ask, then kill. Whether asking was enough. Safe twice.

        Where its data are thrown away it need not write them first: `at_once`.
        """
        orderly = True
        if self._process.poll() is None:
            self._process.send_signal(self._at_once if at_once else self._stop_signal)
            try:
                self._process.wait(patience_s)
            except subprocess.TimeoutExpired:
                orderly = False
                self._process.kill()
                self._process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._watcher.guard(None)
        if self._own is not None:
            self._own.dismiss()
        return orderly


def _environ(pid: int) -> dict[str, str]:
    """What a process that stands at its gate hands on; nothing of one that is gone already.

    A program has its name a moment before it has its environment, which is never empty.
    """
    proc, end = Path(f"/proc/{pid}"), time.monotonic() + GATE_S
    text = ""
    try:
        while time.monotonic() < end:
            is_at_gate = (proc / "comm").read_text().strip() == "flock"
            text = (proc / "environ").read_text("utf-8", "replace")
            if is_at_gate and text:
                break
            time.sleep(0.001)
    except OSError:
        return {}
    pairs = (entry.partition("=") for entry in text.split("\0"))
    return {name: value for name, _, value in pairs}
