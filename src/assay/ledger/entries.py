"""What the ledger holds of a bundle: its study, its machine, its answers; no run, and no secret.

`entry_of` makes it from the folder, so that the ledger can be made anew from bundles at any time.
"""

from __future__ import annotations

import platform
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from assay.bisection import Found, SearchBundle, SearchPlan, checked_found, is_search
from assay.bisection.lines import BuildLine, Entry, RunLine
from assay.core.digest import canonical, digest
from assay.core.errors import BundleError
from assay.ledger.scrubbing import scrubbed
from assay.plan import Plan
from assay.record import Bundle, RunRecord, checked_verdicts, counting
from assay.record.files import identity
from assay.report.words.wording import changed_factors
from assay.verdict.rows import SUITE, Row, Verdicts

FACTS = ("arch", "cpu_model", "cpus", "memory_bytes", "page_bytes", "cache_line_bytes",
         "numa_nodes", "virtual", "kernel", "distribution", "python", "cpu_features")  # fmt: skip
"""Facts of a host that are entered; of what is nested: transparent huge pages and the clock."""
MACHINE = ("arch", "cpu_model", "cpus", "memory_bytes", "page_bytes", "numa_nodes", "virtual")
"""Facts by which machines are told apart in a history."""
RULE = ("smallest", "margin", "alpha", "warmup_s", "window_s", "measuring")
BY_KIND = "by kind"
"""The strength of an answer for one kind of request."""
KINDS = frozenset({"change", "step", "simple", "main", "interaction", "scaling", "culprit"})
"""Kinds of rows that answer a question; predictions and rare slow runs stand in the bundle."""


class Entered(BaseModel):
    """The base of what is entered: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LedgerCase(Entered):
    """A case: `servers` has versions of its server where the bundle knows them."""

    name: str
    target: str
    workload: str


class LedgerLevel(Entered):
    """What an arm did: the median over its runs of a metric, in the metric's own unit."""

    case: str
    arm: str
    metric: str
    value: float
    runs: int


class LedgerRow(Entered):
    """One answer. Effects are fractions, up is better; `request` is the kind of request, or empty,
    and `strength` is then "by kind"; `changes` are the names of the changes that it is about."""

    case: str
    scope: str
    kind: str
    of: str
    given: str
    against: str
    arm: str
    metric: str
    request: str = ""
    word: str
    strength: str
    estimate: float | None
    low: float | None
    high: float | None
    blocks: int
    target: str
    workload: str
    changes: list[str]
    reason: str

    @property
    def question(self) -> tuple[str, ...]:
        """What makes two answers answers of one question, within a study."""
        return (self.case, self.kind, self.of, self.given, self.against, self.metric, self.request)

    @property
    def label(self) -> str:
        """What it is about, in words."""
        given = f" given {self.given}" if self.given else ""
        kind = f" on {self.request}" if self.request else ""
        return f"{self.of}{given}{kind}"


class LedgerEntry(Entered):
    """A bundle. `identity` is the digest of plan and host; `end` is the digest behind its last
    run; `machine` is a short digest of what tells machines apart; `checked` says whether it was
    recomputed before it was entered."""

    identity: str
    folder: str
    node: str
    kind: Literal["study", "search"]
    study: str
    question: str
    study_sha256: str
    assay: str
    statistics: int
    design: str
    primary: str
    baseline: str
    started: str
    blocks: int
    runs: int
    voids: int
    failures: int
    stopped: str
    told_apart: str
    recommended: str
    end: str
    machine: str
    facts: dict[str, str]
    servers: dict[str, str]
    conditions: dict[str, str]
    cases: list[LedgerCase]
    arms: dict[str, dict[str, str]]
    checked: bool
    levels: list[LedgerLevel]
    rows: list[LedgerRow]


def entry_of(folder: Path, *, check: bool = True) -> LedgerEntry:
    """What the ledger holds of the bundle in a folder.

    `check`: recompute it first, AlteredError where it does not give what it says. BundleError
    where there is no bundle, or one without any verdict yet.
    """
    made = _of_search(folder, check) if is_search(folder) else _of_study(folder, check)
    return LedgerEntry.model_validate(_clean(made))


def node_name() -> str:
    """The name of this machine: folders are looked for on the machine that entered them."""
    return platform.node() or "localhost"


