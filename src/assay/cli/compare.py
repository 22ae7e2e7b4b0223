"""`assay compare`: commands against each other, without a study file."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_args

import typer

from assay.api import default_folder
from assay.bench import Clocks, Watcher, prepare, run
from assay.bench.life import REAL
from assay.cli._output import (
    JSON_OPTION,
    clean_console,
    guarded,
    story,
    tell,
    tell_json,
    tell_tables,
    warn,
)
from assay.cli._quantities import read_fraction, read_seconds
from assay.cli.display.compared import ComparedTerminal, alone_view, compared_view
from assay.cli.display.live import Plain
from assay.compare import METRICS, Contender, Question, gate, look, measure_alone, study_text
from assay.compare.question import NAME_MAX, contenders, scanned, words_of_shell
from assay.core.errors import ExitCode, InputError
from assay.core.metrics import Better
from assay.core.parameters import nearest
from assay.host import host_facts, wait_until_quiet
from assay.ledger import entered
from assay.record import Bundle
from assay.report import Line
from assay.report.html.page import report_html
from assay.study import Study, read
from assay.verdict.observations import FOREIGN_CPUS

NAME = "the comparison"
AGAIN = " (again)"
LONG_S = 1e6
"""A budget that refuses nothing: of the study of the first look."""

SETTLE_S = 10.0
"""How long a void block waits for a quiet machine: whoever compares two commands sits there."""


@guarded
def command(
    commands: list[str] = typer.Argument(
        ...,
        metavar="CMD",
        help="Commands; a first one is the baseline. One alone: its distribution.",
    ),
    name: list[str] = typer.Option([], "--name", help="What a command is called, in their order."),
    baseline: str = typer.Option(None, help="The command that others are compared with."),
    metric: str = typer.Option("wall", help="What is measured: wall, cpu or memory."),
    value: str = typer.Option(
        None, help="A number that it prints: a regular expression, or a JSON path ($.a[0].b)."
    ),
    unit: str = typer.Option("value", help="The unit of that number."),
    better: str = typer.Option(None, help="Which of them is better: higher or lower."),
    env: list[str] = typer.Option(
        [], "--env", metavar="A:X=1", help="A variable for one of the commands."
    ),
    prepare_: str = typer.Option(None, "--prepare", help="Run before each execution, not timed."),
    between: str = typer.Option(None, "--between-arms", help="Run before each run, not timed."),
    cleanup: str = typer.Option(None, help="Run after each run, not timed."),
    shell: str = typer.Option("none", help="none, or sh for pipes and the like."),
    cwd: Path = typer.Option(None, help="The folder in which all of it runs."),
    scan: list[str] = typer.Option(
        [], metavar="N=1,2,4", help="A case for each value; {N} in commands stands for it."
    ),
    smallest: str = typer.Option("2%", help="The smallest effect worth having."),
    budget: str = typer.Option(None, help="Time that it may take, such as 5m."),
    warmup: str = typer.Option("0ms", help="Executions that do not count, in each run."),
    window: str = typer.Option("500ms", help="How long executions count, in each run."),
    timeout: str = typer.Option("600s", help="An execution that takes longer fails."),
    ignore_failure: bool = typer.Option(False, help="Codes other than 0 are no failure."),
    seed: int = typer.Option(None, help="Seed of the run order; drawn by default."),
    out: Path = typer.Option(None, help="Folder of the bundle."),
    save_study: Path = typer.Option(None, help="Write the study to this file, and run nothing."),
    ci: bool = typer.Option(False, "--ci", help="A gate: Markdown, JUnit, annotations, exit 1."),
    fail_if: str = typer.Option("0%", help="With --ci: the loss that fails, if it is sure."),
    junit: Path = typer.Option(Path("assay-junit.xml"), help="With --ci: where JUnit goes."),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Compare commands: which one is faster, by how much, how surely.

    Example: assay compare 'gzip -1 -k -f data' 'gzip -6 -k -f data' --budget 2m
    """
    _require(smallest, warmup, window, timeout, shell)
    asked = Question(
        contenders=contenders(commands, name, env, baseline, shell),
        metric=_metric(metric),
        value=value,
        unit=unit,
        better=_better(better, value),
        smallest=smallest,
        warmup=warmup,
        window=window,
        patience=timeout,
        directory=None if cwd is None else cwd.resolve(),
        prepare=_helper(prepare_, shell),
        between_arms=_helper(between, shell),
        cleanup=_helper(cleanup, shell),
        any_code=ignore_failure,
        scan=scanned(scan),
    )
    wants = _Wanted(budget, seed, out, save_study, json, ci, fail_if, junit)
    return _alone(asked, wants) if len(asked.contenders) == 1 else _compared(asked, wants)


@dataclass(frozen=True)
class _Wanted:
    """What becomes of a comparison."""

    budget: str | None
    seed: int | None
    out: Path | None
    save_study: Path | None
    json: bool
    ci: bool
    fail_if: str
    junit: Path

    @property
    def budget_s(self) -> float | None:
        return None if self.budget is None else read_seconds("--budget", self.budget)


