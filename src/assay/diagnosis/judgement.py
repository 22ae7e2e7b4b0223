"""From what was gathered to the answer: where time goes, what is remarkable, what to try."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator

from assay.diagnosis.candidates import SMALLEST, candidates
from assay.diagnosis.code import HOT
from assay.diagnosis.looks import bounded, own_samples
from assay.diagnosis.records import (
    CpuSecond,
    CpuUse,
    Diagnosis,
    Gathered,
    HotFunction,
    Noticed,
    Wait,
)
from assay.diagnosis.studies import with_study
from assay.record import RunProfile

IDLE = 0.1
"""CPUs: a server that uses less is hardly asked anything."""

PRESSED, THROTTLED, STOLEN = 0.1, 0.01, 0.02
"""Shares of the window from which on pressure, throttling and stolen time are remarkable."""

FUNCTIONS, WAITS = 40, 12


def diagnose(gathered: Gathered, smallest: float = SMALLEST) -> Diagnosis:
    """The diagnosis; `smallest`: the gain, a fraction, below which a candidate is ruled out."""
    cpus = max(int(gathered.facts.get("cpus", 1)), 1)
    judged = candidates(gathered, smallest)
    return Diagnosis(
        subject=gathered.subject,
        seconds=gathered.seconds,
        cost=gathered.cost_s / (gathered.seconds * cpus) if gathered.seconds else 0.0,
        smallest=smallest,
        samples=gathered.profile.samples if gathered.profile else 0,
        functions=list(_functions(gathered.profile)) if gathered.profile else [],
        modules=list(_modules(gathered.profile)) if gathered.profile else [],
        waits=_waits(gathered),
        threads=gathered.threads,
        cpus=_cpus(gathered),
        noticed=list(_noticed(gathered)),
        host=gathered.host,
        code=gathered.code,
        candidates=[with_study(c, gathered) for c in judged],
        unseen=gathered.unseen,
    )


def _functions(profile: RunProfile) -> Iterator[HotFunction]:
    totals: Counter[int] = Counter()
    for stack in profile.stacks:
        for place in set(stack.frames):
            totals[place] += stack.count
    for place, count in own_samples(profile).most_common(FUNCTIONS):
        if count >= HOT * profile.samples:
            function = profile.functions[place]
            total = totals[place] / profile.samples
            own = bounded(count, profile.samples)
            yield HotFunction(function.name, function.module, own, total)


def _modules(profile: RunProfile) -> Iterator[HotFunction]:
    counts: Counter[str] = Counter()
    for place, count in own_samples(profile).items():
        counts[profile.functions[place].module] += count
    for module, count in counts.most_common():
        yield HotFunction(module, module, bounded(count, profile.samples), None)


def _waits(gathered: Gathered) -> list[Wait]:
    answers = gathered.answers
    if answers is None or answers.running_ns is None:
        return []
    whole = sum(answers.waited_ns.values()) + answers.running_ns
    ranked = sorted(answers.waited_ns.items(), key=lambda item: -item[1])
    return [Wait(event, ns / whole) for event, ns in ranked[:WAITS]] if whole else []


def _cpus(gathered: Gathered) -> list[CpuUse]:
    by_cpu: dict[int, list[CpuSecond]] = {}
    for second in gathered.cpus:
        by_cpu.setdefault(second.cpu, []).append(second)
    kinds = ("user", "system", "irq", "softirq", "steal")
    return [
        CpuUse(
            cpu=cpu,
            **{k: statistics.fmean(getattr(s, k) for s in seconds) for k in kinds},
            busy=[sum(getattr(s, k) for k in kinds) for s in seconds],
        )
        for cpu, seconds in sorted(by_cpu.items())
    ]


def _noticed(gathered: Gathered) -> Iterator[Noticed]:
    seconds, counters = gathered.seconds, gathered.counters
    used = counters.get("process.cpu_us", 0.0) / 1e6 / seconds if seconds else 0.0
    if "process.cpu_us" in counters:
        idle = used < IDLE
        more = ": hardly anything is asked of it, so its bounds are of little use" if idle else ""
        yield Noticed("CPU time", f"the server uses {used:.2f} CPUs{more}", idle)
    yield from _held_up(gathered)
    yield from _faults(gathered)
    for use in gathered.disks:
        flush = "" if use.flush_ms is None else f", a flush takes {use.flush_ms:.2f} ms"
        text = (
            f"{use.name}: {use.reads_per_s:.0f} reads/s, {use.writes_per_s:.0f} writes/s, "
            f"busy {100 * use.busy:.0f} %, {use.queue:.1f} under way{flush}"
        )
        yield Noticed("disk", text, use.busy > 0.9)
    dropped = _growth(gathered, "host.softnet.dropped")
    squeezed = _growth(gathered, "host.softnet.time_squeeze")
    if dropped or squeezed:
        text = f"{dropped:.0f} packets dropped, {squeezed:.0f} times out of time"
        yield Noticed("network", text, bool(dropped))


def _held_up(gathered: Gathered) -> Iterator[Noticed]:
    seconds, counters = gathered.seconds, gathered.counters
    if gathered.ran_s is not None and gathered.delayed_s is not None:
        ready = gathered.ran_s + gathered.delayed_s
        share = gathered.delayed_s / ready if ready else 0.0
        text = f"ready threads wait {100 * share:.0f} % of the time for a CPU"
        yield Noticed("run queue", text, False)
    for resource in ("cpu", "memory", "io"):
        us = counters.get(f"psi.{resource}.some_us")
        if us is not None:
            share = us / 1e6 / seconds
            text = f"some task waited for {resource} {100 * share:.0f} % of the time"
            yield Noticed(f"pressure, {resource}", text, resource != "cpu" and share > PRESSED)
    limits = gathered.limits
    if limits is not None and (limits.cpus is not None or limits.memory is not None):
        parts = [f"{limits.cpus:g} CPUs"] if limits.cpus is not None else []
        parts += [f"{limits.memory / 2**20:.0f} MiB"] if limits.memory is not None else []
        yield Noticed("control group", f"it may have {' and '.join(parts)}", False)
    if gathered.throttled_s:
        share = gathered.throttled_s / seconds
        text = f"its control group was held up {100 * share:.0f} % of the time: raise its cpu.max"
        yield Noticed("throttling", text, share > THROTTLED)
    stolen = statistics.fmean([c.steal for c in gathered.cpus]) if gathered.cpus else 0.0
    if stolen > STOLEN:
        text = f"the hypervisor took {100 * stolen:.1f} % of the CPUs' time"
        yield Noticed("stolen time", text, True)


def _faults(gathered: Gathered) -> Iterator[Noticed]:
    counters, memory, seconds = gathered.counters, gathered.memory, gathered.seconds
    if "process.minor_faults" in counters:
        minor = counters["process.minor_faults"] / seconds
        major = counters.get("process.major_faults", 0.0) / seconds
        yield Noticed("page faults", f"{minor:.0f}/s, {major:.0f}/s of them from disk", major > 10)
    touched = memory.get("touched_bytes")
    if touched:
        huge = memory.get("anon_huge_bytes", 0) + memory.get("shmem_huge_bytes", 0)
        pooled = memory.get("private_hugetlb_bytes", 0) + memory.get("shared_hugetlb_bytes", 0)
        text = (
            f"{touched / 2**20:.0f} MiB, {huge / 2**20:.0f} MiB in transparent huge pages, "
            f"{pooled / 2**20:.0f} MiB in pages of a pool"
        )
        yield Noticed("memory", text, False)
    swapped = counters.get("vm.pswpin", 0.0)
    if swapped:
        yield Noticed("swap", f"{swapped / seconds:.0f} pages/s read back from swap", True)


def _growth(gathered: Gathered, prefix: str) -> float:
    return sum(v for n, v in gathered.counters.items() if n.startswith(f"{prefix}."))
