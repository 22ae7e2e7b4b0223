"""The journal of commands that change the host: written before applying, so nothing stays behind.

Each entry is one JSON line, fsynced: `applying` before a command runs, `undone`
after its undo ran. After a crash the entries without an `undone` are undone in
reverse order, before anything else happens. Commands are argument lists; no
shell is involved.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from assay.changes import Command
from assay.core.errors import RestoreError, RunError

PATIENCE_S = 120.0


class Journal:
    """The journal of one bundle."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def apply(self, factor: str, command: Command) -> None:
        """Run a level's apply command; RunError if it fails (it is undone with the rest)."""
        self._write({"event": "applying", "factor": factor, "undo": list(command.undo)})
        done = _run(command.apply)
        if done.returncode:
            raise RunError(f"{factor}: apply command failed: {_said(done)}")

    def undo(self) -> None:
        """Undo everything still applied, last first. RestoreError names what could not be."""
        failed = []
        for entry in reversed(self.pending()):
            done = _run(tuple(entry["undo"]))
            if done.returncode:
                failed.append(f"{entry['factor']}: {' '.join(entry['undo'])}: {_said(done)}")
                continue
            self._write({"event": "undone", "number": entry["number"]})
        if failed:
            raise RestoreError(
                "could not be undone: " + "; ".join(failed),
                next_step=f"undo it by hand, then remove {self.path}",
            )

    def pending(self) -> list[dict[str, Any]]:
        """What was applied and not yet undone, oldest first."""
        applied: dict[int, dict[str, Any]] = {}
        if not self.path.exists():
            return []
        data = self.path.read_bytes()
        for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines()):
            entry = json.loads(line)
            if entry["event"] == "applying":
                applied[number] = {**entry, "number": number}
            else:
                applied.pop(entry["number"], None)
        return list(applied.values())

    def _write(self, entry: dict[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(entry).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def witness(command: Command) -> str:
    """What a level's witness command prints; RunError if it fails."""
    done = _run(command.witness)
    if done.returncode:
        raise RunError(f"witness command failed: {_said(done)}")
    return done.stdout


def _run(words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return f"exit {done.returncode}, {(done.stderr or done.stdout).strip()[:200] or 'no output'}"
