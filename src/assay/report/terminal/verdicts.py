"""Verdicts as lines of text: what `assay show` prints, and what ends `assay run`.

The interval comes first, because an estimate from a study that stopped early overshoots. Rows
stand in groups by what they are; a reason is printed where it says more than word and interval
do. With many rows the evidence of the witnesses is printed once for all arms, unless it fails.
Colour is added by the command line, on a terminal only.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.metrics import metric
from assay.core.units import percent
from assay.explain import Explanation
from assay.plan import Plan
from assay.record import RunRecord
from assay.report.terminal.best import best_lines
from assay.report.terminal.curves import curve_lines
from assay.report.terminal.scaling import scaling_lines
from assay.report.terminal.screen import screen_lines
from assay.report.terminal.speeds import speed_lines
from assay.report.words.best import NAMES_SHOWN, few, standing
from assay.report.words.built import build_lines
from assay.report.words.explained import cause, holds
from assay.report.words.kinds import kinds_of, kinds_text
from assay.report.words.line import Line
from assay.report.words.particulars import extension_text, measuring_text, search_text
from assay.report.words.sections import (
    RowSection,
    flips,
    is_plain,
    main_case,
    other_leads,
    own_reason,
    primary,
    sections,
    slow_runs,
)
from assay.report.words.speeds import other_warnings
from assay.report.words.unprofiled import unprofiled_lines
from assay.report.words.wording import (
    STYLES,
    as_measured,
    changed_factors,
    estimate,
    interval,
    is_arm,
    reading,
    short,
    total,
)
from assay.verdict.rows import SUITE, Row, Verdicts

MANY = 4
"""Verdicts on arms beyond which dose and evidence have no lines of their own."""

EVIDENCE_SHOWN = 8


def verdict_lines(
    verdicts: Verdicts, plan: Plan, explained: Sequence[Explanation] = ()
) -> list[Line]:
    """The whole answer of a study, ready to print, with the causes that are `explained`."""
    known = metric(verdicts.primary)
    none = f"; within {percent(plan.margin)} counts as no difference"
    about = f"{verdicts.primary} ({known.text}) of a typical run, against {verdicts.baseline}"
    lines = [
        Line(plan.question, "bold"),
        Line(about + ("" if plan.scaling else none), "dim"),
        Line(""),
    ]
    told = verdicts.told_apart
    if told:
        lines += [Line(f"no verdict is valid: {told}", STYLES["invalid"]), Line("")]
    lines += screen_lines(plan, verdicts)
    lines += curve_lines(verdicts) if plan.axis else _confirmed(plan, verdicts, explained)
    lines += scaling_lines(plan, verdicts)
    lines += speed_lines(verdicts)
    lines += _kinds(plan, verdicts)
    lines += _slow(verdicts, plan)
    lines += [] if told or plan.axis else _leads(plan, verdicts)
    best = best_lines(plan, verdicts)
    lines += [*best, Line("")] if best else []
    return lines + build_lines(plan) + _footer(verdicts) + uncounted_lines(plan)


def measuring_lines(runs: Sequence[RunRecord]) -> list[Line]:
    """What measuring took of the operations' time, and how well a search knows its rate."""
    return [Line(text, "dim") for text in (measuring_text(runs), search_text(runs)) if text]


def uncounted_lines(plan: Plan) -> list[Line]:
    """What the study wanted counted or sampled and this host cannot."""
    absent = plan.counters.absent.items()
    lines = [Line(f"not counted: {name}: {why}", "yellow") for name, why in absent]
    return lines + unprofiled_lines(plan)


# verdicts


def _confirmed(plan: Plan, verdicts: Verdicts, explained: Sequence[Explanation]) -> list[Line]:
    """Every section with its rows; effects that are no arm's only for all cases together."""
    rows = [r for r in primary(verdicts) if r.contrast.kind != "scaling"]
    several = len({r.case for r in rows}) > 1
    shown = [r for r in rows if is_arm(r) or r.case == main_case(plan)]
    shown.sort(key=lambda r: r.case != main_case(plan))
    if not shown:
        return []
    table = _Table(plan, shown, several, explained)
    lines: list[Line] = []
    found = sections(plan, shown)
    for section in found:
        if len(found) > 1 or section.key != "change":
            lines.append(Line(_heading(section), "dim"))
        lines += table.lines(section.rows)
        if section.key == "simple":
            together = [r for r in shown if r.case == main_case(plan)]
            lines += [Line(f"    {text}", "bold") for text in flips(together)]
        lines.append(Line(""))
    return lines


