"""Which of many combinations are worth confirming: a short look at all of them, which suggests.

A screen runs the cells of a (fractional) two-level factorial in 3 or 4 blocks. No rank test can
use so few, but the noise is pooled over all cells, with (cells-1)(blocks-1) degrees of freedom,
and Student's t serves. It assumes normal noise of one size, which the confirming engine does not;
therefore a screen only *suggests*, and what is confirmed is measured again.

The model is arms and blocks, by least squares over the runs there are. A run that failed costs
that run, not its block; an arm without any run is as if it were illegal.

Effects are those of `contrast.py`, over matched cells. A fraction has none; there the columns of
the design are fitted together, which in a balanced one is column / cells * 2, the same scale.
Effects that share a column are one row: named by the first, the others are its aliases.

An effect suggests when Holm's method rejects it among all effects that can be estimated. Its
interval is at the level that decided it (alpha/left), so it excludes zero exactly when the effect
suggests. Not here: which cells are run (`fractions.py`), and verdicts.

Sources: Box, Hunter & Hunter, Statistics for Experimenters (2005), chapters 5 and 6; intra-block
analysis with missing runs, Montgomery, Design and Analysis of Experiments, chapter 4; Holm,
Scand. J. Stat. 6 (1979); heredity, Hamada & Wu, J. Quality Technology 24 (1992).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from assay.reasons import Code, Reason, Refusal, worded
from assay.stats.constants import STANDARD, Constants
from assay.stats.contrast import Cell, Contrast, Kind, conditions, interaction, main_effect
from assay.stats.fractions import alias_groups, columns
from assay.stats.signed_rank import DECIMALS

_NOISE_MIN = 1e-9  # log units; below it lies rounding of the arithmetic, not noise

Floats = NDArray[np.float64]
Cells = Mapping[str, Cell]


@dataclass(frozen=True)
class Effect:
    """One effect that could be estimated; sizes are fractions, up is better.

    kind       "main" or "interaction"
    low, high  the interval at two-sided `level`, that of Holm's step which decided the effect
    p          of Student's t, before any correction
    suggests   rejected by Holm's method
    given      what it is conditional on: "IMRS", "IMRS, HCB off", or "" for none
    aliases    effects that this design cannot tell from it
    """

    name: str
    kind: Kind
    estimate: float
    low: float
    high: float
    p: float
    suggests: bool
    given: str
    aliases: tuple[str, ...]
    level: float


@dataclass(frozen=True)
class Screen:
    """What a screen suggests. Gains are fractions against everything off.

    unestimable  effect -> why this screen cannot know it
    noise        standard deviation of one run, as a fraction
    free         degrees of freedom of the noise
    predicted    legal cell -> gain by the effects that suggest, with the main effects of
                 interactions that do: what the screen is willing to say
    promise      legal cell -> gain by all effects and half by its own mean: what `shortlist`
                 ranks by. It picks well and flatters the best; `predicted` is for showing
    """

    effects: tuple[Effect, ...]
    unestimable: Mapping[str, Reason]
    noise: float
    free: int
    predicted: Mapping[str, float]
    promise: Mapping[str, float]
    reasons: tuple[Reason, ...]

    @property
    def sentence(self) -> str:
        """The reasons as one text."""
        return worded(self.reasons)


def screen(
    cells: Cells,
    table: Sequence[Mapping[str, float]],
    alpha: float = 0.05,
    legal: Cells | None = None,
    constants: Constants = STANDARD,
) -> Screen:
    """Estimate all main effects and two-way interactions together.

    `cells`: arm -> {factor: 0 or 1}, the cells that were run; `table`: per block arm -> signed log
    metric, up is better; arms that are no cells are passed over. `legal`: every legal cell, for
    which gains are predicted; by default `cells`. Raises ValueError on levels beyond 0 and 1,
    when no cell is all off; Refusal on values that are not finite, and on runs that leave no
    degree of freedom or do not hang together by blocks.
    """
    every = cells if legal is None else legal
    if any(level not in (0, 1) for cell in cells.values() for level in cell.values()):
        raise ValueError("a screen compares two levels, 0 and 1, of each factor")
    if all(any(cell.values()) for cell in every.values()):
        raise ValueError("a screen needs the cell with everything off, to compare gains with")
    fit = _two_way(list(cells), table)
    run = {arm: cells[arm] for arm in fit.arms}
    asked, unestimable = _asked(run, every)
    effects = _judged(fit, asked, alpha)
    suggested = [e.name for e in effects if e.suggests]
    parents = [factor for name in suggested for factor in name.split(":")]
    said = _model([*dict.fromkeys(parents + suggested)], run, fit.means)
    full = _model([e.name for e in effects], run, fit.means)
    own: dict[str, float] = dict(zip(fit.arms, fit.means.tolist(), strict=True))

    def promised(arm: str, cell: Cell) -> float:
        return full(cell) + constants.own_share * (own.get(arm, full(cell)) - full(cell))

    return Screen(
        effects=tuple(effects),
        unestimable=unestimable,
        noise=_rounded(math.expm1(fit.deviation)),
        free=fit.free,
        predicted=_gains(every, lambda _, cell: said(cell)),
        promise=_gains(every, promised),
        reasons=_reasons(effects, fit, len(table) * len(cells)),
    )


def shortlist(screened: Screen, legal: Cells, limit: int = STANDARD.shortlist) -> tuple[str, ...]:
    """The combinations worth confirming, best first, then the neighbours of the best.

    At most `limit` of the cells that promise a gain, and the first of them with each of its
    factors taken out, where that is legal. Everything off is never among them; where nothing
    promises a gain there are none. Ties go by name.

    Choosing is not claiming: effects too small to suggest still tell good cells from bad. Over 11
    designs (2^3 to 2^(8-3), 3 or 4 blocks, noise of 2 or 5 %, 4,000 simulated servers each) the
    best cell was among four in 31 % by the effects that suggest, 43 % by the cells' means, 55 % by
    all effects, 55 % by those and half the mean, which is taken; the best of the four fell short
    of it by 0.82, 0.14, 0.10, 0.10 percent points. With strong three-way interactions: 30, 44,
    51, 52 % and 0.99, 0.19, 0.26, 0.23 points.
    """
    arms = {frozenset(cell.items()): arm for arm, cell in legal.items() if any(cell.values())}
    ranked = sorted(
        (arm for arm in arms.values() if screened.promise[arm] > 0),
        key=lambda arm: (-screened.promise[arm], arm),
    )[:limit]
    best = legal[ranked[0]] if ranked else {}
    fewer = (arms.get(frozenset({**best, f: 0}.items())) for f in best if best[f])
    return tuple(dict.fromkeys([*ranked, *sorted(arm for arm in fewer if arm is not None)]))


@dataclass(frozen=True)
class _Fit:
    """Arms and blocks by least squares.

    means       log metric of each arm without its blocks, centred, in the order of `arms`
    covariance  of the means, in units of the noise variance
    deviation   noise of one run, log units, on `free` degrees of freedom
    """

    arms: tuple[str, ...]
    means: Floats
    covariance: Floats
    deviation: float
    free: int
    runs: int


def _two_way(names: Sequence[str], table: Sequence[Mapping[str, float]]) -> _Fit:
    """Intra-block analysis of the runs there are. Raises Refusal, see `screen`."""
    grid = np.array([[row.get(arm, math.nan) for arm in names] for row in table])
    there = np.array([[arm in row for arm in names] for row in table])
    if there.size == 0 or not np.isfinite(grid[there]).all():
        raise Refusal(Reason.of(Code.SCREEN_NO_RUNS))
    seen: NDArray[np.bool_] = np.any(there, axis=0)
    arms = tuple(itertools.compress(names, seen.tolist()))
    kept = np.ix_(there.any(axis=1), seen)
    grid, there = grid[kept], there[kept]
    free = int(there.sum()) - len(arms) - len(grid) + 1
    share = there / there.sum(axis=1, keepdims=True)

    def without_blocks(values: Floats) -> Floats:
        filled = np.where(there, values, 0.0)
        return np.where(there, filled - (filled * share).sum(axis=1, keepdims=True), 0.0)

    information = np.diag(there.sum(axis=0)) - there.T @ share
    if free < 1 or np.linalg.matrix_rank(information, hermitian=True) < len(arms) - 1:
        raise Refusal(
            Reason.of(Code.SCREEN_TOO_FEW, runs=int(there.sum()), cells=len(arms), blocks=len(grid))
        )
    covariance = np.linalg.pinv(information, hermitian=True)
    means = covariance @ without_blocks(grid).sum(axis=0)
    residual = without_blocks(grid - means)
    deviation = max(math.sqrt(float((residual**2).sum()) / free), _NOISE_MIN)
    return _Fit(arms, means, covariance, deviation, free, int(there.sum()))


_Asked = tuple[Contrast, tuple[str, ...]]  # an effect with its aliases


def _asked(run: Cells, legal: Cells) -> tuple[list[_Asked], dict[str, Reason]]:
    """The effects these cells can estimate, and why not the others."""
    factors = list(next(iter(run.values())))
    design = columns(factors, [[cell[f] for f in factors] for cell in run.values()])
    found: list[_Asked] = []
    reasons = {}
    for name in design:
        try:
            found.append((_paired(name, run), ()))
        except ValueError:
            unmatched = Reason.of(Code.CELLS_UNMATCHED, factors=1 + (":" in name))
            reasons[name] = _absent(name, run) or unmatched
    if any(contrast.kind == "main" for contrast, _ in found):
        return found, reasons
    absent = {name: why for name in design if (why := _absent(name, run))}
    kept = {name: column for name, column in design.items() if name not in absent}
    found, tied = _fitted(kept, run, legal)
    return found, absent | dict.fromkeys(tied, Reason.of(Code.CELLS_TIED))


def _paired(name: str, cells: Cells) -> Contrast:
    """The contrast that a study confirms. Raises ValueError without matched cells."""
    if ":" in name:
        first, second = name.split(":")
        found = interaction(first, second, cells)
    else:
        found = main_effect(name, cells)
    return replace(found, given=conditions(found, cells, off=True))


def _fitted(
    design: Mapping[str, tuple[int, ...]], run: Cells, legal: Cells
) -> tuple[list[_Asked], list[str]]:
    """Effects of a fraction: all columns that differ, fitted together. And those left tied."""
    groups = alias_groups(design)
    matrix = np.array([[1] * len(run), *(design[group[0]] for group in groups)], float).T
    inverse = np.linalg.pinv(matrix)
    clear = np.diag(inverse @ matrix)[1:] > 1 - 1e-9
    found: list[_Asked] = []
    tied: list[str] = []
    for (name, *aliases), row, alone in zip(groups, inverse[1:], clear, strict=True):
        if not alone:
            tied += [name, *aliases]
            continue
        try:
            given = _paired(name, legal).given
        except ValueError:  # the caller did not say what else is legal
            given = ""
        kind: Kind = "interaction" if ":" in name else "main"
        weights = dict(zip(run, (2 * row).tolist(), strict=True))
        found.append((Contrast(name, kind, weights, of=name, given=given), tuple(aliases)))
    return found, tied


def _absent(name: str, run: Cells) -> Reason | None:
    """The setting of an effect's factors that no cell has; None when all are there."""
    of = name.split(":")
    there = {tuple(cell[factor] for factor in of) for cell in run.values()}
    for setting in itertools.product((1, 0), repeat=len(of)):
        if setting not in there:
            on = tuple(itertools.compress(of, setting))
            off = tuple(itertools.compress(of, (1 - level for level in setting)))
            return Reason.of(Code.CELL_ABSENT, on=on, off=off)
    return None


