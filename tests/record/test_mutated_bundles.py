"""Bundles that were damaged at random: one sentence and an exit code, whatever is read.

Every damage is drawn from its number, so that a failure names what to repeat.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.host import host_facts
from assay.record import Bundle
from fakes import FACTS, STUDY, FakeTarget, run_fake
from mutation_kit import GROWTH_KIB, UNFORESEEN, cut, of_bytes, peak_kib

pytestmark = pytest.mark.server  # for its time alone

CASES = int(os.environ.get("ASSAY_MUTANTS", "400"))
"""By default what the suite has time for."""

FILES = ("plan.json", "host.json", "runs.jsonl", "study.toml", "verdicts.json")

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("show", "{}"),
    ("show", "{}", "--json"),
    ("show", "{}", "--sysmon"),
    ("verify", "{}"),
    ("report", "{}"),
    ("explain", "{}"),
    ("run", "--resume", "{}"),
)

ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e308, 2**70, float("nan"), float("-inf"), "", "../../x", "\x1b[31m"),
    *("9" * 400, "\ud800", [], {}, [[[[]]]], {"a": {"b": []}}, [None] * 50),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study, whose bundle every case copies."""
    from assay.study import read

    fake = FakeTarget()
    study = read("fake.toml", STUDY, Path("."), {}, {"engine": fake})
    facts = {**FACTS, **host_facts()}
    return run_fake(tmp_path_factory.mktemp("whole") / "b", fake, study, facts=facts).folder


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in JSON."""
    found = [path]
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            found += places(inner, (*path, key))
    return found


def changed(value: Any, path: tuple[Any, ...], drawn: random.Random) -> Any:
    """The JSON with something odd, or nothing, in a place."""
    if not path:
        return drawn.choice(ODD)
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    if drawn.random() < 0.3:
        del holder[path[-1]]
    else:
        holder[path[-1]] = drawn.choice(ODD)
    return value


def of_json(text: bytes, drawn: random.Random) -> bytes:
    value = json.loads(text)
    return json.dumps(changed(value, drawn.choice(places(value)), drawn)).encode()


def of_lines(text: bytes, drawn: random.Random) -> bytes:
    """One run of many."""
    lines = text.splitlines()
    number = drawn.randrange(len(lines))
    lines[number] = of_json(lines[number], drawn)
    return b"\n".join(lines) + b"\n"


def damage(folder: Path, drawn: random.Random) -> str:
    """One damage to one file of a bundle; what was done."""
    name = drawn.choice(FILES)
    path = folder / name
    text = path.read_bytes()
    structured = of_lines if name == "runs.jsonl" else of_json
    ways: list[Callable[[bytes, random.Random], bytes]] = [of_bytes, cut]
    if name != "study.toml":
        ways += [structured] * 4
    if drawn.random() < 0.04:
        path.unlink()
        how = drawn.choice(("gone", "folder", "link"))
        if how == "folder":
            path.mkdir()
        elif how == "link":
            path.symlink_to("/etc/hostname")
        return f"{name}: {how}"
    way = drawn.choice(ways)
    path.write_bytes(way(text, drawn))
    return f"{name}: {way.__name__}"


@pytest.mark.parametrize("part", range(8))
def test_a_damaged_bundle_is_refused_in_a_sentence(
    part: int, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By every command that reads one; nothing outside of it is written, and no run is made."""
    monkeypatch.setattr("assay.bench.study_run._Runner._steps", lambda runner: None)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    before = peak_kib()
    for number in range(part, CASES, 8):
        drawn = random.Random(number)
        folder = tmp_path / "b"
        shutil.copytree(whole, folder, symlinks=True)
        done = damage(folder, drawn)
        words = [word.format(folder) for word in drawn.choice(COMMANDS)]
        result = CliRunner().invoke(app, words)
        told = f"case {number}, {done}, assay {' '.join(words[:-1])}: {result.output[-600:]}"
        assert result.exception is None or isinstance(result.exception, SystemExit), told
        assert UNFORESEEN not in result.output, told
        assert "\x1b" not in result.output, told
        outside = {p.name for p in tmp_path.iterdir()} - {"b", "state"}
        assert not outside, told
        shutil.rmtree(folder)
    assert peak_kib() - before < GROWTH_KIB


def test_the_bundle_that_is_damaged_is_a_whole_one(whole: Path) -> None:
    """Else every case would be refused for the same reason."""
    for command in COMMANDS:
        result = CliRunner().invoke(app, [word.format(whole) for word in command])
        assert result.exit_code == 0, result.output
    assert Bundle.open(whole).has_verdicts
