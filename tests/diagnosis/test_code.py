"""The code of hot functions, with names and without."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay import native
from assay.diagnosis import code
from assay.diagnosis.records import HotCode
from diagnosis_kit import profile

SOURCE = """
#include <stdint.h>
volatile int held;
__attribute__((noinline)) void bare(void) { while (__sync_lock_test_and_set(&held, 1)) { } }
__attribute__((noinline)) void polite(void) {
    while (__sync_lock_test_and_set(&held, 1)) { __builtin_ia32_pause(); }
}
__attribute__((noinline)) uint32_t sum(uint32_t c, const uint32_t *p, int n) {
    for (int i = 0; i < n; i++) c = __builtin_ia32_crc32si(c, p[i]);
    return c;
}
int main(int n, char **words) { bare(); polite(); return sum(0, (const uint32_t *)words, n); }
"""
NAMES = ("bare", "polite", "sum")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same program with its names and without."""
    if native.facts().arch != "x86_64":
        pytest.skip("its source is of x86-64")
    folder = tmp_path_factory.mktemp("code")
    (folder / "hot.c").write_text(SOURCE)
    made = []
    for name, strip in (("named", []), ("hot", ["-s"])):
        words = ["gcc", "-O2", "-msse4.2", *strip, "-o", str(folder / name), str(folder / "hot.c")]
        subprocess.run(words, check=True)
        made.append(folder / name)
    return made[0], made[1]


def looked_into(path: Path, names: list[str], monkeypatch: pytest.MonkeyPatch) -> list[HotCode]:
    monkeypatch.setattr(code, "_file", lambda pid, module: path)
    seen = profile({(name,): 100 for name in names}, module="hot")
    found, unseen = code.hot_code(seen, 1, None)
    assert unseen == []
    return found


def test_a_bare_loop_is_a_flaw_and_one_with_a_pause_spins(
    programs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the names of its functions."""
    found = {c.name: c for c in looked_into(programs[0], list(NAMES), monkeypatch)}
    assert [f.rule for f in found["bare"].flaws] == ["B05"]
    assert found["bare"].flaws[0].listing
    assert not found["bare"].spins
    assert found["polite"].spins
    assert found["polite"].flaws == ()


def test_stripped_functions_are_known_by_their_addresses(
    programs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a profile names them; their instructions are counted too."""
    named, stripped = programs
    census = native.census(named, symbols=NAMES).functions
    shown = {f.asked: f"[hot]+{f.address} (before x)" for f in census}
    found = {c.name: c for c in looked_into(stripped, list(shown.values()), monkeypatch)}
    assert [f.rule for f in found[shown["bare"]].flaws] == ["B05"]
    assert found[shown["polite"]].spins
    assert found[shown["polite"]].instructions["pause"] == 1
    assert found[shown["sum"]].instructions["crc32"] == 1
    assert not found[shown["sum"]].spins


def test_a_file_that_is_gone_or_no_program_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The rest is still looked into."""
    (tmp_path / "hot").write_text("no program")
    for path in (None, tmp_path / "hot", tmp_path / "absent"):
        monkeypatch.setattr(code, "_file", lambda pid, module, path=path: path)
        found, (unseen,) = code.hot_code(profile({("f",): 1}, module="hot"), 1, None)
        assert found == []
        assert unseen.what == "the code of hot"
        assert unseen.why


def test_a_mangled_symbol_is_known_by_the_parts_of_its_name() -> None:
    """As sites and profiles write the same function."""
    assert code._is_named("main", "main")
    assert code._is_named("rocksdb::crc32c::Extend", "_ZN7rocksdb6crc32c6ExtendEjPKcm")
    assert not code._is_named("rocksdb::crc32c::Extend", "_ZN7rocksdb6crc32c5ValueEPKcm")
    assert not code._is_named("main", "domain")