def _judged(fit: _Fit, asked: Sequence[_Asked], alpha: float) -> list[Effect]:
    """All effects against the pooled noise, by Holm's method."""
    weights = np.array([[c.weights.get(arm, 0.0) for arm in fit.arms] for c, _ in asked])
    weights = weights.reshape(len(asked), len(fit.arms))
    sizes = weights @ fit.means
    errors = fit.deviation * np.sqrt(((weights @ fit.covariance) * weights).sum(axis=1))
    p_values = 2 * stdtr(fit.free, -np.abs(sizes) / errors)
    levels = np.empty(len(asked))
    suggests = np.empty(len(asked), bool)
    passing = True
    for step, k in enumerate(np.argsort(p_values, kind="stable")):
        levels[k] = alpha / (len(asked) - step)
        passing = passing and bool(p_values[k] <= levels[k])
        suggests[k] = passing
    # what Holm did not reject was decided at the level of the step that stopped it
    levels[~suggests] = alpha / max(int((~suggests).sum()), 1)
    reach = -stdtrit(fit.free, levels / 2) * errors
    sides = np.expm1(np.array([sizes, sizes - reach, sizes + reach]))
    numbers = [[_rounded(x) for x in column] for column in np.vstack([sides, p_values]).T]
    return [
        Effect(
            contrast.name,
            contrast.kind,
            estimate,
            low,
            high,
            p,
            suggests=bool(suggests[k]),
            given=contrast.given,
            aliases=aliases,
            level=float(levels[k]),
        )
        for k, ((contrast, aliases), (estimate, low, high, p)) in enumerate(
            zip(asked, numbers, strict=True)
        )
    ]


