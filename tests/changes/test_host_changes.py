"""Changes of the machine: levels that are written, and witnesses that can say no."""

from __future__ import annotations

from typing import Any

import pytest

from assay.changes import Application, applied_values, find
from assay.changes.pages import SHMEM, THP
from assay.changes.witness import OfKeys, PageKinds, ReadBack
from assay.targets import TARGETS
from witness_kit import showing

KINDS = ("4k", "thp", "2m", "1g")
GIB, MIB = 1 << 30, 1 << 20


def memory(kind: str) -> dict[str, int]:
    """smaps of a server whose pool of 1 GiB is in pages of a kind, a tenth of it touched."""
    found = {
        "touched_bytes": 100 * MIB,
        "anon_huge_bytes": 0,
        "shmem_huge_bytes": 0,
        "private_hugetlb_bytes": 0,
        "shared_hugetlb_bytes": 0,
        "hugetlb_mapped_bytes": 0,
    }
    if kind == "thp":
        return found | {"anon_huge_bytes": 90 * MIB}
    if kind in ("2m", "1g"):
        page = {"2m": 2 * MIB, "1g": GIB}[kind]
        pool = {"private_hugetlb_bytes": max(page, 100 * MIB), "hugetlb_mapped_bytes": GIB}
        return found | pool | {"kernel_page_bytes": page, "touched_bytes": 5 * MIB}
    return found


def evidence(kind: str, target: str) -> dict[str, Any]:
    """All that a sound run at a kind shows."""
    made = find("host.pages", TARGETS[target]).level(kind)
    application = made.application.of(target)
    host = {key: {"value": value, "holds": True} for key, value in application.host.items()}
    read = {**application.settings, "pool_bytes": GIB}
    environ = dict(application.env)
    return {"host": host, "read_back": read, "memory": memory(kind), "environ": environ}


def judged(kind: str, target: str, shown: dict[str, Any]) -> bool:
    change = find("host.pages", TARGETS[target])
    made = change.level(kind)
    return change.witness.judge(
        made.name, applied_values(made, "pages", target), showing(**shown)
    ).held


