"""What does it cost to count beside a run, and does the run notice?

Two questions, each a study whose blocks are rounds (`assay.decide`):

    CPU      every contestant counts for some seconds on its own, in a random order; what is
             compared is the CPU time of its whole process, start included, as wait4(2) gives it
    effect   the embedded engine runs alone and with our sampler beside it, in a random order;
             what is compared is its throughput

Ours reads ten times a second: CPU time, soft interrupts and packets by CPU, events of memory,
pressure; and every fifth second this process' tree and the kernel's own events of it. `perf stat`
prints four of the kernel's events ten times a second; `vmstat` and `pidstat` print what they know
once a second, which is as often as they can. A rival that is not installed is said to be missing.

Goal: under 0.5 % of one core, by the upper end of the interval of the share.

    python benchmarks/sampler.py [--quick] [--json] [--rounds N] [--seconds S]
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence

from outcome import Row, write_json

import assay
from assay import native
from assay.counters.groups import SOFTWARE

OURS, ALONE = "assayer sample", "alone"
HZ = 10
GROUPS = ("cpu", "softirqs", "softnet", "vm", "psi", "process")
GOAL_PERCENT = 0.5
NOTICED = 0.98
"""The engine's throughput beside a sampler, over what it is alone, at least."""

PERF_EVENTS = "task-clock,page-faults,context-switches,cpu-migrations"

Values = dict[str, list[float]]
"""By contestant, one value a round."""


