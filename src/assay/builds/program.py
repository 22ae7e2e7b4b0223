"""A program that is built: its recipe, and where its source is; and sources, unpacked and known."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from assay.builds import git, source
from assay.builds.recipe_file import BuildRecipe, recipe_of
from assay.builds.source import Fill, Source
from assay.core.cache import cache, keep
from assay.core.digest import file_digest
from assay.core.errors import InputError

DEBIAN, TARBALL, GIT = "debian", "tarball:", "git:"
MANIFEST = "manifest.json"
UNPACKED = 2
"""Grows when sources are unpacked otherwise."""


@dataclass(frozen=True)
class Unpacked:
    """A source as it came: its files in `folder`, their digests by path, and what it is."""

    folder: Path
    identity: str
    version: str
    commit: str
    manifest: dict[str, str]


@dataclass(frozen=True)
class Buildable:
    """A recipe and a source: "debian", "tarball:PATH" or "git:PATH"."""

    recipe: BuildRecipe
    source: str = DEBIAN

    def unpacked(self, commit: str = "") -> Unpacked:
        """Its source, of a commit where it has such; fetched and unpacked once.

        InputError if the source is none, MissingError if it cannot be had.
        """
        if self.source.startswith(GIT):
            path = Path(self.source.removeprefix(GIT)).expanduser()
            return _of_commit(git.commit_of(path, commit or "HEAD"))
        if commit:
            raise InputError(
                f"{self.source} has no commits", next_step='write source = "git:PATH" of a clone'
            )
        return _of_tarball(self._tarball())

    def _tarball(self) -> Source:
        if self.source.startswith(TARBALL):
            return source.given(Path(self.source.removeprefix(TARBALL)).expanduser())
        if self.source != DEBIAN:
            raise InputError(
                f"{self.source!r} is no source",
                next_step=f'write "{DEBIAN}", "{TARBALL}PATH" or "{GIT}PATH"',
            )
        if not self.recipe.package:
            raise InputError(
                f"the distribution has no source of {self.recipe.name}",
                next_step=f'write source = "{TARBALL}PATH" or "{GIT}PATH"',
            )
        variable = f"ASSAY_{self.recipe.name.upper().replace('-', '_')}_SOURCE"
        return source.given_or(variable, lambda: source.distribution(self.recipe.package))


def program(recipe: str, where: str = DEBIAN) -> Buildable:
    """A program by the name of a shipped recipe; InputError lists what there is."""
    return Buildable(recipe_of(recipe), where)


def _of_tarball(found: Source) -> Unpacked:
    def fill(making: Path) -> None:
        source.unpack(found, making).rename(making / "tree")

    return _kept(found.sha256, fill, found.version, "")


def _of_commit(commit: git.Commit) -> Unpacked:
    version = f"commit {commit.commit[:12]}"
    return _kept(
        commit.tree, lambda making: git.export(commit, making / "tree"), version, commit.commit
    )


def _kept(identity: str, fill: Fill, version: str, commit: str) -> Unpacked:
    def all_of_it(making: Path) -> None:
        fill(making)
        (making / MANIFEST).write_text(json.dumps(_manifest(making / "tree")))

    kept = keep(cache("builds") / f"source-{UNPACKED}-{identity[:20]}", all_of_it)
    manifest = json.loads((kept / MANIFEST).read_text())
    return Unpacked(kept / "tree", identity, version, commit, manifest)


def _manifest(tree: Path) -> dict[str, str]:
    """By path, the digest of each file and whether it may be run; of a link, where it leads."""
    found = {}
    for folder, folders, files in os.walk(tree):
        for name in (*files, *(f for f in folders if Path(folder, f).is_symlink())):
            path = Path(folder, name)
            known = path.relative_to(tree).as_posix()
            if path.is_symlink():
                found[known] = f"link {path.readlink()}"
            else:
                may_run = "x" if path.stat().st_mode & 0o100 else "-"
                found[known] = f"{may_run} {file_digest(path)}"
    return dict(sorted(found.items()))
