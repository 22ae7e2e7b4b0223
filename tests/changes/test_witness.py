"""Witnesses: each proves its level, and each fails when another level was in force."""

from __future__ import annotations

from typing import Any

import pytest

from assay.changes import CATALOGUE, generic_change
from assay.changes.witness import CommandSays, Environ, Executable, HugePages, ReadBack
from witness_kit import showing


def ran(role: str, symbol: str, **counts: int) -> dict[str, Any]:
    """Evidence of one function."""
    found = {"role": role, "symbol": symbol, "instructions": 9, "counts": counts, "calls": 1}
    return {"functions": [found]}


HINT = CATALOGUE["engine.spin_hint"].witness


def test_a_hint_is_proved_by_the_instructions_of_the_loop_that_ran() -> None:
    """The symbol, the instruction it must hold, and those it must not."""
    paused = ran("lock_slow", "assay_lock_ttas_slow_pause", pause=1)
    bare = ran("lock_slow", "assay_lock_ttas_slow_none")
    assert HINT.judge("pause", {}, showing(**paused)).held
    assert HINT.judge("none", {}, showing(**bare)).held
    assert not HINT.judge("pause", {}, showing(**bare)).held
    assert not HINT.judge("none", {}, showing(**paused)).held


def test_a_symbol_whose_name_lies_is_found_out() -> None:
    """A loop called pause that holds none, and one called none that holds a pause."""
    empty = ran("lock_slow", "assay_lock_ttas_slow_pause")
    full = ran("lock_slow", "assay_lock_ttas_slow_none", pause=1)
    assert "holds no pause" in HINT.judge("pause", {}, showing(**empty)).evidence
    assert not HINT.judge("none", {}, showing(**full)).held


def test_an_elided_lock_is_proved_by_the_instruction_that_begins_transactions() -> None:
    """Present in the waiting that ran with the change, absent without; hint and lock still show."""
    witness = CATALOGUE["engine.lock_elision"].witness
    elided = ran("lock_slow", "assay_lock_ttas_slow_pause_elided", pause=2, xbegin=1)
    plain = ran("lock_slow", "assay_lock_ttas_slow_pause", pause=1)
    lying = ran("lock_slow", "assay_lock_ttas_slow_pause_elided", pause=2)
    assert witness.judge("on", {}, showing(**elided)).held
    assert witness.judge("off", {}, showing(**plain)).held
    assert not witness.judge("on", {}, showing(**plain)).held
    assert not witness.judge("off", {}, showing(**elided)).held
    assert "holds no xbegin" in witness.judge("on", {}, showing(**lying)).evidence
    assert HINT.judge("pause", {}, showing(**elided)).held
    assert CATALOGUE["engine.lock"].witness.judge("ttas", {}, showing(**elided)).held


def test_one_pause_and_two_are_told_apart_by_their_number() -> None:
    """Also where the names lie."""
    two = ran("lock_slow", "assay_lock_ttas_slow_double_pause", pause=2)
    assert HINT.judge("double-pause", {}, showing(**two)).held
    assert not HINT.judge("pause", {}, showing(**two)).held
    one = ran("lock_slow", "assay_lock_ttas_slow_double_pause", pause=1)
    assert "holds 1 pause, not 2" in HINT.judge("double-pause", {}, showing(**one)).evidence
    more = ran("lock_slow", "assay_lock_ttas_slow_pause", pause=2)
    assert "holds 2 pause, not 1" in HINT.judge("pause", {}, showing(**more)).evidence


def test_atomics_are_proved_by_the_instructions_of_their_flavour() -> None:
    """Exclusives present with LL/SC and absent with LSE, and the other way round."""
    witness = CATALOGUE["micro.atomics"].witness
    exclusives = ran("atomic", "assay_atomic_add_llsc", llsc=2)
    single = ran("atomic", "assay_atomic_add_lse", lse_ldop=1)
    assert witness.judge("ll-sc", {}, showing(**exclusives)).held
    assert witness.judge("lse", {}, showing(**single)).held
    assert not witness.judge("lse", {}, showing(**exclusives)).held
    assert not witness.judge("ll-sc", {}, showing(**single)).held
    assert "holds none of" in witness.judge("lse", {}, showing(**ran("atomic", "x_lse"))).evidence
    assert not witness.judge("lse", {}, showing(**ran("atomic", "x_lse", lse_cas=1, llsc=2))).held


