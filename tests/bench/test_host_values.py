"""Values of the host as levels: in force while a run lasts, witnessed, and always taken back."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

import host_kit
from assay.bench.host_values import check_values, in_force, shown
from assay.changes import HostValue, generic_change
from assay.core import interrupt
from assay.core.errors import MissingError, RestoreError
from assay.host.transaction import statuses, steps
from assay.host.transaction.plan import Item
from assay.host.transaction.writable import HostTree
from assay.undo.journal import Journal
from witness_kit import showing

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
VALUES = {"vm.swappiness": "10", THP: "always"}


@pytest.fixture
def tree(tmp_path: Path) -> HostTree:
    return host_kit.make(tmp_path / "host")


def change(tmp_path: Path, off: object, on: object, key: str | None = THP):
    levels = {"off": off, "on": on}
    return generic_change("host", "thp", key, levels, target="engine", base=tmp_path)


def test_values_are_in_force_in_the_block_and_as_before_after_it(tree: HostTree) -> None:
    """And no journal stays of what is over."""
    before = host_kit.shown(tree)
    with in_force(VALUES, tree):
        assert tree.read("/proc/sys/vm/swappiness") == "10\n"
        assert all(told.holds for told in shown(VALUES, tree).values())
    assert host_kit.shown(tree) == before
    assert statuses(tree) == []


def test_no_journal_stays_of_values_that_were_stopped_while_they_were_written(
    tree: HostTree, monkeypatch
) -> None:
    """Ctrl-C while a pool grows: nothing is in force, and nothing waits for the next command."""
    before = host_kit.shown(tree)

    def put(tree: HostTree, item: Item) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "put", put)
    with pytest.raises(KeyboardInterrupt), in_force(VALUES, tree):
        raise AssertionError("the block does not begin")
    assert host_kit.shown(tree) == before
    assert statuses(tree) == []


def test_ctrl_c_at_any_moment_leaves_everything_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after every line of the journal: what is being brought back is brought back."""
    plain, moment, passed = Journal.append, 1, 0

    def write(journal: Journal, event: str, **words: Any) -> None:
        pass_by()
        plain(journal, event, **words)
        pass_by()

    def pass_by() -> None:
        nonlocal passed
        passed += 1
        if passed == moment:
            interrupt.hear(signal.SIGINT, None)

    def stopped() -> bool:
        nonlocal passed
        passed = 0
        monkeypatch.setattr(interrupt, "_asked", False)
        tree = host_kit.make(tmp_path / str(moment))
        before = host_kit.shown(tree)
        try:
            with in_force(VALUES, tree):
                pass_by()
        except KeyboardInterrupt:
            return True
        finally:
            assert host_kit.shown(tree) == before, moment
            assert statuses(tree) == [], moment
        return False

    monkeypatch.setattr(Journal, "append", write)
    while stopped():
        moment += 1
    assert 15 < moment < 99
    assert passed == moment - 1


def test_values_that_are_so_already_are_not_written(tree: HostTree) -> None:
    """Nothing to do, nothing in the journal."""
    with in_force({"vm.swappiness": "60"}, tree):
        assert statuses(tree) == []
    assert shown({"vm.swappiness": "60"}, tree) == {"vm.swappiness": HostValue("60", holds=True)}


def test_somebody_else_who_changes_a_value_stops_the_study(tree: HostTree) -> None:
    """Their value is left alone, and the study says so."""
    with pytest.raises(RestoreError, match="another program"), in_force(VALUES, tree):
        tree.write("/proc/sys/vm/swappiness", "33")
    assert tree.read("/proc/sys/vm/swappiness") == "33\n"
    assert "[madvise]" in (tree.read(THP) or "")


def test_pages_that_a_server_has_not_let_go_yet_are_waited_for(tree: HostTree, monkeypatch) -> None:
    """It has just ended; the kernel frees them a moment later."""
    folder = "/sys/kernel/mm/hugepages/hugepages-2048kB"
    waits = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        tree.write(f"{folder}/free_hugepages", "64")

    monkeypatch.setattr("assay.bench.host_values.time.sleep", sleep)
    with in_force({f"{folder}/nr_hugepages": "64"}, tree):
        tree.write(f"{folder}/free_hugepages", "10")
    assert len(waits) == 1
    assert tree.read(f"{folder}/nr_hugepages") == "4\n"
    assert statuses(tree) == []


def test_two_runs_do_not_change_one_value_at_once(tree: HostTree) -> None:
    """Whichever ended first would leave the other's behind; the first goes on as it was."""
    with in_force(VALUES, tree):
        other = {"vm.swappiness": "20"}
        refused = pytest.raises(MissingError, match="is changed by another run, of process")
        with refused, in_force(other, tree):
            raise AssertionError("not reached")
        with in_force({"net.ipv4.tcp_rmem": "1 2 3"}, tree):
            assert tree.read("/proc/sys/vm/swappiness") == "10\n"
    assert tree.read("/proc/sys/vm/swappiness") == "60\n"
    assert statuses(tree) == []


def test_a_machine_without_the_value_is_told_before_anything_runs(tree: HostTree) -> None:
    """As is a user without the right."""
    with pytest.raises(MissingError, match="is not here"):
        check_values({"/sys/kernel/mm/no_such": "1"}, tree)
    check_values(VALUES, tree)
    place = tree.place("/proc/sys/vm/swappiness")

    class Barred(type(tree)):
        def may_write(self, path: str) -> bool:
            return self.place(path) != place

    with pytest.raises(MissingError, match="may not be written") as told:
        check_values(VALUES, Barred(tree.root))
    assert "as root" in told.value.next_step


def test_a_level_is_witnessed_by_the_kernels_own_file(tree: HostTree, tmp_path: Path) -> None:
    """On is seen as on, off as off, and the other as neither."""
    thp = change(tmp_path, "madvise", "always")
    for told, other in (("off", "on"), ("on", "off")):
        host = thp.levels[told].application.host
        with in_force(host, tree):
            evidence = {"host": shown(host, tree)}
            held = thp.witness.judge(told, host, showing(**evidence))
            assert held.held, held.evidence
            wanted = thp.levels[other].application.host
            seen = {"host": shown(wanted, tree)}
            assert not thp.witness.judge(other, wanted, showing(**seen)).held
    assert not thp.witness.judge("on", {THP: "always"}, showing()).held


@pytest.mark.parametrize(
    ("off", "on", "key", "why"),
    [
        ("1", True, "vm.swappiness", "neither text nor"),
        ("1", "2", None, "add setting"),
        ({"vm.swappiness": 1}, {"vm.overcommit_memory": 1}, None, "same keys"),
    ],
)
def test_a_factor_that_cannot_be_meant_is_refused(tmp_path, off, on, key, why: str) -> None:
    """Every level says what every value is."""
    with pytest.raises(ValueError, match=why):
        change(tmp_path, off, on, key)


def test_two_factors_do_not_set_one_value(tmp_path: Path) -> None:
    """Neither would be in force in every arm."""
    one = change(tmp_path, "madvise", "always").levels["on"].application
    with pytest.raises(ValueError, match="both set"):
        one.merged(one)