def _clean(value: Any) -> Any:
    """The same with every text scrubbed."""
    if isinstance(value, str):
        return scrubbed(value)
    if isinstance(value, dict):
        return {key: _clean(inner) for key, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value


def _of_study(folder: Path, check: bool) -> dict[str, Any]:
    bundle = Bundle.open(folder)
    plan = bundle.plan
    verdicts = checked_verdicts(bundle) if check else bundle.verdicts()
    runs = bundle.runs()
    return {
        **_shared(folder, plan, bundle.host, check),
        "kind": "study",
        "statistics": plan.statistics.version if plan.statistics is not None else 1,
        "design": plan.design,
        "baseline": plan.baseline,
        "started": runs[0].started if runs else "",
        "blocks": verdicts.blocks,
        "runs": verdicts.runs,
        "voids": sum(verdicts.voids.values()),
        "failures": sum(verdicts.failures.values()),
        "stopped": verdicts.stopped,
        "told_apart": verdicts.told_apart,
        "recommended": verdicts.recommended or "",
        "end": verdicts.end or (runs[-1].digest if runs else ""),
        "servers": {s.of: s.version for s in plan.servers}
        | {f"build of {', '.join(v.arms)}": v.code[:12] for v in plan.variations},
        "conditions": {name: str(getattr(plan, name)) for name in RULE},
        "cases": [{"name": c.name, "target": c.target, "workload": c.workload} for c in plan.cases],
        "arms": {arm.name: arm.levels for arm in plan.arms},
        "levels": list(_levels(plan, counting(runs, verdicts.blocks))),
        "rows": list(_rows(plan, verdicts)),
    }


def _shared(
    folder: Path, plan: Plan | SearchPlan, host: Mapping[str, Any], check: bool
) -> dict[str, Any]:
    facts = _facts(host)
    return {
        "identity": identity(folder),
        "folder": str(folder.resolve()),
        "node": node_name(),
        "study": plan.study,
        "question": plan.question,
        "study_sha256": plan.study_sha256,
        "assay": plan.version,
        "primary": plan.primary,
        "machine": digest(canonical([facts.get(name, "") for name in MACHINE]))[:8],
        "facts": facts,
        "checked": check,
    }


def _facts(host: Mapping[str, Any]) -> dict[str, str]:
    found = {name: _fact(host[name]) for name in FACTS if name in host}
    for outer, inner in (("thp", "enabled"), ("clock", "source")):
        nested = host.get(outer)
        if isinstance(nested, dict) and inner in nested:
            found[outer] = _fact(nested[inner])
    return found


def _fact(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _levels(plan: Plan, runs: Iterable[RunRecord]) -> Iterator[dict[str, Any]]:
    values: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        if plan.primary in run.metrics:
            values.setdefault((run.case, run.arm), []).append(run.metrics[plan.primary])
    for (case, arm), found in sorted(values.items()):
        yield {
            "case": case,
            "arm": arm,
            "metric": plan.primary,
            "value": statistics.median(found),
            "runs": len(found),
        }


def _rows(plan: Plan, verdicts: Verdicts) -> Iterator[dict[str, Any]]:
    for row in verdicts.verdicts:
        if row.contrast.kind in KINDS:
            whole = _row(plan, row)
            yield whole
            for kind in row.by_kind:
                own = kind.model_dump(exclude={"reasons"})
                yield {**whole, **own, "strength": BY_KIND}


def _row(plan: Plan, row: Row) -> dict[str, Any]:
    cases = [c for c in plan.cases if row.case in (SUITE, c.name)]
    factors = changed_factors(plan, row)
    return {
        "case": row.case,
        "scope": row.scope,
        **row.contrast.model_dump(),
        "arm": row.arm,
        "metric": row.metric,
        "word": row.word,
        "strength": row.strength,
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
        "blocks": row.blocks,
        "target": " ".join(dict.fromkeys(c.target for c in cases)),
        "workload": " ".join(dict.fromkeys(c.workload for c in cases)),
        "changes": [p.change for name, p in plan.factors.items() if name in factors],
        "reason": row.reason,
    }


def _of_search(folder: Path, check: bool) -> dict[str, Any]:
    bundle = SearchBundle.open(folder)
    plan = bundle.plan
    if not bundle.has_found:
        raise BundleError(
            f"{folder} has no result yet", next_step=f"assay bisect --resume {folder}"
        )
    found = checked_found(bundle) if check else bundle.found()
    started = [_begun(line) for line in bundle.lines()]
    return {
        **_shared(folder, plan, bundle.host, check),
        "kind": "search",
        "statistics": plan.statistics.version,
        "design": f"search over {plan.over}",
        "baseline": plan.good,
        "started": next((text for text in started if text), ""),
        "blocks": sum(stage.blocks for stage in found.stages),
        "runs": found.runs,
        "voids": 0,
        "failures": 0,
        "stopped": found.stopped,
        "told_apart": "",
        "recommended": "",
        "end": found.end,
        "servers": {},
        "conditions": {
            "smallest": str(plan.expected),
            **{name: str(getattr(plan, name)) for name in RULE[1:]},
        },
        "cases": [{"name": plan.case, "target": plan.target, "workload": plan.workload}],
        "arms": {},
        "levels": [],
        "rows": list(_culprits(plan, found)),
    }


def _begun(line: Entry) -> str:
    """When a line of a search was begun; empty where it took no time."""
    if isinstance(line, BuildLine):
        return line.started
    return line.run.started if isinstance(line, RunLine) else ""


def _culprits(plan: SearchPlan, found: Found) -> Iterator[dict[str, Any]]:
    """A confirmed change of a search as an answer: what it did against the node before it."""
    for culprit in found.culprits:
        word = "helps" if culprit.low > 0 else "hurts" if culprit.high < 0 else "undecided"
        yield {
            "case": plan.case,
            "scope": "case",
            "kind": "culprit",
            "of": culprit.name,
            "given": "",
            "against": culprit.after_name,
            "arm": culprit.name,
            "metric": plan.primary,
            "word": word,
            "strength": "confirmed",
            "estimate": culprit.estimate,
            "low": culprit.low,
            "high": culprit.high,
            "blocks": culprit.blocks,
            "target": plan.target,
            "workload": plan.workload,
            "changes": [plan.over],
            "reason": culprit.title,
        }


_WORDS = re.compile(r"[^\W_]+")


def about(entry: LedgerEntry, row: LedgerRow, texts: Mapping[str, str]) -> str:
    """The words by which an answer is found; `texts` says what each change of the catalogue
    switches."""
    levels = entry.arms.get(row.arm, {})
    said = [
        *(entry.study, entry.question, row.case, row.of, row.given, row.metric, row.request),
        *(row.target, row.workload, row.reason if row.kind == "culprit" else ""),
        *(f"{change} {texts.get(change, '')}" for change in row.changes),
        *levels.values(),
    ]
    return " ".join(_WORDS.findall(" ".join(said).lower()))
