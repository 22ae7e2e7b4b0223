"""A machine's own record: how its speed wanders, and what that means for a study made on it.

One thread of `assayer micro` hashes the same bytes, bound to a CPU: first on one CPU after the
other, then on all at once. The program never changes, so what its speed does is the machine's.
Kept by machine in the user's state folder, and shown before a study starts.

What it cannot show is the luck of a server's life (where the kernel puts its threads and pages):
that comes on top, and a study's own pilot sees it.
"""

from __future__ import annotations

import datetime
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from assay import native
from assay.bench.placement import taskset
from assay.core.digest import digest
from assay.core.errors import InputError
from assay.core.paths import user_state
from assay.host.transaction.writable import HostTree
from assay.linux.cpus import as_list, online
from assay.record import files
from assay.stats.rule import Rule
from assay.stats.sample_size import blocks_by_ranks
from assay.stats.speeds import Floats, TwoSpeeds, of_runs, of_slices, pair_noise, two_speeds

STEP_S = 0.01
TOLD_EVERY_S = 0.5
LEAST_S = 10.0
MOST_ALONE = 4
"""So many CPUs, evenly spaced, are looked at by themselves."""

WINDOWS_S = (0.05, 0.1, 0.3, 1.0, 3.0, 10.0)
EFFECTS = (0.01, 0.02, 0.05)
SLICE_S = 0.1
START_S = 1.1
"""To start a server and warm it up: an assumption, the same for both ways."""

MARKS = 60
"""Points of a trace that is shown."""


class OfMachine(BaseModel):
    """The base of what the record is made of: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Speeds(OfMachine):
    """Two speeds of one CPU, as `TwoSpeeds` has them."""

    slow: float
    slow_share: float
    slow_dwell_s: float
    fast_dwell_s: float


class Trace(OfMachine):
    """One CPU's speed over time, as shares of its fastest mark; `steal` is a share of the time."""

    cpu: int
    together: bool
    seconds: float
    marks: list[float]
    steal: float
    speeds: Speeds | None


class Noise(OfMachine):
    """What pair noise to expect with a window, as fractions: of runs, and of arms that take turns.

    None where the record is too short to say.
    """

    window_s: float
    runs: float | None
    slices: float | None


class Time(OfMachine):
    """How long a study of two arms takes to see an effect with 90 % power, in seconds, with the
    best window of each way; None where the record cannot say."""

    effect: float
    runs_s: float | None
    slices_s: float | None


class MachineNoise(OfMachine):
    """The record. `cpus`: those that were looked at together; `likeness`: the correlation of
    their speeds at 100 ms, None with one CPU."""

    made: str
    machine: str
    seconds: float
    cpus: list[int]
    traces: list[Trace]
    likeness: float | None
    noise: list[Noise]
    times: list[Time]

    @property
    def design(self) -> str:
        """Which way of measuring will do: "runs" where slices save less than half the time."""
        known = [t for t in self.times if t.runs_s is not None and t.slices_s is not None]
        slow = [t for t in known if (t.runs_s or 0.0) > 2 * (t.slices_s or 0.0)]
        return "slices" if slow or not known else "runs"


Measure = Callable[[int, float], list[float]]
"""Work of one thread on a CPU, in each step of so many seconds."""

Told = Callable[[str, float], None]
"""What is measured now, and the seconds that are left."""


