"""Commits of a folder of git's: read as objects, so that no hook and no filter of it ever runs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from assay.builds import tools
from assay.builds.source import MOST_BYTES, MOST_MEMBERS, links_inside
from assay.core.errors import InputError

STEP = "`git log` in that folder shows its commits"
FILE, LINK = ("100644", "100755"), "120000"


@dataclass(frozen=True)
class Commit:
    """A commit, and the tree of files that it has: two commits may have the same."""

    folder: Path
    commit: str
    tree: str


def commit_of(folder: Path, revision: str) -> Commit:
    """The commit that a revision means; InputError if it means none."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", next_step="give a clone of git's")
    if revision.startswith("-"):
        raise InputError(f"{revision!r} is no revision", next_step=STEP)
    commit = _git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    tree = _git(folder, "rev-parse", f"{commit.decode().strip()}^{{tree}}")
    return Commit(folder, commit.decode().strip(), tree.decode().strip())


def export(commit: Commit, place: Path) -> None:
    """Writes the files of a commit into a folder that is not there yet. Submodules are left out.

    InputError if it holds a link to the outside, or more than is bounded.
    """
    listed = _git(commit.folder, "ls-tree", "-r", "-z", "--full-tree", commit.tree)
    entries = []
    for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
        if entry:
            about, name = entry.split("\t", 1)
            mode, _, blob = about.split()
            if mode in (*FILE, LINK):
                entries.append((mode, blob, name))
    if len(entries) > MOST_MEMBERS:
        raise _refused(commit, "it has too many files")
    contents = _contents(commit, [blob for _, blob, _ in entries])
    place.mkdir()
    links = []
    for (mode, _, name), content in zip(entries, contents, strict=True):
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if mode == LINK:
            links.append((file, name, content.decode("utf-8", "surrogateescape")))
        else:
            file.write_bytes(content)
            file.chmod(0o755 if mode == FILE[1] else 0o644)
    # Links come last, so that no file is written through one.
    for file, name, target in links:
        if not links_inside(f"top/{name}", target):
            raise _refused(commit, f"{name} is a link to the outside")
        file.symlink_to(target)


def _contents(commit: Commit, blobs: list[str]) -> list[bytes]:
    given = "".join(f"{blob}\n" for blob in blobs).encode()
    said = _git(commit.folder, "cat-file", "--batch", given=given)
    if len(said) > MOST_BYTES:
        raise _refused(commit, "it is too large")
    found, at = [], 0
    for _ in blobs:
        end = said.index(b"\n", at)
        size = int(said[at:end].split()[2])
        found.append(said[end + 1 : end + 1 + size])
        at = end + size + 2
    return found


def _refused(commit: Commit, why: str) -> InputError:
    message = f"commit {commit.commit[:12]} is not unpacked: {why}"
    return InputError(message, next_step="give another commit")


def _git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    tools.require("git", what="reading a commit")
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        input=given,
        capture_output=True,
        env=tools.environment(),
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip() or "there is no such revision"
        raise InputError(f"git in {folder}: {' '.join(words)[:80]}: {said}", next_step=STEP)
    return done.stdout
