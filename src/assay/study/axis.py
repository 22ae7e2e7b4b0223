"""The axis of a study: what its cases vary, and each case spread over the points.

A point is a case of its own, so all that holds of cases holds of points: arms are compared inside a
point, each block visits the points in a random order, a void run repeats its point alone, and every
run starts its server anew. What the axis varies is given to that start, or to the load.

Points are listed, or made from two ends and a number of steps; with `points = "auto"` a few of them
are measured first, and a grid between them holds those that a refinement may add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.core.parameters import Parameter, nearest
from assay.core.units import DURATION_UNITS, SIZE_UNITS, parse_duration, parse_size
from assay.plan import PlannedAxis, PlannedAxisPoint
from assay.study.file import AUTO, AxisSection
from assay.study.model import Case
from assay.targets import Target
from assay.targets.servers.framework.load import CLIENT
from assay.workloads import WORKLOADS

POINTS_MOST = 32
OPENING = 5
"""Points that are measured first where a study leaves them to Assay."""

SPLIT = 4
"""Into so many parts a refinement may cut what lies between two of them."""

EXTRA = 4
"""Points that a refinement may add to a curve where the study does not say how many."""

LOGARITHMIC_FROM = 4.0
"""Points that span this factor or more are spaced, and drawn, by their logarithm."""

TABLES = ("target", "workload")


class AxisError(ValueError):
    """A mistake in one key of an axis, and what to do about it."""

    def __init__(self, message: str, key: str, next_step: str) -> None:
        super().__init__(message)
        self.key, self.next_step = key, next_step


def spread(
    section: AxisSection, cases: Sequence[Case], targets: Mapping[str, Target]
) -> tuple[PlannedAxis, list[Case]]:
    """The axis, and every case at each of its points. Raises AxisError."""
    table, key = varied(section, cases, targets)
    known = [_known(table, case, targets)[key] for case in cases]
    points, later, is_log = _points(section, known[0])
    made: list[Case] = []
    planned: list[PlannedAxisPoint] = []
    for case, parameter in zip(cases, known, strict=True):
        for written in (*points, *later):
            value, text = _value(parameter, written), _text(written)
            of = case.name if len(cases) > 1 else ""
            name = f"{section.name}={text}"
            name = f"{of}, {name}" if of else name
            made.append(_at(case, name, table, key, parameter.read(written)))
            planned.append(PlannedAxisPoint(
                case=name, of=of, value=value, text=text, later=written in later
            ))  # fmt: skip
    axis = PlannedAxis(
        name=section.name,
        varies=f"{table}.{key}",
        logarithmic=is_log,
        usl=section.usl,
        extra=(section.extra or EXTRA) if later else 0,
        points=planned,
    )
    return axis, made


def varied(
    section: AxisSection, cases: Sequence[Case], targets: Mapping[str, Target]
) -> tuple[str, str]:
    """What an axis varies, as table and key; by default what it is called. Raises AxisError."""
    table, dot, key = (section.varies or section.name).partition(".")
    at_fault = "varies" if section.varies else "name"
    if dot and table in TABLES:
        tables: tuple[str, ...] = (table,)
    else:
        tables, key = TABLES, section.varies or section.name
    found = [t for t in tables if all(key in _known(t, case, targets) for case in cases)]
    if not found:
        every = [name for t in tables for case in cases for name in _known(t, case, targets)]
        where = " or ".join(tables)
        raise AxisError(
            f"no {where} here has {key!r} to vary{nearest(key, every)}",
            at_fault,
            'write varies = "target.SETTING" or "workload.PARAMETER"; `assay list` shows both',
        )
    if len(found) > 1:
        message = f"{key} is a setting of the target and a parameter of the workload"
        advice = f'write varies = "target.{key}" or "workload.{key}"'
        raise AxisError(message, at_fault, advice)
    attached = next((c for c in cases if c.settings.get("attach")), None)
    if found[0] == "target" and attached is not None and key not in CLIENT:
        raise AxisError(
            f"a server that already runs is not started anew, so {key} cannot be varied",
            at_fault,
            f"vary the load: {', '.join(CLIENT)}, or a parameter of the workload",
        )
    return found[0], key


def _known(table: str, case: Case, targets: Mapping[str, Target]) -> Mapping[str, Parameter]:
    target = targets[case.target]
    if table == "target":
        return target.settings
    return WORKLOADS[case.workload].parameters_for(case.target)


def _at(case: Case, name: str, table: str, key: str, value: Any) -> Case:
    if table == "target":
        return replace(case, name=name, settings={**case.settings, key: value})
    return replace(case, name=name, parameters={**case.parameters, key: value})


# points


def _points(section: AxisSection, parameter: Parameter) -> tuple[list[Any], list[Any], bool]:
    """The points as a study writes them: those measured first, those that may be added, and whether
    they are spaced by their logarithm."""
    if section.points is not None and section.points != AUTO:
        return _listed(section, parameter)
    if section.points is None and section.steps is None:
        message = "an axis needs its points"
        advice = 'write points = [1, 2, 4, 8], or from, to and steps = 5, or points = "auto"'
        raise AxisError(message, "name", advice)
    ends = [_end(section, key, parameter) for key in ("from", "to")]
    if not ends[0] < ends[1]:
        raise AxisError("an axis goes up: from is below to", "from", "exchange the two")
    is_log = section.spacing != "linear" and ends[0] > 0
    if section.spacing == "log" and not is_log:
        message = "a logarithmic axis begins above zero"
        raise AxisError(message, "from", 'begin higher, or write spacing = "linear"')
    steps = section.steps or OPENING
    first = _between(ends, steps, is_log, parameter)
    if section.points is None:
        return first, [], is_log
    if steps * SPLIT > POINTS_MOST:
        message = (
            f"steps = {steps}: a refined axis has at most {POINTS_MOST // SPLIT} to begin with"
        )
        raise AxisError(message, "steps", "write fewer")
    grid = _between(ends, SPLIT * (steps - 1) + 1, is_log, parameter)
    begun = {_value(parameter, point) for point in first}
    return first, [p for p in grid if _value(parameter, p) not in begun], is_log


def _listed(section: AxisSection, parameter: Parameter) -> tuple[list[Any], list[Any], bool]:
    for name, given in (("from", section.first), ("to", section.last), ("steps", section.steps)):
        if given is not None:
            message = f"{name} belongs to points that are left to Assay"
            raise AxisError(message, name, f'remove {name}, or write points = "auto"')
    if section.extra is not None:
        message = "extra points are added to those that are left to Assay"
        raise AxisError(message, "extra", 'remove extra, or write points = "auto"')
    points = section.points
    if not isinstance(points, list) or not 2 <= len(points) <= POINTS_MOST:
        message = f"points are a list of 2 to {POINTS_MOST} values"
        raise AxisError(message, "points", 'write points = [1, 2, 4, 8], or points = "auto"')
    values = [_value(parameter, point) for point in points]
    if sorted(set(values)) != values:
        raise AxisError("points go up, each once", "points", "sort them")
    wide = values[0] > 0 and values[-1] >= LOGARITHMIC_FROM * values[0]
    return points, [], section.spacing == "log" or (section.spacing is None and wide)


def _end(section: AxisSection, key: str, parameter: Parameter) -> float:
    written = section.first if key == "from" else section.last
    if written is None:
        message = f"{key!r} is missing: points lie between from and to"
        raise AxisError(message, "points" if section.points else "name", f"add {key} = ...")
    return _value(parameter, written, key)


def _value(parameter: Parameter, written: Any, key: str = "points") -> float:
    """Where a point stands, in the unit used inside. Raises AxisError."""
    try:
        found = parameter.read(written)
    except ValueError as error:
        raise AxisError(str(error), key, f"{parameter.name}: {parameter.text}") from None
    if isinstance(found, int | float) and not isinstance(found, bool):
        return float(found)
    readers: tuple[Callable[[Any], float], ...] = (float, parse_size, parse_duration)
    for read in readers:
        try:
            return float(read(found))
        except (TypeError, ValueError):
            continue
    message = f"{written!r} is no number, and points have an order"
    raise AxisError(message, key, "give numbers, sizes or durations; names are levels of a factor")


def _between(
    ends: Sequence[float], steps: int, is_log: bool, parameter: Parameter
) -> list[int | float | str]:
    """So many points from end to end, as a study would write them; fewer where they coincide."""
    low, high = (math.log(end) for end in ends) if is_log else ends
    places = [low + (high - low) * step / (steps - 1) for step in range(steps)]
    values = [math.exp(place) if is_log else place for place in places]
    values[0], values[-1] = ends[0], ends[1]
    found = [_written(parameter, value) for value in values]
    return list(dict.fromkeys(found))


def _written(parameter: Parameter, value: float) -> int | float | str:
    if parameter.kind == "size":
        return _size(value)
    if parameter.kind == "duration":
        return _duration(value)
    if parameter.kind == "count" or (parameter.kind == "any" and value >= 1):
        return round(value)
    return float(f"{value:.3g}")


def _size(value: float) -> str:
    """A size near a value, of at most seven binary digits."""
    grain = 2 ** max(0, math.floor(math.log2(max(value, 1))) - 6)
    whole = round(value / grain) * grain
    binary = ("GiB", "MiB", "KiB")
    unit = next((u for u in binary if whole and whole % SIZE_UNITS[u] == 0), "B")
    return f"{whole // SIZE_UNITS[unit]}{unit}"


def _duration(value: float) -> str:
    unit = next((u for u in ("s", "ms", "us") if value >= DURATION_UNITS[u]), "us")
    return f"{float(f'{value / DURATION_UNITS[unit]:.3g}'):.12g}{unit}"


def _text(written: Any) -> str:
    """A point as people read it."""
    return f"{written:.12g}" if isinstance(written, float) else str(written)
