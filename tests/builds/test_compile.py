"""Compiling many sources: what is whole is kept, what is not is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.builds.compile import make
from assay.builds.progress import BuildProgress, listening
from assay.core.errors import MissingError

COMPILER = """#!/bin/sh
# "-c FILE -o OBJECT": half an object of a file that says so, then the end.
grep -q half "$2" && { printf half > "$4"; kill -s KILL $$; }
cp "$2" "$4"
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Three files, and a compiler that copies."""
    folder = tmp_path / "sources"
    (folder / "in").mkdir(parents=True)
    for name in ("a.c", "b.c", "in/c.c"):
        (folder / name).write_text(name)
    compiler = folder / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    return folder


def made(sources: Path, objects: Path) -> list[BuildProgress]:
    steps: list[BuildProgress] = []
    with listening(steps.append):
        make(sources, ["a.c", "b.c", "in/c.c"], objects, "./compiler", what="it")
    return steps


def test_a_compiler_that_was_killed_leaves_no_object(sources: Path, tmp_path: Path) -> None:
    """Half of one would be linked the next time; what was whole is not made again."""
    objects = tmp_path / "objects"
    (sources / "b.c").write_text("half")
    with pytest.raises(MissingError, match="building it failed"):
        made(sources, objects)
    assert not (objects / "b.c.o").exists()
    (sources / "b.c").write_text("whole")
    left = 3 - len(list(objects.rglob("*.o")))
    steps = made(sources, objects)
    assert steps[-1].total == left
    assert (objects / "b.c.o").read_text() == "whole"
    assert (objects / "in" / "c.c.o").read_text() == "in/c.c"


def test_steps_count_up_to_all_and_nothing_is_told_when_all_are_there(
    sources: Path, tmp_path: Path
) -> None:
    """The time left is none at the end."""
    steps = made(sources, tmp_path / "objects")
    done = [step.done for step in steps]
    assert done == sorted(done)
    assert (steps[-1].done, steps[-1].left_s) == (3, 0)
    assert made(sources, tmp_path / "objects") == []


def test_flags_from_around_do_not_reach_the_compiler(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `make` that runs us says things to its children."""
    monkeypatch.setenv("MAKEFLAGS", "--dry-run")
    made(sources, tmp_path / "objects")
    assert (tmp_path / "objects" / "a.c.o").is_file()
