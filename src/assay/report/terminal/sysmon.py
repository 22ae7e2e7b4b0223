"""What locks, transactions and CPUs did in each arm, in the columns of a DBA's system monitor.

SAP ASE's sp_sysmon prints per second, per transaction, count and share of a total; so
does this, over all runs of an arm that count. The share of waits is of grabs (contention), that of
a cause is of all aborts; spins have no share, and spins per wait have a line of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.core.units import format_duration
from assay.plan import Plan
from assay.record import RunRecord
from assay.report.words.line import Line

LOCK_CLASSES = {
    "data_cache": "Default data cache",
    "system_cache": "System tables cache",
    "log": "Log cache",
    "index": "Index latches",
    "row": "Row locks",
    "lock": "Lock",
}
"""Lock classes by the name that a DBA gives them, in the order of the printout."""

WIDTHS = (34, 13, 13, 14, 11)


@dataclass
class Totals:
    """The runs of one arm that count, added up. Times in seconds.

    `cpu_s` is the server's; None where a run does not know it.
    """

    runs: int = 0
    window_s: float = 0.0
    cpu_s: float | None = 0.0
    busy_s: float = 0.0
    available_s: float = 0.0
    operations: int = 0
    counters: dict[str, float] = field(default_factory=dict)

    def add(self, run: RunRecord) -> None:
        """Add one run."""
        self.runs += 1
        self.window_s += run.window_s
        self.operations += run.operations
        cost_ns = run.metrics.get("cpu_per_operation")
        if cost_ns is None:
            self.cpu_s = None
        elif self.cpu_s is not None:
            self.cpu_s += cost_ns * run.operations / 1e9
        self.busy_s += sum(c.busy for c in run.cpus) * run.window_s
        self.available_s += len(run.cpus) * run.window_s
        for name, count in run.counters.items():
            self.counters[name] = self.counters.get(name, 0.0) + count


def sysmon_lines(plan: Plan, runs: Sequence[RunRecord], arm: str | None = None) -> list[Line]:
    """The printout of each case and arm, or of one arm. `runs` are those that count."""
    return [Line(text) for text in _printouts(plan, runs, arm)]


def _printouts(plan: Plan, runs: Sequence[RunRecord], arm: str | None) -> Iterator[str]:
    wanted = [a.name for a in plan.arms if arm in (None, a.name)]
    for case in plan.cases:
        for name in wanted:
            total = Totals()
            for run in runs:
                if run.case == case.name and run.arm == name:
                    total.add(run)
            if total.runs:
                yield from _printout(case.name, name, total)


def _printout(case: str, arm: str, total: Totals) -> Iterator[str]:
    length = format_duration(total.window_s)
    yield f"{case}, arm {arm}: {total.runs} runs, {length} measured"
    yield ""
    yield _line("", "per sec", "per xact", "count", "% of total")
    yield _line(*("-" * (width - 2) for width in WIDTHS))
    yield _counted("Committed xacts", total.operations, total, per_xact=False)
    each = _rate(total.operations, total.cpu_s or 0.0)
    yield _line("Xacts per CPU-second", "n/a", "n/a", each, "n/a")
    busy = total.busy_s / total.available_s if total.available_s else 0.0
    yield _line("CPU busy", "n/a", "n/a", "n/a", f"{busy:.1%}")
    for lock, title in LOCK_CLASSES.items():
        yield from _lock(lock, title, total)
    yield from _aborts(total)
    yield ""


def _lock(lock: str, title: str, total: Totals) -> Iterator[str]:
    grabs = total.counters.get(f"grabs.{lock}", 0)
    if not grabs:
        return
    waits, spins = total.counters.get(f"waits.{lock}", 0), total.counters.get(f"spins.{lock}", 0)
    yield f"{title}"
    yield _counted("  Grabs", grabs, total)
    yield _counted("  Waits (contention)", waits, total, share=waits / grabs)
    yield _counted("  Spins", spins, total)
    yield _line("  Spins per wait", "n/a", "n/a", _rate(spins, waits), "n/a")


def _aborts(total: Totals) -> Iterator[str]:
    causes = {
        name.removeprefix("aborts."): count
        for name, count in total.counters.items()
        if name.startswith("aborts.") and count
    }
    if not causes:
        return
    everything = sum(causes.values())
    yield "Aborted attempts, by cause"
    for cause, count in sorted(causes.items(), key=lambda item: -item[1]):
        title = "  " + cause.replace("_", " ").capitalize()
        yield _counted(title, count, total, share=count / everything)


def _counted(
    title: str, count: float, total: Totals, *, share: float | None = None, per_xact: bool = True
) -> str:
    return _line(
        title,
        _rate(count, total.window_s),
        _rate(count, total.operations) if per_xact else "n/a",
        f"{count:.0f}",
        "n/a" if share is None else f"{share:.1%}",
    )


def _rate(count: float, per: float) -> str:
    return f"{count / per:.1f}" if per else "n/a"


def _line(title: str, *cells: str) -> str:
    numbers = (f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS[1:], strict=True))
    return f"{title:<{WIDTHS[0]}}" + "".join(numbers)
