"""Files that outlive a boot: ours only, after the values, and taken back with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import host_kit
from assay.cli import app
from assay.core.errors import InputError, MissingError
from assay.host.persistence import boot, memlock, persistent
from assay.host.transaction import HostPlan, HostTree, apply, roll_back

SWAPPINESS = ("/proc/sys/vm/swappiness", "10")
THP = ("/sys/kernel/mm/transparent_hugepage/enabled", "madvise")
QUEUE = ("/sys/class/net/eth0/queues/rx-0/rps_cpus", "e")


@pytest.fixture
def tree(tmp_path: Path) -> HostTree:
    made = host_kit.make(tmp_path / "host")
    made.create("/usr/sbin/update-grub", "")
    return made


def texts(tree: HostTree, values, name: str = "mariadb") -> dict[str, str]:
    """The lines that say something, by file."""
    return {
        item.path: "\n".join(item.new.splitlines()[1:])
        for item in persistent(tree, values, name, "p1")
    }


def test_each_kind_of_value_goes_where_it_is_read_at_a_boot(tree: HostTree) -> None:
    """Keys of sysctl, files of the kernel, and queues that exist only once their device does."""
    assert texts(tree, [SWAPPINESS, THP, QUEUE]) == {
        "/etc/sysctl.d/60-assay-mariadb.conf": "vm.swappiness = 10",
        "/etc/tmpfiles.d/assay-mariadb.conf": f"w- {THP[0]} - - - - madvise",
        "/etc/udev/rules.d/60-assay-mariadb.rules": 'ACTION=="add", SUBSYSTEM=="net", '
        'KERNEL=="eth0", ATTR{queues/rx-0/rps_cpus}="e"',
    }


def test_its_first_line_names_the_plan_that_takes_it_back(tree: HostTree) -> None:
    (item,) = persistent(tree, [SWAPPINESS], "mariadb", "20260101T000000-abcdef")
    assert "20260101T000000-abcdef" in item.new.splitlines()[0]


def test_what_an_earlier_plan_said_of_other_keys_stays(tree: HostTree) -> None:
    (first,) = persistent(tree, [SWAPPINESS, ("/proc/sys/vm/dirty_ratio", "5")], "web", "p1")
    tree.create(first.path, first.new)
    (second,) = persistent(tree, [("/proc/sys/vm/dirty_ratio", "7")], "web", "p2")
    assert second.new.splitlines()[1:] == ["vm.swappiness = 10", "vm.dirty_ratio = 7"]


@pytest.mark.parametrize("winner", ["/etc/sysctl.d/99-local.conf", "/etc/sysctl.conf"])
def test_a_file_that_would_win_is_named(tree: HostTree, winner: str) -> None:
    """It would look as if our value were in force."""
    tree.create(winner, "vm.swappiness=60\n")
    with pytest.raises(InputError, match=f"{winner} sets vm.swappiness = 60"):
        persistent(tree, [SWAPPINESS], "mariadb", "p1")


def test_a_file_that_is_read_before_ours_or_says_the_same_does_no_harm(tree: HostTree) -> None:
    tree.create("/etc/sysctl.d/10-base.conf", "vm.swappiness=60\n")
    tree.create("/etc/sysctl.d/99-local.conf", "vm.swappiness = 10\n")
    assert len(persistent(tree, [SWAPPINESS], "mariadb", "p1")) == 1


def test_an_interrupt_is_not_kept_by_its_number(tree: HostTree) -> None:
    with pytest.raises(InputError, match="another number after a boot"):
        persistent(tree, [("/proc/irq/24/smp_affinity", "1")], "web", "p1")


def test_where_tuned_has_the_say_nothing_is_kept(tree: HostTree) -> None:
    tree.create("/etc/tuned/active_profile", "throughput-performance\n")
    tree.create("/proc/77/comm", "tuned\n")
    with pytest.raises(MissingError, match="TuneD"):
        persistent(tree, [SWAPPINESS], "web", "p1")


def test_the_right_to_lock_memory_is_given_to_a_unit_or_to_a_users_logins(tree: HostTree) -> None:
    unit = memlock(tree, "mariadb.service", 8 << 30, "p1")
    assert unit.path == "/etc/systemd/system/mariadb.service.d/50-assay.conf"
    assert unit.new.splitlines()[1:] == ["[Service]", "LimitMEMLOCK=8589934592"]
    user = memlock(tree, "user:sybase", 1_880_096_768 * 1024, "p1")
    assert user.path == "/etc/security/limits.d/60-assay-sybase.conf"
    assert user.new.splitlines()[1:] == ["sybase - memlock 1880096768"]
    with pytest.raises(InputError, match="neither a unit nor a user"):
        memlock(tree, "../x.service/y", 1, "p1")


def test_words_for_the_kernels_command_line_are_words(tree: HostTree) -> None:
    item = boot(tree, "hugepagesz=1G hugepages=4", "p1")
    assert item.new.splitlines()[1] == (
        'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX hugepagesz=1G hugepages=4"'
    )
    with pytest.raises(InputError, match="no part of"):
        boot(tree, 'x"; rm -rf /', "p1")


def test_a_plan_with_files_is_applied_and_taken_back_to_the_last_folder(tree: HostTree) -> None:
    """The drop-in folder of a unit was made for the file, and goes with it."""
    before = host_kit.shown(tree)
    files = [*persistent(tree, [SWAPPINESS], "web", "p1"), memlock(tree, "a.service", 1 << 30, "p")]
    plan = HostPlan.of(files, tree)
    apply(plan, tree)
    assert "/etc/systemd/system/a.service.d/50-assay.conf" in host_kit.shown(tree)
    roll_back(tree, plan.id)
    assert host_kit.shown(tree) == before
    assert not tree.place("/etc/systemd/system/a.service.d").exists()


def test_from_the_command_line_files_come_after_the_values(tree: HostTree, tmp_path: Path) -> None:
    """And a value that is in force already is still kept for the next boot."""
    tree.write("/proc/sys/vm/swappiness", "10\n")
    words = ["host", "plan", "--root", str(tree.root), "--set", "vm.swappiness=10"]
    words += ["--set", "vm.dirty_ratio=5", "--persist", "web", "--memlock", "web.service=1GiB"]
    words += ["--boot", "hugepages=8", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    plan = json.loads(done.stdout)
    assert [item["path"] for item in plan["items"]] == [
        "/proc/sys/vm/dirty_ratio",
        "/etc/sysctl.d/60-assay-web.conf",
        "/etc/systemd/system/web.service.d/50-assay.conf",
        "/etc/default/grub.d/60-assay.cfg",
    ]
    assert "vm.swappiness = 10" in plan["items"][1]["new"]
    assert plan["id"] in plan["items"][1]["new"]


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("/usr/sbin/grubby", 'grubby --update-kernel=ALL --args="hugepages=8"'),
        ("/usr/sbin/bootctl", "add to the boot loader's line for the kernel: hugepages=8"),
    ],
)
def test_a_boot_loader_that_reads_no_file_of_ours_gets_a_line_to_run(
    tmp_path: Path, program: str, line: str
) -> None:
    """RHEL's grubby, or any other: the plan holds no file that nobody would read."""
    tree = host_kit.make(tmp_path / "other")
    tree.create(program, "")
    words = ["host", "plan", "--root", str(tree.root), "--boot", "hugepages=8"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [line]
    assert "not in this plan" in done.stderr
