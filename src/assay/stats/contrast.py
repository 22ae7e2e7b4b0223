"""What is compared: weights over arms that sum to zero, one number per block.

Because the weights sum to zero, whatever a block's runs share (the hour, the temperature, the
drift) cancels, and because change, ladder step, main effect and interaction are all contrasts,
one engine decides them all. Every contrast built here pairs arms one to one, so exchanging the
runs inside the pairs only flips its sign: under a random run order it is symmetric about zero
when nothing changed, which is the one assumption of the signed-rank test.

Main effects and interactions use the legal cells only: where a level requires another, cells
are missing, and the effect is averaged over the matched pairs or quadruples that are left. Where
those all have another factor switched on, the effect is given that factor, and says so. Cells
are levels counted from 0 (off); the factor in question is compared between 0 and 1, the others
may have more levels.

Source: effect coding as in Box, Hunter & Hunter, Statistics for Experimenters (2005), chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, get_args

Kind = Literal[
    "change", "step", "simple", "main", "interaction", "scaling", "stability", "prediction"
]
"""What a contrast compares."""
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}


def kind_named(name: str) -> Kind:
    """The kind of this name. Raises ValueError where there is none."""
    if name not in KINDS:
        raise ValueError(f"{name!r} is none of {', '.join(KINDS)}")
    return KINDS[name]


Block = TypeVar("Block", bound=Hashable)
Cell = Mapping[str, int]


@dataclass(frozen=True)
class Contrast:
    """One comparison: sum of weight * ln(metric) over arms.

    `of`: what is judged (factor, arm, or "F:G"); `given`: the setting it is judged in, or "";
    `against`: the arm or level compared with, or "". Raises ValueError when the weights are not
    finite, do not sum to zero, or are all zero, and on a kind that does not exist.
    """

    name: str
    kind: Kind
    weights: Mapping[str, float]
    of: str = ""
    given: str = ""
    against: str = ""

    def __post_init__(self) -> None:
        values = list(self.weights.values())
        if self.kind not in KINDS:
            raise ValueError(f"{self.name}: {self.kind!r} is none of {', '.join(KINDS)}")
        if not all(math.isfinite(value) for value in values):
            raise ValueError(f"{self.name}: weights must be finite")
        if not any(values):
            raise ValueError(f"{self.name}: a contrast needs an arm with weight")
        if abs(math.fsum(values)) > 1e-9 * max(abs(value) for value in values):
            raise ValueError(f"{self.name}: weights must sum to zero, not {math.fsum(values)}")

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms with weight: those a block must have to count."""
        return tuple(arm for arm, weight in self.weights.items() if weight)


def series(
    contrast: Contrast, table: Mapping[Block, Mapping[str, float]]
) -> list[tuple[Block, float]]:
    """(block, contrast in log units) over the blocks that have every arm of the contrast.

    `table`: block -> arm -> signed natural log of the metric, up is better. Blocks come in the
    order of `table`.
    """
    arms = contrast.arms
    return [
        (block, math.fsum(contrast.weights[arm] * row[arm] for arm in arms))
        for block, row in table.items()
        if all(arm in row for arm in arms)
    ]


def change(arm: str, baseline: str) -> Contrast:
    """`arm` against the baseline."""
    return Contrast(arm, "change", {arm: 1.0, baseline: -1.0}, of=arm, against=baseline)


def step(arm: str, previous: str) -> Contrast:
    """One rung of a ladder: `arm` against the rung below. It cannot tell order from effect."""
    return Contrast(
        f"{arm} after {previous}",
        "step",
        {arm: 1.0, previous: -1.0},
        of=arm,
        given=previous,
        against=previous,
    )


def simple_effect(factor: str, given: Cell, cells: Mapping[str, Cell]) -> Contrast:
    """`factor` on against off at one setting of all other factors.

    `cells`: arm -> {factor: level}. The setting is named by the factors that are on, and by the
    arm where that would not say at which of several levels. Raises ValueError when either cell
    is not there.
    """
    arms = _by_setting(cells)
    others = {name: level for name, level in given.items() if name != factor}
    off, on = (arms.get(_setting({**others, factor: level})) for level in (0, 1))
    if off is None or on is None:
        raise ValueError(f"{factor}: no pair of arms differs in it alone given {others}")
    switched = sorted(name for name, level in others.items() if level)
    unclear = any(len(_levels(name, cells.values()) - {0}) > 1 for name in switched)
    setting = off if unclear or not switched else "+".join(switched)
    return Contrast(
        f"{factor} given {setting}", "simple", {on: 1.0, off: -1.0}, factor, setting, off
    )