def _model(terms: Sequence[str], run: Cells, means: Floats) -> Callable[[Cell], float]:
    """Cell -> log metric by these effects alone, least squares over the cells that were run."""

    def row(cell: Cell) -> list[float]:
        signs = [math.prod(2 * cell[f] - 1 for f in term.split(":")) for term in terms]
        return [1.0, *map(float, signs)]

    weights = np.linalg.lstsq(np.array([row(cell) for cell in run.values()]), means)[0]
    return lambda cell: float(np.dot(row(cell), weights))


def _gains(cells: Cells, value: Callable[[str, Cell], float]) -> dict[str, float]:
    """Log metrics of cells as fractions against everything off."""
    logs = {arm: value(arm, cell) for arm, cell in cells.items()}
    off = next(logs[arm] for arm, cell in cells.items() if not any(cell.values()))
    return {arm: _rounded(math.expm1(log - off)) for arm, log in logs.items()}


def _rounded(value: float) -> float:
    """Without the last digits, in which two processors may differ; ties are then ties."""
    return round(float(value), DECIMALS) + 0.0


def _reasons(effects: Sequence[Effect], fit: _Fit, planned: int) -> tuple[Reason, ...]:
    """What a reader should take away."""
    found = sorted((e for e in effects if e.suggests), key=lambda e: -abs(math.log1p(e.estimate)))
    if found:
        said = Reason.of(
            Code.SCREEN_SUGGESTS,
            names=tuple(" or ".join((e.name, *e.aliases)) for e in found),
            estimates=tuple(e.estimate for e in found),
            given=tuple(e.given for e in found),
        )
    elif effects:
        needed = min(math.log1p(e.high) - math.log1p(e.estimate) for e in effects)
        noise = math.expm1(fit.deviation)
        said = Reason.of(Code.SCREEN_QUIET, noise=noise, needed=math.expm1(needed))
    else:
        said = Reason.of(Code.SCREEN_EMPTY)
    if planned <= fit.runs:
        return (said,)
    return said, Reason.of(Code.SCREEN_MISSING, missing=planned - fit.runs, runs=planned)