def test_a_memory_order_is_proved_for_the_access_that_ran() -> None:
    """A release store that exchanges is found out; a load has other expectations."""
    witness = CATALOGUE["micro.memory_order"].witness
    assert witness.judge(
        "seq-cst", {}, showing(**ran("order", "assay_order_store_seq_cst", xchg_mem=1))
    ).held
    assert not witness.judge(
        "seq-cst", {}, showing(**ran("order", "assay_order_store_seq_cst"))
    ).held
    assert witness.judge("acq-rel", {}, showing(**ran("order", "assay_order_store_release"))).held
    locked = ran("order", "assay_order_store_release", xchg_mem=1)
    assert not witness.judge("acq-rel", {}, showing(**locked)).held
    assert witness.judge(
        "acq-rel", {}, showing(**ran("order", "assay_order_load_acquire", ldar_stlr=1))
    ).held
    assert not witness.judge(
        "acq-rel", {}, showing(**ran("order", "assay_order_load_relaxed"))
    ).held


def test_an_optimistic_look_up_holds_no_locked_instruction() -> None:
    """The census outweighs the name."""
    witness = CATALOGUE["engine.data_cache"].witness
    assert witness.judge(
        "optimistic", {}, showing(**ran("data_cache_lookup", "x::optimistic::y"))
    ).held
    locked = ran("data_cache_lookup", "x::optimistic::y", lock_prefix=1)
    assert not witness.judge("optimistic", {}, showing(**locked)).held


def test_a_hyper_clock_look_up_holds_a_locked_instruction_where_there_are_such() -> None:
    """On x86-64 the census counts them, zeros too; on Arm there is no such class."""
    witness = CATALOGUE["engine.data_cache"].witness
    x86 = ran("data_cache_lookup", "x::hyper_clock::y", lock_prefix=2, xchg_mem=0)
    arm = ran("data_cache_lookup", "x::hyper_clock::y", llsc=2)
    without = ran("data_cache_lookup", "x::hyper_clock::y", lock_prefix=0, xchg_mem=0)
    assert witness.judge("hyper-clock", {}, showing(**x86)).held
    assert "2 lock_prefix" in witness.judge("hyper-clock", {}, showing(**x86)).evidence
    assert witness.judge("hyper-clock", {}, showing(**arm)).held
    assert "holds no lock_prefix" in witness.judge("hyper-clock", {}, showing(**without)).evidence


def test_a_setting_that_the_server_changed_names_both_values() -> None:
    """Asked for 64, got 8."""
    held = ReadBack().judge("on", {"padding": 64}, showing(read_back={"padding": 8}))
    assert not held.held
    assert "8" in held.evidence
    assert "64" in held.evidence


@pytest.mark.parametrize(
    ("level", "anon", "hugetlb", "page", "held"),
    [
        ("4k", 0, 0, 4096, True),
        ("4k", 4096, 0, 4096, False),
        ("thp", 950, 0, 4096, True),
        ("thp", 500, 0, 4096, False),
        ("thp", 0, 1000, 2 << 20, False),
        ("collapse", 1000, 0, 4096, True),
        ("collapse", 0, 0, 4096, False),
        ("hugetlb-2m", 0, 1000, 2 << 20, True),
        ("hugetlb-2m", 0, 1000, 1 << 30, False),
        ("hugetlb-2m", 1000, 0, 2 << 20, False),
        ("hugetlb-2m", 0, 0, 2 << 20, False),
        ("hugetlb-1g", 0, 1000, 1 << 30, True),
        ("hugetlb-1g", 0, 1000, 2 << 20, False),
    ],
)
def test_pages_are_proved_present_with_the_change_and_absent_without(
    level: str, anon: int, hugetlb: int, page: int, held: bool
) -> None:
    """smaps of the data's own mapping, both fields."""
    memory = {"bytes": 1000, "anon_huge_bytes": anon, "private_hugetlb_bytes": hugetlb}
    memory["kernel_page_bytes"] = page
    witness = CATALOGUE["engine.pages"].witness
    assert isinstance(witness, HugePages)
    assert witness.judge(level, {}, showing(memory=memory)).held is held


def test_a_variable_is_proved_in_the_process_and_absent_without() -> None:
    """Off means unset, not empty."""
    assert Environ().judge("on", {"V": "1"}, showing(environ={"V": "1"})).held
    assert Environ().judge("off", {"V": None}, showing(environ={})).held
    assert not Environ().judge("off", {"V": None}, showing(environ={"V": "1"})).held
    assert not Environ().judge("on", {"V": "1"}, showing(environ={})).held