def _heading(section: RowSection) -> str:
    order = ": a ladder cannot tell an effect from its place" if section.key == "step" else ""
    return section.title + order


class _Table:
    """Rows as lines, in columns that are as wide as the study needs."""

    def __init__(
        self,
        plan: Plan,
        rows: Sequence[Row],
        several: bool,
        explained: Sequence[Explanation],
    ) -> None:
        self.explained = {_compared(e.verdict): e for e in explained}
        self.plan, self.several = plan, several
        self.many = sum(is_arm(r) for r in rows) > MANY
        self.name_width = max(len(self._name(r)) for r in rows)
        self.interval_width = max(len(interval(r)) for r in rows)
        self.total_width = max(len(total(r)) for r in rows)

    def _name(self, row: Row) -> str:
        case = "all cases" if row.case == SUITE else row.case
        return f"{case}: {short(row)}" if self.several else short(row)

    def lines(self, rows: Sequence[Row]) -> list[Line]:
        """The rows of a section, and what was seen of its arms."""
        found = []
        for row in rows:
            found += self._row(row)
        if self.many and rows and is_arm(rows[0]):
            found += self._evidence([r for r in rows if r.witness.held])
        return found

    def _row(self, row: Row) -> list[Line]:
        size = f"   estimate {estimate(row):>7}" if row.estimate is not None else ""
        size += f"   total {total(row):{self.total_width}}" if self.total_width else ""
        head = f"{self._name(row):{self.name_width}}   {row.word:13}   "
        head += f"{interval(row):{self.interval_width}}{size}   {row.blocks} blocks"
        doses = ", ".join(f"{f} {amount:.3g}" for f, amount in row.dose.items())
        if is_arm(row):
            head += f"   effort {row.effort}" if row.effort else ""
            head += f"   dose {doses}" if self.many and doses else ""
        lines = [Line(head, STYLES[row.word])]
        if not is_plain(row):
            lines.append(Line(f"    why      {own_reason(row)}"))
        if not is_arm(row):
            return lines
        found = self.explained.get(_compared(row))
        if found is not None and (said := cause(found)):
            lines.append(Line(f"    cause    {said}", "" if holds(found) else "yellow"))
        if doses and not self.many:
            lines.append(Line(f"    dose     {doses}"))
        if not (self.many and row.witness.held):
            held = "held" if row.witness.held else "NOT HELD"
            seen = self._about(row)[:2]
            lines += [Line(f"    witness  {held}: {text}", "dim") for text in seen]
        return lines

    def _about(self, row: Row) -> list[str]:
        """What was seen of the factors that a row is about; of all, where of none."""
        changed = changed_factors(self.plan, row)
        about = [e for e in row.witness.evidence if e.split(":")[0] in changed]
        return about or row.witness.evidence

    def _evidence(self, rows: Sequence[Row]) -> list[Line]:
        """Each piece of evidence once, for all arms whose witness held."""
        seen = dict.fromkeys(text for row in rows for text in self._about(row))
        lines = [Line(f"    witness  held: {t}", "dim") for t in list(seen)[:EVIDENCE_SHOWN]]
        more = len(seen) - EVIDENCE_SHOWN
        return lines + ([Line(f"    and {more} more, in the report", "dim")] if more > 0 else [])


def _kinds(plan: Plan, verdicts: Verdicts) -> list[Line]:
    """What the arms did by kind of request, a line a metric."""
    rows = [row for row in primary(verdicts) if row.by_kind]
    if not rows:
        return []
    rate = percent(plan.constants.false_discovery_rate)
    head = f"By kind of request, up is better (false discoveries held at {rate} for each metric)"
    lines = [Line(head, "dim")]
    for row in rows:
        case = f"{row.case}: " if len(plan.cases) > 1 else ""
        lines += [Line(f"{case}{short(row)}   {group.metric}: {kinds_text(group)}")
                  for group in kinds_of(row)]  # fmt: skip
    return [*lines, Line("")]


