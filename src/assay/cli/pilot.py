"""`assay pilot`: how long to warm up and to measure, before a study is run."""

from __future__ import annotations

import os

import typer

from assay.bench import pilot_alone
from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.cli.display.builds import building, say_builds
from assay.cli.display.disturbance import say_disturbance, say_noise
from assay.cli.display.pilot import pilot_lines
from assay.cli.run import SET_OPTION, overrides_of, watcher_of
from assay.core.errors import ExitCode
from assay.host import host_facts
from assay.study import locate, read


@guarded
def command(
    study: str = typer.Argument(..., help="A study file, or the name of one that ships."),
    set_: list[str] = SET_OPTION,
    seed: int = typer.Option(None, help="Seed of the run order; drawn by default."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Find out how long runs of a study must warm up, and how long they are best measured.

    Three runs of each arm, which never count; nothing is written. A study that says
    warmup = "auto" or window = "auto" does the same before its first run.

    Example: assay pilot quickstart
    """
    name, text, base = locate(study)
    checked = read(name, text, base, overrides_of(set_, None))
    seed = int.from_bytes(os.urandom(4)) if seed is None else seed
    say_disturbance(story())
    say_noise(story())
    say_builds(checked, story())
    with building(story()):
        found = pilot_alone(checked, host_facts(), seed, watcher_of())
    if json:
        tell_json(found.model_dump())
    else:
        tell(pilot_lines(found))
    story().print(f"took {found.took_s:.0f} s, seed {seed}", style="dim")
    return None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("pilot")(command)
