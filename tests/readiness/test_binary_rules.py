"""Rules of binaries: each speaks of the smallest image that provokes it, and of no sound one."""

from __future__ import annotations

from typing import Any

import pytest

from assay.readiness.binary import RULES, judge
from assay.readiness.census import Image
from assay.readiness.finding import ReadinessFinding
from assay.readiness.machine import Machine
from readiness_kit import GRAVITON, OLD, an_image, site

HELPER = {"name": "__aarch64_cas4_acq", "address": 0x900, "calls": 7}
SYNC = {"name": "__aarch64_ldadd8_sync", "address": 0x940, "calls": 5}

Case = tuple[dict[str, Any], dict[str, Any] | None, Machine | None, str]
LOUD: dict[str, Case] = {
    "B01": ({"facts": {"atomics": "ll-sc-only"}, "counts": {"ll_sc": 9}}, None, None, "S2"),
    "B02": ({"sites": [site("llsc-outside-helper", operation="cas16")]}, None, None, "S2"),
    "B03": ({"helpers": [HELPER], "facts": {"constructor": False}}, None, None, "S1"),
    "B04": (
        {"helpers": [HELPER, SYNC], "counts": {"helper_calls": 12, "helper_calls_sync": 5}},
        None,
        None,
        "S3",
    ),
    "B05": ({"sites": [site("spin-loop", hint="none", by="lse")]}, None, None, "S2"),
    "B06": ({"sites": [site("delay-loop", constant=200, near_atomic=True)]}, None, None, "S2"),
    "B07": ({"sites": [site("spin-loop", hint="yield", by="ldar")]}, None, None, "S3"),
    "B08": (
        {"exports": frozenset(("spin",)), "exports_hints": {}, "counts": {"isb_in_loop": 1}},
        {"counts": {"pause": 4}, "exports_hints": {"spin": {"pause": 4, "hints": 0}}},
        None,
        "S2",
    ),
    "B09": ({"sites": [site("hint-outside-loop", hint="isb")]}, None, None, "I"),
    "B10": (
        {"sites": [site("unreachable", classes=["crc32"], why="constant-false guard check")]},
        None,
        None,
        "S1",
    ),
    "B11": ({"counts": {"crc32": 0}}, {"counts": {"crc32": 12}}, None, "S2"),
    "B12": ({"sites": [site("sigill-probe")]}, None, None, "S3"),
    "B13": ({"sites": [site("unguarded", **{"class": "crc32"})]}, None, OLD, "S1"),
    "B14": ({"facts": {"min_load_align": 4096}}, None, OLD, "S1"),
    "B15": ({"sites": [site("barrier-in-loop", what="dsb sy")]}, None, None, "S3"),
    "B16": ({"facts": {"section_align": {".data": 64}}}, None, OLD, "S3"),
    "B17": ({"counts": {"isb_in_loop": 3}}, None, GRAVITON, "I"),
    "B18": ({"sites": [site("timer", count=93)]}, None, None, "I"),
    "B19": ({"facts": {"bti": True, "pac": True}}, None, None, "I"),
}

QUIET: dict[str, Case] = {
    "B01": ({"facts": {"atomics": "none"}}, None, None, ""),
    "B02": (
        {"facts": {"atomics": "ll-sc-only"}, "sites": [site("llsc-outside-helper")]},
        None,
        None,
        "",
    ),
    "B03": ({"helpers": [HELPER], "facts": {"constructor": True}}, None, None, ""),
    "B04": ({"helpers": [HELPER], "counts": {"helper_calls": 7}}, None, None, ""),
    "B05": ({"sites": [site("spin-loop", hint="isb", by="lse")]}, None, None, ""),
    "B06": ({"sites": []}, None, None, ""),
    "B07": ({"sites": [site("spin-loop", hint="isb", by="ldar")]}, None, None, ""),
    "B08": (
        {
            "exports": frozenset(("spin",)),
            "counts": {"isb_in_loop": 4},
            "exports_hints": {"spin": {"pause": 0, "hints": 4}},
        },
        {"counts": {"pause": 4}, "exports_hints": {"spin": {"pause": 4}, "gone": {"pause": 1}}},
        None,
        "",
    ),
    "B09": ({"sites": [site("spin-loop", hint="isb", by="lse")]}, None, None, ""),
    "B10": ({"counts": {"crc32": 12}}, None, None, ""),
    "B11": ({"counts": {"crc32": 4}}, {"counts": {"crc32": 12, "aes": 0}}, None, ""),
    "B12": ({}, None, None, ""),
    "B13": (
        {"sites": [site("unguarded", **{"class": "crc32"}), site("hwcap", bits=["crc32"])]},
        None,
        OLD,
        "",
    ),
    "B14": ({"arch": "x86_64", "facts": {"min_load_align": 4096}}, None, None, ""),
    "B15": ({"sites": [site("barrier-in-loop", what="dmb ish")]}, None, None, ""),
    "B16": ({"facts": {"section_align": {}}}, None, OLD, ""),
    "B17": ({"counts": {"isb_in_loop": 3, "sb": 1}}, None, GRAVITON, ""),
    "B18": ({}, None, None, ""),
    "B19": ({"facts": {"bti": False, "pac": False}}, None, None, ""),
}


def looked(case: Case) -> list[ReadinessFinding]:
    """What is found in an image that a case describes."""
    told, twin, machine, _ = case
    other = an_image(arch="x86_64", path="/amd64/server", **twin) if twin is not None else None
    return judge(an_image(**told), other, machine)


