"""What a long build shows, and what is said before it begins."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from assay.builds import RECIPES
from assay.builds.progress import BuildProgress, tell
from assay.cli.display.builds import building, say_builds, words
from assay.study.read import read

STUDY = """
name = "s"
question = "q"
[target]
kind = "rocksdb"
library = "portable"
[workload]
kind = "ycsb"
[measure]
primary = "throughput"
window = "1s"
[[factor]]
name = "checksum"
change = "rocksdb.checksum"
[design]
kind = "one-at-a-time"
"""


def test_a_step_says_how_far_it_is_and_how_long_it_will_take() -> None:
    """Once that can be foretold."""
    assert words(BuildProgress("RocksDB", 3, 343, None)) == "building RocksDB: 3 of 343 objects"
    said = words(BuildProgress("RocksDB", 100, 343, 725.0))
    assert said == "building RocksDB: 100 of 343 objects, about 12 min 5 s left"


def test_without_a_terminal_each_tenth_is_a_line() -> None:
    """Not each object."""
    output = io.StringIO()
    with building(Console(file=output)):
        for done in range(101):
            tell(BuildProgress("RocksDB", done, 100, None))
    tell(BuildProgress("RocksDB", 1, 100, None))
    lines = output.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[-1] == "building RocksDB: 100 of 100 objects"


def test_on_a_terminal_one_line_moves_and_goes() -> None:
    """It is there while something is built."""
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100)
    with building(console):
        tell(BuildProgress("RocksDB", 1, 100, 60.0))
    assert "building RocksDB: 1 of 100 objects, about 1 min left" in output.getvalue()


def test_what_is_to_be_made_is_said_with_the_time_that_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where all arms have the same library; nothing is said of what is kept."""
    study = read("s.toml", STUDY, Path("."))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    output = io.StringIO()
    console = Console(file=output, width=200)
    say_builds(study, console)
    said = output.getvalue()
    assert said.startswith("builds of rocksdb to be made: portable (20 to 25 minutes")
    monkeypatch.setattr(type(RECIPES["rocksdb"]), "kept", lambda *_: True)
    say_builds(study, console)
    assert output.getvalue() == said
