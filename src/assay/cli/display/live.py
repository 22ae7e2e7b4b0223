"""Displays of a running study: a live table on a terminal, plain lines elsewhere.

Both are watchers: they are told and decide nothing.
"""

from __future__ import annotations

from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.prompt import Confirm
from rich.table import Table
from rich.text import Text

from assay.cli.display.pilot import pilot_sentence
from assay.core.metrics import metric
from assay.core.printable import printable
from assay.core.units import format_duration, format_quantity
from assay.plan import Plan, PlannedMeasuring, PlannedPilot
from assay.record import Replay, RunRecord, Step, expected_blocks, remaining_s
from assay.report.terminal.verdicts import uncounted_lines
from assay.report.words.wording import STYLES, estimate, interval, label
from assay.verdict.rows import Row


def _named(plan: Plan, row: Row) -> str:
    """What a row is about, at its point of an axis."""
    return label(row) if plan.axis is None else f"{row.case}: {label(row)}"


def _waiting(foreign_cpus: float, time: str) -> str:
    return f"waiting for a quiet machine: other work takes {foreign_cpus:.1f} CPUs; {time}"


class Plain:
    """One line per finished block and per verdict: for logs and pipes."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.blocks = 0
        self.tenth = -1
        self.waits = False

    def say(self, text: str) -> None:
        self.out.write(printable(text, kept="\n\t") + "\n")
        self.out.flush()

    def piloting(self, done: int, total: int, left_s: float) -> None:
        tenth = 10 * done // total
        if tenth != self.tenth:
            self.tenth = tenth
            self.say(f"pilot: {done} of {total} runs, about {format_duration(left_s)} left")

    def piloted(self, found: PlannedPilot | None) -> None:
        if found:
            self.say(pilot_sentence(found))

    def chosen(self, found: PlannedMeasuring) -> None:
        self.say(found.sentence)

    def started(self, plan: Plan, replay: Replay) -> None:
        self.blocks = len(replay.blocks)
        arms = ", ".join(a.name for a in plan.arms)
        self.say(f"{plan.study}: {len(plan.arms)} arms ({arms}), seed {plan.seed}")
        for line in uncounted_lines(plan):
            self.say(line.text)
        if replay.records:
            self.say(f"going on after {len(replay.records)} runs, {self.blocks} blocks")

    def running(self, step: Step, operations: int, spent_s: float) -> None:
        self.waits = False

    def ran(self, record: RunRecord, replay: Replay) -> None:
        if record.status != "ok":
            self.say(f"{record.title()} {record.status}: {record.reason}")
        if len(replay.blocks) == self.blocks:
            return
        self.blocks = len(replay.blocks)
        left = format_duration(remaining_s(replay))
        primary = [r for r in replay.ruling.rows if r.metric == replay.plan.primary]
        decided = [f"{_named(replay.plan, r)} {r.word}" for r in primary if r.word != "undecided"]
        said = ", ".join(decided) or "nothing decided yet"
        self.say(f"block {self.blocks}: {said}; at most {left} left")

    def waiting(self, foreign_cpus: float, spent_s: float, limit_s: float) -> None:
        if not self.waits:
            self.waits = True
            self.say(_waiting(foreign_cpus, f"{format_duration(limit_s)} at most"))

    def sized(self, sentence: str, capped: bool) -> bool:
        self.say(sentence)
        return True

    def finished(self, replay: Replay, why: str) -> None:
        if why:
            self.say(f"stopped: {why}")


class Terminal:
    """A table of arms with their estimates, and a bar with the time left.

    With `ask`, somebody is there to be asked whether a budget that is too small is worth it.
    """

    def __init__(self, console: Console, ask: bool = False) -> None:
        self.console, self.ask = console, ask
        self.replay: Replay | None = None
        self.step: Step | None = None
        self.rate = 0.0
        self.note = ""
        self.pause = ""
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}")
        )
        self.task = self.bar.add_task("starting", total=1.0, left="")
        self.view = Live(console=console, refresh_per_second=4, get_renderable=self.render)

    def piloting(self, done: int, total: int, left_s: float) -> None:
        left = f"about {format_duration(left_s)} left"
        where, self.pause = f"pilot: {done} of {total} runs, which do not count", ""
        self.bar.update(self.task, completed=done, total=total, description=where, left=left)
        self.view.start()

    def piloted(self, found: PlannedPilot | None) -> None:
        self.view.stop()
        if found:
            self.console.print(Text(pilot_sentence(found)))

    def chosen(self, found: PlannedMeasuring) -> None:
        self.view.stop()
        self.console.print(Text(found.sentence))

    def started(self, plan: Plan, replay: Replay) -> None:
        self.replay = replay
        self.console.print(Text(f"{plan.study}: {plan.question}", style="bold"))
        self.console.print(f"seed {plan.seed}", style="dim")
        for line in uncounted_lines(plan):
            self.console.print(Text(line.text, style=line.style))
        self.view.start()

    def running(self, step: Step, operations: int, spent_s: float) -> None:
        self.step = step
        self.pause = "" if operations else self.pause
        self.rate = operations / spent_s if spent_s else 0.0

    def ran(self, record: RunRecord, replay: Replay) -> None:
        if record.status != "ok":
            text = f"{record.title()} {record.status}: {record.reason}"
            self.console.print(Text(text, style="yellow"))

    def waiting(self, foreign_cpus: float, spent_s: float, limit_s: float) -> None:
        self.rate = 0.0
        time = f"{format_duration(spent_s)} of at most {format_duration(limit_s)}"
        self.pause = _waiting(foreign_cpus, time)
        self.bar.update(self.task, description=self.pause)

    def sized(self, sentence: str, capped: bool) -> bool:
        self.note = sentence
        if not (capped and self.ask):
            return True
        self.view.stop()
        try:
            return Confirm.ask(f"{sentence}. Go on?", console=self.console, default=True)
        except EOFError:
            return True
        finally:
            self.view.start()

    def finished(self, replay: Replay, why: str) -> None:
        self.step = None
        self.view.stop()

    def render(self) -> Group:
        """The picture of this moment."""
        if self.replay is None:
            return Group(self.bar)
        parts: list[RenderableType] = [self._table(self.replay), self._progress(self.replay)]
        if self.note:
            parts.append(Text(self.note, style="dim"))
        return Group(*parts)

    def _table(self, replay: Replay) -> Table:
        table = Table(box=None, pad_edge=False)
        for name in ("compared", "verdict", "interval", "estimate", "blocks"):
            table.add_column(name, header_style="dim")
        for row in replay.ruling.rows:
            if row.metric != replay.plan.primary:
                continue
            word = Text(row.word, style=STYLES[row.word])
            blocks = str(row.blocks)
            table.add_row(
                Text(_named(replay.plan, row)), word, Text(interval(row)), estimate(row), blocks
            )
        return table

    def _progress(self, replay: Replay) -> Progress:
        planned = expected_blocks(replay)
        order = len(replay.order()) or 1
        done = len(replay.blocks) + (self.step.slot / order if self.step else 0)
        where = f"block {len(replay.blocks) + 1} of at most {planned}"
        if self.step:
            where += f", {self.step.arm}"
        if self.rate:
            where += f" {format_quantity(self.rate, metric('throughput').unit)}"
        where = self.pause or where
        left = f"{format_duration(remaining_s(replay))} left at most" if replay.records else ""
        self.bar.update(
            self.task, completed=done, total=max(planned, done), description=where, left=left
        )
        return self.bar
