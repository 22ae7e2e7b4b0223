"""`assay host check` and `assay host size`: what is wrong with this machine, and what it needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from assay._errors import ExitCode, InputError
from assay._units import parse_percent, parse_size
from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.host.check import Finding, View, findings, not_judged
from assay.host.sizing import Need, fits, missing
from assay.host.transaction import tree_at
from assay.report import Line

ROOT_OPTION = typer.Option(
    Path("/"), "--root", help="A folder that stands for the host: everything is read below it."
)
FOR_OPTION = typer.Option("", "--for", help="A server: mariadb, postgresql, redis, ...")
STYLES = {"S1": "red", "S2": "yellow"}


@guarded
def check(
    for_: str = FOR_OPTION,
    pid: int = typer.Option(None, help="The server's process, of which limits and memory count."),
    root: Path = ROOT_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Judge this machine by rules: what is found, why it matters, and what cures it.

    Example: assay host check --for redis
    """
    view = View(tree_at(root), for_, pid)
    if pid is not None and view.server is None:
        raise InputError(f"there is no process {pid}", next_step="see `ps -e`")
    found, unjudged = findings(view), list(not_judged(view))
    if json:
        told = [{"rule": rule.id, "text": rule.text, "why": why} for rule, why in unjudged]
        tell_json({"findings": [_as_json(f) for f in found], "not_judged": told})
    else:
        tell(line for f in found for line in _lines(f))
        tell(Line(f"not judged: {rule.id} {rule.text}: {why}", "dim") for rule, why in unjudged)
        tell([Line("nothing found" if not found else f"{len(found)} found")])
    return ExitCode.NO if any(f.severity != "info" for f in found) else None


@guarded
def size(
    bytes_: str = typer.Option(..., "--bytes", help="The server's own figure, such as 8GiB."),
    page: str = typer.Option("2MiB", help="Size of a page."),
    headroom: str = typer.Option("0%", help="A share on top."),
    extra: str = typer.Option("0", help="A fixed reserve on top, such as 1GiB."),
    root: Path = ROOT_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Count the huge pages a server needs, beside what this machine has.

    PostgreSQL's figure: postgres -C shared_memory_size -D DATA; MariaDB's: innodb_buffer_pool_size
    and innodb_log_buffer_size; SAP ASE's: max memory, in pages of 2 KiB.

    Example: assay host size --bytes 1792GiB --extra 1GiB
    """
    view = View(tree_at(root))
    need = Need(_size(bytes_), _size(page), parse_percent(headroom), _size(extra))
    pool = next((p for p in view.pools if p.page_bytes == need.page_bytes), None)
    told: dict[str, object] = {
        "pages": need.pages,
        "formula": need.formula(),
        "wasted_bytes": need.wasted,
        "memlock_kb": need.memlock_kb,
        "have": None if pool is None else pool.available,
        "missing": None if pool is None else missing(need, pool),
        "trouble": f"this kernel has no pages of {page}" if pool is None
        else fits(need, pool, view),
    }  # fmt: skip
    if json:
        tell_json(told)
    else:
        tell(_sized(told, need))
    return ExitCode.NO if told["trouble"] else None


def _size(text: str) -> int:
    try:
        return int(text) if text.isdigit() else parse_size(text)
    except ValueError as error:
        raise InputError(f"{text}: {error}", next_step="write a size such as 8GiB") from error


def register(group: typer.Typer) -> None:
    """Add the commands to the group `host`."""
    group.command("check")(check)
    group.command("size")(size)


def _lines(found: Finding) -> Iterator[Line]:
    yield Line(f"{found.rule} {found.severity}  {found.evidence}", STYLES.get(found.severity, ""))
    yield Line(f"    why   {found.reason} ({found.source})")
    yield Line(f"    cure  {found.advice}")
    for key, value in found.cure:
        yield Line(f"          assay host plan --set {key}={value}")


def _as_json(found: Finding) -> dict[str, object]:
    return {
        "rule": found.rule,
        "severity": found.severity,
        "evidence": found.evidence,
        "reason": found.reason,
        "source": found.source,
        "advice": found.advice,
        "cure": dict(found.cure),
    }


def _sized(told: dict[str, object], need: Need) -> Iterator[Line]:
    yield Line(f"need      {need.formula()} pages")
    yield Line(f"wasted    {need.wasted / 2**20:.1f} MiB of headroom and rounding")
    yield Line(f"memlock   {need.memlock_kb} kB (limits.d, ulimit -l)")
    if need.page_bytes == 2 << 20:
        yield Line(f"sysctl    vm.nr_hugepages={need.pages}")
    if told["have"] is not None:
        yield Line(f"have      {told['have']} pages nobody's; {told['missing']} missing")
    if told["trouble"]:
        yield Line(f"trouble   {told['trouble']}", "yellow")
