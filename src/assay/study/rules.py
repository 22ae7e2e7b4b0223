"""What a design asks of a study beyond the shape of its file: one function per rule.

Each yields what is wrong as (place in the file, message, next step); `read.py` collects them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.core.document import Path
from assay.core.metrics import COUNTED, GROUPS_OF, METRICS, metric
from assay.counters import GROUPS, group_of
from assay.plan import CONTROLS, LEAST_ROUNDS, PlannedAxis
from assay.reasons import Code, Reason
from assay.study.designs import arms
from assay.study.file import DesignSection
from assay.study.model import Factor, Study

Mistake = tuple[Path, str, str]
SCREEN_FACTORS_MAX = 8

_KEYS = {
    "order": ("ladder",),
    "factor": ("sweep", "scaling"),
    "compare": ("scaling",),
    "size": ("screen",),
    "blocks": ("screen", "scaling"),
}


def design_mistakes(study: Study, section: DesignSection) -> Iterator[Mistake]:
    """Everything about the design that the whole study shows to be wrong."""
    yield from _stray_keys(section)
    yield from _reserved(study)
    if study.design == "screen":
        yield from _screen(study)
    if study.design == "scaling":
        yield from _scaling(study)
    if study.axis is not None:
        yield from _axis(study, study.axis)
    if study.measuring in ("slices", "calibrated"):
        yield from _in_slices(study)


def _axis(study: Study, axis: PlannedAxis) -> Iterator[Mistake]:
    if study.design in ("screen", "race", "scaling"):
        why = {
            "screen": "its few blocks decide nothing at single points",
            "race": "an arm that is best at one point may be worst at another",
            "scaling": "its factor is an axis already",
        }[study.design]
        message = f"a {study.design} has no axis: {why}"
        yield ("axis", 0), message, 'write kind = "one-at-a-time" or "arms" in [design]'
    if axis.usl and not _is_more_better(study.primary):
        message = f"usl fits throughput over threads, not {study.primary}"
        yield ("axis", 0, "usl"), message, "remove usl, or take another primary metric"


def _is_more_better(name: str) -> bool:
    """Of a metric; one that does not exist is a mistake of its own."""
    try:
        return metric(name).better == "higher"
    except ValueError:
        return True


def uncounted(name: str, counters: Sequence[str]) -> tuple[str, str] | None:
    """What is wrong with a metric that follows from counters nobody asked for: what, what next."""
    base, _, counter = name.partition(".")
    asked = [c for c in counters if c in GROUPS]
    if base == COUNTED:
        if group_of(counter, asked) is not None:
            return None
        group = group_of(counter, list(GROUPS))
        if group is None:
            prefixes = sorted({g.prefix for g in GROUPS.values()})
            return f"{name}: no counter is called {counter!r}", f"they begin {', '.join(prefixes)}"
        needs: tuple[str, ...] = (group,)
    else:
        needs = GROUPS_OF.get(base, ())
        if not needs or set(needs) & set(asked):
            return None
    return f"{name} needs counters of {needs[0]}", f'write counters = ["{needs[0]}"] in [measure]'


def _stray_keys(section: DesignSection) -> Iterator[Mistake]:
    for key, kinds in _KEYS.items():
        if getattr(section, key) is not None and section.kind not in kinds:
            message = f"{key} belongs to design {' or '.join(kinds)}, not {section.kind}"
            yield ("design", key), message, f"remove {key}, or change kind"


def _in_slices(study: Study) -> Iterator[Mistake]:
    found = unshared if study.measuring == "slices" else uncalibrated
    for place, reason in found(study):
        longer = f"give at least {LEAST_ROUNDS * study.slice_s:g} s"
        other = 'write design = "runs" in [measure]'
        yield place, reason.text, longer if reason.code == Code.SHORT_WINDOW else other


def unshared(study: Study) -> Iterator[tuple[Path, Reason]]:
    """Why the arms of a study cannot take turns: they live at the same time and share the machine,
    so nothing of it may differ between them."""
    for place, factor in enumerate(study.factors.values()):
        applied = [level.application for level in factor.levels.values()]
        if any(a.host or a.steer or a.commands for a in applied):
            yield ("factor", place, "change"), Reason.of(Code.MACHINE_CHANGES, factor=factor.name)
    if any(case.settings.get("attach") for case in study.cases):
        yield ("measure", "design"), Reason.of(Code.ATTACHED)
    if study.network is not None:
        yield ("network",), Reason.of(Code.NETWORK_SHARED)
    yield from uncalibrated(study)


def uncalibrated(study: Study) -> Iterator[tuple[Path, Reason]]:
    """Why runs cannot be made of slices, of one arm or of several: something is counted over the
    whole of a run, or there is too little of it."""
    for place, factor in enumerate(study.factors.values()):
        if factor.change.whole_runs:
            yield ("factor", place, "change"), Reason.of(Code.WHOLE_RUNS, factor=factor.name)
    primary = METRICS.get(study.primary)
    if primary is not None and primary.whole_run:  # a search too: its metric is one of these
        yield ("measure", "primary"), Reason.of(Code.OF_WHOLE_RUN, metric=study.primary)
    whole = [name for name in study.counters if GROUPS[name].whole_machine]
    if whole:
        key = "timeline" if study.timeline else "counters"
        yield ("measure", key), Reason.of(Code.MACHINE_COUNTED, groups=", ".join(whole))
    if study.window_s < LEAST_ROUNDS * study.slice_s and "window" not in study.auto:
        fields = {"window_s": study.window_s, "slices": LEAST_ROUNDS}
        yield ("measure", "window"), Reason.of(Code.SHORT_WINDOW, **fields)


def _reserved(study: Study) -> Iterator[Mistake]:
    listed = {arm.name for arm in study.arms_listed}
    for name in sorted(CONTROLS & (listed | study.factors.keys())):
        message = f"{name!r} is the name of the A/A control, the arm that watches a study"
        yield ("factor" if name in study.factors else "arm",), message, "rename yours"
    names = [arm.name for arm in arms(study)]
    for name in sorted({n for n in names if names.count(n) > 1} - CONTROLS):
        yield ("factor",), f"two arms would be called {name!r}", "rename a factor or a level"


def _screen(study: Study) -> Iterator[Mistake]:
    count = len(study.factors)
    if not 2 <= count <= SCREEN_FACTORS_MAX:
        message = f"a screen takes 2 to {SCREEN_FACTORS_MAX} factors, not {count}"
        yield ("design", "kind"), message, "leave factors out, or split the study"
    many = _with_many_levels(study.factors)
    if many:
        message = f"a screen compares two levels of each factor; {many} has more"
        yield ("design", "kind"), message, "keep two levels, or use a race"
    size = study.size
    if size is not None and (size & (size - 1) or size > 2**count):
        message = f"size = {size}: a fraction of 2^{count} combinations is a power of two"
        yield ("design", "size"), message, f"write {2 ** (count - 1)}, or leave it to the design"


def _with_many_levels(factors: Mapping[str, Factor]) -> str:
    return ", ".join(f.name for f in factors.values() if len(f.levels) > 2)


def _scaling(study: Study) -> Iterator[Mistake]:
    if not study.order:
        return
    threads = study.factors[study.order[0]]
    odd = [level for level in threads.levels if not level.isdecimal() or int(level) < 1]
    if odd:
        message = f"{threads.name}: levels of a scaling study are numbers of threads, not {odd[0]}"
        yield ("design", "factor"), message, "levels = [1, 2, 3, 4, 6, 8]"
    if len(study.order) == 2 and len(study.factors[study.order[1]].levels) != 2:
        message = f"compare = {study.order[1]!r}: two configurations are compared, not more"
        yield ("design", "compare"), message, "give that factor two levels"
    left_out = [f for f in study.factors if f not in study.order]
    if left_out:
        message = f"a scaling study varies {' and '.join(study.order)}; {left_out[0]} stays off"
        yield ("design", "kind"), message, 'remove the factor, or say compare = "..."'
