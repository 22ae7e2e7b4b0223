"""H08-H15, H20, H22, H26: policies of memory, processors and clocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.host.rules.finding import HostFinding, HostRule
from assay.host.view import THP, View

GOVERNOR = "/sys/devices/system/cpu/cpufreq"
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
GOOD_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")


def _thp(view: View) -> Iterator[HostFinding]:
    if view.thp() == "always" and view.traits.suffers_thp:
        yield HostFinding(
            "H08",
            "S2",
            f"{THP}/enabled is always, and {view.kind} suffers from it",
            view.traits.suffers_thp,
            "Redis documentation, latency; MongoDB documentation, production notes",
            "for this service only: MemoryTHP= of systemd, or the server's own prctl "
            "(disable-thp yes); or for all",
            ((f"{THP}/enabled", "madvise"),),
        )


def _defrag(view: View) -> Iterator[HostFinding]:
    if view.thp() == "always" and view.thp("defrag") == "always":
        yield HostFinding(
            "H09",
            "S2",
            f"{THP}/enabled and defrag are both always",
            "every page fault may compact memory before it returns",
            "Linux, admin-guide/mm/transhuge.rst",
            "let only those wait that ask for it",
            ((f"{THP}/defrag", "defer+madvise"),),
        )


def _mthp(view: View) -> Iterator[HostFinding]:
    size = f"{THP}/hugepages-64kB/enabled"
    is_arm = "CPU implementer" in (view.read("/proc/cpuinfo") or "")
    if is_arm and view.thp("hugepages-64kB/enabled") == "never":
        yield HostFinding(
            "H10",
            "info",
            f"{size} is never",
            "from Linux 6.9 on aarch64 joins 16 base pages of 4 KiB in one entry of its TLB",
            "AWS Graviton getting started, optimization recommendations",
            "try it as a study",
            ((size, "inherit"),),
        )


def _governor(view: View) -> Iterator[HostFinding]:
    for name in view.names(GOVERNOR):
        path = f"{GOVERNOR}/{name}/scaling_governor"
        governor = view.read(path)
        if governor not in (None, "performance"):
            yield HostFinding(
                "H12",
                "S2",
                f"{path} is {governor}",
                "the frequency follows the load, so that a measurement measures its own past",
                "TuneD, profile throughput-performance",
                "performance, while it is measured",
                ((path, "performance"),),
            )


def _idle_states(view: View) -> Iterator[HostFinding]:
    folder = "/sys/devices/system/cpu/cpu0/cpuidle"
    deep = []
    for state in view.names(folder):
        latency = view.number(f"{folder}/{state}/latency") or 0
        if latency > 50 and view.number(f"{folder}/{state}/disable") == 0:
            deep.append(f"{view.read(f'{folder}/{state}/name')} ({latency} us)")
    if deep:
        yield HostFinding(
            "H13",
            "S3",
            f"CPUs may sleep in {', '.join(deep)}",
            "waking up adds that to the latency of a request that comes rarely",
            "TuneD, force_latency; Linux, PM QoS",
            "hold /dev/cpu_dma_latency open at 1 while it is measured",
        )


def _swappiness(view: View) -> Iterator[HostFinding]:
    value = view.number("/proc/sys/vm/swappiness")
    if value is not None and value > 10 and view.memory.get("SwapTotal", 0):
        yield HostFinding(
            "H14",
            "S3",
            f"vm.swappiness is {value} and there is swap",
            "a server's pages are swapped out for the sake of files that are read once",
            "TuneD: oracle 10, postgresql 3, mssql 1",
            "10 or less",
            (("vm.swappiness", "10"),),
        )


def _numa_balancing(view: View) -> Iterator[HostFinding]:
    if len(view.nodes) > 1 and view.number("/proc/sys/kernel/numa_balancing"):
        yield HostFinding(
            "H15",
            "S2",
            "kernel.numa_balancing is on",
            "pages of a server that is bound to its nodes are unmapped and moved for nothing",
            "Linux, admin-guide/sysctl/kernel.rst, numa_balancing",
            "off where servers are bound",
            (("kernel.numa_balancing", "0"),),
        )


def _preemption(view: View) -> Iterator[HostFinding]:
    mode = view.read("/sys/kernel/debug/sched/preempt") or ""
    if "(lazy)" in mode:
        yield HostFinding(
            "H20",
            "S2",
            f"/sys/kernel/debug/sched/preempt is {mode}",
            "a holder of a spin lock may lose its CPU, and all others spin",
            "AWS Graviton getting started, issue 475",
            "preempt=none where the kernel still offers it",
        )


def _perf(view: View) -> Iterator[HostFinding]:
    level = view.number("/proc/sys/kernel/perf_event_paranoid")
    if level is not None and level > 2:
        yield HostFinding(
            "H22",
            "info",
            f"kernel.perf_event_paranoid is {level}",
            "counters are barred from users",
            "Linux, admin-guide/perf-security.rst",
            "give CAP_PERFMON to the tool that needs it, rather than opening it to all",
        )
    devices = view.names("/sys/bus/event_source/devices")
    if not any(d == "cpu" or d.startswith(("cpu_", "armv8_", "arm")) for d in devices):
        yield HostFinding(
            "H22",
            "info",
            "no event source for the processor's counters",
            "this machine cannot count instructions, cycles or TLB misses",
            "Linux, admin-guide/perf-security.rst",
            "on a virtual machine ask its provider for a virtual PMU, or measure on the metal",
        )


def _clocksource(view: View) -> Iterator[HostFinding]:
    clock = view.read(CLOCK)
    if clock is not None and clock not in GOOD_CLOCKS:
        yield HostFinding(
            "H26",
            "S2",
            f"the clock is {clock}",
            "each reading of it is a system call or a slow device",
            "Linux, timekeeping documentation",
            "find out why the kernel gave up the processor's counter (its log says it)",
        )


def _needs(path: str, why: str) -> Callable[[View], str | None]:
    return lambda view: None if view.read(path) is not None or view.names(path) else why


RULES = (
    HostRule("H08", "THP policy against the server", "Redis, MongoDB", _thp, _needs(THP, "no THP")),
    HostRule("H09", "THP compacts in page faults", "transhuge.rst", _defrag, _needs(THP, "no THP")),
    HostRule(
        "H10",
        "64 KiB pages off",
        "AWS",
        _mthp,
        _needs(f"{THP}/hugepages-64kB/enabled", "this kernel has none"),
    ),
    HostRule(
        "H12", "CPU governor", "TuneD", _governor, _needs(GOVERNOR, "no cpufreq, as in most VMs")
    ),
    HostRule(
        "H13",
        "deep idle states",
        "TuneD",
        _idle_states,
        _needs("/sys/devices/system/cpu/cpu0/cpuidle", "no cpuidle, as in most VMs"),
    ),
    HostRule("H14", "swappiness", "TuneD", _swappiness),
    HostRule(
        "H15",
        "automatic NUMA balancing",
        "sysctl/kernel.rst",
        _numa_balancing,
        lambda view: None if len(view.nodes) > 1 else "one NUMA node",
    ),
    HostRule(
        "H20",
        "lazy preemption",
        "AWS",
        _preemption,
        _needs("/sys/kernel/debug/sched/preempt", "the mode in force cannot be read"),
    ),
    HostRule("H22", "hardware counters", "perf-security.rst", _perf),
    HostRule("H26", "clock source", "timekeeping", _clocksource, _needs(CLOCK, "not shown here")),
)
