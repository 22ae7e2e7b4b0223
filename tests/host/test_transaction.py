"""Host transactions: whole or not at all, and brought back whatever happened meanwhile."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import host_kit
from assay.cli import app
from assay.core.errors import InputError, MissingError, RestoreError
from assay.host.transaction import (
    HostPlan,
    HostTree,
    RefusedError,
    abandoned,
    apply,
    confirm,
    file_item,
    forget,
    lease,
    roll_back,
    run,
    statuses,
    value_item,
)
from assay.linux import processes
from assay.undo import journal as journal_module
from assay.undo.places import LOCK, TRANSACTIONS
from assay.undo.recovery import recover as recover_kinds
from server_kit import wait_for

DRIVER = Path(host_kit.__file__).with_name("host_driver.py")


@pytest.fixture
def tree(tmp_path: Path) -> HostTree:
    return host_kit.make(tmp_path / "host")


def recover(tree: HostTree) -> list[str]:
    """What the next command brings back; an error if it cannot."""
    found = recover_kinds(lambda: abandoned(tree))
    found.require_all()
    return found.done


def killed(tree: HostTree, verb: str, what: str, lines: int) -> bool:
    """Whether the driver was killed before it was through."""
    command = [sys.executable, str(DRIVER), str(tree.root), verb, what, str(lines)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def test_what_was_applied_is_in_force_and_what_was_rolled_back_is_as_before(tree: HostTree) -> None:
    """There and back again, byte for byte, groups included."""
    before = host_kit.shown(tree)
    plan = host_kit.plan(tree)
    assert len(plan.items) == 9
    applied = apply(plan, tree)
    assert applied.state == "applied"
    now = host_kit.shown(tree)
    assert now["/proc/sys/vm/dirty_ratio"] == "0\n"
    assert now["/sys/kernel/mm/transparent_hugepage/enabled"] == "[always] madvise never\n"
    assert now["/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"] == "64\n"
    assert host_kit.FRAGMENT in now
    assert roll_back(tree, plan.id).state == "rolled-back"
    assert host_kit.shown(tree) == before


def test_a_kill_after_any_line_of_the_journal_loses_nothing(tmp_path: Path) -> None:
    """Whichever line was the last: roll back, and every file is as it was."""
    lines = 0
    is_through = False
    while not is_through:
        lines += 1
        tree = host_kit.make(tmp_path / f"host-{lines}")
        before = host_kit.shown(tree)
        plan = host_kit.plan(tree)
        file = tmp_path / "plan.json"
        file.write_text(plan.text())
        is_through = not killed(tree, "apply", str(file), lines)
        for found in statuses(tree):
            roll_back(tree, found.name)
        assert host_kit.shown(tree) == before, f"after line {lines}"
    assert lines == 2 * len(plan.items) + 3


def test_a_kill_after_any_line_of_taking_back_loses_nothing(tmp_path: Path) -> None:
    """Rolling back may be interrupted anywhere and said again."""
    lines = 0
    is_through = False
    while not is_through:
        lines += 1
        tree = host_kit.make(tmp_path / f"host-{lines}")
        before = host_kit.shown(tree)
        plan = host_kit.plan(tree)
        apply(plan, tree)
        is_through = not killed(tree, "rollback", plan.id, lines)
        assert roll_back(tree, plan.id).state == "rolled-back"
        assert host_kit.shown(tree) == before, f"after line {lines}"
    assert lines > 2 * len(plan.items)


def test_a_value_that_somebody_else_changed_is_left_alone_and_said(tree: HostTree) -> None:
    """Their value is not ours to take away."""
    plan = host_kit.plan(tree)
    apply(plan, tree)
    tree.write("/proc/sys/vm/swappiness", "1")
    found = roll_back(tree, plan.id)
    assert tree.read("/proc/sys/vm/swappiness") == "1\n"
    number = next(i for i, item in enumerate(plan.items) if item.path.endswith("swappiness"))
    assert found.outcomes[number] == "drifted"
    assert set(found.outcomes.values()) == {"restored", "drifted"}


def test_a_value_that_is_refused_brings_back_all_before_it(tree: HostTree) -> None:
    """Whole or not at all."""
    before = host_kit.shown(tree)
    items = host_kit.items(tree)
    wrong = value_item(tree, "/sys/class/net/eth0/queues/rx-0/rps_cpus", "fe")
    assert wrong is not None
    plan = HostPlan.of([*items[:5], wrong], tree)
    with pytest.raises(MissingError, match=r"EOVERFLOW.*brought back"):
        apply(plan, tree)
    assert host_kit.shown(tree) == before
    assert statuses(tree)[0].state == "rolled-back"


@pytest.mark.parametrize("lines", range(1, 20))
def test_a_user_who_stops_it_while_it_applies_finds_all_as_before(
    tree: HostTree, lines: int
) -> None:
    """After each line of the journal in turn, without a further command."""
    before, plan, written = host_kit.shown(tree), host_kit.plan(tree), []

    def stop() -> None:
        written.append(1)
        if len(written) == lines:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(plan, tree, after_append=stop)
    assert host_kit.shown(tree) == before
    assert [found.state for found in statuses(tree)] == ["rolled-back"]


def test_a_pool_that_is_not_granted_in_full_is_refused(tree: HostTree) -> None:
    """Asked is not obtained."""

    class Scarce(type(tree)):
        def write(self, path: str, value: str) -> None:
            is_pool = path.endswith("nr_hugepages")
            super().write(path, str(min(40, int(value))) if is_pool else value)

    scarce = Scarce(tree.root)
    item = value_item(scarce, "vm.nr_hugepages", "64")
    assert item is not None
    with pytest.raises(MissingError, match="64 was asked for, and it is 40"):
        apply(HostPlan.of([item], scarce), scarce)
    assert tree.read("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages") == "4\n"


def test_a_pool_is_asked_again_as_long_as_it_grows(tree: HostTree) -> None:
    """Memory that files fill is freed by and by."""
    item = value_item(tree, "vm.nr_hugepages", "64")
    assert item is not None

    class Slow(type(tree)):
        def write(self, path: str, value: str) -> None:
            if path == item.path:
                value = str(min(int(self.read(path) or 0) + 3, int(value)))
            super().write(path, value)

    slow = Slow(tree.root)
    assert apply(HostPlan.of([item], slow), slow).state == "applied"
    assert tree.read("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages") == "64\n"


def test_a_pool_in_use_is_shrunk_to_what_is_in_use_and_tried_again(tree: HostTree) -> None:
    """Taking pages from under a server leaves surplus pages behind: wait for its end."""
    item = value_item(tree, "vm.nr_hugepages", "64")
    assert item is not None
    plan = HostPlan.of([item], tree)
    apply(plan, tree)
    pool = "/sys/kernel/mm/hugepages/hugepages-2048kB"
    tree.write(f"{pool}/free_hugepages", "34")
    with pytest.raises(RestoreError, match="still in use"):
        roll_back(tree, plan.id)
    assert tree.read(f"{pool}/nr_hugepages") == "30\n"
    tree.write(f"{pool}/free_hugepages", "30")
    assert roll_back(tree, plan.id).state == "rolled-back"
    assert tree.read(f"{pool}/nr_hugepages") == "4\n"


def test_a_plan_is_refused_where_a_value_is_no_longer_what_it_was(tree: HostTree) -> None:
    """Compare, then swap."""
    plan = host_kit.plan(tree)
    tree.write("/proc/sys/vm/swappiness", "33")
    before = host_kit.shown(tree)
    with pytest.raises(InputError, match="swappiness was 60 when the plan was made, and is 33 now"):
        apply(plan, tree)
    assert host_kit.shown(tree) == before
    assert statuses(tree) == []


def test_after_a_boot_values_are_gone_and_files_are_still_taken_away(tree: HostTree) -> None:
    """The kernel forgot its values; what stands on the disk is ours to remove."""
    plan = host_kit.plan(tree)
    apply(plan, tree)
    tree.write("/proc/sys/kernel/random/boot_id", "another")
    now = tree.read("/proc/sys/vm/swappiness")
    roll_back(tree, plan.id)
    assert tree.read("/proc/sys/vm/swappiness") == now
    assert tree.read(host_kit.FRAGMENT) is None


def test_nothing_is_applied_over_a_transaction_that_was_cut_short(tree: HostTree, tmp_path) -> None:
    """First put the host in order."""
    file = tmp_path / "plan.json"
    file.write_text(host_kit.plan(tree).text())
    assert killed(tree, "apply", str(file), 5)
    name = statuses(tree)[0].name
    with pytest.raises(InputError, match="is applying") as told:
        apply(host_kit.plan(tree), tree)
    assert f"rollback {name}" in told.value.next_step


def test_what_is_confirmed_stays_and_can_still_be_taken_back(tree: HostTree) -> None:
    """A trial ends by a word."""
    before = host_kit.shown(tree)
    plan = host_kit.plan(tree)
    assert apply(plan, tree, lease_s=600).until is not None
    assert confirm(tree, plan.id).state == "confirmed"
    with pytest.raises(InputError, match="is confirmed"):
        confirm(tree, plan.id)
    roll_back(tree, plan.id)
    assert host_kit.shown(tree) == before


def test_a_damaged_journal_is_said_and_not_guessed_at(tree: HostTree) -> None:
    """Only its last line may be torn."""
    plan = host_kit.plan(tree)
    apply(plan, tree)
    log = tree.place(TRANSACTIONS) / plan.id / "log"
    lines = log.read_bytes().rstrip(b"\0").splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:-1], lines[-1][:10]]))
    assert statuses(tree)[0].state == "applying"
    log.write_bytes(b"".join([lines[0].replace(b"begun", b"bogun"), *lines[1:]]))
    with pytest.raises(RestoreError, match="line 1: damaged"):
        roll_back(tree, plan.id)


def _file(path: str, text: str) -> dict[str, object]:
    return {"items": [{"kind": "file", "path": path, "old": None, "new": text}]}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_file("/etc/passwd", "# assay"), "place"),
        (_file("/etc/sysctl.d/../assay", "# assay"), "place"),
        (_file("/etc/sysctl.d/60-assay.conf", "x"), "begins"),
        ({"items": [{"kind": "value", "path": "/proc/sys/vm/swappiness"}]}, "items.0.old"),
        ({"id": "../../etc"}, "name of a plan"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_plan_that_is_none_is_refused(tree: HostTree, tmp_path: Path, change, why: str) -> None:
    """A plan may come from anybody."""
    told = json.loads(host_kit.plan(tree).text()) | change
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(told))
    with pytest.raises(InputError, match=why):
        HostPlan.load(file)


def test_nothing_is_made_under_proc_or_outside_of_it(tree: HostTree) -> None:
    """A key that this kernel has not is no key; a path elsewhere is no setting."""
    with pytest.raises(MissingError, match="is not here"):
        value_item(tree, "vm.no_such_key", "1")
    with pytest.raises(InputError, match="no setting"):
        value_item(tree, "/etc/passwd", "1")
    with pytest.raises(InputError, match="neither a path nor a key"):
        value_item(tree, "swappiness", "1")
    assert value_item(tree, "vm.swappiness", "60") is None


def test_a_file_that_is_not_ours_is_not_replaced(tree: HostTree) -> None:
    """Somebody wrote it."""
    place = tree.place(host_kit.FRAGMENT)
    place.write_text("vm.swappiness = 1\n")
    with pytest.raises(InputError, match="not Assay's"):
        file_item(tree, host_kit.FRAGMENT, "# assay\n")


def test_the_kernels_refusal_is_told_with_its_reason(tree: HostTree) -> None:
    """EINVAL says nothing to anybody."""
    item = value_item(tree, "/sys/kernel/mm/transparent_hugepage/enabled", "sometimes")
    assert item is not None
    with pytest.raises(RefusedError, match=r"sometimes.*EINVAL"):
        tree.write(item.path, item.new)


def test_what_was_cut_short_is_brought_back_by_the_next_command(tree: HostTree, tmp_path) -> None:
    """Nobody needs to know that a process was killed."""
    before = host_kit.shown(tree)
    file = tmp_path / "plan.json"
    file.write_text(host_kit.plan(tree).text())
    assert killed(tree, "apply", str(file), 9)
    assert host_kit.shown(tree) != before
    assert len(recover(tree)) == 1
    assert [found.state for found in statuses(tree)] == ["rolled-back"]
    assert host_kit.shown(tree) == before
    assert recover(tree) == []


def test_what_was_applied_for_a_process_ends_with_it(tree: HostTree) -> None:
    """A study that is killed leaves no setting behind; one that runs keeps its own."""
    before = host_kit.shown(tree)
    child = subprocess.Popen(["sleep", "60"])
    try:
        apply(host_kit.plan(tree), tree, owner=child.pid)
        assert recover(tree) == []
    finally:
        child.kill()
        child.wait()
    assert len(recover(tree)) == 1
    assert [found.state for found in statuses(tree)] == ["rolled-back"]
    assert host_kit.shown(tree) == before


def test_a_trial_ends_when_its_time_is_over_and_nobody_confirmed_it(tree: HostTree) -> None:
    """Who lost the machine by a setting gets it back."""
    before = host_kit.shown(tree)
    plan = host_kit.plan(tree)
    apply(plan, tree, lease_s=0)
    assert recover(tree) == [f"host transaction {plan.id}"]
    assert host_kit.shown(tree) == before
    kept = host_kit.plan(tree)
    apply(kept, tree, lease_s=3600)
    assert recover(tree) == []


def test_a_process_of_its_own_ends_a_trial(tree: HostTree) -> None:
    """It needs no terminal, and no command after it."""
    before, plan = host_kit.shown(tree), host_kit.plan(tree)
    with lease.armed(tree, plan.id, 1) as how:
        apply(plan, tree, lease_s=1)
    assert how == "a process of its own"
    assert wait_for(lambda: statuses(tree)[0].state == "rolled-back")
    assert host_kit.shown(tree) == before


def test_nothing_is_applied_on_trial_where_nothing_would_end_it(
    tree: HostTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the trial was applied, and its end was announced, whatever became of the process."""
    (tmp_path / "broken").write_text("#!/bin/sh\necho no Python here >&2\nexit 1\n")
    (tmp_path / "broken").chmod(0o755)
    before, plan = host_kit.shown(tree), host_kit.plan(tree)
    (tmp_path / "plan.json").write_text(plan.text())
    monkeypatch.setattr(sys, "executable", str(tmp_path / "broken"))
    words = ["host", "apply", str(tmp_path / "plan.json"), "--try", "10m", "--root", str(tree.root)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 3
    assert "did not start, so nothing was changed: no Python here" in done.stderr
    assert host_kit.shown(tree) == before
    assert statuses(tree) == []


def test_a_kill_while_a_trial_is_applied_is_brought_back_without_a_command(tree: HostTree) -> None:
    """Whoever waits for its end sees that the process is gone."""
    before, plan = host_kit.shown(tree), host_kit.plan(tree)
    file = tree.root.with_name("plan.json")
    file.write_text(plan.text())
    assert killed(tree, "trial", str(file), 5)
    assert wait_for(lambda: host_kit.shown(tree) == before)
    assert statuses(tree)[0].state == "rolled-back"


def test_a_trial_whose_waiting_process_is_killed_is_ended_by_the_next_command(
    tree: HostTree,
) -> None:
    """kill -9 of it; the journal says when the trial is over."""
    before, plan = host_kit.shown(tree), host_kit.plan(tree)
    with lease.armed(tree, plan.id, 1):
        apply(plan, tree, lease_s=1)
    (waiting,) = waiting_for(plan.id)
    os.kill(waiting, signal.SIGKILL)
    assert wait_for(lambda: recover(tree) == [f"host transaction {plan.id}"])
    assert host_kit.shown(tree) == before


def waiting_for(name: str) -> list[int]:
    """Processes that wait for the end of the transaction."""
    ours = f"host\0wait\0{name}\0".encode()
    lines = {int(path.parent.name): path for path in Path("/proc").glob("[0-9]*/cmdline")}
    return [pid for pid, path in lines.items() if ours in processes.read(path).encode()]


def test_what_was_cut_short_before_it_had_a_plan_is_swept_away(tree: HostTree) -> None:
    """Nothing can have been changed by then; before, its folder stayed for good."""
    folder = tree.place(TRANSACTIONS) / "20260101T000000-abcdef"
    folder.mkdir(parents=True)
    (folder / "plan.partial").write_text("{")
    assert recover(tree) == []
    assert not folder.exists()


@pytest.mark.parametrize("log", [None, b"", b'1234 {"event": "beg'])
def test_what_was_cut_short_before_its_first_event_is_swept_away(tree: HostTree, log) -> None:
    """By the next command, and by the run that was stopped there itself."""
    before, plan = host_kit.shown(tree), host_kit.plan(tree)
    apply(plan, tree)
    folder = tree.place(TRANSACTIONS) / plan.id
    roll_back(tree, plan.id)
    for sweep in (recover, lambda tree: forget(tree, plan.id)):
        folder.mkdir(exist_ok=True)
        (folder / "plan.json").write_text("{}")
        (folder / "log").unlink(missing_ok=True)
        if log is not None:
            (folder / "log").write_bytes(log)
        sweep(tree)
        assert not folder.exists()
    assert host_kit.shown(tree) == before


def test_one_damaged_journal_never_keeps_the_others_from_being_brought_back(tree: HostTree) -> None:
    """It is shown as damaged and said; trials that are over end, and plans are applied."""
    old = host_kit.plan(tree)
    apply(old, tree)
    confirm(tree, old.id)
    roll_back(tree, old.id)
    log = tree.place(TRANSACTIONS) / old.id / "log"
    log.write_bytes(log.read_bytes().replace(b"begun", b"bogun"))
    before, trial = host_kit.shown(tree), host_kit.plan(tree)
    apply(trial, tree, lease_s=0)
    states = {found.name: found.state for found in statuses(tree)}
    assert states == {old.id: "damaged", trial.id: "applied"}
    found = recover_kinds(lambda: abandoned(tree))
    assert found.done == [f"host transaction {trial.id}"]
    assert [str(error) for error in found.failed] == [f"{log}, line 1: damaged"]
    assert host_kit.shown(tree) == before


def test_a_damaged_plan_is_one_damaged_transaction(tree: HostTree) -> None:
    """Its name is known, and nothing else."""
    plan = host_kit.plan(tree)
    apply(plan, tree)
    (tree.place(TRANSACTIONS) / plan.id / "plan.json").write_text("{}")
    (found,) = statuses(tree)
    assert (found.name, found.state) == (plan.id, "damaged")
    with pytest.raises(RestoreError, match="no readable plan"):
        roll_back(tree, plan.id)


def test_only_the_owner_can_hold_the_lock(tree: HostTree) -> None:
    """Others cannot open it, so they cannot stop a rollback."""
    apply(host_kit.plan(tree), tree)
    assert tree.place(LOCK).stat().st_mode & 0o777 == 0o600


def test_a_lock_that_is_held_too_long_names_its_holder(
    tree: HostTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits without end."""
    monkeypatch.setattr(run, "PATIENCE_S", 0.05)
    with (
        run.locked(tree),
        pytest.raises(MissingError, match=f"process {os.getpid()} holds"),
        run.locked(tree),
    ):
        raise AssertionError("two hold the lock")


def _full(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """From so many lines of a journal on the disk has no room."""
    lines = iter(range(1 << 20))

    def full(descriptor: int, data: bytes, at: int) -> None:
        if next(lines) >= after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(descriptor, data, at)

    write = journal_module._write
    monkeypatch.setattr(journal_module, "_write", full)


@pytest.mark.parametrize("after", range(1, 20))
def test_a_full_disk_leaves_no_value_behind(
    tree: HostTree, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Bringing back goes on without its journal, and is noted once there is room."""
    before, plan = host_kit.shown(tree), host_kit.plan(tree)
    with monkeypatch.context() as patch:
        _full(patch, after)
        with pytest.raises(RestoreError, match=r"every value is back, but .* No space left"):
            apply(plan, tree)
    assert host_kit.shown(tree) == before
    recover(tree)
    assert [found.state for found in statuses(tree)] == ["rolled-back"]
    assert host_kit.shown(tree) == before


def test_a_disk_without_room_for_the_journal_changes_nothing(
    tree: HostTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room is taken before the first value is written."""

    def full(descriptor: int, offset: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = host_kit.shown(tree)
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(MissingError, match=r"No space left.*nothing was changed"):
        apply(host_kit.plan(tree), tree)
    assert host_kit.shown(tree) == before
    assert statuses(tree) == []


def test_a_value_that_is_not_confirmed_is_changed_by_no_other_transaction(tree: HostTree) -> None:
    """Rolled back in another order, the first one's value would stay."""
    first = value_item(tree, "vm.swappiness", "10")
    assert first is not None
    plan = HostPlan.of([first], tree)
    apply(plan, tree)
    second = value_item(tree, "vm.swappiness", "20")
    assert second is not None
    with pytest.raises(InputError, match=f"transaction {plan.id}, which is not confirmed"):
        apply(HostPlan.of([second], tree), tree)
    confirm(tree, plan.id)
    assert apply(HostPlan.of([second], tree), tree).state == "applied"


def test_the_end_of_a_trial_runs_no_code_of_the_current_folder(
    tree: HostTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is called as a module of ours, or of Python's, is not imported."""
    for name in ("assay", "json", "typer"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    monkeypatch.chdir(tmp_path)
    before, plan = host_kit.shown(tree), host_kit.plan(tree)
    with lease.armed(tree, plan.id, 1):
        apply(plan, tree, lease_s=1)
    assert wait_for(lambda: statuses(tree)[0].state == "rolled-back")
    assert host_kit.shown(tree) == before
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    "path",
    ["/etc/cron.d/x", "/etc/shadow", "/proc/sys/../../etc/shadow", "/proc/sys/kernel/core_pattern",
     "/proc/self/mem"],
)  # fmt: skip
@pytest.mark.parametrize("where", ["path", "restore", "watch", "effective"])
def test_a_plan_writes_and_brings_back_values_of_the_kernel_only(
    where: str, path: str, tree: HostTree
) -> None:
    """A stranger's plan made a line of cron; its rollback wrote /etc/shadow."""
    item = value_item(tree, "vm.swappiness", "10")
    assert item is not None
    plan = HostPlan.of([item], tree)
    assert HostPlan.parse(plan.text()) == plan
    told = json.loads(plan.text())
    forms = {"restore": [{"path": path, "value": "x"}], "watch": {path: "x"}}
    told["items"][0][where] = forms.get(where, path)
    with pytest.raises(ValueError, match="no value of the kernel"):
        HostPlan.parse(json.dumps(told))
