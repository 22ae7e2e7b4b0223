"""Verdicts as lines of text: what `assay show` prints, and what ends `assay run`.

The interval comes first, because an estimate from a study that stopped early
overshoots. Colour is added by the command line, on a terminal only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay._units import format_percent
from assay.metrics import metric
from assay.study import Plan
from assay.verdict.rows import Row, Verdicts

STYLES: Mapping[str, str] = {
    "helps": "bold green",
    "hurts": "bold red",
    "no difference": "cyan",
    "undecided": "yellow",
    "invalid": "bold magenta",
}


@dataclass(frozen=True)
class Line:
    """A line of text and the style that a terminal may give it."""

    text: str
    style: str = ""


def interval(row: Row) -> str:
    """The interval of a row: "[+1.2 %, +3.4 %]", or "[unbounded]"."""
    if row.low is None and row.high is None:
        return "[unbounded]"
    low = "-inf" if row.low is None else format_percent(row.low)
    high = "+inf" if row.high is None else format_percent(row.high)
    return f"[{low}, {high}]"


def label(row: Row) -> str:
    """What a row is about: the contrast, and the setting it is judged in."""
    contrast = row.contrast
    name = contrast.of + (f" given {contrast.given}" if contrast.given else "")
    kinds = {"main": " (main effect)", "interaction": " (interaction)"}
    return name + kinds.get(contrast.kind, "")


def verdict_lines(verdicts: Verdicts, plan: Plan) -> list[Line]:
    """The whole answer of a study, ready to print."""
    primary = metric(verdicts.primary)
    lines = [
        Line(plan.question, "bold"),
        Line(f"{verdicts.primary} ({primary.text}), against {verdicts.baseline}", "dim"),
        Line(""),
    ]
    rows = [r for r in verdicts.verdicts if r.metric == verdicts.primary]
    lines += _rows(rows, plan)
    leads = [r for r in verdicts.verdicts if r.metric != verdicts.primary]
    if leads:
        lines += [Line(""), Line("other metrics suggest (leads, no verdicts):", "dim")]
        lines += [Line("  " + text, "dim") for text in _leads(leads)]
    lines += [Line(""), *_footer(verdicts)]
    return lines


def _rows(rows: Sequence[Row], plan: Plan) -> list[Line]:
    """One line a verdict, its reason, dose and witness below it."""
    cases = len({r.case for r in rows}) > 1
    names = [f"{r.case}: {label(r)}" if cases else label(r) for r in rows]
    width = max(map(len, names), default=0)
    lines = []
    for name, row in zip(names, rows, strict=True):
        estimate = "" if row.estimate is None else f"   estimate {format_percent(row.estimate)}"
        effort = f"   effort {row.effort}" if row.effort else ""
        head = f"{name:{width}}   {row.word:13}   {interval(row)}{estimate}"
        lines.append(Line(f"{head}   {row.blocks} blocks{effort}", STYLES[row.word]))
        lines.append(Line(f"    why      {row.reason}"))
        if row.dose:
            doses = ", ".join(f"{f} {amount:.3g}" for f, amount in row.dose.items())
            lines.append(Line(f"    dose     {doses}"))
        lines += _witness(row, plan)
    return lines


def _witness(row: Row, plan: Plan) -> list[Line]:
    """What was seen of the factors that the row is about; of all, where it is about no one arm."""
    levels = {a.name: a.levels for a in plan.arms}
    mine, theirs = levels.get(row.arm, {}), levels.get(row.contrast.against, {})
    changed = {f for f in mine if mine[f] != theirs.get(f)}
    held = "held" if row.witness.held else "NOT HELD"
    about = [e for e in row.witness.evidence if e.split(":")[0] in changed]
    return [Line(f"    witness  {held}: {e}", "dim") for e in (about or row.witness.evidence)[:2]]


def _leads(rows: Sequence[Row]) -> list[str]:
    found = []
    for row in rows:
        if row.word in ("helps", "hurts") and row.estimate is not None:
            change = _as_measured(row)
            found.append(f"{label(row)}: {row.metric} {change}")
    return found or ["nothing that stands out"]


def _as_measured(row: Row) -> str:
    """The change of a metric as measured: verdicts count up as better, readers count up as more."""
    assert row.estimate is not None
    if metric(row.metric).better == "higher":
        return f"{format_percent(row.estimate)} {interval(row)}"
    flipped = row.model_copy(
        update={
            "low": None if row.high is None else 1 / (1 + row.high) - 1,
            "high": None if row.low is None else 1 / (1 + row.low) - 1,
        }
    )
    return f"{format_percent(1 / (1 + row.estimate) - 1)} {interval(flipped)}"


def _footer(verdicts: Verdicts) -> list[Line]:
    lines = []
    if verdicts.recommended:
        lines.append(Line(f"recommended: {verdicts.recommended}", "bold"))
    counts = f"{verdicts.blocks} blocks, {verdicts.runs} runs"
    lines.append(Line(counts + _counted(verdicts), "dim"))
    if verdicts.planned:
        lines.append(Line(verdicts.planned.sentence, "dim"))
    for absent in verdicts.absent:
        lines.append(Line(f"left out: {absent.factor}={absent.level}: {absent.why}", "yellow"))
    if verdicts.stopped:
        lines.append(Line(f"stopped: {verdicts.stopped}", "yellow"))
    lines += [Line(f"warning: {w}", "yellow") for w in verdicts.warnings]
    return lines


def _counted(verdicts: Verdicts) -> str:
    found = ""
    for word, counts in (("void", verdicts.voids), ("failed", verdicts.failures)):
        if counts:
            each = ", ".join(f"{arm} {n}" for arm, n in sorted(counts.items()))
            found += f", {sum(counts.values())} {word} ({each})"
    return found or ", none void or failed"
