"""What could be tried on this server: changes, rules of the host and builds, each with its bound.

The bound is that of `explain.headroom`: who spends the share s of the time in a mechanism, and were
rid of it, would gain s / (1 - s). It says how much a change could give at most, never that it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.changes import CATALOGUE, Change, LevelError, lacking
from assay.core.terms import Effort
from assay.diagnosis.looks import CPU_TIME, TimeLook, TimeShare, bounded, own_samples, together
from assay.diagnosis.mechanisms import MECHANISMS, NEEDS_RULE, NO_GAIN, RULES, SUFFERING, Mechanism
from assay.diagnosis.records import Candidate, Gathered, Kind, Standing
from assay.explain.headroom import gain
from assay.host.rules import HostFinding
from assay.readiness.binary import RULES as INSPECTED
from assay.targets import TARGETS, traits_of
from assay.verdict.rows import Bounded

SICK = 0.05
"""A share of time that is surely wasted from which on it stands out. A guess."""

SICK_MEMORY = 0.25
"""A share of memory of a kind that the server does not want from which on it stands out. A guess.
"""

SMALLEST = 0.02
"""The smallest gain worth trying for, unless somebody says otherwise."""

NOTHING_SEES = "nothing here shows how much time it acts on"

ORDER: tuple[Standing, ...] = ("stands out", "possible", "no bound", "ruled out")


@dataclass(frozen=True)
class _Trial:
    """What is common to all kinds of candidates, before it is judged."""

    name: str
    kind: Kind
    mechanism: Mechanism
    effort: Effort
    moves: tuple[tuple[str, str], ...] = ()
    now: str = ""
    levels: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    hindrance: str = ""
    """Why it cannot matter or cannot be had here, whatever the time."""


def candidates(gathered: Gathered, smallest: float = SMALLEST) -> list[Candidate]:
    """All of them in their order: what stands out, what is possible by its bound, what nothing
    bounds, what is ruled out."""
    found = [_judged(t, gathered, smallest) for t in _trials(gathered)]
    return sorted(found, key=_rank)


def _rank(found: Candidate) -> tuple[int, float, float, str]:
    """By what is sure where something stands out, else by what is possible."""
    low = found.most.low or 0.0 if found.most else 0.0
    high = found.most.value if found.most else 0.0
    first = low if found.standing == "stands out" else high
    return ORDER.index(found.standing), -first, ord(found.effort), found.name


def _trials(gathered: Gathered) -> Iterator[_Trial]:
    for change in CATALOGUE.values():
        if _fits(change, gathered) and change.name.partition(".")[2] not in NO_GAIN:
            yield _of_change(change, gathered)
    for finding in gathered.host:
        if finding.severity != "info":
            yield _of_rule(finding, gathered)
    yield from _of_code(gathered)


def _fits(change: Change, gathered: Gathered) -> bool:
    target = TARGETS.get(gathered.subject.kind)
    if target is None:
        # Nothing is known of it but that it runs on this host.
        return change.scope == "all" and not change.targets
    return change.fits(target)


# changes of the catalogue


def _of_change(change: Change, gathered: Gathered) -> _Trial:
    mechanism = MECHANISMS.get(change.name, Mechanism("", ()))
    if change.name == "host.thp" and traits_of(gathered.subject.kind).suffers_thp:
        mechanism = SUFFERING
    now, facts = _now(change, gathered), gathered.facts
    wanted = mechanism.only or mechanism.levels or (change.off, change.on)
    # Where nobody knows what is in force, a study begins with off.
    begun = now or ("" if mechanism.only else change.off)
    others = tuple(level for level in dict.fromkeys(wanted) if level != begun)
    lacks = {level: _lacks(change, level, facts) for level in others}
    able = tuple(level for level in others if not lacks[level])
    best = f"{begun} is in force, and nothing better is known"
    left = "" if able else next(iter(lacks.values()), best)
    moves = change.predicted(now or change.off, (able or others or (change.on,))[0]) if now else {}
    moves = moves or {p.metric: p.direction for p in change.signature}
    return _Trial(
        change.name,
        "change",
        mechanism,
        change.effort,
        tuple(moves.items()),
        now,
        able,
        hindrance=_hindrance(change, mechanism, gathered, now) or left,
    )


def _hindrance(change: Change, mechanism: Mechanism, gathered: Gathered, now: str) -> str:
    """Why a change cannot matter on this server, or cannot be had on this host; empty if it may."""
    if now and now == mechanism.idle:
        return f"{now} is in force: what it acts on is not in use"
    rule = f"rule {NEEDS_RULE.get(change.name, '-')},"
    unjudged = next((u.why for u in gathered.unseen if u.what.startswith(rule)), "")
    return unjudged or _no_memory(mechanism, gathered) or _no_dose(mechanism, gathered)


def _now(change: Change, gathered: Gathered) -> str:
    """The level in force; empty where it is not known."""
    if change.name == "host.thp":
        return str((gathered.facts.get("thp") or {}).get("enabled", ""))
    return gathered.answers.levels.get(change.name, "") if gathered.answers else ""


def _lacks(change: Change, level: str, facts: dict[str, object]) -> str:
    try:
        known = change.level(int(level) if _is_number(change) else level)
    except (LevelError, ValueError) as error:
        return str(error)
    return lacking(known.needs, facts)


def _is_number(change: Change) -> bool:
    return change.numeric_setting is not None and not change.sized


def _no_memory(mechanism: Mechanism, gathered: Gathered) -> str:
    """That the server has no memory of the kind that it is about; empty if it has, or may have."""
    kind = mechanism.memory
    return f"the server has 0 {kind}" if kind and gathered.memory.get(kind) == 0 else ""


def _no_dose(mechanism: Mechanism, gathered: Gathered) -> str:
    """That what it acts on did not happen; empty if it did, or if that is not counted."""
    counter = mechanism.counter
    answers = gathered.answers
    counted = gathered.counters | (answers.counters if answers else {})
    totals = [v for n, v in counted.items() if n == counter or n.startswith(f"{counter}.")]
    if counter and totals and sum(totals) <= 0:
        return f"{counter} did not grow in {gathered.seconds:.0f} s: it acts on nothing here"
    return ""


# rules of the host


def _of_rule(finding: HostFinding, gathered: Gathered) -> _Trial:
    mechanism = RULES.get(finding.rule, Mechanism(finding.reason, ()))
    cure = "; ".join(f"{key} = {value}" for key, value in finding.cure) or finding.advice
    name, evidence = finding.rule, (finding.evidence,)
    hindrance = _no_memory(mechanism, gathered)
    return _Trial(
        name, "host rule", mechanism, "B", levels=(cure,), evidence=evidence, hindrance=hindrance
    )


# code


def _of_code(gathered: Gathered) -> Iterator[_Trial]:
    """Hot functions that a build would make better: loops that wait without a hint, or with one
    where no change of the catalogue is about it; slow code where an instruction would do."""
    spins = any(m.looks == (_SPINS,) for m in _of_kind(gathered))
    for code in gathered.code:
        for flaw in code.flaws:
            look = _InFunction(code.name, code.module)
            waste = flaw.severity in ("S1", "S2")
            mechanism = Mechanism(_TEXTS.get(flaw.rule, flaw.reason), (look,), waste=waste)
            advice = (flaw.advice,)
            name = f"{flaw.rule} {code.name}"
            yield _Trial(name, "build", mechanism, "D", levels=advice, evidence=(flaw.evidence,))
        if code.spins and not code.flaws and not spins:
            look = _InFunction(code.name, code.module)
            mechanism = Mechanism("polls of a lock that is held", (look,), waste=True)
            advice = ("another hint, or a lock that is held for a shorter time",)
            yield _Trial(f"spin {code.name}", "build", mechanism, "D", levels=advice)


def _of_kind(gathered: Gathered) -> list[Mechanism]:
    fitting = (c.name for c in CATALOGUE.values() if _fits(c, gathered))
    return [MECHANISMS[name] for name in fitting if name in MECHANISMS]


_TEXTS = {rule.id: rule.text for rule in INSPECTED}
_SPINS: TimeLook = MECHANISMS["mariadb.sync_spin_loops"].looks[0]


@dataclass(frozen=True)
class _InFunction:
    """CPU time in one function itself."""

    name: str
    module: str

    def seen(self, gathered: Gathered) -> TimeShare | str:
        profile = gathered.profile
        if profile is None:
            return "there is no profile"
        hits = sum(
            count
            for place, count in own_samples(profile).items()
            if (profile.functions[place].name, profile.functions[place].module)
            == (self.name, self.module)
        )
        share = bounded(hits, profile.samples)
        return TimeShare(share, CPU_TIME, (f"{self.name} {100 * share.value:.1f} % of CPU time",))


# the judgement


def _judged(trial: _Trial, gathered: Gathered, smallest: float) -> Candidate:
    mechanism = trial.mechanism
    found = together(mechanism.looks, gathered) if mechanism.looks else NOTHING_SEES
    seen = found if isinstance(found, TimeShare) else None
    most = None if seen is None else _most(seen.share)
    standing, why = _standing(trial, found, most, smallest)
    held = "" if trial.hindrance else _much_memory(trial, gathered)
    if held:
        standing, why = "stands out", held
    return Candidate(
        name=trial.name,
        kind=trial.kind,
        text=mechanism.text or _text(trial.name),
        standing=standing,
        why=why,
        evidence=(*trial.evidence, *([held] if held else ()), *(seen.evidence if seen else ())),
        share=seen.share if seen else None,
        share_of=seen.of if seen else "",
        most=most,
        effort=trial.effort,
        risk=mechanism.risk,
        moves=trial.moves,
        now=trial.now,
        levels=trial.levels,
    )


def _text(name: str) -> str:
    return CATALOGUE[name].text if name in CATALOGUE else name


def _standing(
    trial: _Trial, found: TimeShare | str, most: Bounded | None, smallest: float
) -> tuple[Standing, str]:
    """Where it stands, and why."""
    if trial.hindrance:
        return "ruled out", trial.hindrance
    if most is None or isinstance(found, str):
        return "no bound", str(found)
    sure = found.share.low or 0.0
    if trial.mechanism.waste and sure >= SICK:
        return "stands out", f"{100 * sure:.1f} % or more of {found.of} is wasted there"
    if most.high is None:
        seen = f"{trial.mechanism.text}: {100 * found.share.value:.1f} % of {found.of}"
        return "no bound", f"{seen}, and {'; '.join(found.lacking)}"
    at_most = f"at most {100 * most.high:+.1f} %"
    if most.high < smallest:
        what = trial.mechanism.text
        return "ruled out", f"{what}: {100 * found.share.value:.1f} % of {found.of}, {at_most}"
    return "possible", at_most


def _much_memory(trial: _Trial, gathered: Gathered) -> str:
    """Whether much of the server's memory is of a kind that it does not want, in words: that costs
    memory and latency, of which the time spent in faults says nothing."""
    held = gathered.memory.get(trial.mechanism.memory, 0)
    share = held / max(gathered.memory.get("touched_bytes", 0), held, 1)
    if share < SICK_MEMORY:
        return ""
    return f"{100 * share:.0f} % of its memory is of a kind that it does not want"


def _most(share: Bounded) -> Bounded:
    ends = [None if end is None else gain(end) for end in (share.low, share.high)]
    return Bounded(value=gain(share.value), low=ends[0], high=ends[1])
