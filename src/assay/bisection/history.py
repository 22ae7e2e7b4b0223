"""The commits between two of a repository: first parents, oldest first.

First parents only: what a merge brought in was built on another base, so its commits have no place
in one order. Where a merge is to blame, its branch is searched next, between its own ends.

Hooks, filters, aliases and replacement of the repository's own configuration are off: it may be a
stranger's.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.bisection.plan import PlannedNode
from assay.core.errors import InputError, MissingError

SAFE = (
    *("--no-replace-objects", "--no-pager", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false", "-c", "protocol.allow=never"),
)
_FIELD, _END = "\x1f", "\x1e"


@dataclass(frozen=True)
class Repository:
    """A git repository on this machine."""

    folder: Path

    def git(self, *words: str) -> str:
        """What git answers; InputError with its words where it refuses."""
        command = ["git", *SAFE, "-C", str(self.folder), *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        except FileNotFoundError as error:
            raise MissingError("git is not here", next_step="sudo apt-get install git") from error
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"git ended with code {done.returncode}"]
            raise InputError(
                f"{self.folder}: {said[0]}", next_step="give --repo the folder of a git repository"
            )
        return done.stdout

    def commit(self, name: str) -> str:
        """The full id of a commit; InputError where there is none of this name."""
        if name.startswith("-"):
            raise InputError(f"{name!r} is no name of a commit")
        self.git("rev-parse", "--git-dir")
        try:
            return self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
        except InputError as error:
            raise InputError(
                f"{self.folder} has no commit {name}",
                next_step="name two commits, tags or branches of it: GOOD, then BAD",
            ) from error

    def between(self, good: str, bad: str, paths: Sequence[str] = ()) -> list[PlannedNode]:
        """From good to bad, both included; with paths only those that touch one of them, and bad.

        InputError where good is no ancestor of bad along first parents.
        """
        first, last = self.commit(good), self.commit(bad)
        if first == last:
            raise InputError(f"{good} and {bad} are the same commit", next_step="name two")
        listed = self._listed(f"{first}..{last}")
        ends = self._listed("--no-walk", first, last)
        ours = {node.name: node for node in ends}
        parents = self.git("rev-list", "--first-parent", last).split()
        if first not in parents:
            raise InputError(
                f"{good} is not among the first parents of {bad}",
                next_step="give GOOD as an older commit of the same branch; see git log "
                f"--first-parent {bad}",
            )
        if paths:
            listed = self._listed(f"{first}..{last}", "--", *paths)
            if not listed or listed[-1].name != last:
                listed.append(ours[last])
        return [ours[first], *listed]

    def _listed(self, *what: str) -> list[PlannedNode]:
        walk = () if what[0] == "--no-walk" else ("--first-parent", "--reverse")
        form = f"--format=%H{_FIELD}%P{_FIELD}%s{_END}"
        text = self.git("log", *walk, form, *what)
        rows = (row.strip("\n").split(_FIELD) for row in text.split(_END) if row.strip())
        return [
            PlannedNode(name=name, title=title[:200], merged=" " in parents)
            for name, parents, title in rows
        ]