def _compared(row: Row) -> tuple[str, str, str]:
    return row.case, row.arm, row.contrast.against


# leads


def _slow(verdicts: Verdicts, plan: Plan) -> list[Line]:
    """Rare slow runs: how much larger than the baseline's their share is, where it stands out."""
    rows = slow_runs(verdicts)
    if not rows:
        return []
    lines = [Line("Rare slow runs (leads, no verdicts)", "dim")]
    names = [f"{r.case}: {short(r)}" if len(plan.cases) > 1 else short(r) for r in rows]
    loud = [(n, r) for n, r in zip(names, rows, strict=True) if r.word in ("helps", "hurts")]
    quiet = [n for n, r in zip(names, rows, strict=True) if r.word not in ("helps", "hurts")]
    width = max((len(name) for name, _ in loud), default=0)
    for name, row in loud:
        share = as_measured(row)
        size = f"share {estimate(share)} {interval(share)}"
        lines.append(Line(f"{name:{width}}   {reading(row):15}   {size}"))
        lines.append(Line(f"    why      {row.reason}"))
    if quiet:
        lines.append(Line(f"no detectable difference from the baseline: {few(quiet)}", "dim"))
    return [*lines, Line("")]


def _leads(plan: Plan, verdicts: Verdicts) -> list[Line]:
    """What other metrics suggest of the arms, a line an arm."""
    found = [r for r in other_leads(plan, verdicts) if r.case == main_case(plan)]
    if not found:
        return []
    where = ", all cases together" if found[0].case == SUITE else ""
    changes: dict[str, list[str]] = {}
    others = 0
    for row in found:
        if row.word not in ("helps", "hurts") or row.estimate is None:
            continue
        if not is_arm(row):
            others += 1
            continue
        measured = as_measured(row)
        text = f"{row.metric} {estimate(measured)} {interval(measured)}"
        changes.setdefault(row.arm, []).append(text)
    best = standing(plan, verdicts)
    if best is not None:
        changes = dict(sorted(changes.items(), key=lambda item: item[0] not in best.inside))
    lines = [f"{name}: {', '.join(changes[name])}" for name in list(changes)[:NAMES_SHOWN]]
    others += len(changes) - len(lines)
    if others:
        lines.append(f"and {others} more, in the report")
    return [
        Line(f"other metrics suggest (leads, no verdicts{where}):", "dim"),
        *(Line("  " + text, "dim") for text in lines or ["nothing that stands out"]),
        Line(""),
    ]


# the end


def _footer(verdicts: Verdicts) -> list[Line]:
    lines = []
    if verdicts.recommended:
        lines.append(Line(f"recommended: {verdicts.recommended}", "bold"))
    counts = f"{verdicts.blocks} blocks, {verdicts.runs} runs"
    lines.append(Line(counts + _counted(verdicts), "dim"))
    if verdicts.planned:
        lines.append(Line(verdicts.planned.sentence, "dim"))
    if extended := extension_text(verdicts):
        lines.append(Line(extended, "dim"))
    for absent in verdicts.absent:
        lines.append(Line(f"left out: {absent.factor}={absent.level}: {absent.why}", "yellow"))
    if verdicts.stopped:
        lines.append(Line(f"stopped: {verdicts.stopped}", "yellow"))
    lines += [Line(f"warning: {text}", "yellow") for text, _ in other_warnings(verdicts)]
    return lines


def _counted(verdicts: Verdicts) -> str:
    found = ""
    for word, counts in (("void", verdicts.voids), ("failed", verdicts.failures)):
        if counts:
            each = ", ".join(f"{arm} {n}" for arm, n in sorted(counts.items()))
            found += f", {sum(counts.values())} {word} ({each})"
    return found or ", none void or failed"
