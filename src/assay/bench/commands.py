"""Commands of a study that change the host: journaled before they run, so nothing stays behind.

The journal (`undo/journal.py`) is the bundle's `journal.jsonl`: `applying` before a command runs,
`undone` after its undo ran. After a crash whatever has no `undone` is undone, the last first,
before anything else happens. A bundle may come from anybody, so only an undo that the study
itself names is run. Commands are lists of words; no shell is involved.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Set
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from assay.changes import Command
from assay.core.errors import RestoreError, RunError
from assay.study import Study, arms
from assay.undo.journal import Journal
from assay.undo.recovery import Abandoned, recover

PATIENCE_S = 120.0

Words = tuple[str, ...]


class Applied(BaseModel):
    """One command that was applied and is not undone."""

    model_config = ConfigDict(frozen=True)

    number: int
    """Its line in the journal, from 0."""
    factor: str
    undo: Words


class CommandJournal:
    """The journal of one bundle. `known` are the undo commands of its study."""

    def __init__(self, path: Path, known: Iterable[Words]) -> None:
        self.path = path
        self._known: Set[Words] = frozenset(known)
        self._journal = Journal(path)

    def apply(self, factor: str, command: Command) -> None:
        """Run a level's apply command; RunError if it fails (it is undone with the rest)."""
        self._journal.append("applying", factor=factor, undo=list(command.undo))
        done = _run(command.apply)
        if done.returncode:
            raise RunError(f"{factor}: apply command failed: {_outcome(done)}")

    def undo(self) -> None:
        """Undo everything still applied, last first. RestoreError names what could not be."""
        recover(self._abandoned).require_all()

    def _abandoned(self) -> Iterator[Abandoned]:
        for applied in reversed(pending(self.path)):
            yield Abandoned(f"command of {applied.factor}", partial(self._undo, applied))

    def _undo(self, applied: Applied) -> bool:
        words = " ".join(applied.undo)
        if applied.undo not in self._known:
            raise RestoreError(
                f"{self.path} asks for a command that the study does not name: {words}",
                next_step="undo it by hand if you know it, then remove that file",
            )
        done = _run(applied.undo)
        if done.returncode:
            raise RestoreError(
                f"could not be undone: {applied.factor}: {words}: {_outcome(done)}",
                next_step=f"undo it by hand, then remove {self.path}",
            )
        self._journal.append("undone", number=applied.number)
        return True


def pending(path: Path) -> list[Applied]:
    """What a journal says was applied and not yet undone, oldest first; RestoreError if it is
    damaged, or may not be obeyed."""
    applied: dict[int, Applied] = {}
    for number, event in enumerate(Journal(path).events()):
        try:
            if event["event"] == "applying":
                applied[number] = Applied.model_validate({**event, "number": number})
            else:
                applied.pop(event["number"], None)
        except (KeyError, TypeError, ValidationError) as error:
            raise RestoreError(
                f"{path}, line {number + 1}: no event of a command",
                next_step="undo by hand what it names, then remove it",
            ) from error
    return list(applied.values())


def undo_commands(study: Study) -> set[Words]:
    """The undo commands of all its arms."""
    return {
        command.undo
        for arm in arms(study)
        for case in study.cases
        for command in study.application(arm, case.target).commands.values()
    }


def witness(command: Command) -> str:
    """What a level's witness command prints; RunError if it fails."""
    done = _run(command.witness)
    if done.returncode:
        raise RunError(f"witness command failed: {_outcome(done)}")
    return done.stdout


def _run(words: Words) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))


def _outcome(done: subprocess.CompletedProcess[str]) -> str:
    output = (done.stderr or done.stdout).strip()[:200] or "no output"
    return f"exit {done.returncode}, {output}"