@pytest.mark.parametrize("rule", sorted(LOUD))
def test_a_rule_speaks_when_its_fault_is_there(rule: str) -> None:
    """With the severity that it has there, a reason, a source and a study."""
    found = [f for f in looked(LOUD[rule]) if f.rule == rule]
    assert [f.severity for f in found] == [LOUD[rule][3]]
    assert found[0].evidence
    assert found[0].reason
    assert found[0].source
    assert found[0].study


@pytest.mark.parametrize("rule", sorted(QUIET))
def test_a_rule_is_quiet_where_its_fault_is_not(rule: str) -> None:
    """The nearest image that is sound."""
    assert [f for f in looked(QUIET[rule]) if f.rule == rule] == []


def test_every_rule_is_provoked_and_kept_quiet_here() -> None:
    """All that are declared."""
    assert set(LOUD) == set(QUIET) == {rule.id for rule in RULES}


def test_a_sound_image_has_nothing_that_counts() -> None:
    """Only facts."""
    assert {f.severity for f in judge(an_image())} <= {"I"}


def test_the_gravest_comes_first() -> None:
    """Whatever rule it is of."""
    found = judge(
        an_image(
            facts={"atomics": "outline", "constructor": False},
            helpers=[HELPER],
            sites=[site("spin-loop", hint="yield"), site("spin-loop", hint="none", by="load")],
        )
    )
    assert [f.severity for f in found] == sorted(f.severity for f in found if f.severity != "I") + [
        f.severity for f in found if f.severity == "I"
    ]
    assert found[0].rule == "B03"


def test_loops_of_one_function_are_one_finding_and_those_of_none_are_each_their_own() -> None:
    """A stripped binary has no names to gather by."""
    spins = [site("spin-loop", "wait", 0x10 * at, hint="none", by="lse") for at in (1, 2, 3)]
    lost = [site("spin-loop", None, 0x10 * at, hint="none", by="lse") for at in (7, 8)]
    found = [f for f in judge(an_image(sites=spins + lost)) if f.rule == "B05"]
    assert [f.address for f in found] == [0x10, 0x70, 0x80]
    assert "3 loops" in found[0].evidence


def test_findings_without_a_name_are_told_apart_when_their_code_is_the_same() -> None:
    """By their order, so that each can be accepted for itself."""
    lost = [site("spin-loop", None, 0x10 * at, hint="none", by="lse") for at in (7, 8)]
    found = [f for f in judge(an_image(sites=lost)) if f.rule == "B05"]
    assert len({f.fingerprint for f in found}) == 2


def test_a_loop_that_only_loads_is_advice() -> None:
    """It may search; with an atomic operation in the same function it waits."""

    def severity(*by: str) -> str:
        sites = [site("spin-loop", "f", 16 * at, hint="none", by=b) for at, b in enumerate(by)]
        return next(f.severity for f in judge(an_image(sites=sites)) if f.rule == "B05")

    assert (severity("load"), severity("load", "helper")) == ("S3", "S2")
    counting = {**site("spin-loop", hint="none", by="load"), "listing": ["8: 1 add w1, w1, #0x1"]}
    assert [f.severity for f in judge(an_image(sites=[counting])) if f.rule == "B05"] == ["I"]


def test_a_fingerprint_does_not_move_with_the_code() -> None:
    """The same function elsewhere is the same finding."""

    def fingerprint(address: int, function: str) -> str:
        spin = site("spin-loop", function, address, hint="none", by="lse")
        return next(f for f in judge(an_image(sites=[spin])) if f.rule == "B05").fingerprint

    assert fingerprint(0x1000, "wait") == fingerprint(0x8000, "wait")
    assert fingerprint(0x1000, "wait") != fingerprint(0x1000, "other")


def test_members_of_a_static_library_tell_no_facts() -> None:
    """A library has hundreds."""
    member = an_image(kind="relocatable", member="lse.o", facts={"atomics": "outline"})
    assert judge(member) == []
    assert member.shown == "/usr/bin/server(lse.o)"


def test_what_a_host_has_makes_a_finding_a_fact() -> None:
    """Unguarded CRC32 runs on a Graviton, and stops on an older processor."""
    needs = an_image(sites=[site("unguarded", **{"class": "crc32"})])

    def severity(machine: Machine | None) -> str:
        return next(f.severity for f in judge(needs, None, machine) if f.rule == "B13")

    assert [severity(m) for m in (GRAVITON, OLD, None)] == ["I", "S1", "S3"]


def test_a_host_of_another_architecture_is_not_joined() -> None:
    """Its features say nothing about this code."""
    intel = Machine("intel", "x86_64", 4096, 64, frozenset(("sse4_2",)))
    needs = an_image(sites=[site("unguarded", **{"class": "crc32"})])
    assert judge(needs, None, intel) == judge(needs)


def test_jemalloc_for_small_pages_is_told_by_the_page_it_was_built_for() -> None:
    """64 KiB on the host, 4 KiB in the library."""

    def grave(image: Image) -> list[str]:
        return [f.severity for f in judge(image, None, OLD) if f.rule == "B14"]

    assert grave(an_image(facts={"jemalloc_lg_page": 12})) == ["S1", "I"]
    assert grave(an_image(facts={"jemalloc_lg_page": 16})) == ["I", "I"]


def test_crc32c_by_tables_alone_is_found_on_either_architecture() -> None:
    """Debian's librocksdb for amd64 has a table and not one crc32 instruction."""
    for arch in ("x86_64", "aarch64"):
        found = judge(an_image(arch=arch, kind="shared", tables=frozenset(("crc32c",))))
        assert "no hardware CRC at all" in next(f for f in found if f.rule == "B11").evidence
    with_code = an_image(tables=frozenset(("crc32c",)), counts={"crc32": 9})
    assert not [f for f in judge(with_code) if f.rule == "B11"]
