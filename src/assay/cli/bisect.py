"""`assay bisect`: search which commit, or which level of a factor, made a server slower."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from assay.api import default_folder
from assay.bench.resumption import require_same_machine
from assay.bisection import Found, SearchBundle, SearchWatcher, found_of, searched
from assay.bisection.running import Wanted, prepare_search, search
from assay.bisection.subject import Subject, subject_of, subject_of_bundle
from assay.cli._output import JSON_OPTION, clean_console, guarded, story, tell, tell_json, warn
from assay.cli.display.builds import building
from assay.cli.display.disturbance import say_disturbance, say_noise
from assay.cli.display.search import PlainSearch, TerminalSearch
from assay.cli.run import SET_OPTION, overrides_of
from assay.core.errors import ExitCode, InputError
from assay.core.units import parse_duration, parse_percent
from assay.host import host_facts
from assay.ledger import entered
from assay.report import search_lines
from assay.report.html.bisection import search_html
from assay.study import locate

ASK = "assay bisect GOOD BAD --study S"


@guarded
def command(
    good: str = typer.Argument(None, help="The older commit, or the level, that is good."),
    bad: str = typer.Argument(None, help="The later one that is bad."),
    study: str = typer.Option(None, help="A study file; [build] says how a commit is built."),
    repo: Path = typer.Option(Path(), help="Folder of the git repository."),
    path: list[str] = typer.Option(
        [], help="Only commits that touch this folder or file of the repository."
    ),
    over: str = typer.Option(None, help="Search the levels of this factor, not commits."),
    expected: str = typer.Option(
        None, help="The smallest effect worth finding, such as 5%; the study's smallest by default."
    ),
    budget: str = typer.Option(None, help="Time the search may take, such as 45m."),
    set_: list[str] = SET_OPTION,
    resume: Path = typer.Option(None, help="Go on with the interrupted search in this bundle."),
    seed: int = typer.Option(None, help="Seed of the run order; drawn and printed by default."),
    out: Path = typer.Option(None, help="Folder of the bundle; ./bundles/bisect-STUDY-TIME."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Search which commit, or which level of a factor, made a server slower.

    The ends are confirmed first; a commit is named only after fresh runs of it and the one before.
    Exit code 1 says that none was named. Follows first parents.

    Example: assay bisect v1.0 main --repo server --study get.toml --expected 5% --budget 45m
    """
    watcher = _watcher()
    say_disturbance(story())
    say_noise(story())
    if resume is None:
        wanted, subject = _asked(good, bad, study, repo, path, over, expected, budget, set_, seed)
        folder = out or default_folder(f"bisect-{subject.study.name}")
        with building(story()):
            bundle = prepare_search(subject, wanted, folder, host_facts(), watcher=watcher)
    else:
        given = (good, bad, study, over, expected, budget, seed, out, *path, *set_)
        if any(value is not None for value in given):
            raise InputError("--resume goes on with the plan as it is; drop the other options")
        bundle = SearchBundle.open(resume)
        require_same_machine(bundle, host_facts())
        subject = subject_of_bundle(bundle)
    try:
        with entered(bundle.folder, warn):
            search(bundle, subject, watcher)
    finally:
        found = _answer(bundle, json)
    return None if found.answer == "named" else ExitCode.NO


def _asked(
    good: str | None,
    bad: str | None,
    study: str | None,
    repo: Path,
    path: list[str],
    over: str | None,
    expected: str | None,
    budget: str | None,
    set_: list[str],
    seed: int | None,
) -> tuple[Wanted, Subject]:
    """What the options ask for."""
    if good is None or bad is None or study is None:
        raise InputError("name GOOD, BAD and --study, or a bundle with --resume", next_step=ASK)
    overrides = overrides_of(set_, None)
    try:
        size = None if expected is None else parse_percent(expected)
        budget_s = None if budget is None else parse_duration(budget)
    except ValueError as error:
        raise InputError(str(error), next_step="--expected 5% --budget 45m") from error
    place = None if over else repo
    subject = subject_of(locate(study), repo=place, over=over, overrides=overrides)
    return Wanted(good, bad, path, size, budget_s, seed, overrides), subject


def _answer(bundle: SearchBundle, json: bool) -> Found:
    """Print what was found and write the report, also of a search that was stopped on the way."""
    found = bundle.found() if bundle.has_found else found_of(searched(bundle))
    if json:
        tell_json(found.model_dump())
    else:
        tell(search_lines(bundle.plan, found))
    path = bundle.write_report(search_html(bundle))
    story().print(f"bundle {bundle.folder}\nreport {path}", style="dim")
    return found


def _watcher() -> SearchWatcher:
    """The display that suits where stderr goes."""
    console = clean_console()(stderr=True, highlight=False)
    return TerminalSearch(console) if console.is_terminal else PlainSearch(sys.stderr)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bisect")(command)
