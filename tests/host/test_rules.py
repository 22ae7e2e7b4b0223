"""Rules about a host: each is quiet on a sound one, and speaks when its fault is provoked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import host_kit
from assay.cli import app
from assay.core.errors import InputError
from assay.host.rules import RULES, View, findings, not_judged
from assay.host.sizing import Need, fits, missing
from assay.linux.tree import Tree
from assay.targets import traits_of

POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB"
THP = "/sys/kernel/mm/transparent_hugepage"
PID = 4242
PROC = f"/proc/{PID}"
MIB, GIB = 1 << 20, 1 << 30

SOUND = {
    "/sys/devices/system/cpu/online": "0-3\n",
    "/proc/cmdline": "root=/dev/vda\n",
    "/proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 15728640 kB\nHugepagesize: 2048 kB\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "/sys/bus/event_source/devices/cpu/type": "4\n",
    "/proc/sys/kernel/perf_event_paranoid": "2\n",
    "/sys/class/net/eth0/queues/rx-0/rps_cpus": "0\n",
    "/sys/class/net/eth0/queues/rx-1/rps_cpus": "0\n",
    f"{PROC}/status": "Name:\tpostgres\nGroups:\t0 \nCapEff:\t0000000000000000\n",
    f"{PROC}/limits": "Limit\nMax locked memory         8388608   8388608   bytes\n",
    f"{PROC}/smaps_rollup": "Rss: 100 kB\nPrivate_Hugetlb: 2048 kB\nAnonHugePages: 0 kB\n",
    f"{PROC}/cmdline": "postgres\0-D\0/data\0",
    "/data/postgresql.conf": "huge_pages = try  # or on\n",
}

Provoked = dict[str, str]

FAULTS: dict[str, tuple[str, Provoked]] = {
    "H01": ("postgresql", {f"{PROC}/smaps_rollup": "Rss: 100 kB\nPrivate_Hugetlb: 0 kB\n"}),
    "H02": ("", {f"{POOL}/free_hugepages": "2\n", f"{POOL}/resv_hugepages": "6\n"}),
    "H03": ("", {f"{POOL}/nr_hugepages": "512\n", f"{POOL}/free_hugepages": "500\n"}),
    "H04": ("", {"/proc/cmdline": "hugepagesz=2M hugepages=64\n"}),
    "H05": ("", {"/proc/cmdline": "default_hugepagesz=2M hugepagesz=1G hugepages=8\n"}),
    "H06": (
        "",
        {
            "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages": "4\n",
            "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
        },
    ),
    "H07": ("postgresql", {f"{POOL}/nr_hugepages": "60\n", f"{POOL}/free_hugepages": "60\n"}),
    "H08": ("redis", {f"{THP}/enabled": "[always] madvise never\n"}),
    "H09": (
        "",
        {
            f"{THP}/enabled": "[always] madvise never\n",
            f"{THP}/defrag": "[always] defer defer+madvise madvise never\n",
        },
    ),
    "H10": (
        "",
        {
            "/proc/cpuinfo": "CPU implementer\t: 0x41\n",
            f"{THP}/hugepages-64kB/enabled": "always inherit madvise [never]\n",
        },
    ),
    "H12": ("", {"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave\n"}),
    "H13": (
        "",
        {
            "/sys/devices/system/cpu/cpu0/cpuidle/state3/name": "C6\n",
            "/sys/devices/system/cpu/cpu0/cpuidle/state3/latency": "170\n",
            "/sys/devices/system/cpu/cpu0/cpuidle/state3/disable": "0\n",
        },
    ),
    "H14": ("", {"/proc/meminfo": "MemTotal: 100 kB\nSwapTotal: 100 kB\nHugepagesize: 2048 kB\n"}),
    "H15": (
        "",
        {
            "/sys/devices/system/node/node0/cpulist": "0-1\n",
            "/sys/devices/system/node/node1/cpulist": "2-3\n",
            "/proc/sys/kernel/numa_balancing": "1\n",
        },
    ),
    "H16": (
        "",
        {
            "/proc/interrupts": "           CPU0       CPU1       CPU2       CPU3\n"
            " 24:     900000          5          3          1  MSI  eth0-rx-0\n"
            " 25:     800000          0          1          1  MSI  eth0-rx-1\n"
        },
    ),
    "H17": ("", {"/proc/812/comm": "irqbalance\n", "/proc/irq/24/smp_affinity": "2\n"}),
    "H18": ("", {"/sys/class/net/eth0/queues/rx-0/rps_cpus": "2\n"}),
    "H19": (
        "",
        {
            "/sys/devices/system/node/node0/cpulist": "0-1\n",
            "/sys/devices/system/node/node1/cpulist": "2-3\n",
            "/sys/class/net/eth0/queues/tx-0/xps_cpus": "0\n",
        },
    ),
    "H20": ("", {"/sys/kernel/debug/sched/preempt": "none voluntary full (lazy)\n"}),
    "H22": ("", {"/proc/sys/kernel/perf_event_paranoid": "4\n"}),
    "H26": (
        "",
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "acpi_pm\n"},
    ),
    "H28": ("", {"/sys/fs/cgroup/hugetlb.2MB.max": "2097152\n"}),
    "H29": (
        "",
        {
            "/etc/sysctl.d/60-ours.conf": "vm.nr_hugepages = 512\n",
            "/etc/sysctl.d/99-theirs.conf": "vm.nr_hugepages=0\n",
        },
    ),
    "H30": (
        "",
        {
            "/etc/tuned/active_profile": "throughput-performance\n",
            "/proc/900/comm": "tuned\n",
            "/etc/sysctl.d/60-assay-redis.conf": "# assay\nvm.swappiness = 1\n",
        },
    ),
}


def put(tree: Tree, files: Provoked) -> None:
    for path, text in files.items():
        place = tree.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    found = host_kit.make(tmp_path / "host")
    put(found, SOUND)
    return found


def test_a_sound_host_is_not_found_fault_with(tree: Tree) -> None:
    """No rule speaks where there is nothing to say."""
    assert findings(View(tree, "postgresql", PID, traits_of("postgresql"))) == []


def test_every_rule_has_a_fault_that_provokes_it() -> None:
    """A rule that cannot speak is no rule."""
    assert {rule.id for rule in RULES} == set(FAULTS)


@pytest.mark.parametrize("rule", sorted(FAULTS))
def test_a_fault_is_found_by_its_rule_and_said_with_its_evidence(tree: Tree, rule: str) -> None:
    """And the cure, where it is a value, is one that a plan takes."""
    kind, files = FAULTS[rule]
    put(tree, files)
    found = [f for f in findings(View(tree, kind, PID, traits_of(kind))) if f.rule == rule]
    assert found, f"{rule} is quiet"
    for finding in found:
        assert finding.evidence
        assert finding.reason
        assert finding.advice
        for key, value in finding.cure:
            assert host_kit.value_item(tree, key, value) is not None


@pytest.mark.parametrize("rule", sorted(r for r in FAULTS if r not in ("H22",)))
def test_a_cure_that_was_applied_quiets_its_rule(tree: Tree, rule: str) -> None:
    """What is proposed is what helps."""
    kind, files = FAULTS[rule]
    put(tree, files)
    view = View(tree, kind, PID, traits_of(kind))
    cures = [pair for f in findings(view) if f.rule == rule for pair in f.cure]
    if not cures:
        return
    for key, value in cures:
        item = host_kit.value_item(tree, key, value)
        assert item is not None
        tree.write(item.path, item.new)
    assert rule not in {f.rule for f in findings(View(tree, kind, PID, traits_of(kind)))}


def test_what_cannot_be_judged_here_is_said_with_the_reason(tree: Tree) -> None:
    """Silence would look like health."""
    told = {rule.id: why for rule, why in not_judged(View(tree))}
    assert told["H15"] == "one NUMA node"
    assert "--pid" in told["H01"]
    assert not {"H02", "H03", "H08"} & set(told)


def test_the_arithmetic_of_the_seed_comes_out_to_the_page() -> None:
    """SAP ASE: 939,524,096 pages of 2 KiB and a GiB on top, in pages of 2 MiB; memlock in kB."""
    need = Need(939_524_096 * 2048, 2 * MIB, extra=GIB)
    assert need.pages == 918_016
    assert need.memlock_kb == 1_880_096_768
    assert Need(1792 * GIB, GIB, extra=GIB).pages == 1793


def test_a_need_is_rounded_up_and_compared_with_what_is_nobodys(tree: Tree) -> None:
    """Three pages of which two are promised are one."""
    need = Need(5 * MIB + 1, 2 * MIB)
    assert need.pages == 3
    assert need.wasted == MIB - 1
    put(tree, {f"{POOL}/free_hugepages": "3\n", f"{POOL}/resv_hugepages": "2\n"})
    pool = View(tree).pools[0]
    assert missing(need, pool) == 2


def test_a_machine_is_not_asked_for_more_than_it_can_give(tree: Tree) -> None:
    """A tenth is left free."""
    view = View(tree)
    assert fits(Need(13 * GIB, 2 * MIB), view.pools[0], view) is None
    trouble = fits(Need(14 * GIB, 2 * MIB), view.pools[0], view)
    assert trouble is not None
    assert "14.0 GiB are needed" in trouble
    with pytest.raises(InputError, match="positive"):
        Need(-1, 2 * MIB)


def test_the_command_says_what_it_found_and_plans_the_cure(tree: Tree, tmp_path: Path) -> None:
    """check, plan, apply, check again; then everything is taken back."""
    put(tree, FAULTS["H08"][1])
    before = host_kit.shown(tree)
    runner, root = CliRunner(), str(tree.root)
    check = ["host", "check", "--for", "redis", "--root", root]
    done = runner.invoke(app, [*check, "--json"])
    assert done.exit_code == 1
    assert [f["rule"] for f in json.loads(done.stdout)["findings"]] == ["H08"]
    plan = str(tmp_path / "plan.json")
    assert runner.invoke(app, ["host", "plan", "--for", "redis", "--out", plan, "--root", root])
    assert runner.invoke(app, ["host", "apply", plan, "--root", root]).exit_code == 0
    assert runner.invoke(app, check).exit_code == 0
    told = runner.invoke(app, ["host", "rollback", "--root", root])
    assert "restored" in told.stdout
    assert host_kit.shown(tree) == before
    assert runner.invoke(app, ["host", "rollback", "--root", root]).exit_code == 2