def test_an_executable_is_proved_by_its_contents() -> None:
    """The target's own must be none of the others."""
    witness = Executable({"off": None, "on": "aa"})
    assert witness.judge("on", {}, showing(executable={"sha256": "aa"})).held
    assert witness.judge("off", {}, showing(executable={"sha256": "bb"})).held
    assert not witness.judge("on", {}, showing(executable={"sha256": "bb"})).held
    assert not witness.judge("off", {}, showing(executable={"sha256": "aa"})).held


def test_a_command_is_believed_by_what_its_witness_prints() -> None:
    """To the letter, but for white space around it."""
    evidence = {"commands": {"thp": "always\n"}}
    assert CommandSays("thp").judge("on", {"expect": "always"}, showing(**evidence)).held
    assert not CommandSays("thp").judge("on", {"expect": "never"}, showing(**evidence)).held


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
    assert witness.judge("33", {"repeat_every": 33}, showing(**told, executed=1_030_303)).held
    assert not witness.judge("33", {"repeat_every": 33}, showing(**told, executed=1_000_010)).held
    assert not witness.judge("0", {"repeat_every": 0}, showing(**told, executed=1_030_303)).held
    assert witness.judge("0", {"repeat_every": 0}, showing(**told, executed=999_990)).held


def test_both_caches_are_judged_where_both_are_used() -> None:
    """Rows in memory leave the data cache without work; that of system tables has some always."""
    witness = CATALOGUE["engine.caches"].witness
    system = ran("system_cache_lookup", "x::optimistic::look_up")["functions"]
    data = ran("data_cache_lookup", "x::optimistic::look_up")["functions"]
    other = ran("data_cache_lookup", "x::one_lock::look_up")["functions"]
    assert witness.judge("optimistic", {}, showing(functions=system)).held
    assert witness.judge("optimistic", {}, showing(functions=[*system, *data])).held
    assert not witness.judge("optimistic", {}, showing(functions=[*system, *other])).held
    assert not witness.judge("optimistic", {}, showing(functions=data)).held


def pages(**found: int) -> dict[str, Any]:
    """Evidence of a server's memory with a pool of 100 bytes."""
    names = (
        "hugetlb_mapped_bytes",
        "private_hugetlb_bytes",
        "shared_hugetlb_bytes",
        "anon_huge_bytes",
        "shmem_huge_bytes",
    )
    memory = {**dict.fromkeys(names, 0), **found}
    return {"memory": memory, "read_back": {"large_pages": "ON", "pool_bytes": 100}}


def test_huge_pages_of_a_server_must_hold_its_pool() -> None:
    """A server that goes on without them may have mapped others: only touched ones count."""
    witness = CATALOGUE["mariadb.large_pages"].witness
    on, off = {"large_pages": "ON"}, {"large_pages": "OFF"}
    assert witness.judge(
        "on", on, showing(**pages(hugetlb_mapped_bytes=300, private_hugetlb_bytes=95))
    ).held
    assert not witness.judge(
        "on", on, showing(**pages(hugetlb_mapped_bytes=300, private_hugetlb_bytes=2))
    ).held
    assert not witness.judge("on", on, showing(**pages(anon_huge_bytes=100))).held
    assert not witness.judge("on", on, showing(**pages())).held
    assert not witness.judge("on", on, showing(read_back=on)).held
    small = {**pages(), "read_back": {"large_pages": "OFF", "pool_bytes": 100}}
    assert witness.judge("off", off, showing(**small)).held
    for kind in ("hugetlb_mapped_bytes", "anon_huge_bytes", "shmem_huge_bytes"):
        found = {**small, "memory": {**small["memory"], kind: 1}}
        assert not witness.judge("off", off, showing(**found)).held


def test_huge_pages_of_a_server_that_starts_with_nothing_else_need_not_all_be_touched() -> None:
    """But some, and of the level's size."""
    witness = CATALOGUE["postgresql.huge_page_size"].witness
    level = {"huge_page_size": "2MB"}
    for touched, page, held in ((20, 2 << 20, True), (0, 2 << 20, False), (20, 1 << 30, False)):
        found = pages(
            hugetlb_mapped_bytes=120, shared_hugetlb_bytes=touched, kernel_page_bytes=page
        )
        found["read_back"] |= level
        assert witness.judge("2MB", level, showing(**found)).held is held
