"""Tidy tables of a bundle: a row a run, a row an interval of a run, a row a verdict; along an axis
a row a point of each comparison. Rows of runs and verdicts then have the point as `axis.NAME`.

Columns are plain lists, so that CSV needs no library, and any library of frames takes them.
Values are as the bundle has them: times in seconds, latencies in nanoseconds, effects as fractions
of which up is better.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from assay.core.errors import MissingError
from assay.core.printable import markdown_cell
from assay.core.units import format_percent, percent
from assay.plan import Plan
from assay.record import Bundle, RunRecord, checked_verdicts, statuses
from assay.report.words.kinds import kind_interval
from assay.report.words.wording import estimate, interval, label
from assay.verdict.rows import CurveContrastRow, CurvePointRow, Row, Verdicts

Columned = dict[str, list[Any]]
"""By column its values, all of the same length; None where there is none."""

Line = dict[str, Any]


def table_of(bundle: Bundle, name: str) -> Columned:
    """One table of a bundle, by its name in `TABLES`. AlteredError if the bundle was altered,
    BundleError if it has no verdicts yet."""
    return TABLES[name](bundle)


def _runs(bundle: Bundle) -> Columned:
    """A row a run, in the order they were made; `status` says whether it counts."""
    plan, runs = bundle.plan, bundle.runs()
    levels = {arm.name: arm.levels for arm in plan.arms}
    found = statuses(runs, checked_verdicts(bundle).blocks)
    at = _points(plan)
    return _columns(
        {**_run(run, status, levels), **at.get(run.case, {})}
        for run, status in zip(runs, found, strict=True)
    )


def _points(plan: Plan) -> dict[str, Line]:
    """By case the column of its point; none without an axis."""
    axis = plan.axis
    return {p.case: {f"axis.{axis.name}": p.value} for p in axis.points} if axis else {}


def _run(run: RunRecord, status: str, levels: Mapping[str, Mapping[str, str]]) -> Line:
    plain = ("run", "case", "arm", "block", "attempt", "slot", "extension")
    numbers = ("started", "took_s", "window_s", "operations", "errors")
    return {
        **{name: getattr(run, name) for name in plain},
        "status": status,
        "reason": run.reason,
        **{name: getattr(run, name) for name in numbers},
        **{f"level.{factor}": level for factor, level in levels[run.arm].items()},
        **run.metrics,
        **{f"dose.{factor}": amount for factor, amount in run.dose.items()},
        **{
            f"{name}[{kind}]": value
            for kind, seen in run.by_kind.items()
            for name, value in seen.metrics.items()
        },
    }


def _intervals(bundle: Bundle) -> Columned:
    """A row an interval: part of a run's window, or a turn of its arm."""
    return _columns(
        {
            "run": run.run,
            "case": run.case,
            "arm": run.arm,
            "block": run.block,
            "interval": part.index,
            "start_ms": part.start_ms,
            "length_ms": part.length_ms,
            "operations": part.operations,
            "errors": part.errors,
            "throughput": 1000 * part.operations / part.length_ms if part.length_ms else None,
        }
        for run in bundle.runs()
        for part in run.intervals
    )


def _verdicts(bundle: Bundle) -> Columned:
    """A row a verdict, leads and kinds of request too."""
    at = _points(bundle.plan)
    return _columns(
        {**line, **at.get(row.case, {})}
        for row in checked_verdicts(bundle).verdicts
        for line in _verdict(row)
    )


def _curves(bundle: Bundle) -> Columned:
    """A row a point of each comparison of a curve: the band, what both arms measured there, and the
    crossing that the point bounds, if any; no rows without an axis."""
    return _columns(
        {
            "case": curve.case,
            "axis": curve.axis,
            **{"value": point.value, "text": point.text, "added": point.added},
            **contrast.contrast.model_dump(),
            **effect.model_dump(exclude={"value", "text"}),
            **_level("", point, contrast.arm),
            **_level("against_", point, contrast.contrast.against),
            **_crossing(contrast, point.value),
        }
        for curve in checked_verdicts(bundle).curves
        for contrast in curve.contrasts
        for point, effect in zip(curve.points, contrast.effects, strict=True)
    )