def _compared(asked: Question, wants: _Wanted) -> ExitCode | None:
    allowed = read_fraction("--fail-if", wants.fail_if)
    text, study = _looked(asked, wants.budget_s)
    if wants.save_study is not None:
        wants.save_study.write_text(text)
        story().print(f"next: assay run {wants.save_study}")
        return None
    bundle = _run(study, text, wants.out, wants.seed)
    if wants.ci:
        return _gate(bundle, allowed, wants.junit)
    _answer(bundle, wants.json)
    return None


def _looked(asked: Question, budget_s: float | None) -> tuple[str, Study]:
    """The study, once every command was tried."""
    study = read(NAME, study_text(asked, LONG_S), Path.cwd())
    seen = look(study, lambda text: story().print(text, style="dim"))
    typical = {"" if len(study.cases) == 1 else c.name: seen.typical_s(c.name) for c in study.cases}
    if budget_s is None:
        study = read(NAME, study_text(asked, LONG_S, typical), Path.cwd())
        budget_s = seen.budget_s(study)
    text = study_text(asked, budget_s, typical)
    return text, read(NAME, text, Path.cwd())


def _run(study: Study, text: str, out: Path | None, seed: int | None) -> Bundle:
    watcher, facts = _watcher(), host_facts()
    folder = out or default_folder(study.name)
    bundle = prepare(study, folder, facts, base=Path.cwd(), seed=seed, watcher=watcher)
    with entered(bundle.folder, warn):
        run(bundle, watcher, clocks=_clocks())
    return bundle


def _answer(bundle: Bundle, json: bool) -> None:
    verdicts = bundle.verdicts()
    if json:
        tell_json(verdicts.model_dump())
    else:
        tell_tables([compared_view(bundle.plan, bundle.runs(), verdicts)])
    path = bundle.write_report(report_html(bundle))
    story().print(f"bundle {bundle.folder}\nreport {path}", style="dim")


def _gate(bundle: Bundle, allowed: float, junit_file: Path) -> ExitCode:
    """Tell a continuous integration; 1 only where a command surely hurts by more than allowed."""
    plan, verdicts, records = bundle.plan, bundle.verdicts(), bundle.runs()
    summary = gate.markdown(plan, records, verdicts, allowed)
    tell([Line(text) for text in summary.splitlines()])
    if os.environ.get("GITHUB_ACTIONS") == "true":
        tell([Line(text) for text in gate.notes(plan, verdicts, allowed)])
    if step := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(step).open("a", encoding="utf-8") as file:
            file.write(summary)
    junit_file.write_text(gate.junit(plan, verdicts, allowed), encoding="utf-8")
    path = bundle.write_report(report_html(bundle))
    story().print(f"bundle {bundle.folder}\nreport {path}\njunit {junit_file}", style="dim")
    return ExitCode.NO if gate.failing(plan, verdicts, allowed) else ExitCode.OK


def _alone(asked: Question, wants: _Wanted) -> ExitCode:
    """One command, next to itself: a study needs two."""
    if wants.save_study is not None or asked.scan or wants.ci:
        raise InputError(
            "a study, a scan and a gate need two commands", next_step="name the other one first"
        )
    (only,) = asked.contenders
    twin = Contender(only.name[: NAME_MAX - len(AGAIN)] + AGAIN, only.words, only.env)
    _, study = _looked(replace(asked, contenders=(only, twin)), LONG_S)
    with story().status(f"running {only.name}") as status:
        found = measure_alone(
            study,
            wants.budget_s,
            wants.seed or int.from_bytes(os.urandom(4)),
            lambda values: status.update(f"running {only.name}: {len(values)} runs"),
        )
    if wants.json:
        tell_json(asdict(found))
    else:
        tell_tables([alone_view(found)])
    return ExitCode.OK


def _watcher() -> Watcher:
    console = clean_console()(stderr=True, highlight=False)
    if not console.is_terminal:
        return Plain(sys.stderr)
    return ComparedTerminal(console, ask=sys.stdin.isatty())


def _clocks() -> Clocks:
    return replace(REAL, settle=lambda waiting: wait_until_quiet(FOREIGN_CPUS, SETTLE_S, waiting))


def _require(smallest: str, warmup: str, window: str, timeout: str, shell: str) -> None:
    """What is written like this must be read by the study too; here the option is named."""
    for option, text in (("--warmup", warmup), ("--window", window), ("--timeout", timeout)):
        read_seconds(option, text)
    read_fraction("--smallest", smallest)
    if shell not in ("none", "sh"):
        raise InputError(f"--shell {shell}: write none or sh", next_step="--shell sh")


def _helper(text: str | None, shell: str) -> tuple[str, ...]:
    return () if text is None else words_of_shell(text, shell)


def _metric(word: str) -> str:
    if word not in METRICS:
        raise InputError(
            f"--metric {word}: there is no such metric{nearest(word, METRICS)}",
            next_step=f"write {', '.join(METRICS)}, or --value PATTERN",
        )
    return METRICS[word]


def _better(word: str | None, value: str | None) -> Better:
    if word is None and value is not None:
        raise InputError(
            "--value needs --better: is a higher number better, or a lower one?",
            next_step="--better higher, or --better lower",
        )
    if word is not None and value is None:
        raise InputError("--better belongs to --value", next_step="leave it out")
    for known in get_args(Better):
        if word in (None, known):
            return known  # type: ignore[no-any-return]
    raise InputError(f"--better {word}: write higher or lower", next_step="--better higher")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(command)
