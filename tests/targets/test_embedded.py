"""The embedded targets, for real: what the binary says, and what witnesses make of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay import native
from assay.changes import CATALOGUE, Evidence, lacking
from assay.core.errors import InputError, MissingError, RunError
from assay.host import host_facts, limits
from assay.native import process
from assay.targets import TARGETS, Launch, Measured
from assay.workloads import WORKLOADS

FACTS = native.facts()
PAUSE = "pause" if FACTS.arch == "x86_64" else "isb"
TWICE = ["double-pause"] if FACTS.arch == "x86_64" else []


def launch(kind: str, workload: str, **settings: Any) -> Launch:
    """A short launch of a target, defaults for all that is not named."""
    target = TARGETS[kind]
    whole = {name: p.default for name, p in target.settings.items()}
    whole |= {n: v for n, v in WORKLOADS[workload].settings.items() if n in whole}
    parameters = {name: p.default for name, p in WORKLOADS[workload].parameters.items()}
    if workload == "ycsb":
        parameters |= {"records": 2000, "fields": 2}
    if workload == "aggregate":
        parameters |= {"rows": 1000}
    if workload == "chase":
        parameters |= {"bytes": 8 << 20}
    if workload == "tpcc":
        parameters |= {"scale": "small", "warehouses": 1}
    if workload == "trade-desk":
        parameters |= {"users": 4, "accounts": 100, "report_share": 0.1}
    return Launch(whole | settings, workload, parameters, 1, 0.02, 0.06)


def run(kind: str, made: Launch, tmp_path: Path) -> tuple[Measured, Evidence]:
    """Start, measure and stop; the numbers and the evidence."""
    server = TARGETS[kind].start(made, tmp_path / "log")
    try:
        server.read_back()
        measured = server.measure(lambda operations, seconds: None)
        return measured, server.evidence()
    finally:
        server.stop()


def judge(change: str, level: str | int, evidence: Evidence) -> bool:
    found = CATALOGUE[change].level(level)
    witness = CATALOGUE[change].witness
    return witness.judge(found.name, found.application.settings, evidence).held


def here(change: str) -> list[str]:
    """The levels of a change that this machine's processor has."""
    return [
        name
        for name, level in CATALOGUE[change].levels.items()
        if not lacking(level.needs, FACTS.model_dump())
    ]


# "misdispatched" runs the bytewise code, and its witness says so.
CRC32C_HERE = [name for name in here("micro.crc32c") if name != "misdispatched"]
ATOMICS_HERE = here("micro.atomics")

CACHES = ["one-lock", "partitioned", "hyper-clock", "optimistic"]
REQUIRED = {
    "engine.hash_cache": {"store": "memory"},
}
"""Settings without which a change means nothing."""
ELISION_HERE = ["off", "on"] if FACTS.can.htm.state == "usable" else ["off"]

CASES = [
    ("engine", "ycsb", "engine.spin_hint", ["none", "nop", PAUSE, *TWICE]),
    ("micro", "lock", "engine.spin_hint", ["none", "nop", PAUSE, *TWICE]),
    ("engine", "ycsb", "engine.lock", ["tas", "ttas", "backoff", "ticket", "mcs", "futex"]),
    ("micro", "lock", "engine.lock", ["tas", "ttas", "backoff", "ticket", "mcs", "futex"]),
    (
        "engine",
        "ycsb",
        "engine.data_cache",
        ["one-lock", "partitioned", "hyper-clock", "optimistic"],
    ),
    ("engine", "ycsb", "engine.lock_elision", ELISION_HERE),
    ("micro", "lock", "engine.lock_elision", ELISION_HERE),
    ("engine", "ycsb", "engine.padding", ["0", "64", "128"]),
    ("engine", "ycsb", "engine.pages", ["4k", "thp"]),
    ("micro", "crc32c", "micro.crc32c", CRC32C_HERE),
    ("micro", "crc32c", "micro.crc32c", ["misdispatched", "hardware"]),
    ("engine", "aggregate", "engine.plan", list(CATALOGUE["engine.plan"].levels)),
    ("engine", "aggregate", "engine.rewrite", ["off", "on"]),
    ("engine", "tpcc", "engine.index", ["latched", "optimistic"]),
    ("engine", "trade-desk", "engine.index", ["latched", "optimistic"]),
    ("engine", "tpcc", "engine.cc", ["no-wait", "wait-die", "optimistic", "multi-version"]),
    ("engine", "trade-desk", "engine.store", ["pages", "memory"]),
    ("engine", "trade-desk", "engine.hash_cache", ["off", "on"]),
    ("engine", "trade-desk", "engine.plan", ["row", "cranelift-simd"]),
    ("engine", "trade-desk", "engine.spin_hint", ["none", PAUSE]),
    ("engine", "trade-desk", "engine.system_cache", CACHES),
    ("engine", "trade-desk", "engine.data_cache", CACHES),
    ("engine", "trade-desk", "engine.caches", CACHES),
    ("engine", "trade-desk", "engine.pages", ["4k", "thp"]),
    ("engine", "tpcc", "engine.pages", ["4k", "thp"]),
    ("engine", "tpcc", "engine.log", ["none", "asynchronous", "group", "private-group"]),
    ("engine", "tpcc", "engine.log", ["none", "per-commit"]),
    ("engine", "ycsb", "engine.threads", [1, 3]),
    ("engine", "ycsb", "engine.cache_share", [100, 50]),
    ("micro", "lock", "engine.hint_repeats", [1, 200]),
    ("micro", "order", "micro.memory_order", ["relaxed", "acq-rel", "seq-cst"]),
    ("micro", "counters", "micro.stride", [8, 16, 32, 64, 128, 256]),
    ("micro", "atomic", "micro.atomics", ATOMICS_HERE),
    ("micro", "chase", "engine.pages", ["4k", "thp"]),
    ("micro", "call", "micro.call", here("micro.call")),
    ("micro", "unaligned", "micro.alignment", here("micro.alignment")),
    ("micro", "timer", "micro.timer", here("micro.timer")),
    ("micro", "hash", "micro.hash", here("micro.hash")),
    ("micro", "compress", "micro.compression", here("micro.compression")),
    ("micro", "simd", "micro.simd", here("micro.simd")),
    ("micro", "lock", "engine.repeat_every", [0, 33]),
]


