"""`assay host size`: huge pages that a server needs, has, wastes, and is proved to use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from assay.cli._output import JSON_OPTION, guarded, tell, tell_json
from assay.cli._quantities import read_bytes, read_fraction
from assay.core.errors import ExitCode, InputError
from assay.host.rules import View
from assay.host.sizing import MemoryFigure, Need, fits, in_use, missing
from assay.host.transaction import tree_at
from assay.linux.pools import Pool
from assay.report import Line
from assay.targets.servers.memory_figure import figure_at, figure_of

ROOT_OPTION = typer.Option(
    Path("/"), "--root", help="A folder that stands for the host: everything is read below it."
)


@guarded
def size(
    bytes_: str = typer.Option(None, "--bytes", help="The server's own figure, such as 8GiB."),
    from_: str = typer.Option(
        None, "--from", help="A PostgreSQL or MariaDB that runs: its own figure.", metavar="URL"
    ),
    data: Path = typer.Option(
        None, help="A PostgreSQL that does not run: the figure of its data directory."
    ),
    pid: int = typer.Option(None, help="The server's process: what it really has, from smaps."),
    page: str = typer.Option("2MiB", help="Size of a page."),
    headroom: str = typer.Option("0%", help="A share on top."),
    extra: str = typer.Option("0", help="A fixed reserve on top, such as 1GiB."),
    root: Path = ROOT_OPTION,
    json: bool = JSON_OPTION,
) -> ExitCode | None:
    """Count the huge pages a server needs, against what this machine has.

    Other servers' figures go to --bytes; SAP ASE's: max memory, in pages of 2 KiB.

    Example: assay host size --bytes 1792GiB --extra 1GiB
    """
    view, page_bytes = View(tree_at(root), "", pid), read_bytes("--page", page)
    figure = _figure(bytes_, from_, data)
    need = Need(
        figure.asked(page_bytes),
        page_bytes,
        read_fraction("--headroom", headroom),
        read_bytes("--extra", extra),
    )
    told = _told(view, figure, need)
    if json:
        tell_json(told)
    else:
        tell(_lines(told, need))
    return ExitCode.NO if told["trouble"] else None


def register(group: typer.Typer) -> None:
    """Add the command to the group `host`."""
    group.command("size")(size)


def _figure(bytes_: str | None, url: str | None, data: Path | None) -> MemoryFigure:
    if [bytes_, url, data].count(None) != 2:
        raise InputError(
            "one of --bytes, --from and --data is needed: the memory that the server uses",
            next_step="such as --bytes 8GiB",
        )
    if url is not None:
        return figure_at(url)
    if data is not None:
        return figure_of(data)
    assert bytes_ is not None, "it is the one that was given"
    return MemoryFigure("the command line", {"asked for": read_bytes("--bytes", bytes_)})


def _told(view: View, figure: MemoryFigure, need: Need) -> dict[str, object]:
    pool = _pool(view.pools, need)
    return {
        "source": figure.source,
        "mappings": dict(figure.mappings),
        "pages": need.pages,
        "formula": need.formula(),
        "wasted_bytes": need.pages * need.page_bytes - sum(figure.mappings.values()),
        "memlock_kb": need.memlock_kb,
        "have": None if pool is None else pool.available,
        "missing": None if pool is None else missing(need, pool),
        "nodes": {n: _on_node(view, n, need) for n in view.nodes if len(view.nodes) > 1},
        "used": None if view.pid is None else {str(k): v for k, v in in_use(view).items()},
        "trouble": f"this kernel has no pages of {need.page_bytes >> 10} KiB"
        if pool is None
        else fits(need, pool, view),
    }


def _pool(pools: list[Pool], need: Need) -> Pool | None:
    return next((p for p in pools if p.page_bytes == need.page_bytes), None)


def _on_node(view: View, node: str, need: Need) -> dict[str, int]:
    """A node's share of the need, if it is spread evenly, and what the node has."""
    pool = _pool(view.pools_of(node), need)
    share = -(-need.pages // len(view.nodes))
    return {"need": share, "have": 0 if pool is None else pool.free}


def _lines(told: dict[str, object], need: Need) -> Iterator[Line]:
    mappings, nodes, used = told["mappings"], told["nodes"], told["used"]
    assert isinstance(mappings, dict)
    assert isinstance(nodes, dict)
    parts = ", ".join(f"{name} {size / 2**20:.1f} MiB" for name, size in mappings.items())
    yield Line(f"figure    {parts} (from {told['source']})")
    yield Line(f"need      {need.formula()} pages")
    yield Line(
        f"wasted    {int(str(told['wasted_bytes'])) / 2**20:.1f} MiB of headroom and rounding"
    )
    yield Line(f"memlock   {need.memlock_kb} kB (limits.d, ulimit -l)")
    if need.page_bytes == 2 << 20:
        yield Line(f"sysctl    vm.nr_hugepages={need.pages}")
    if told["have"] is not None:
        yield Line(f"have      {told['have']} pages free; {told['missing']} missing")
    for node, share in nodes.items():
        yield Line(f"{node:9} {share['need']} needed, {share['have']} free")
    if isinstance(used, dict):
        shown = [f"{v / 2**20:.0f} MiB in pages of {int(k) >> 10} KiB" for k, v in used.items()]
        yield Line(f"used      {', '.join(shown) or 'nothing of any pool'}")
    if told["trouble"]:
        yield Line(f"trouble   {told['trouble']}", "yellow")
