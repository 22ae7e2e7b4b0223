"""What is said of builds before they begin, and what a long one shows.

On a terminal one line that moves, elsewhere a line at each tenth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

from assay.builds import RECIPES
from assay.builds.progress import BuildProgress, listening
from assay.core.units import format_duration
from assay.study import Study


def say_builds(study: Study, console: Console) -> None:
    """Which builds are not kept, and how long they take, before the first begins."""
    levels = (level for f in study.factors.values() for level in f.levels.values())
    builds = {(b.recipe, b.arm) for level in levels if (b := level.application.build) is not None}
    named = {(c.target, str(c.settings.get("library"))) for c in study.cases}
    builds |= {(n, arm) for n, arm in named if n in RECIPES and arm in RECIPES[n].arms}
    for recipe in sorted({name for name, _ in builds}):
        wanted = sorted(arm for name, arm in builds if name == recipe)
        new = [arm for arm in wanted if not RECIPES[recipe].kept(arm)]
        if new:
            takes = f"to be made: {', '.join(new)} ({RECIPES[recipe].takes})"
            console.print(f"builds of {recipe} {takes}", style="dim")


@contextmanager
def building(console: Console) -> Iterator[None]:
    """Builds made within the block are shown on `console`."""
    if not console.is_terminal:
        with listening(_in_lines(console)):
            yield
        return
    status = Status("", console=console)
    try:
        with listening(lambda step: _move(status, step)):
            yield
    finally:
        status.stop()


def _move(status: Status, step: BuildProgress) -> None:
    status.update(words(step))
    status.start()
    if step.done == step.total:
        status.stop()


def _in_lines(console: Console) -> Callable[[BuildProgress], None]:
    said: set[tuple[str, int]] = set()

    def tell(step: BuildProgress) -> None:
        tenth = (step.what, 10 * step.done // step.total)
        if tenth not in said:
            said.add(tenth)
            console.print(words(step), style="dim")

    return tell


def words(step: BuildProgress) -> str:
    """A step for people."""
    left = "" if step.left_s is None else f", about {format_duration(step.left_s)} left"
    return f"building {step.what}: {step.done} of {step.total} objects{left}"