def machine_noise(
    seconds: float = 120.0,
    host: HostTree | None = None,
    measure: Measure | None = None,
    tell: Told = lambda what, left_s: None,
) -> MachineNoise:
    """Look at this machine for so long, half of it CPU by CPU. InputError below 10 s."""
    if seconds < LEAST_S:
        raise InputError(f"{seconds:g} s show too little", next_step="look for 10 s or more")
    host, measure, began = host or HostTree(), measure or work_on, time.monotonic()
    cpus = [c for c in online(host) if c in os.sched_getaffinity(0)] or online(host)
    alone = cpus[:: max(1, -(-len(cpus) // MOST_ALONE))]
    each, traces = seconds / 2 / len(alone), []

    def said(what: str) -> Callable[[], None]:
        return lambda: tell(what, max(0.0, seconds - (time.monotonic() - began)))

    for cpu in alone:
        ((work, steal),) = _watched(host, measure, [cpu], each, said(f"CPU {cpu} alone"))
        traces.append(_trace(cpu, False, each, work, steal))
    together = said(f"CPUs {as_list(cpus)} together")
    found = _watched(host, measure, cpus, seconds / 2, together)
    traces += [_trace(c, True, seconds / 2, *f) for c, f in zip(cpus, found, strict=True)]
    series = [np.array(work, dtype=float) for work, _ in found]
    contrasts = {window: _contrasts(series, window) for window in WINDOWS_S}
    return MachineNoise(
        made=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        machine=machine_name(host),
        seconds=seconds,
        cpus=cpus,
        traces=traces,
        likeness=_likeness(series),
        noise=[_noise(window, found) for window, found in contrasts.items()],
        times=[_time(effect, contrasts) for effect in EFFECTS],
    )


# measuring


def work_on(cpu: int, seconds: float) -> list[float]:
    """Batches hashed in each step by a thread that is bound to a CPU."""
    request = {
        "parts": {},
        "workload": {"kind": "hash"},
        "threads": 1,
        "pin": False,
        "seed": 1,
        "warmup_ms": 50,
        "window_ms": round(1000 * seconds),
        "interval_ms": round(1000 * STEP_S),
    }
    session = native.Session("micro", request, before=taskset([cpu]))
    try:
        return [
            message.operations / message.length_ms
            for message in session.messages()
            if isinstance(message, native.WindowInterval) and message.length_ms >= 500 * STEP_S
        ]
    finally:
        session.stop()


def _watched(
    host: HostTree, measure: Measure, cpus: Sequence[int], seconds: float, tell: Callable[[], None]
) -> list[tuple[list[float], float]]:
    """Work in each step and the share of time that was stolen, by CPU."""
    before = _stolen(host)
    ready = threading.Barrier(len(cpus))

    def one(cpu: int) -> list[float]:
        ready.wait()
        return measure(cpu, seconds)

    with ThreadPoolExecutor(len(cpus)) as pool:
        waiting = [pool.submit(one, cpu) for cpu in cpus]
        while wait(waiting, TOLD_EVERY_S).not_done:
            tell()
        works = [future.result() for future in waiting]
    after = _stolen(host)
    taken = [after.get(c, 0.0) - before.get(c, 0.0) for c in cpus]
    return [(work, max(0.0, t) / seconds) for work, t in zip(works, taken, strict=True)]


def _stolen(host: HostTree) -> dict[int, float]:
    """Seconds that the hypervisor took, by CPU (proc(5))."""
    ticks = os.sysconf("SC_CLK_TCK")
    rows = [line.split() for line in (host.read("/proc/stat") or "").splitlines()]
    return {
        int(row[0][3:]): int(row[8]) / ticks
        for row in rows
        if len(row) > 8 and row[0].startswith("cpu") and row[0][3:].isdigit()
    }


# what it means


def _trace(cpu: int, together: bool, seconds: float, work: list[float], steal: float) -> Trace:
    series = np.array(work, dtype=float)
    parts = np.array_split(series, min(MARKS, len(series)))
    means = np.array([part.mean() for part in parts])
    top = float(means.max()) or 1.0
    found = two_speeds(series, STEP_S)
    return Trace(
        cpu=cpu,
        together=together,
        seconds=seconds,
        marks=[round(float(mean) / top, 4) for mean in means],
        steal=steal,
        speeds=None if found is None else _speeds(found),
    )


def _speeds(found: TwoSpeeds) -> Speeds:
    return Speeds(**asdict(found))


def _likeness(series: Sequence[Floats]) -> float | None:
    """Mean correlation of the CPUs' speeds over 100 ms."""
    each = round(SLICE_S / STEP_S)
    length = min(map(len, series)) // each * each
    if len(series) < 2 or length < 2 * each:
        return None
    grid = np.array([s[:length].reshape(-1, each).mean(axis=1) for s in series])
    if float(np.ptp(grid, axis=1).min()) == 0:
        return None
    found = np.corrcoef(grid)[np.triu_indices(len(series), 1)]
    return float(found.mean())


Contrasts = dict[str, list[Floats]]
"""Of each way of measuring, what equal arms differ by, CPU by CPU."""


def _contrasts(series: Sequence[Floats], window_s: float) -> Contrasts:
    turns = min(SLICE_S, max(window_s / 10, STEP_S))
    return {
        "runs": [of_runs(s, STEP_S, window_s, START_S) for s in series],
        "slices": [of_slices(s, STEP_S, window_s, turns) for s in series],
    }


def _noise(window_s: float, found: Contrasts) -> Noise:
    """The largest over the CPUs: a server may run on any."""
    noises = {}
    for way, contrasts in found.items():
        known = [noise for c in contrasts if (noise := pair_noise(c)) is not None]
        noises[way] = float(np.expm1(max(known))) if len(known) == len(contrasts) else None
    return Noise(window_s=window_s, **noises)


def _time(effect: float, found: Mapping[float, Contrasts]) -> Time:
    """With the window that is best for each way, on the CPU where it takes longest."""
    rule = Rule(effect, effect)

    def least(way: str) -> float | None:
        costs = []
        for window_s, ways in found.items():
            if any(pair_noise(contrasts) is None for contrasts in ways[way]):
                continue
            blocks = max(blocks_by_ranks(contrasts, rule, 1) for contrasts in ways[way])
            costs.append(blocks * 2 * (START_S + window_s))
        return min(costs, default=None)

    return Time(effect=effect, runs_s=least("runs"), slices_s=least("slices"))


# kept by machine


def machine_name(host: HostTree) -> str:
    """What tells this machine from others: its model and its own number, as a digest."""
    about = [host.read("/etc/machine-id") or "", host.read("/proc/sys/kernel/hostname") or ""]
    models = [
        line
        for line in (host.read("/proc/cpuinfo") or "").splitlines()
        if line.startswith(("model name", "CPU part"))
    ]
    return digest("\n".join([*about, *models]).encode())[:16]


def _path(machine: str) -> Path:
    return user_state() / "noise" / f"{machine}.json"


def keep(found: MachineNoise) -> Path:
    """Write the record down, in place of the one before."""
    path = _path(found.machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, found.model_dump_json().encode())
    return path


def kept(host: HostTree | None = None) -> MachineNoise | None:
    """The record of this machine; None without one, or where it cannot be read."""
    try:
        text = _path(machine_name(host or HostTree())).read_text()
        return MachineNoise.model_validate_json(text)
    except (OSError, ValidationError, UnicodeError):
        return None