def simple_effects(factor: str, cells: Mapping[str, Cell]) -> list[Contrast]:
    """`factor` on against off at every setting of the others where both cells are there.

    In the order of `cells`. What averaging hides is seen here: an effect that changes its sign.
    """
    arms = _by_setting(cells)
    return [
        simple_effect(factor, cell, cells)
        for cell in cells.values()
        if cell.get(factor) == 0 and _setting({**cell, factor: 1}) in arms
    ]


def main_effect(factor: str, cells: Mapping[str, Cell]) -> Contrast:
    """`factor` on against off, averaged over all matched pairs of cells.

    `cells`: arm -> {factor: level} of the legal arms. In a full 2^k the weights are +-2/2^k.
    Raises ValueError when no two cells differ in this factor alone.
    """
    arms = _by_setting(cells)
    weights: dict[str, float] = {}
    pairs = 0
    for arm, cell in cells.items():
        partner = arms.get(_setting({**cell, factor: 1})) if cell.get(factor) == 0 else None
        if partner is not None:
            weights[arm], weights[partner] = -1.0, 1.0
            pairs += 1
    if not pairs:
        raise ValueError(f"{factor}: no two arms differ in this factor alone")
    found = Contrast(
        factor, "main", {arm: sign / pairs for arm, sign in weights.items()}, of=factor
    )
    return replace(found, given=conditions(found, cells))


def interaction(first: str, second: str, cells: Mapping[str, Cell]) -> Contrast:
    """Half of how much the effect of `first` changes when `second` is switched on.

    The half is effect coding: noise is then that of a main effect, and main effect +- interaction
    is the simple effect of `first` with `second` on and off. Averaged over matched quadruples of
    cells. Raises ValueError when no quadruple is complete.
    """
    if first == second:
        raise ValueError(f"{first}: a factor has no interaction with itself")
    arms = _by_setting(cells)
    weights: dict[str, float] = {}
    quadruples = 0
    for cell in cells.values():
        if cell.get(first) != 0 or cell.get(second) != 0:
            continue
        corners = [
            (arms.get(_setting({**cell, first: f, second: g})), 1.0 if f == g else -1.0)
            for f in (0, 1)
            for g in (0, 1)
        ]
        if all(arm is not None for arm, _ in corners):
            weights.update({arm: sign for arm, sign in corners if arm is not None})
            quadruples += 1
    if not quadruples:
        raise ValueError(f"{first}:{second}: no four arms differ in these two factors alone")
    scaled = {arm: sign / (2 * quadruples) for arm, sign in weights.items()}
    found = Contrast(f"{first}:{second}", "interaction", scaled, of=f"{first}:{second}")
    return replace(found, given=conditions(found, cells))


def conditions(contrast: Contrast, cells: Mapping[str, Cell], off: bool = False) -> str:
    """The factors without which the contrast says nothing: on in all its arms, not in all cells.

    "IMRS" is read as "given IMRS", two are "IMRS+TSX"; "pages=2" where only that one of several
    levels occurs. `off`: also those that are off in all its arms, "HCB off". The factors that
    the contrast is about are not among them.
    """
    of = contrast.of.split(":")
    arms = [cells[arm] for arm in contrast.arms]
    on, without = [], []
    for factor in sorted({name for cell in cells.values() for name in cell} - set(of)):
        used, there = _levels(factor, arms), _levels(factor, cells.values())
        if 0 not in used and used < there:
            single = len(used) == 1 and len(there - {0}) > 1
            on.append(f"{factor}={min(used)}" if single else factor)
        elif used == {0} and used < there:
            without.append(f"{factor} off")
    named = ["+".join(on)] if on else []
    return ", ".join(named + without if off else named)


def _levels(factor: str, cells: Iterable[Cell]) -> set[int]:
    return {cell.get(factor, 0) for cell in cells}


def _setting(cell: Cell) -> frozenset[tuple[str, int]]:
    return frozenset(cell.items())


def _by_setting(cells: Mapping[str, Cell]) -> dict[frozenset[tuple[str, int]], str]:
    """Cell -> arm. Raises ValueError when two arms are the same cell."""
    arms: dict[frozenset[tuple[str, int]], str] = {}
    for arm, cell in cells.items():
        if _setting(cell) in arms:
            raise ValueError(f"{arm} and {arms[_setting(cell)]} are the same combination")
        arms[_setting(cell)] = arm
    return arms
