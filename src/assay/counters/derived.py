"""Figures that follow from counts of the processor, each from counts that were made throughout.

A figure whose inputs were not all counted all of the time has a reason and no number.
The ASE deck divides the sum of load, store and code misses by loads; here misses of data stand over
instructions, and code for itself.

    instructions_per_cycle             instructions / cycles
    dtlb_walks_per_1000_instructions   page walks for data that completed
    itlb_walks_per_1000_instructions   page walks for code that completed
    dtlb_refills_per_1000_instructions and itlb_refills_per_1000_instructions
                                       where walks are not counted: misses of the first TLB, most of
                                       which the second one answers
    walk_cycles_per_cycle              cycles of walks for loads, stores and code / cycles; above 1
                                       where several walkers work at once
    walker_occupancy                   the same / walkers: the share of their time that they walked
    cycles_per_walk                    cycles of walks / walks
    headroom                           s / (1 - s), s = walk_cycles_per_cycle: no change of pages
                                       can gain more, and far less where walks overlap with work
    counted_walk_cycles_per_cycle and headroom_of_counted_walks
                                       the same of the walks that were asked for, where some were
                                       not: the ASE deck leaves out those for stores
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.counters.models import Model
from assay.counters.perf_stat import Count


@dataclass(frozen=True)
class DerivedFigure:
    """A figure, or why there is none."""

    name: str
    value: float | None
    why: str = ""


class _Lacks(Exception):
    """An input that is no number."""


_Values = Callable[[str], float]


def figures(counts: Mapping[str, Count], model: Model | None) -> dict[str, DerivedFigure]:
    """Every figure that the model's counts define, from counts by our names (`dtlb_load_walks`)."""

    def of(name: str) -> float:
        parts = model.parts(name) if model else (name,)
        return sum(_value(counts, part) for part in parts)

    formulas = {**_formulas(model), **_of_counted_walks(counts, model)}
    return {name: _figure(name, formula, of) for name, formula in formulas.items()}


def _value(counts: Mapping[str, Count], name: str) -> float:
    count = counts.get(name)
    if count is None:
        raise _Lacks(f"{name} was not asked for")
    if count.value is None:
        raise _Lacks(f"{name}: {count.why}")
    return count.value


def _figure(name: str, formula: Callable[[_Values], float], of: _Values) -> DerivedFigure:
    try:
        return DerivedFigure(name, formula(of))
    except _Lacks as lacks:
        return DerivedFigure(name, None, str(lacks))
    except ZeroDivisionError:
        return DerivedFigure(name, None, "what it is divided by was counted as 0")


def _formulas(model: Model | None) -> dict[str, Callable[[_Values], float]]:
    found: dict[str, Callable[[_Values], float]] = {
        "instructions_per_cycle": lambda of: of("instructions") / of("cycles"),
    }
    roles = model.roles if model else {}
    for role in ("dtlb_walks", "itlb_walks", "dtlb_refills", "itlb_refills"):
        if role in roles:
            found[f"{role}_per_1000_instructions"] = _per_1000(role)
    if model and "walk_cycles" in roles:
        walkers = model.walkers
        found |= {
            "walk_cycles_per_cycle": lambda of: of("walk_cycles") / of("cycles"),
            "walker_occupancy": lambda of: of("walk_cycles") / (walkers * of("cycles")),
            "cycles_per_walk": lambda of: of("walk_cycles") / (of("dtlb_walks") + of("itlb_walks")),
            "headroom": lambda of: _headroom(of("walk_cycles") / of("cycles")),
        }
    return found


def _of_counted_walks(
    counts: Mapping[str, Count], model: Model | None
) -> dict[str, Callable[[_Values], float]]:
    """Figures of some walks, where cycles of the others were not asked for."""
    parts = model.roles.get("walk_cycles", ()) if model else ()
    counted = [part for part in parts if part in counts]
    if not counted or len(counted) == len(parts):
        return {}

    def share(of: _Values) -> float:
        return sum(of(part) for part in counted) / of("cycles")

    return {
        "counted_walk_cycles_per_cycle": share,
        "headroom_of_counted_walks": lambda of: _headroom(share(of)),
    }


def _per_1000(role: str) -> Callable[[_Values], float]:
    return lambda of: 1000 * of(role) / of("instructions")


def _headroom(share: float) -> float:
    if share >= 1:
        raise _Lacks(f"walks took {share:.2f} cycles per cycle: several at once, so no bound")
    return share / (1 - share)
