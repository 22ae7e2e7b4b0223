"""`assay run`: run a study, or go on with one that was interrupted."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from assay.api import adopt_study, default_folder
from assay.bench import Watcher, prepare, require_no_pilot, run
from assay.bench.resumption import require_same_machine
from assay.cli._output import JSON_OPTION, clean_console, guarded, story, tell, tell_json, warn
from assay.cli.display.builds import building, say_builds
from assay.cli.display.disturbance import say_disturbance, say_noise
from assay.cli.display.live import Plain, Terminal
from assay.core.errors import ExitCode, InputError
from assay.explain import explanations
from assay.host import host_facts, limits
from assay.ledger import entered
from assay.record import Bundle
from assay.record.signature import require_key
from assay.record.signature import sign as sign_bundle
from assay.report import Line, profile_lines, verdict_lines
from assay.report.html.page import report_html
from assay.study import locate, read

SET_OPTION = typer.Option(
    [], "--set", help="Override a key of the study: workload.records=10000", metavar="K=V"
)


@guarded
def command(
    study: str = typer.Argument(None, help="A study file, or the name of one that ships."),
    set_: list[str] = SET_OPTION,
    budget: str = typer.Option(None, help="Time the study may take, such as 10m."),
    full: bool = typer.Option(
        False, "--full", help="Run every planned block of every arm and decide once, at the end."
    ),
    resume: Path = typer.Option(None, help="Go on with the interrupted study in this bundle."),
    extend: Path = typer.Option(
        None, help="Make the finished but undecided study in this bundle half as long again."
    ),
    adopt: Path = typer.Option(
        None,
        help="Copy somebody else's bundle to go on with; say what it runs, and run nothing.",
    ),
    seed: int = typer.Option(None, help="Seed of the run order; drawn and printed by default."),
    out: Path = typer.Option(None, help="Folder of the bundle; ./bundles/STUDY-TIME by default."),
    sign: Path = typer.Option(None, help="Sign the bundle with this private key of OpenSSH."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Run a study and give a verdict on each of its changes.

    Example: assay run quickstart --budget 5m
    """
    if sum(given is not None for given in (study, resume, extend, adopt)) != 1:
        raise InputError(
            "name a study, or a bundle with --resume, --extend or --adopt",
            next_step="assay list studies",
        )
    if adopt is not None:
        _adopt(adopt, out)
        return None
    if sign is not None:
        require_key(sign)
    overrides, watcher = overrides_of(set_, budget), watcher_of()
    say_disturbance(story())
    say_noise(story())
    if study is not None:
        bundle = _prepared(study, overrides, out, seed, full, watcher)
    else:
        if overrides or out or seed is not None or full:
            raise InputError(
                "--resume and --extend go on with the plan as it is; drop the other options"
            )
        folder = resume or extend
        require_no_pilot(folder)
        bundle = Bundle.open(folder)
        require_same_machine(bundle, host_facts())
    try:
        with entered(bundle.folder, warn):
            run(bundle, watcher, extend=extend is not None)
    finally:
        _answer(bundle, json)
        if sign is not None and bundle.has_verdicts:
            story().print(f"signature {sign_bundle(bundle, sign)}", style="dim")
    return None


def _adopt(folder: Path, out: Path | None) -> None:
    """Copy a bundle, and say what going on with it would run: nothing of it runs before."""
    copy, found = adopt_study(folder, out)
    tell([Line(f"{copy.folder} is a copy of your own. Going on with it on this machine:")])
    tell(Line(f"  {text}") for text in found or ["runs no command and no program of its own"])
    tell([Line(f"next: read {copy.folder}/study.toml, then `assay run --resume {copy.folder}`")])


def _answer(bundle: Bundle, json: bool) -> None:
    """Print the verdicts and write the report, also of a study that was stopped on the way."""
    if not bundle.has_verdicts:
        return
    verdicts = bundle.verdicts()
    if json:
        tell_json(verdicts.model_dump())
    else:
        tell(
            verdict_lines(verdicts, bundle.plan, explanations(bundle.plan, bundle.runs(), verdicts))
        )
        tell(profile_lines(bundle, verdicts))
    path = bundle.write_report(report_html(bundle))
    story().print(f"bundle {bundle.folder}\nreport {path}", style="dim")


def _prepared(
    study: str,
    overrides: dict[str, str],
    out: Path | None,
    seed: int | None,
    full: bool,
    watcher: Watcher,
) -> Bundle:
    name, text, base = locate(study)
    checked = read(name, text, base, overrides)
    facts = host_facts()
    for limit in limits(facts):
        story().print(f"not here: {limit}", style="dim")
    folder = out or default_folder(checked.name)
    say_builds(checked, story())
    with building(story()):
        return prepare(
            checked,
            folder,
            facts,
            base=base,
            seed=seed,
            overrides=overrides,
            full=full,
            watcher=watcher,
        )


def overrides_of(pairs: list[str], budget: str | None) -> dict[str, str]:
    """What --set and --budget ask for, by dotted key."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InputError(f"--set {pair}: write KEY=VALUE", next_step="--set decide.budget=2min")
        found[key.strip()] = value.strip()
    if budget is not None:
        found["decide.budget"] = f'"{budget}"'
    return found


def watcher_of() -> Watcher:
    """The display that suits where stderr goes."""
    console = clean_console()(stderr=True, highlight=False)
    if not console.is_terminal:
        return Plain(sys.stderr)
    return Terminal(console, ask=sys.stdin.isatty())


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(command)
