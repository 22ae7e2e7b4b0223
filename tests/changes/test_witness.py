"""Witnesses: each proves its level, and each fails when another level was in force."""

from __future__ import annotations

from typing import Any

import pytest

from assay.changes import CATALOGUE, generic_change
from assay.changes.witness import CommandSays, Environ, Executable, HugePages, ReadBack


def ran(role: str, symbol: str, **counts: int) -> dict[str, Any]:
    """Evidence of one function."""
    found = {"role": role, "symbol": symbol, "instructions": 9, "counts": counts, "calls": 1}
    return {"functions": [found]}


HINT = CATALOGUE["engine.spin_hint"].witness


def test_a_hint_is_proved_by_the_instructions_of_the_loop_that_ran() -> None:
    """The symbol, the instruction it must hold, and those it must not."""
    paused = ran("lock_slow", "assay_lock_ttas_slow_pause", pause=1)
    bare = ran("lock_slow", "assay_lock_ttas_slow_none")
    assert HINT.judge("pause", {}, paused).held
    assert HINT.judge("none", {}, bare).held
    assert not HINT.judge("pause", {}, bare).held
    assert not HINT.judge("none", {}, paused).held


def test_a_symbol_whose_name_lies_is_found_out() -> None:
    """A loop called pause that holds none, and one called none that holds a pause."""
    empty = ran("lock_slow", "assay_lock_ttas_slow_pause")
    full = ran("lock_slow", "assay_lock_ttas_slow_none", pause=1)
    assert "holds no pause" in HINT.judge("pause", {}, empty).evidence
    assert not HINT.judge("none", {}, full).held


def test_a_lock_free_look_up_holds_no_locked_instruction() -> None:
    """The census outweighs the name."""
    witness = CATALOGUE["engine.data_cache"].witness
    assert witness.judge("lock-free", {}, ran("data_cache_lookup", "x::lock_free::y")).held
    locked = ran("data_cache_lookup", "x::lock_free::y", lock_prefix=1)
    assert not witness.judge("lock-free", {}, locked).held


def test_a_setting_that_the_server_changed_names_both_values() -> None:
    """Asked for 64, got 8."""
    held = ReadBack().judge("on", {"padding": 64}, {"read_back": {"padding": 8}})
    assert not held.held
    assert "8" in held.evidence
    assert "64" in held.evidence


@pytest.mark.parametrize(
    ("level", "anon", "hugetlb", "held"),
    [
        ("4k", 0, 0, True),
        ("4k", 4096, 0, False),
        ("thp", 950, 0, True),
        ("thp", 500, 0, False),
        ("thp", 0, 1000, False),
        ("hugetlb-2m", 0, 1000, True),
        ("hugetlb-2m", 1000, 0, False),
        ("hugetlb-2m", 0, 0, False),
    ],
)
def test_pages_are_proved_present_with_the_change_and_absent_without(
    level: str, anon: int, hugetlb: int, held: bool
) -> None:
    """smaps of the data's own mapping, both fields."""
    memory = {"bytes": 1000, "anon_huge_bytes": anon, "private_hugetlb_bytes": hugetlb}
    witness = CATALOGUE["engine.pages"].witness
    assert isinstance(witness, HugePages)
    assert witness.judge(level, {}, {"memory": memory}).held is held


def test_a_variable_is_proved_in_the_process_and_absent_without() -> None:
    """Off means unset, not empty."""
    assert Environ().judge("on", {"V": "1"}, {"environ": {"V": "1"}}).held
    assert Environ().judge("off", {"V": None}, {"environ": {}}).held
    assert not Environ().judge("off", {"V": None}, {"environ": {"V": "1"}}).held
    assert not Environ().judge("on", {"V": "1"}, {"environ": {}}).held


def test_an_executable_is_proved_by_its_contents() -> None:
    """The target's own must be none of the others."""
    witness = Executable({"off": None, "on": "aa"})
    assert witness.judge("on", {}, {"executable": {"sha256": "aa"}}).held
    assert witness.judge("off", {}, {"executable": {"sha256": "bb"}}).held
    assert not witness.judge("on", {}, {"executable": {"sha256": "bb"}}).held
    assert not witness.judge("off", {}, {"executable": {"sha256": "aa"}}).held


def test_a_command_is_believed_by_what_its_witness_prints() -> None:
    """To the letter, but for white space around it."""
    evidence = {"commands": {"thp": "always\n"}}
    assert CommandSays("thp").judge("on", {"expect": "always"}, evidence).held
    assert not CommandSays("thp").judge("on", {"expect": "never"}, evidence).held


def test_two_levels_with_the_same_executable_are_refused(tmp_path) -> None:
    """Nothing could tell them apart."""
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").write_text("x")
    with pytest.raises(ValueError, match="same executable"):
        generic_change("binary", "f", None, {"off": "a", "on": "b"}, target="engine", base=tmp_path)


def test_a_setting_level_may_be_a_table_of_settings(tmp_path) -> None:
    """Configuration A against configuration B."""
    levels = {"a": {"padding": 0, "hint": "none"}, "b": {"padding": 64, "hint": "nop"}}
    change = generic_change("setting", "conf", None, levels, target="engine", base=tmp_path)
    assert change.level("b").application.settings == {"padding": 64, "hint": "nop"}


def test_a_known_slow_down_is_proved_by_what_was_carried_out() -> None:
    """Not by what the server says it was told."""
    witness = CATALOGUE["engine.repeat_every"].witness
    told = {"read_back": {"repeat_every": 33}, "operations": 1_000_000}
    assert witness.judge("33", {"repeat_every": 33}, {**told, "executed": 1_030_303}).held
    assert not witness.judge("33", {"repeat_every": 33}, {**told, "executed": 1_000_010}).held
    assert not witness.judge("0", {"repeat_every": 0}, {**told, "executed": 1_030_303}).held
    assert witness.judge("0", {"repeat_every": 0}, {**told, "executed": 999_990}).held
