"""Commands beside each other: the table that grows while they run, and the one at the end.

A row is a command: its median with the spread of its runs, the effect against the baseline as an
interval that is drawn, and the verdict.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from assay.cli.display.live import Terminal
from assay.compare import Alone
from assay.compare.study_text import FACTOR
from assay.core.metrics import metric
from assay.core.units import format_quantity, percent
from assay.plan import CONTROLS, Plan
from assay.plan.names import BASELINE
from assay.record import Replay, RunRecord
from assay.report.words.answer import answer
from assay.report.words.wording import STYLES, interval, is_arm
from assay.verdict.rows import SUITE, Row, Verdicts

ROOMY = 110
"""Columns from which on deviations and pictures have room too."""

WIDTH = 25
"""Cells of a drawn interval, the middle one for zero."""

FULL = 1.2
"""The longest interval ends so much before the edge."""

SHORT = 20.0
"""Where a command takes less than so many empty processes, their share of it is said."""


class ComparedTerminal(Terminal):
    """The display of a study, with a row for each command."""

    def __init__(self, console: Console, ask: bool = False) -> None:
        super().__init__(console, ask)
        self.records: list[RunRecord] = []

    def _table(self, replay: Replay) -> Table:
        return _table(replay.plan, replay.records, replay.ruling.rows, None, live=True)

    def _progress(self, replay: Replay) -> Progress:
        self.rate = 0.0
        return super()._progress(replay)


def compared_view(plan: Plan, records: Sequence[RunRecord], verdicts: Verdicts) -> Group:
    """The end of a comparison: a table for each case, what it means, and what to know of it."""
    known = metric(plan.primary)
    parts: list[RenderableType] = []
    for case in plan.cases:
        title = f"{known.text}; {known.better} is better"
        if len(plan.cases) > 1:
            title = f"{case.name}: {title}"
        table = _table(plan, records, verdicts.verdicts, case.name)
        parts += [Text(title, style="bold"), table, Text("")]
    if len(plan.cases) > 1:
        parts += [Text("all cases together", style="bold"), _suite(verdicts), Text("")]
    parts += [Text(sentence) for sentence in answer(plan, verdicts)]
    parts += [Text(text, style="dim") for text in _remarks(plan, records, verdicts)]
    parts += [Text(f"warning: {text}", style="yellow") for text in verdicts.warnings]
    return Group(*parts)


def alone_view(alone: Alone) -> Group:
    """One command: its runs as a picture and in numbers, and what they could show."""
    unit, values = metric(alone.metric).unit, alone.values
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    low, high = (format_quantity(v, unit) for v in (alone.low, alone.high))
    table.add_row(
        "median", Text(f"{format_quantity(alone.median, unit)}   [{low}, {high}]", "bold")
    )
    table.add_row("mean ± deviation", _mean(values, unit))
    ends = f"{format_quantity(min(values), unit)} to {format_quantity(max(values), unit)}"
    table.add_row("range", ends)
    table.add_row("runs", f"{_columns(values)}   {len(values)} runs, {alone.executions} executions")
    seen = ", ".join(f"{percent(e)} in {n} blocks" for e, n in alone.to_see.items())
    said: list[RenderableType] = [
        Text(alone.name, style="bold"),
        Text(metric(alone.metric).text, style="dim"),
        table,
        Text(f"Against a command as noisy as this one could be seen: {seen}.", style="dim"),
    ]
    if alone.empty_ns is not None and alone.metric == "wall_time":
        said.append(Text(_of_empty(alone.empty_ns, alone.median), style="dim"))
    return Group(*said)


def _table(
    plan: Plan,
    records: Iterable[RunRecord],
    rows: Sequence[Row],
    case: str | None,
    live: bool = False,
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    unit, names = metric(plan.primary).unit, {a.name: a.levels[FACTOR] for a in plan.arms}
    roomy = shutil.get_terminal_size((ROOMY, 24)).columns >= ROOMY
    titles = ["command", "median", "typical run, + better", "verdict"]
    if roomy:
        titles = [*titles[:2], "mean ± deviation", titles[2], "", titles[3]]
    for title in titles:
        table.add_column(title, no_wrap=title != "command", overflow="ellipsis")
    table.add_column("runs", justify="right")
    shown = [plan.cases[0].name] if case is None else [case]
    found = {r.arm: r for r in rows if _is_of(r, plan, shown[0])}
    whole = max(
        (abs(e) for r in found.values() for e in (r.low, r.high) if e is not None), default=0
    )
    values: dict[str, list[float]] = {name: [] for name in names}
    for record in records:
        if record.status == "ok" and record.case in shown:
            values[record.arm].append(record.metrics[plan.primary])
    for arm, name in names.items():
        if arm in CONTROLS:
            continue
        mine, row = values[arm], found.get(arm)
        median = format_quantity(statistics.median(mine), unit) if mine else ""
        said = [Text(name), Text(median, "bold"), Text(_mean(mine, unit))]
        if arm == BASELINE:
            said += [Text("the others against this one" if live else "", "dim"), Text(""), Text("")]
        elif row is not None:
            style = STYLES[row.word]
            said += [Text(interval(row)), Text(_whisker(row, whole), style), Text(row.word, style)]
        else:
            said += [Text("")] * 3
        if not roomy:
            said = [said[0], said[1], said[3], said[5]]
        table.add_row(*said, str(len(mine)))
    return table


def _suite(verdicts: Verdicts) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for row in verdicts.verdicts:
        if row.scope == SUITE and is_arm(row) and row.metric == verdicts.primary:
            style = STYLES[row.word]
            table.add_row(Text(row.arm), Text(interval(row)), Text(row.word, style))
    return table


def _is_of(row: Row, plan: Plan, case: str) -> bool:
    """Whether a row is the verdict on an arm in a case."""
    return is_arm(row) and row.metric == plan.primary and row.case == case and row.scope != SUITE


def _whisker(row: Row, whole: float) -> str:
    """An interval as a picture: zero in the middle, better to the right."""
    if row.low is None or row.high is None or not whole:
        return ""
    half = WIDTH // 2

    def cell(value: float) -> int:
        return max(0, min(WIDTH - 1, half + round(half * value / (whole * FULL))))

    cells = [" "] * WIDTH
    low, high = cell(row.low), cell(row.high)
    cells[low : high + 1] = "─" * (high - low + 1)
    cells[half] = "┼" if low <= half <= high else "│"
    if high > low:
        cells[low], cells[high] = "├", "┤"
    if row.estimate is not None:
        cells[cell(row.estimate)] = "●"
    return "".join(cells)


def _mean(values: Sequence[float], unit: str) -> str:
    if not values:
        return ""
    mean = format_quantity(statistics.fmean(values), unit)
    if len(values) < 2:
        return mean
    return f"{mean} ± {format_quantity(statistics.stdev(values), unit)}"


def _columns(values: Sequence[float], bins: int = 20) -> str:
    """Runs by size as a row of columns."""
    low, high = min(values), max(values)
    if low == high:
        return "█"
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int(bins * (value - low) / (high - low)))] += 1
    most = max(counts)
    return "".join(" ▁▂▃▄▅▆▇█"[-(-8 * count // most)] for count in counts)


def _remarks(plan: Plan, records: Sequence[RunRecord], verdicts: Verdicts) -> list[str]:
    """How much was run, what was void, and what an empty process took."""
    said = f"{verdicts.blocks} blocks, {verdicts.runs} runs"
    for word, counts in (("void", verdicts.voids), ("failed", verdicts.failures)):
        if counts:
            said += f", {sum(counts.values())} {word}"
    remarks = [f"{said}; less than {percent(plan.margin)} counts as no difference"]
    if verdicts.stopped:
        remarks.append(f"stopped: {verdicts.stopped}")
    empty = [r.counters["empty.wall_ns"] for r in records if "empty.wall_ns" in r.counters]
    walls = [r.metrics["wall_time"] for r in records if r.status == "ok"]
    if empty and walls and min(walls) < SHORT * statistics.median(empty):
        remarks.append(_of_empty(statistics.median(empty), min(walls)))
    return remarks


def _of_empty(empty_ns: float, wall_ns: float) -> str:
    took = format_quantity(empty_ns, "ns")
    said = f"An empty process took {took} from start to end; nothing is subtracted"
    if wall_ns < SHORT * empty_ns:
        said += f": it is {percent(empty_ns / wall_ns)} of the shortest run"
    return said + "."