def rivals(seconds: int) -> dict[str, list[str]]:
    """The commands of those that are installed."""
    reports = str(seconds + 1)  # of vmstat and pidstat the first is at once
    known = {
        "vmstat": ["vmstat", "1", reports],
        "pidstat": ["pidstat", "-u", "-r", "-w", "1", str(seconds)],
        "perf stat": [
            *("perf", "stat", "-a", "-I", str(1000 // HZ), "-e", PERF_EVENTS),
            *("--", "sleep", str(seconds)),
        ],
    }
    return {name: command for name, command in known.items() if shutil.which(command[0])}


def request(seconds: float | None) -> dict[str, object]:
    """What ours counts."""
    events = [{"name": n, "type": 1, "config": c} for n, c in SOFTWARE.items()]
    return {
        "pid": os.getpid(),
        "hz": HZ,
        "seconds": seconds,
        "groups": list(GROUPS),
        "pmu": [events],
    }


def spent(process: subprocess.Popen[bytes]) -> float:
    """CPU seconds of a process and of the children it waited for, once it has ended."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{process.args} ended with code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def ours(seconds: int) -> tuple[float, float]:
    """CPU seconds of our whole process, and the share of a core that sampling took, by itself."""
    session = native.Session("sample", request(float(seconds)))
    *_, result = session.messages()
    assert isinstance(result, native.Sampled)
    whole = spent(session.process)
    session.stop()
    return whole, result.cpu_s / result.seconds


def theirs(command: Sequence[str]) -> float:
    """CPU seconds of a rival."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return spent(subprocess.Popen(command, stdin=subprocess.DEVNULL, **quiet))


def throughput(is_sampled: bool, window_ms: int) -> float:
    """Operations a second of the engine on all CPUs."""
    load = {"threads": os.cpu_count(), "warmup_ms": 100, "window_ms": window_ms}
    session = native.Session("engine", {**load, "workload": {"records": 10_000}})
    beside = native.Session("sample", request(None), keep_open=True) if is_sampled else None
    try:
        *_, result = session.messages()
        assert isinstance(result, native.RunResult)
        return result.operations / result.window_s
    finally:
        session.stop()
        if beside is not None:
            beside.stop()


def cpu_race(rounds: int, seconds: int) -> tuple[Values, list[float]]:
    """CPU seconds of every contestant by round, and the shares that our sampling took."""
    commands = rivals(seconds)
    found: Values = {name: [] for name in (OURS, *commands)}
    shares = []
    for number in range(rounds):
        for name in random.Random(number).sample(list(found), len(found)):
            if name == OURS:
                whole, share = ours(seconds)
                found[name].append(whole)
                shares.append(share)
            else:
                found[name].append(theirs(commands[name]))
    return found, shares


def effect(rounds: int, window_ms: int) -> Values:
    """Throughput by round, alone and sampled."""
    found: Values = {ALONE: [], OURS: []}
    for number in range(rounds):
        for name in random.Random(number).sample(list(found), len(found)):
            found[name].append(throughput(name == OURS, window_ms))
    return found


def ratio_row(
    metric: str, values: Mapping[str, list[float]], rival: str, unit: str, goal: float | None = None
) -> Row:
    """Ours beside a rival; `low` and `high` bound the ratio of ours to theirs."""
    runs = [(block, arm, v) for arm in (OURS, rival) for block, v in enumerate(values[arm])]
    verdict = assay.decide(runs, baseline=rival).verdicts[OURS]
    low, high = (None if end is None else 1 + end for end in (verdict.low, verdict.high))
    mine, other = (statistics.median(values[arm]) for arm in (OURS, rival))
    met = goal is None or (low is not None and low >= goal)
    wanted = "" if goal is None else f">= {goal:g}x"
    return Row(metric, rival, unit, mine, other, 1 + verdict.estimate, low, high, wanted, met)


def share_row(shares: list[float]) -> Row:
    """What sampling took of one core; `low` and `high` bound it."""
    percent = [100 * share for share in shares]
    goal = dict.fromkeys(range(len(percent)), GOAL_PERCENT)
    runs = [(b, OURS, v) for b, v in enumerate(percent)] + [(b, "goal", v) for b, v in goal.items()]
    verdict = assay.decide(runs, baseline="goal").verdicts[OURS]
    ends = (verdict.low, verdict.high)
    low, high = (None if end is None else (1 + end) * GOAL_PERCENT for end in ends)
    met = high is not None and high < GOAL_PERCENT
    wanted = f"< {GOAL_PERCENT:g} %"
    middle = statistics.median(percent)
    return Row(f"share of a core at {HZ} Hz", "", "%", middle, None, None, low, high, wanted, met)


def measured(rounds: int, seconds: int, window_ms: int) -> list[Row]:
    """All rows."""
    values, shares = cpu_race(rounds, seconds)
    unit = f"s of CPU in {seconds} s"
    rows = [share_row(shares)]
    rows += [ratio_row("counting", values, rival, unit) for rival in values if rival != OURS]
    sampled = effect(rounds, window_ms)
    return [*rows, ratio_row("engine throughput", sampled, ALONE, "op/s", NOTICED)]


def table(rows: Sequence[Row]) -> str:
    """The rows for people."""
    lines = []
    for row in rows:
        other = "" if row.theirs is None else f"{row.rival} {row.theirs:.4g}"
        ratio = "" if row.ratio is None else f"ratio {row.ratio:.3f}"
        around = "" if row.low is None or row.high is None else f"[{row.low:.3f}, {row.high:.3f}]"
        word = f"{row.goal} {'met' if row.met else 'MISSED'}" if row.goal else ""
        line = (
            f"{row.metric:24s} {row.ours:10.4g} {row.unit:16s} {other:22s} {ratio} {around} {word}"
        )
        lines.append(line.rstrip())
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round: no numbers to use")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=12, help="times that everything is run")
    parser.add_argument("--seconds", type=int, default=5, help="how long a contestant counts")
    options = parser.parse_args(arguments)
    rounds, seconds = (1, 1) if options.quick else (options.rounds, options.seconds)
    rows = measured(rounds, seconds, 50 if options.quick else 1000)
    if options.json:
        write_json("sampler", rows)
    else:
        missing = sorted({"vmstat", "pidstat", "perf stat"} - {row.rival for row in rows})
        print(table(rows) + "".join(f"\nnot installed: {name}" for name in missing))
    return 0 if options.quick or all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