@pytest.mark.parametrize(
    ("kind", "workload", "change", "levels"), CASES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_each_level_is_witnessed_and_no_other_level_is(
    kind: str, workload: str, change: str, levels: list, tmp_path: Path
) -> None:
    """Run every level for real; its witness holds for it, and for none of the others."""
    for level in levels:
        applied = REQUIRED.get(change, {}) | CATALOGUE[change].level(level).application.settings
        made = launch(kind, workload, **applied)
        if change == "engine.log":
            made = replace(made, window_s=0.5)  # a sync may take tens of milliseconds
        _, evidence = run(kind, made, tmp_path)
        assert {other: judge(change, other, evidence) for other in levels} == {
            other: other == level for other in levels
        }


def test_a_wait_in_nanoseconds_is_read_back_with_the_count_it_became(tmp_path: Path) -> None:
    """The cost of one hint is measured at start; the count follows from it."""
    _, evidence = run("micro", launch("micro", "lock", hint=PAUSE, hint_ns=3000), tmp_path)
    told = evidence.read_back
    assert judge("engine.hint_ns", 3000, evidence)
    assert not judge("engine.hint_ns", 0, evidence)
    waited = told["hint_repeats"] * told["hint_ns_measured"]
    assert waited == pytest.approx(3000, abs=told["hint_ns_measured"])


def test_a_contended_lock_counts_its_dose_and_a_private_one_has_none(tmp_path: Path) -> None:
    """Four threads on one lock wait; one thread alone never does."""
    shared, _ = run("micro", launch("micro", "lock", threads=4), tmp_path)
    alone, _ = run("micro", launch("micro", "lock", threads=1), tmp_path)
    assert shared.counters["waits.lock"] > 0
    assert alone.counters["waits.lock"] == 0
    assert alone.counters["grabs.lock"] == pytest.approx(alone.operations, rel=0.01)


def test_a_small_data_cache_counts_its_misses_and_a_full_one_has_none(tmp_path: Path) -> None:
    """Half the pages fit: the dose of the share is there, and only there."""
    half, _ = run("engine", launch("engine", "ycsb", cache_share=50), tmp_path)
    full, _ = run("engine", launch("engine", "ycsb"), tmp_path)
    assert half.counters["data_cache.misses"] > 0
    assert half.counters["data_cache.evictions"] > 0
    assert full.counters["data_cache.misses"] == 0
    assert full.counters["data_cache.hits"] == full.counters["lookups.data_cache"]


def test_a_run_has_every_metric_of_its_target(tmp_path: Path) -> None:
    """Positive numbers, sane quantiles, and counters that fit the operations."""
    measured, _ = run("engine", launch("engine", "ycsb"), tmp_path)
    metrics = measured.metrics
    assert metrics["throughput"] == pytest.approx(measured.operations / measured.window_s)
    assert 0 < metrics["latency_p50"] <= metrics["latency_p99"] <= metrics["latency_max"]
    assert metrics["fairness"] > 0
    assert metrics["page_table_bytes"] > 0
    assert measured.counters["lookups.data_cache"] == pytest.approx(measured.operations, rel=0.01)
    assert len(measured.cpus) >= FACTS.cpus
    assert measured.errors == 0


@pytest.mark.parametrize("mix", "abcdef")
def test_every_ycsb_mix_runs_and_leaves_sound_data(mix: str, tmp_path: Path) -> None:
    """The state check reads every record after the run."""
    made = launch("engine", "ycsb")
    made = replace(made, parameters={**made.parameters, "mix": mix, "operations": 20_000_000})
    measured, _ = run("engine", made, tmp_path)
    assert measured.operations > 0
    assert measured.errors == 0


def test_a_variable_is_seen_in_the_running_process_only_if_asked_for(tmp_path: Path) -> None:
    """And no other variable is ever recorded."""
    made = replace(launch("micro", "lock"), env={"ASSAY_PLACEBO": "yes", "HOME": None})
    _, evidence = run("micro", made, tmp_path)
    assert evidence.environ == {"ASSAY_PLACEBO": "yes"}


def test_another_build_is_told_apart_by_its_contents(tmp_path: Path) -> None:
    """A copy of the binary with a byte more is another executable."""
    other = tmp_path / "assayer"
    other.write_bytes(native.find_assayer().read_bytes() + b"\0")
    other.chmod(0o755)
    _, mine = run("micro", launch("micro", "lock"), tmp_path)
    _, theirs = run("micro", replace(launch("micro", "lock"), binary=str(other)), tmp_path)
    assert mine.executable.sha256 != theirs.executable.sha256


def test_the_census_agrees_with_objdump(tmp_path: Path) -> None:
    """The second opinion on what the slow path holds."""
    _, evidence = run("micro", launch("micro", "lock", hint=PAUSE), tmp_path)
    (function,) = [f for f in evidence.functions if f.role == "lock_slow"]
    command = ["objdump", "-d", f"--disassemble={function.symbol}", native.find_assayer()]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    body = [line for line in listing.splitlines() if "\t" in line]
    assert sum(f"\t{PAUSE}" in line for line in body) == function.counts[PAUSE] == 1


POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


@pytest.fixture
def empty_pool() -> None:
    """The machine must have no free huge page: a test that cannot say no proves nothing."""
    free = sum(p.free for p in native.facts().huge_pages if p.bytes == 2 << 20)
    assert free == 0, "this machine has free 2 MiB pages; release them to run this test"


@pytest.fixture
def filled_pool() -> Iterator[bool]:
    """64 more huge pages, given back afterwards; False where this user may not ask for them."""
    try:
        before = POOL.read_text()
        POOL.write_text(str(int(before) + 64))
    except OSError:
        yield False
        return
    yield int(POOL.read_text()) >= int(before) + 64
    POOL.write_text(before)


def test_hugetlb_with_an_empty_pool_is_missing_and_says_the_remedy(empty_pool: None) -> None:
    """Before any run, with the number of pages in the command."""
    with pytest.raises(MissingError) as caught:
        TARGETS["engine"].check(launch("engine", "ycsb", pages="hugetlb-2m"))
    assert "nr_hugepages" in caught.value.next_step


def test_hugetlb_is_witnessed_where_it_can_be_had_and_refused_elsewhere(
    filled_pool: bool, tmp_path: Path
) -> None:
    """Private_Hugetlb present with the change, absent without."""
    made = launch("engine", "ycsb", pages="hugetlb-2m")
    if not filled_pool:
        with pytest.raises(MissingError):
            TARGETS["engine"].check(made)
        return
    measured, evidence = run("engine", made, tmp_path)
    assert judge("engine.pages", "hugetlb-2m", evidence)
    assert not judge("engine.pages", "4k", evidence)
    assert not judge("engine.pages", "thp", evidence)
    assert measured.counters["huge_bytes"] > 0


def test_a_chase_is_on_pages_of_a_pool_where_it_can_be_had(
    filled_pool: bool, tmp_path: Path
) -> None:
    """Of which it asks for what it goes through, and no more."""
    made = launch("micro", "chase", pages="hugetlb-2m")
    assert TARGETS["micro"].huge_bytes(made, 2 << 20) == 8 << 20
    assert TARGETS["micro"].huge_bytes(made, 1 << 30) == 1 << 30
    if not filled_pool:
        with pytest.raises(MissingError):
            TARGETS["micro"].check(made)
        return
    measured, evidence = run("micro", made, tmp_path)
    assert judge("engine.pages", "hugetlb-2m", evidence)
    assert not judge("engine.pages", "4k", evidence)
    assert evidence.memory["private_hugetlb_bytes"] == 8 << 20
    assert measured.counters["huge_bytes"] == 8 << 20


@pytest.mark.parametrize("given", [{"stride": 96}, {"bytes": 8192, "stride": 8192}])
def test_a_chase_that_has_no_places_is_refused_by_name(given: dict[str, int]) -> None:
    """Lines are whole, and one place is no chase."""
    made = launch("micro", "chase")
    with pytest.raises(InputError, match=r"workload\.(stride|bytes)"):
        TARGETS["micro"].check(replace(made, parameters={**made.parameters, **given}))


def refusal(kind: str, made: Launch) -> MissingError | None:
    """What this machine lacks for a launch, if anything."""
    try:
        TARGETS[kind].check(made)
    except MissingError as error:
        return error
    return None


def test_pages_of_a_gibibyte_are_witnessed_or_refused_with_a_remedy(tmp_path: Path) -> None:
    """Normally there are none; where the machine was given some, they are used and seen."""
    made = launch("micro", "counters", pages="hugetlb-1g")
    refused = refusal("micro", made)
    if refused:
        assert "hugetlb-1g" in str(refused)
        assert "nr_hugepages" in refused.next_step or "choose pages" in refused.next_step
        return
    _, evidence = run("micro", made, tmp_path)
    assert judge("engine.pages", "hugetlb-1g", evidence)
    assert not judge("engine.pages", "hugetlb-2m", evidence)


def test_base_pages_joined_after_the_first_touch_are_huge(tmp_path: Path) -> None:
    """Seen like transparent ones: the way there differs, not what is obtained."""
    made = launch("engine", "ycsb", pages="collapse")
    refused = refusal("engine", made)
    if refused:
        assert "6.1" in refused.next_step or "memory" in refused.next_step
        return
    _, evidence = run("engine", made, tmp_path)
    assert judge("engine.pages", "collapse", evidence)
    assert not judge("engine.pages", "4k", evidence)


def test_an_instruction_of_another_processor_is_missing() -> None:
    """Never replaced by something else."""
    foreign = "isb" if FACTS.arch == "x86_64" else "pause"
    with pytest.raises(MissingError):
        TARGETS["micro"].check(launch("micro", "lock", hint=foreign))


@pytest.mark.parametrize(
    ("change", "workload", "setting"),
    [("micro.simd", "simd", "simd"), ("micro.timer", "timer", "timer")],
)
def test_code_of_another_processor_is_missing_by_name(
    change: str, workload: str, setting: str
) -> None:
    """Forced, it is refused before any run."""
    absent = [n for n in CATALOGUE[change].levels if n not in here(change)]
    assert absent
    for name in absent:
        with pytest.raises(MissingError, match=name):
            TARGETS["micro"].check(launch("micro", workload, **{setting: name}))


def test_decompressing_is_witnessed_as_well(tmp_path: Path) -> None:
    """The other direction is another function of the same level."""
    made = launch("micro", "compress", compression="zstd")
    made = replace(made, parameters={**made.parameters, "direction": "decompress"})
    measured, evidence = run("micro", made, tmp_path)
    assert judge("micro.compression", "zstd", evidence)
    assert not judge("micro.compression", "lz4", evidence)
    assert evidence.read_back["compression_ratio"] > 1
    assert measured.counters["checksummed_bytes"] > 0


def test_atomics_of_another_processor_are_missing() -> None:
    """Before any run, and with what they need."""
    absent = [n for n in CATALOGUE["micro.atomics"].levels if n not in ATOMICS_HERE]
    for name in absent:
        with pytest.raises(MissingError, match=name) as caught:
            TARGETS["micro"].check(launch("micro", "atomic", atomics=name))
        assert "aarch64" in caught.value.next_step


def test_a_check_starts_no_workload(tmp_path: Path) -> None:
    """A launch that would load for minutes is checked at once."""
    made = launch("engine", "ycsb")
    big = replace(made, parameters={**made.parameters, "records": 1_000_000}, window_s=3600.0)
    TARGETS["engine"].check(big)


def test_a_wrong_request_is_an_input_error() -> None:
    """The binary says what it does not know, and Python passes it on."""
    with pytest.raises(InputError, match="bogus"):
        native.ask("census", {"path": "/proc/self/exe", "bogus": 1})


def test_a_line_that_is_not_of_the_protocol_is_refused() -> None:
    """Unknown fields break the reader, so that a silent change shows."""
    with pytest.raises(RunError, match="not of its protocol"):
        native.parse('{"type": "phase", "data": {"name": "load", "more": 1}}', native.RunResult)


def test_the_facts_say_what_cannot_be_done_here() -> None:
    """One sentence each, and enough to fill host.json."""
    facts = host_facts()
    assert facts["cpus"] >= 1
    assert all(": " in limit for limit in limits(facts))


def test_a_missing_binary_lists_where_it_was_looked_for(monkeypatch) -> None:
    """One door, and it says where it knocked."""
    monkeypatch.setenv("ASSAYER", "/nowhere/assayer")
    monkeypatch.setattr(process, "NAME", "no-such-binary")
    with pytest.raises(MissingError, match="/nowhere/assayer") as caught:
        native.find_assayer()
    assert "make install" in caught.value.next_step