@pytest.mark.parametrize("target", ["mariadb", "postgresql", "rocksdb"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_page_is_told_from_each_other(kind: str, target: str) -> None:
    """With everything as it should be but the pages."""
    for shown in KINDS:
        told = {**evidence(kind, target), "memory": memory(shown)}
        assert judged(kind, target, told) is (shown == kind), shown


def test_a_pool_that_holds_part_of_the_memory_is_not_believed() -> None:
    """Or one that nobody has touched."""
    shown = evidence("2m", "mariadb")
    for changed in ({"hugetlb_mapped_bytes": GIB // 2}, {"private_hugetlb_bytes": 0}):
        told = {**shown, "memory": {**shown["memory"], **changed}}
        assert not judged("2m", "mariadb", told)


def test_the_policy_and_the_settings_are_witnessed_too() -> None:
    """Each of them alone spoils it."""
    shown = evidence("thp", "postgresql")
    assert judged("thp", "postgresql", shown)
    for key in (THP, SHMEM):
        host = {**shown["host"], key: {"value": "madvise", "holds": False}}
        assert not judged("thp", "postgresql", {**shown, "host": host})
    read = {**shown["read_back"], "huge_pages": "try"}
    assert not judged("thp", "postgresql", {**shown, "read_back": read})


def test_one_level_is_something_else_for_each_target() -> None:
    """And nothing of the others'."""
    made = find("host.pages", TARGETS["mariadb"]).level("2m").application
    assert made.of("mariadb").settings == {"large_pages": "ON"}
    assert made.of("postgresql").settings == {"huge_pages": "on", "huge_page_size": "2MB"}
    assert made.of("engine").settings == {"pages": "hugetlb-2m"}
    assert SHMEM not in made.of("mariadb").host
    assert made.of("redis").settings == {}


def test_malloc_takes_pages_of_a_pool_and_nothing_else_of_it_differs() -> None:
    """Transparent ones are the kernel's policy alone; how its heaps grow is alike."""
    levels = {
        k: find("host.pages", TARGETS["rocksdb"]).level(k).application.of("rocksdb") for k in KINDS
    }
    asked = {kind: made.env["GLIBC_TUNABLES"] for kind, made in levels.items()}
    assert asked["thp"] == asked["4k"] == "glibc.malloc.hugetlb=0"
    assert asked["2m"] == "glibc.malloc.hugetlb=2097152"
    assert {k: made.host[THP] for k, made in levels.items()} == {
        kind: "always" if kind == "thp" else "never" for kind in KINDS
    }
    rest = [{n: v for n, v in m.env.items() if n != "GLIBC_TUNABLES"} for m in levels.values()]
    assert all(env == rest[0] and env for env in rest)


def test_an_environment_that_the_process_has_not_is_not_believed() -> None:
    """Nor is one that was not read."""
    shown = evidence("thp", "rocksdb")
    assert judged("thp", "rocksdb", shown)
    assert not judged("thp", "rocksdb", {**shown, "environ": {}})
    assert not judged("thp", "rocksdb", {k: v for k, v in shown.items() if k != "environ"})


def test_what_two_factors_set_for_one_target_is_found() -> None:
    """Also where only one of them says so for that target."""
    one = find("host.pages", TARGETS["mariadb"]).level("2m").application
    other = Application({"large_pages": "OFF"})
    with pytest.raises(ValueError, match="both set large_pages"):
        one.of("mariadb").merged(other.of("mariadb"))
    with pytest.raises(ValueError, match="both set pool"):
        one.merged(Application(steer={"pool": "1g"}))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("host.pin", "0-3/4-7"),
        ("host.pin", "0"),
        ("host.rps", "1"),
        ("host.rps", "0xfe/0xfe00"),
        ("host.xps", "0/1"),
        ("host.irq", "0-1"),
        ("host.swappiness", "10"),
    ],
)
def test_cpus_and_numbers_are_levels_as_they_are_written(change: str, name: str) -> None:
    """Beside those that have names."""
    made = find(change, TARGETS["redis"]).level(name)
    assert made.name == name
    application = made.application
    assert name in {*application.steer.values(), *application.host.values()}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("host.pin", "0-3/"),
        ("host.pin", "left"),
        ("host.rps", "fe"),
        ("host.rps", "0/"),
        ("host.irq", "0/1"),
        ("host.swappiness", "-1"),
        ("host.swappiness", "201"),
        ("host.thp", "sometimes"),
    ],
)
def test_what_is_no_level_is_answered_with_what_is(change: str, name: str) -> None:
    """By the name of the change."""
    with pytest.raises(ValueError, match=f"is not a level of {change}"):
        find(change, TARGETS["redis"]).level(name)


def test_a_witness_of_some_keys_is_not_shown_the_others() -> None:
    """Nor is its counterpart shown these."""
    read = {"a": 1}
    applied = {"a": 1, "b": 2}
    assert OfKeys(frozenset({"a"}), ReadBack()).judge("", applied, showing(read_back=read)).held
    rest = OfKeys(frozenset({"a"}), ReadBack(), others=True)
    assert not rest.judge("", applied, showing(read_back=read)).held


def test_pages_of_an_embedded_target_are_those_of_its_own_mapping() -> None:
    """Which has no field of what is mapped beside what is touched."""
    witness = PageKinds({"2m": 2 * MIB}, frozenset({"thp"}))
    own = {"bytes": 64 * MIB, "anon_huge_bytes": 0, "private_hugetlb_bytes": 64 * MIB}
    own["kernel_page_bytes"] = 2 * MIB
    assert witness.judge("2m", {}, showing(memory=own)).held
    assert not witness.judge(
        "2m", {}, showing(**{"memory": own | {"private_hugetlb_bytes": MIB}})
    ).held
    assert not witness.judge("4k", {}, showing(memory=own)).held
