"""`assay load`: a workload against a server that somebody started."""

from __future__ import annotations

import json as json_
from typing import Any

import typer

from assay.cli._output import JSON_OPTION, guarded, story, tell, tell_json
from assay.cli._quantities import read_seconds
from assay.core.errors import ExitCode, InputError, RunError
from assay.core.units import format_quantity
from assay.load import (
    Load,
    TpccReport,
    check,
    clean,
    find_limit,
    parse_promise,
    parse_url,
    prepare,
    run_load,
    second_line,
    summary_lines,
)
from assay.load.serve import STAND_IN_WORDS
from assay.native import Loading
from assay.report import Line

CHECKED = {"tpcc": "consistency conditions", "trade-desk": "invariants"}
"""Workloads whose data are checked after a run, and what that is called."""


@guarded
def command(
    workload: str = typer.Argument(..., help="What to ask: redis-get, http-get, ..."),
    to: str = typer.Option(
        ...,
        "--to",
        metavar="URL",
        help="The server: mysql://, postgresql://, redis://, rediss://, http://, https://",
    ),
    set_: list[str] = typer.Option(
        [], "--set", help="An option of the workload: pipeline=16", metavar="K=V"
    ),
    connections: int = typer.Option(1, min=1, help="Connections, shared out among the threads."),
    threads: int = typer.Option(1, min=1, help="Threads of the client, one event loop each."),
    rate: float = typer.Option(
        None, help="Requests a second, sent whatever the server does (open loop)."
    ),
    poisson: bool = typer.Option(False, "--poisson", help="Random distances between sends."),
    time: str = typer.Option("10s", help="How long to measure."),
    warmup: str = typer.Option("1s", help="How long to run before that."),
    seed: int = typer.Option(1, help="Seed of everything that is drawn."),
    prepare_: bool = typer.Option(
        False, "--prepare", help="Make the data first; tables of these names are dropped."
    ),
    clean_: bool = typer.Option(False, "--clean", help="Take the data away at the end."),
    limit: str = typer.Option(
        None, "--find-limit", help="Search the highest rate that keeps this.", metavar="p99<5ms"
    ),
    backend: str = typer.Option(
        None, help="The kernel's interface: epoll or io_uring. By default the best there is."
    ),
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Put load on a server and say what it did, and whether the client was the limit.

    Latencies count from when a request was meant to be sent; the service time, from
    when it was sent, is printed too.

    Example: assay load redis-get --to redis://127.0.0.1:6379 --connections 50 --rate 20000
    """
    load = Load(
        target=parse_url(to),
        workload=workload,
        options=_options(set_),
        connections=connections,
        threads=threads,
        rate=rate,
        poisson=poisson,
        time_s=read_seconds("--time", time),
        warmup_s=read_seconds("--warmup", warmup),
        seed=seed,
        backend=backend,
    )
    console = story()
    if prepare_:
        state = prepare(load, lambda it: console.print(_loading(it)))
        speed = format_quantity(state.rows / state.seconds, "rows/s")
        console.print(f"loaded {state.rows} rows in {state.seconds:.1f} s: {speed}")
    try:
        if load.time_s == 0:
            return None
        return _limit(load, limit, json) if limit is not None else _run(load, json)
    finally:
        if clean_:
            clean(load)


def _run(load: Load, json: bool) -> ExitCode | None:
    console = story()
    summary = run_load(load, lambda interval: console.print(second_line(interval)))
    if json:
        tell_json(summary.as_json())
    else:
        tell(summary_lines(summary))
    if load.workload not in CHECKED or not summary.complete:
        return ExitCode.VOID if summary.void else None
    if load.workload == "tpcc" and not json:
        tell(Line(line) for line in TpccReport.of(summary, load.options).lines())
    try:
        faults = check(load)
    except RunError as error:
        if STAND_IN_WORDS not in str(error):
            raise
        console.print("the server is a stand-in without data: there are no conditions to check")
        return ExitCode.VOID if summary.void else None
    for fault in faults:
        console.print(f"the data are not sound: {fault}", style="red")
    if not faults:
        console.print(f"the {CHECKED[load.workload]} hold")
    return ExitCode.NO if faults else ExitCode.VOID if summary.void else None


def _loading(loading: Loading) -> str:
    return f"{100 * loading.rows / max(loading.of, 1):5.0f} % of {loading.of} rows"


def _limit(load: Load, text: str, json: bool) -> ExitCode | None:
    if load.rate is not None:
        raise InputError("--find-limit looks for the rate: drop --rate")
    promise, console = parse_promise(text), story()

    def told(summary: Any, is_kept: bool) -> None:
        asked = summary.asked_per_s
        what = "closed loop" if asked is None else format_quantity(asked, "op/s")
        latency = summary.latency_ns.get(f"{promise.quantile:g}")
        found = "-" if latency is None else format_quantity(latency, "ns")
        console.print(f"{what:>12s}  {found:>10s}  {'kept' if is_kept else 'not kept'}")

    found = find_limit(load, promise, told)
    if json:
        runs = [summary.as_json() for summary in found.runs]
        ends = {"rate": found.rate, "broken": found.broken, "error": found.error}
        tell_json({"promise": str(promise), **ends, "runs": runs})
    elif found.rate:
        kept, broken = (format_quantity(r, "op/s") for r in (found.rate, found.broken))
        tell([Line(f"{promise} is kept up to {kept}, and broken from {broken}", "green")])
    else:
        tell([Line(f"{promise} was kept at no rate that was tried", "red")])
    return None if found.rate else ExitCode.NO


def _options(texts: list[str]) -> dict[str, Any]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"--set {text!r} is not NAME=VALUE", next_step="--set pipeline=16")
        try:
            found[name] = json_.loads(value)
        except json_.JSONDecodeError:
            found[name] = value
    return found


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("load")(command)
