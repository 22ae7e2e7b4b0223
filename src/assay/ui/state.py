"""What becomes of a bundle now: whether its study runs, and how it ended if it does not.

A study holds the lock of its runs for as long as it lives. One that ended, in whatever way it could
say so, has written its result; one that was killed has neither.
"""

from __future__ import annotations

import os
import shlex
import signal
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from assay.bisection import SearchBundle, is_search
from assay.core.errors import BundleError
from assay.linux.locks import lock_holder
from assay.linux.processes import read
from assay.record import Bundle

STARTING_S = 5.0
"""So long after its plan was written a study may not have begun."""


class StudyPhase(StrEnum):
    """How a study is."""

    STARTING = "starting"
    RUNNING = "runs now"
    FINISHED = "finished"
    STOPPED = "stopped"
    CUT_OFF = "cut off"


@dataclass(frozen=True)
class BundleState:
    """How a bundle's study is. `process` runs it, as `linux.processes` names it, empty where it is
    not ours to see; `why` it stopped; `go_on` is the command that goes on with it."""

    phase: StudyPhase
    process: str = ""
    why: str = ""
    go_on: str = ""

    @property
    def is_running(self) -> bool:
        """Whether more runs may come without anybody doing anything."""
        return self.phase in (StudyPhase.RUNNING, StudyPhase.STARTING)

    @property
    def sentence(self) -> str:
        """For people."""
        if self.phase is StudyPhase.RUNNING:
            pid = self.process.partition(":")[0]
            return f"Runs now, as process {pid}." if pid else "Runs now, as another user."
        if self.phase is StudyPhase.STARTING:
            return "About to begin."
        if self.phase is StudyPhase.FINISHED:
            return "Finished."
        if self.phase is StudyPhase.STOPPED:
            return f"Stopped: {self.why}. Go on with:"
        return "Ended without saying goodbye; go on with:"


def state_of(folder: Path) -> BundleState:
    """How the study of a bundle is. The errors of a bundle where its result cannot be read."""
    runs = folder / "runs.jsonl"
    holder = lock_holder(runs)
    if holder is not None:
        return BundleState(StudyPhase.RUNNING, holder.process)
    search = is_of_search(folder)
    go_on = f"assay {'bisect' if search else 'run'} --resume {shlex.quote(str(folder))}"
    ended = written(folder / result_name(search))
    if ended:
        why = _why_stopped(folder, search, ended)
        return (
            BundleState(StudyPhase.STOPPED, "", why, go_on)
            if why
            else BundleState(StudyPhase.FINISHED)
        )
    age_s = time.time() - written(folder / "plan.json") / 1e9
    if age_s < STARTING_S and not runs.lstat().st_size:
        return BundleState(StudyPhase.STARTING, go_on=go_on)
    return BundleState(StudyPhase.CUT_OFF, go_on=go_on)


def result_name(search: bool) -> str:
    """The file that a study, or a search, writes at its end."""
    return SearchBundle.result if search else Bundle.result


def is_of_search(folder: Path) -> bool:
    """Whether a bundle is that of a search."""
    return _is_search(folder, written(folder / "plan.json"))


@lru_cache(maxsize=4096)
def _is_search(folder: Path, written: int) -> bool:
    return is_search(folder)


@lru_cache(maxsize=4096)
def _why_stopped(folder: Path, search: bool, written: int) -> str:
    if search:
        return SearchBundle.open(folder).found().stopped.rstrip(".")
    return Bundle.open(folder).verdicts().stopped.rstrip(".")


def written(path: Path) -> int:
    """When a file was last written, in ns; 0 where there is none."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0


def interrupt(folder: Path, process: str) -> None:
    """Stop the study of a bundle as Ctrl-C does, if this process still runs it.

    BundleError where it does not, or is another user's. The process is held by a descriptor before
    it is looked at again, so that no later one with its number can get the signal.
    """
    gone = BundleError(
        f"{folder} is not run by that process any more", next_step="look at the page again"
    )
    number = process.partition(":")[0]
    runs = folder / "runs.jsonl"
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise gone
    if runs.lstat().st_nlink != 1:
        raise BundleError(
            f"{runs} has another name too, and who holds it may be at something else",
            next_step="stop the study where it was started",
        )
    try:
        held = os.pidfd_open(int(number))
    except OSError as error:
        raise gone from error
    try:
        holder = lock_holder(runs)
        if holder is None or holder.process != process:
            raise gone
        signal.pidfd_send_signal(held, _heard(int(number)))
    except PermissionError as error:
        raise BundleError(
            f"process {number} is another user's", next_step="stop it where it was started"
        ) from error
    finally:
        os.close(held)


def _heard(pid: int) -> signal.Signals:
    """SIGINT; SIGTERM where that is ignored, as it is in what a shell starts in the background."""
    for line in read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("SigIgn:"):
            is_ignored = int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1
            return signal.SIGTERM if is_ignored else signal.SIGINT
    return signal.SIGINT
