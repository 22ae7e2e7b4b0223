"""Patches: unified diffs that apply as they are, or not at all."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from assay.builds import tools
from assay.core.cache import scratch
from assay.core.digest import file_digest
from assay.core.errors import InputError

Overlay = Mapping[str, bytes | None]
"""By path in a source: what stands there instead; None where the file is gone."""

_PLACE = re.compile(r"(?m)^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)")
NONE = "/dev/null"


def touched(text: str) -> list[str]:
    """The files that a unified diff is of, as paths without its first folder."""
    found = [name for name in _PLACE.findall(text) if name != NONE]
    return list(dict.fromkeys(found))


def patched(patches: Sequence[Path], source: Path) -> dict[str, bytes | None]:
    """What patches, one after the other, make of a source, which stays as it is.

    InputError if one cannot be read or does not apply exactly.
    """
    names: list[str] = []
    with scratch("patch") as folder:
        for patch in patches:
            new = [name for name in _touched_by(patch) if name not in names]
            for name in new:
                _copy(source, folder, name, patch)
            names += new
            _apply(patch, folder)
        return {
            name: place.read_bytes() if (place := folder / name).is_file() else None
            for name in names
        }


def identity(patches: Sequence[Path]) -> list[str]:
    """The digests of patches; InputError if one is not there."""
    for patch in patches:
        if not patch.is_file():
            raise InputError(f"{patch} is not a file", next_step="give the path of a unified diff")
    return [file_digest(patch) for patch in patches]


def _touched_by(patch: Path) -> list[str]:
    identity([patch])
    names = touched(patch.read_text("utf-8", "replace"))
    outside = [n for n in names if PurePosixPath(n).is_absolute() or ".." in n.split("/")]
    if outside or not names:
        why = f"{outside[0]} lies outside of the source" if outside else "it holds no unified diff"
        raise InputError(
            f"{patch} is not applied: {why}", next_step="`diff -u` or `git diff` makes one"
        )
    return names


def _copy(source: Path, folder: Path, name: str, patch: Path) -> None:
    original, place = source / name, folder / name
    if original.is_symlink():
        message = f"{patch} is not applied: {name} is a link"
        raise InputError(message, next_step="patch the file that it leads to")
    place.parent.mkdir(parents=True, exist_ok=True)
    if original.is_file():
        shutil.copy2(original, place)


def _apply(patch: Path, folder: Path) -> None:
    tools.require("git", what="applying a patch")
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(patch.resolve())],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        env={**tools.environment(), "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )
    if done.returncode:
        said = next(iter(done.stderr.strip().splitlines()), "git does not say why")
        raise InputError(
            f"{patch} does not apply to this source: {said}",
            next_step="make it from the very version that is built; the plan says which",
        )
