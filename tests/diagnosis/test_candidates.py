"""Candidates: what stands out, what is possible, what is ruled out and by what bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assay.changes import CATALOGUE
from assay.diagnosis import Candidate, Diagnosis, Gathered, diagnose
from assay.diagnosis.mechanisms import MECHANISMS, NO_GAIN, RULES
from assay.diagnosis.records import Flaw, HotCode, ServerAnswers, ThreadWait, Unseen
from assay.host.rules import RULES as HOST_RULES
from assay.host.rules import HostFinding
from assay.targets import TARGETS
from diagnosis_kit import HEALTHY, TINY_BUFFERS, cpu_seconds, gathered


def named(found: Diagnosis, name: str) -> Candidate:
    (one,) = [c for c in found.candidates if c.name == name]
    return one


def test_a_sick_server_has_its_sickness_first_with_its_bound() -> None:
    """PostgreSQL with a tiny pool."""
    found = diagnose(TINY_BUFFERS)
    first = found.candidates[0]
    assert first.name == "postgresql.shared_buffers"
    assert first.standing == "stands out"
    assert first.most is not None
    share = 0.15 + 0.85 * 0.46  # waits, and CPU time while statements run
    assert first.most.value == pytest.approx(share / (1 - share))
    assert first.most.low < first.most.value < first.most.high
    assert first.now == "1MB"
    assert first.levels == ("128MiB", "512MiB")
    assert ("throughput", "up") in first.moves
    assert any("__x64_sys_pread64 46.0 %" in e for e in first.evidence)


def test_nothing_stands_out_of_a_healthy_server() -> None:
    """Work that somebody asked for is no sickness, however much time it takes."""
    found = diagnose(HEALTHY)
    assert found.stands_out == []
    assert named(found, "postgresql.shared_buffers").why.startswith(
        "blks_read did not grow in 10 s"
    )


def test_what_cannot_matter_is_ruled_out_by_its_bound() -> None:
    """In words and in numbers."""
    levels = {"postgresql.data_checksums": "on"}
    chains = {("main",): 9970, ("pg_checksum_page",): 30}
    found = diagnose(gathered(chains=chains, answers=ServerAnswers(levels=levels)))
    checksums = named(found, "postgresql.data_checksums")
    assert checksums.standing == "ruled out"
    assert checksums.why == "checksums of pages: 0.3 % of the server's CPU time, at most +0.4 %"
    assert diagnose(gathered(chains=chains, answers=ServerAnswers(levels=levels)), 0.001)


def test_what_is_seen_in_part_is_not_ruled_out() -> None:
    """Page walks are not counted here, whatever faults take."""
    thp = named(diagnose(gathered(chains={("main",): 1000})), "host.thp")
    assert thp.standing == "no bound"
    assert thp.why.endswith("page walks are not counted here")


def test_a_smaller_wish_rules_out_less() -> None:
    """`smallest` is the user's."""
    chains = {("main",): 9970, ("pg_checksum_page",): 30}
    answers = ServerAnswers(levels={"postgresql.data_checksums": "on"})
    found = diagnose(gathered(chains=chains, answers=answers), smallest=0.001)
    assert named(found, "postgresql.data_checksums").standing == "possible"


def test_a_level_that_is_in_force_is_not_tried_again() -> None:
    """Checksums that are off cannot be switched off."""
    answers = ServerAnswers(levels={"postgresql.data_checksums": "off"})
    found = diagnose(gathered(chains={("main",): 10}, answers=answers))
    assert named(found, "postgresql.data_checksums").why.startswith("off is in force")


def test_what_gives_up_durability_says_so() -> None:
    """A flush takes time because somebody wants it."""
    chains = {("main", "__x64_sys_fdatasync"): 400, ("main",): 600}
    answers = ServerAnswers(
        counters={"wal_sync": 900.0},
        waited_ns={"IO/WALSync": 1e9},
        running_ns=9e9,
        looks=100,
        levels={"postgresql.synchronous_commit": "on"},
    )
    threads = [ThreadWait("postgres", "R", "", 1.0)]
    seen = gathered(chains=chains, answers=answers, threads=threads, thread_looks=1000)
    commits = named(diagnose(seen), "postgresql.synchronous_commit")
    assert commits.standing == "possible"
    assert commits.risk == "the last commits may be lost in a crash"
    assert commits.levels == ("off",)


SPINNING = gathered(
    "mariadb",
    chains={("[mariadbd]+0x10 (before x)",): 800, ("main",): 200},
    code=[HotCode("[mariadbd]+0x10 (before x)", "server", {"pause": 1}, True)],
    answers=ServerAnswers(
        counters={"Innodb_rows_updated": 1e5},
        levels={"mariadb.spin_wait_delay": "96", "mariadb.sync_spin_loops": "30"},
    ),
)


def test_a_contended_latch_names_the_delay_and_the_levels_to_try() -> None:
    """MariaDB whose functions are stripped: the code says that it waits."""
    first, second, *_ = diagnose(SPINNING).candidates
    assert {first.name, second.name} == {"mariadb.spin_wait_delay", "mariadb.sync_spin_loops"}
    delay = named(diagnose(SPINNING), "mariadb.spin_wait_delay")
    assert delay.levels == ("4", "0")
    assert delay.most is not None
    assert delay.most.value == pytest.approx(4.0)


