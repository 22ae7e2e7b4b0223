"""Commands of Assay's own that the page starts: a list of words, no shell, a session of their own.

They outlive the page. What a failed one said last is kept, to be shown.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO

from assay.core import password
from assay.core.errors import BundleError, InputError

OWN = (sys.executable, "-c", "from assay.cli import main; main()")
"""The command `assay`, of the same installation as this one."""
SAID_BYTES = 2000


@dataclass
class PageChild:
    """One command. `out` is the file of its result, if it has one; it goes where the command
    fails. `fine` are the exit codes of a command that did not; `complaint` is what one that failed
    said last, known at its end."""

    words: tuple[str, ...]
    process: subprocess.Popen[bytes]
    story: IO[bytes]
    out: Path | None
    fine: frozenset[int]
    complaint: str = ""

    def is_running(self) -> bool:
        """Whether it runs; at its end what it said is taken down."""
        if self.process.poll() is None:
            return True
        if not self.story.closed:
            self._end()
        return False

    def _end(self) -> None:
        if self.process.returncode not in self.fine:
            if self.out is not None:
                self.out.unlink(missing_ok=True)
            length = self.story.seek(0, os.SEEK_END)
            self.story.seek(max(0, length - SAID_BYTES))
            said = " ".join(self.story.read().decode("utf-8", "replace").split())
            code = self.process.returncode
            self.complaint = f"`assay {self.words[0]}` ended with exit code {code}: {said}"
        self.story.close()


class Children:
    """What this page started, the last one of each subject."""

    def __init__(self, command: Sequence[str] = OWN) -> None:
        self.command = tuple(command)
        self._last: dict[str, PageChild] = {}
        self._lock = Lock()

    def start(
        self,
        subject: str,
        words: Sequence[str],
        out: Path | None = None,
        fine: Sequence[int] = (0,),
    ) -> None:
        """Start a command; what it prints goes to a new file `out`. BundleError while the last one
        of the subject runs; InputError where the file cannot be made."""
        with self._lock:
            last = self._last.get(subject)
            if last is not None and last.is_running():
                raise BundleError("this page started it already", next_step="wait for its end")
            with _made(out) as printed:
                story = tempfile.TemporaryFile()  # noqa: SIM115 - closed where the command ends
                process = subprocess.Popen(
                    [*self.command, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL if printed is None else printed,
                    stderr=story,
                    start_new_session=True,
                    env=_environment(),
                )
            child = PageChild(tuple(words), process, story, out, frozenset(fine))
            self._last[subject] = child

    def is_running(self, subject: str) -> bool:
        """Whether the last command of a subject runs."""
        with self._lock:
            last = self._last.get(subject)
            return last is not None and last.is_running()

    def complaint(self, subject: str) -> str:
        """What the last command of a subject said if it failed; else empty."""
        with self._lock:
            last = self._last.get(subject)
            return "" if last is None or last.is_running() else last.complaint

    def wait(self, timeout_s: float) -> None:
        """Wait for all of them. TimeoutError where that takes longer."""
        for child in list(self._last.values()):
            try:
                child.process.wait(timeout_s)
            except subprocess.TimeoutExpired as error:
                raise TimeoutError(f"{child.words} still runs") from error
            child.is_running()


@contextlib.contextmanager
def _made(out: Path | None) -> Iterator[IO[bytes] | None]:
    """A new file that its owner alone may read."""
    if out is None:
        yield None
        return
    try:
        held = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from error
    with os.fdopen(held, "wb") as file:
        yield file


def _environment() -> dict[str, str]:
    """Ours, with the ledger that Assay took out of it."""
    ledger = password.given(password.LEDGER)
    return {**os.environ, **({password.LEDGER: ledger} if ledger else {})}
