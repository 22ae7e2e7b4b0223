"""The ratio of throughputs that a bundle holds: of two arms of one study, or of two bundles.

Two arms of one study were run in the same random blocks, so their ratio and its interval are
those of the verdict. Two bundles were not: the mean log of each is taken with a Welch interval
over runs, and the result says that machine, day and state of the host were compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from assay.core.errors import InputError
from assay.core.metrics import WORK, metric
from assay.core.parameters import nearest
from assay.plan import CONTROLS
from assay.price.gain import Ratio
from assay.record import Bundle, checked_verdicts, counted_runs
from assay.verdict.rows import SUITE, Row

LEVEL = 0.05


@dataclass(frozen=True)
class MeasuredRatio:
    """The ratio, what it is of, and what weakens it."""

    ratio: Ratio
    title: str
    warnings: tuple[str, ...]


def of_arms(bundle: Bundle, arm: str | None = None, case: str | None = None) -> MeasuredRatio:
    """An arm against its baseline, from the verdict of a study: in one case, or over all.

    Without `arm` the study must have one verdict about its throughput. InputError otherwise.
    """
    verdicts = checked_verdicts(bundle)
    _require_work(verdicts.primary)
    rows = [r for r in verdicts.verdicts if _is_whole(r, verdicts.primary)]
    cases = {r.case: None for r in rows}
    if case is not None and case not in cases:
        raise InputError(
            f"{bundle.folder} has no verdict on a case {case!r}{nearest(case, cases)}",
            next_step=f"use one of {', '.join(cases)}",
        )
    chosen = case or (SUITE if SUITE in cases else None)
    rows = [r for r in rows if chosen in (None, r.case)]
    arms = list(dict.fromkeys(r.arm for r in rows))
    if not arms:
        raise InputError(
            f"{bundle.folder} has no estimate of {verdicts.primary} for any arm",
            next_step="go on with `assay run --resume`, or price another bundle",
        )
    if arm is None and len(arms) != 1:
        raise InputError(
            f"{verdicts.study} has {len(arms)} arms with a verdict",
            next_step=f"name one with --arm: {', '.join(arms)}",
        )
    wanted = arm or arms[0]
    found = [r for r in rows if r.arm == wanted]
    if not found:
        raise InputError(
            f"{wanted!r} has no verdict on {verdicts.primary}{nearest(wanted, arms)}",
            next_step=f"use one of {', '.join(arms)}",
        )
    return _of_row(found[0], verdicts.primary)


def _require_work(primary: str) -> None:
    if primary.split(".")[0] not in WORK:
        raise InputError(
            f"{primary} is not work for a time, so it has no price",
            next_step=f"run a study whose primary metric is one of {', '.join(WORK)}",
        )


def _is_whole(row: Row, primary: str) -> bool:
    return (
        row.metric == primary
        and row.arm not in ("", *CONTROLS)
        and row.estimate is not None
        and row.contrast.kind in ("change", "step")
    )


def _of_row(row: Row, primary: str) -> MeasuredRatio:
    assert row.estimate is not None, "rows without an estimate were left out"
    low, high = (None if v is None else 1 + v for v in (row.low, row.high))
    ratio = Ratio(1 + row.estimate, low, high)
    warnings = []
    if row.word in ("undecided", "invalid"):
        warnings.append(f"the verdict is {row.word}: {row.reason}")
    if row.strength != "confirmed":
        warnings.append(f"the verdict only {row.strength}")
    title = f"{row.arm} against {row.contrast.against}, {primary}, {row.blocks} blocks"
    return MeasuredRatio(ratio, title, tuple(warnings))


def of_bundles(
    a: Bundle, b: Bundle, arm: str | None = None, case: str | None = None
) -> MeasuredRatio:
    """The same arm of two studies, each run on its own machine: in one case, or in the mean of the
    logs of all. InputError if they differ."""
    primaries = {a.plan.primary, b.plan.primary}
    if len(primaries) > 1:
        raise InputError(
            f"the two bundles measured {' and '.join(sorted(primaries))}",
            next_step="give two bundles of one study",
        )
    (primary,) = primaries
    _require_work(primary)
    warnings = [
        "the machines were not run in the same random blocks: what else differed between "
        "the two studies is in the ratio"
    ]
    if a.plan.study_sha256 != b.plan.study_sha256:
        warnings.append("the two studies are not the same text")
    cases = _cases(a, b, case)
    logs = [_logs(bundle, cases, arm, primary) for bundle in (a, b)]
    first, second = (sum(map(len, of_case)) for of_case in logs)
    of = "" if len(cases) == 1 else f", mean of the logs of {len(cases)} cases"
    title = f"{arm or a.plan.baseline} of both, {primary}, {first} and {second} runs{of}"
    return MeasuredRatio(welch(logs[0], logs[1]), title, tuple(warnings))


def _cases(a: Bundle, b: Bundle, case: str | None) -> list[str]:
    """The cases to compare: the one asked for, or all of both, each of equal weight."""
    names, theirs = ([c.name for c in bundle.plan.cases] for bundle in (a, b))
    if case is not None and case in names and case in theirs:
        return [case]
    if case is not None or set(names) != set(theirs):
        both = [name for name in names if name in theirs]
        raise InputError(
            f"{a.folder} has the cases {', '.join(names)}; {b.folder} has {', '.join(theirs)}",
            next_step=f"use --case {' or '.join(both)}" if both else "give bundles of one study",
        )
    return names


def _logs(bundle: Bundle, cases: Sequence[str], arm: str | None, primary: str) -> list[list[float]]:
    """The logs of the runs of an arm, up is better, by case: of the runs that count."""
    wanted = arm or bundle.plan.baseline
    sign = metric(primary).sign
    runs = [r for r in counted_runs(bundle) if r.arm == wanted and r.metrics.get(primary, 0) > 0]
    found = [[sign * math.log(r.metrics[primary]) for r in runs if r.case == c] for c in cases]
    for case, of_case in zip(cases, found, strict=True):
        if len(of_case) < 2:
            raise InputError(
                f"{bundle.folder} has {len(of_case)} runs of {wanted!r} in the case {case!r}",
                next_step=f"its arms are {', '.join(x.name for x in bundle.plan.arms)}; two runs "
                "at least are needed",
            )
    return found


def welch(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> Ratio:
    """exp of the difference of two means of logs, with Welch's 95 % interval (delta method).

    Each has the logs of its runs by case: the mean is that of the cases, each of equal weight.
    """
    # Here, because the arms of one study have their interval already.
    from scipy.special import stdtrit

    runs = [*a, *b]
    errors = [variance(x) / len(x) / len(a) ** 2 for x in runs]
    apart = fmean(map(fmean, a)) - fmean(map(fmean, b))
    total = sum(errors)
    if total == 0:
        return Ratio(math.exp(apart), math.exp(apart), math.exp(apart))
    freedom = total**2 / sum(e**2 / (len(x) - 1) for e, x in zip(errors, runs, strict=True))
    half = float(stdtrit(freedom, 1 - LEVEL / 2)) * math.sqrt(total)
    return Ratio(math.exp(apart), math.exp(apart - half), math.exp(apart + half))