BARE = Flaw(
    "B05", "S2", "1 loop on xchg with no hint", "waiters take the line", "pause", "ydb-spinlock"
)


def test_a_bare_spin_loop_stands_out_of_a_program_that_is_no_target() -> None:
    """By its code alone."""
    code = [HotCode("take", "spinner", {}, False, (BARE,))]
    chains = {("run", "take"): 990, ("run",): 10}
    seen = gathered("", chains=chains, code=[replace(code[0], module="server")])
    found = diagnose(seen)
    (first,) = found.stands_out
    assert first.name == "B05 take"
    assert first.kind == "build"
    assert "1 loop on xchg with no hint" in first.evidence


def test_a_loop_that_may_be_a_search_does_not_stand_out() -> None:
    """Severity S3: it only loads."""
    code = [HotCode("find", "server", {}, False, (replace(BARE, severity="S3"),))]
    found = diagnose(gathered("", chains={("find",): 990, ("run",): 10}, code=code))
    assert found.stands_out == []
    assert named(found, "B05 find").standing == "possible"


def redis(**memory: int) -> Gathered:
    chains = {("set", "asm_exc_page_fault", "copy"): 300, ("set",): 700}
    answers = ServerAnswers(counters={"calls.set": 1e5}, levels={"redis.thp": "on"})
    finding = HostFinding(
        "H08", "S2", "policy always", "redis suffers", "redis.conf", "madvise",
        (("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"),),
    )  # fmt: skip
    facts = {**gathered().facts, "thp": {"enabled": "always", "defrag": "always"}}
    values = {"/sys/kernel/mm/transparent_hugepage/enabled": "always"}
    return gathered(
        "redis", chains=chains, answers=answers, memory=memory, host=[finding], facts=facts,
        host_values=values,
    )  # fmt: skip


def test_redis_under_transparent_huge_pages_names_them_in_each_way_to_be_rid_of_them() -> None:
    """Its own setting, the host's policy, and the rule that found it."""
    found = diagnose(redis(eligible_bytes=1 << 30))
    assert {c.name for c in found.stands_out} == {"redis.thp", "host.thp", "H08"}
    assert named(found, "host.thp").levels == ("never",)
    assert all(c.study for c in found.stands_out)


def test_much_memory_that_it_does_not_want_stands_out_whatever_time_faults_take() -> None:
    """What suffers is latency and memory."""
    quiet = gathered(chains={("set",): 1000}).profile
    seen = replace(redis(eligible_bytes=900, touched_bytes=1000), profile=quiet)
    found = diagnose(seen)
    thp = named(found, "redis.thp")
    assert thp.standing == "stands out"
    assert thp.why == "90 % of its memory is of a kind that it does not want"
    little = diagnose(replace(seen, memory={"eligible_bytes": 10, "touched_bytes": 1000}))
    assert little.stands_out == []


def test_redis_that_has_none_of_them_is_not_sick_of_them() -> None:
    """Page faults are of something else then."""
    found = diagnose(redis(eligible_bytes=0))
    assert named(found, "redis.thp").why == "the server has 0 eligible_bytes"


def test_what_this_host_cannot_have_is_ruled_out_with_the_reason() -> None:
    """A rule of the host that cannot be judged says why."""
    unseen = [Unseen("rule H12, CPU governor", "no cpufreq, as in most VMs", "")]
    found = diagnose(gathered(chains={("main",): 10}, unseen=unseen))
    assert named(found, "host.governor").why == "no cpufreq, as in most VMs"
    assert named(found, "host.governor").standing == "ruled out"


def test_uneven_soft_interrupts_name_steering() -> None:
    """A bound on what steering can move."""
    found = diagnose(gathered("nginx", chains={("main",): 10}, cpus=cpu_seconds(0.6, 0.05)))
    assert {"host.rps", "host.irq"} <= {c.name for c in found.stands_out}


def test_without_rights_nothing_is_bounded_and_nothing_is_invented() -> None:
    """No profile, no waits, no statistics."""
    found = diagnose(gathered(chains=None))
    assert {c.standing for c in found.candidates} <= {"no bound", "ruled out"}
    assert all(c.most is None for c in found.candidates if c.standing == "no bound")
    assert all(c.why for c in found.candidates)


@pytest.mark.parametrize(
    "kind", ["", "redis", "valkey", "mariadb", "postgresql", "nginx", "memcached"]
)
def test_every_change_of_a_kind_is_a_candidate_once(kind: str) -> None:
    """But those that cannot make anything faster."""
    found = diagnose(gathered(kind, chains={("main",): 100}))
    names = [c.name for c in found.candidates]
    assert len(names) == len(set(names))
    target = TARGETS.get(kind)
    if target is not None:
        fitting = {c.name for c in CATALOGUE.values() if c.fits(target)}
        assert {n for n in fitting if n.partition(".")[2] not in NO_GAIN} == set(names)


def test_the_table_names_changes_levels_and_rules_that_there_are() -> None:
    """A row that nothing reads would bound nothing."""
    assert MECHANISMS.keys() <= CATALOGUE.keys()
    assert RULES.keys() <= {rule.id for rule in HOST_RULES}
    for name, row in MECHANISMS.items():
        change = CATALOGUE[name]
        for level in (*row.only, *row.levels):
            number: Any = int(level) if change.numeric_setting and not change.sized else level
            assert change.level(number).name == level
        assert row.looks
        assert row.text
