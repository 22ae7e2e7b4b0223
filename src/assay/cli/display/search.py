"""Displays of a search that goes on: a bar with the time left on a terminal, lines elsewhere."""

from __future__ import annotations

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from assay.bisection import SearchPlan, SearchReplay, found_of
from assay.bisection.lines import BuildLine, DifferenceLine, Entry, RunLine
from assay.bisection.replay import NextRun
from assay.cli.display.live import Plain, Terminal
from assay.core.units import format_duration
from assay.report.words.bisection import forecast_sentence, size_sentence, step_line

OFTEN = 16
"""A stage of so many blocks is said to go on, and again each time it has twice as many."""


def news(plan: SearchPlan, replay: SearchReplay, told: int) -> list[str]:
    """Lines on what was answered since `told` stages were; after the ends also a forecast."""
    stages = found_of(replay).stages
    lines = [step_line(plan, stage) for stage in stages[told:]]
    if lines and not replay.over and replay.search.told_apart:
        left = replay.search.left()
        said = forecast_sentence(plan, left, replay.run_s, replay.build_s)
        lines.append(f"still to do: {said}")
    return lines


def failure(plan: SearchPlan, entry: Entry) -> str:
    """What is said of a build or a run that gave nothing; empty of any other."""
    if isinstance(entry, BuildLine):
        failed = entry.status == "failed"
        return f"{plan.nodes[entry.node].short} does not build: {entry.reason}" if failed else ""
    if isinstance(entry, DifferenceLine):
        return ""
    run = entry.run
    return "" if run.status == "ok" else f"{run.title()} {run.status}: {run.reason}"


class PlainSearch(Plain):
    """A line for each build and each answer: for logs and pipes."""

    plan: SearchPlan
    told = 0

    def searching(self, plan: SearchPlan, replay: SearchReplay) -> None:
        self.plan, self.told = plan, len(replay.search.stages)
        self.say(f"{plan.study}: seed {plan.seed}; {size_sentence(plan)}")
        if replay.runs:
            self.say(f"going on after {len(replay.builds)} builds and {len(replay.runs)} runs")

    def building(self, name: str, replay: SearchReplay | None) -> None:
        self.say(f"building {name}")

    def step_running(self, step: NextRun, replay: SearchReplay, spent_s: float) -> None:
        self.waits = False

    def step_done(self, entry: Entry, replay: SearchReplay) -> None:
        if said := failure(self.plan, entry):
            self.say(said)
        if len(replay.search.stages) > self.told:
            for line in news(self.plan, replay, self.told):
                self.say(line)
            self.told = len(replay.search.stages)
        elif isinstance(entry, RunLine) and replay.blocks > self.blocks:
            self._count(replay)
        self.blocks = replay.blocks

    def _count(self, replay: SearchReplay) -> None:
        """A long stage says at its 16th, 32nd, ... block that it goes on."""
        done, planned = replay.search.done, replay.search.planned
        if done >= OFTEN and done & (done - 1) == 0:
            left_s = replay.left_s()
            left = f"; about {format_duration(left_s)} left at most" if left_s else ""
            self.say(f"block {done} of {planned}{left}")

    def over(self, replay: SearchReplay) -> None:
        if replay.stopped:
            self.say(f"stopped: {replay.stopped}")


class TerminalSearch(Terminal):
    """The answers so far, and a bar of what is asked now with the time left."""

    plan: SearchPlan
    told = 0

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.asking = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}")
        )
        self.now = self.asking.add_task("starting", total=1.0, left="")
        self.progress = Live(Group(self.asking), console=console, refresh_per_second=4)

    def searching(self, plan: SearchPlan, replay: SearchReplay) -> None:
        self.plan, self.told = plan, len(replay.search.stages)
        self.console.print(Text(f"{plan.study}: {plan.question}", style="bold"))
        self.console.print(Text(f"seed {plan.seed}; {size_sentence(plan)}", style="dim"))
        self.progress.start()

    def building(self, name: str, replay: SearchReplay | None) -> None:
        if replay is None:
            self.console.print(Text(f"building {name}", style="dim"))
        self._show(f"building {name}", replay)

    def step_running(self, step: NextRun, replay: SearchReplay, spent_s: float) -> None:
        names = [self.plan.nodes[n].short for n in sorted(step.order)]
        self._show(f"{' .. '.join(names)}, block {replay.search.done + 1}", replay)

    def waiting(self, foreign_cpus: float, spent_s: float, limit_s: float) -> None:
        said = f"waiting for a quiet machine: other work takes {foreign_cpus:.1f} CPUs"
        self.asking.update(self.now, description=said)

    def step_done(self, entry: Entry, replay: SearchReplay) -> None:
        if said := failure(self.plan, entry):
            self.console.print(Text(said, style="yellow"))
        if len(replay.search.stages) > self.told:
            for line in news(self.plan, replay, self.told):
                self.console.print(Text(line))
            self.told = len(replay.search.stages)

    def over(self, replay: SearchReplay) -> None:
        self.progress.stop()

    def _show(self, what: str, replay: SearchReplay | None) -> None:
        if replay is None:
            return
        planned, done = replay.search.planned or 8, replay.search.done
        left_s = replay.left_s()
        left = f"about {format_duration(left_s)} left at most" if left_s else ""
        self.asking.update(
            self.now, description=what, completed=done, total=max(planned, done), left=left
        )