def _level(prefix: str, point: CurvePointRow, arm: str) -> Line:
    """What an arm measured at a point."""
    names = {"value": "level", "low": "level_low", "high": "level_high"}
    same = ("runs", "reached", "saturated")
    found = next((level for level in point.levels if level.arm == arm), None)
    said = {} if found is None else found.model_dump()
    return {
        **{f"{prefix}{to}": said.get(name) for name, to in names.items()},
        **{f"{prefix}{name}": said.get(name) for name in same},
    }


def _crossing(contrast: CurveContrastRow, value: float) -> Line:
    found = next((c for c in contrast.crossings if value in (c.low, c.high)), None)
    return {
        "crossing": None if found is None else found.value,
        "crossing_low": None if found is None else found.low,
        "crossing_high": None if found is None else found.high,
        "rising": None if found is None else found.rising,
    }


def _verdict(row: Row) -> Iterator[Line]:
    total = row.total
    whole = {
        "case": row.case,
        "scope": row.scope,
        **row.contrast.model_dump(),
        "arm": row.arm,
        "request": "",
        "metric": row.metric,
        "word": row.word,
        "strength": row.strength,
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
        "total": None if total is None else total.value,
        "total_low": None if total is None else total.low,
        "total_high": None if total is None else total.high,
        "blocks": row.blocks,
        "effort": row.effort,
        "witness_held": row.witness.held,
        "predicted": row.predicted,
        "outcome": row.outcome,
        "reason": row.reason,
    }
    yield whole
    for kind in row.by_kind:
        totals = dict.fromkeys(("total", "total_low", "total_high"))
        own = kind.model_dump(exclude={"reasons"})
        yield {**whole, **totals, **own, "strength": "by kind"}


TABLES: Mapping[str, Callable[[Bundle], Columned]] = {
    "runs": _runs,
    "intervals": _intervals,
    "verdicts": _verdicts,
    "curves": _curves,
}


def _columns(lines: Iterable[Line]) -> Columned:
    """The columns of lines that may each have others; in the order in which they first appear."""
    held = list(lines)
    names = dict.fromkeys(name for line in held for name in line)
    return {name: [line.get(name) for line in held] for name in names}


def write_csv(table: Columned, out: TextIO) -> None:
    """A table as CSV; what has no value is empty."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))


def write_parquet(table: Columned, path: Path) -> None:
    """A table as Parquet. MissingError without pyarrow."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingError(
            "Parquet needs the package pyarrow", next_step="pip install 'assay[export]'"
        ) from error
    parquet.write_table(pyarrow.table(table), path)


def markdown_of(bundle: Bundle) -> str:
    """The verdicts as a Markdown table: of the primary metric, and by kind of request."""
    plan, verdicts = bundle.plan, checked_verdicts(bundle)
    lines = [
        f"{markdown_cell(plan.question)}",
        "",
        f"{verdicts.primary}, up is better; within {percent(plan.margin)} counts as no difference.",
        "",
        "| case | compared | kind of request | metric | verdict | interval | estimate | blocks |",
        "|---|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(map(markdown_cell, cells))} |" for cells in _cells(verdicts)),
        "",
        f"{verdicts.blocks} blocks, {verdicts.runs} runs, seed {plan.seed}.",
        *(f"\n> {markdown_cell(text)}" for text in verdicts.warnings),
    ]
    return "\n".join(lines) + "\n"


def _cells(verdicts: Verdicts) -> Iterator[tuple[str, ...]]:
    for row in verdicts.verdicts:
        if row.metric != verdicts.primary or row.strength != "confirmed":
            continue
        name, blocks = label(row), str(row.blocks)
        size = interval(row), estimate(row)
        yield row.case, name, "", row.metric, row.word, *size, blocks
        for kind in row.by_kind:
            size = kind_interval(kind), format_percent(kind.estimate)
            yield row.case, name, kind.request, kind.metric, kind.word, *size, str(kind.blocks)
