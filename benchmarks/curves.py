"""Do bands over an axis hold at all points at once, and do crossings lie in their intervals?

Studies of two arms over an axis are simulated run by run and ruled by Assay's own `adjudicate`:
they stop, leave points and add points as real ones do. "equal" has no effect anywhere, so every
word is false; "crossing" changes its sign once, "bend" once and flattens, "bump" helps in the
middle only. Each with seven points, and with five of which the crossing's neighbourhood is refined.
Runs are normal, or wild: one in twenty is slower by up to 30 %, in either arm.

Next to Assay stands what is common, on the same runs: an interval of 95 % at each point by itself
(Student's), and the middle 95 % of crossings that a bootstrap over blocks finds by interpolation.
`low` and `high` bound a 95 % interval.

    python benchmarks/curves.py [--json] [--studies N] [--quick]
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from outcome import Row, write_bounded
from scipy.stats import binomtest, t

from assay.plan import Plan
from assay.study import make_plan, read
from assay.verdict.observations import Block, Observation
from assay.verdict.rows import CurveContrastRow
from assay.verdict.ruling import adjudicate

NOISE, DRIFT = 0.02, 0.05
"""Standard deviations of the log: of a run, and of what a block's runs share."""
WILD = 0.05
ALPHA = 0.05
RUN_S = 0.4
RESAMPLES = 200

Effect = Callable[[float], float]
"""The true effect at a place of the axis, in log units."""

TRUTHS: Mapping[str, tuple[Effect, tuple[float, ...]]] = {
    "equal": (lambda x: 0.0, ()),
    "crossing": (lambda x: 0.03 * math.log2(x / 11), (11.0,)),
    "bend": (lambda x: 0.06 * math.tanh(2 * math.log2(x / 5)), (5.0,)),
    "bump": (lambda x: 0.12 - 0.02 * math.log2(x / 8) ** 2, (8 / 2**6**0.5, 8 * 2**6**0.5)),
}
"""By name the effect, and where it crosses zero."""

POINTS = {
    "fixed": "points = [1, 2, 4, 8, 16, 32, 64]",
    "refined": 'points = "auto"\nfrom = 1\nto = 64',
}
STUDY = """
name = "curves"
question = "Where does it begin to help?"
[target]
kind = "engine"
[workload]
kind = "ycsb"
[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
design = "runs"
[[factor]]
name = "hint"
change = "engine.spin_hint"
on = "pause"
[[axis]]
name = "threads"
{points}
[design]
kind = "one-at-a-time"
[decide]
smallest = "4%"
margin = "4%"
budget = "{budget}"
"""


@dataclass(frozen=True)
class Found:
    """One study: what it said, and what is common on its runs."""

    words: bool
    """Whether some point helps or hurts."""
    band: bool
    """Whether the band holds at every point."""
    crossings: list[tuple[float, float]]
    pointwise: bool
    bootstrap: tuple[float, float] | None
    runs: int


def plan_of(points: str, seed: int, budget: str) -> Plan:
    """The plan of one study."""
    text = STUDY.format(points=POINTS[points], budget=budget)
    return make_plan(
        read("curves.toml", text, Path()), version="0", seed=seed, study_sha256="", base="",
        overrides={}, stand_ins={"engine": None}, full=False, cpus=64,
    )  # fmt: skip


def simulated(effect: Effect, points: str, wild: bool, seed: int, budget: str = "300s") -> Found:
    """One study, run to where it stops."""
    plan, draws = plan_of(points, seed, budget), np.random.default_rng(seed)
    assert plan.axis is not None
    places = {p.case: p.value for p in plan.axis.points}
    blocks: list[Block] = []
    while not (ruling := adjudicate(plan, blocks)).finished:
        shared = draws.normal(0, DRIFT)
        cells = {
            (slot.case, slot.arm): _run(
                shared + effect(places[slot.case]) * (slot.arm != plan.baseline), wild, draws
            )
            for slot in plan.schedule[len(blocks)]
            if (slot.case, slot.arm) in ruling.live
        }
        blocks.append(Block(cells, RUN_S * len(cells)))
    (curve,) = ruling.curves
    (contrast,) = curve.contrasts
    values = _contrasts(plan, blocks, places)
    return Found(
        words=any(e.word in ("helps", "hurts") for e in contrast.effects),
        band=_holds(contrast, effect),
        crossings=[(c.low, c.high) for c in contrast.crossings],
        pointwise=_pointwise(values, effect),
        bootstrap=_bootstrap(values, draws),
        runs=sum(len(b.cells) for b in blocks),
    )


def _run(log: float, wild: bool, draws: np.random.Generator) -> Observation:
    slow = draws.uniform(0, 0.3) if wild and draws.random() < WILD else 0.0
    rate = 1e5 * math.exp(log + draws.normal(0, NOISE)) * (1 - slow)
    return Observation({"throughput": rate}, {}, {})


def _holds(contrast: CurveContrastRow, effect: Effect) -> bool:
    """Whether the band has the truth at all points."""
    return all(
        (e.low is None or math.log1p(e.low) <= effect(e.value))
        and (e.high is None or effect(e.value) <= math.log1p(e.high))
        for e in contrast.effects
    )


# what is common


def _contrasts(
    plan: Plan, blocks: Sequence[Block], places: Mapping[str, float]
) -> dict[float, np.ndarray]:
    """Place -> the contrasts of the blocks that it was measured in, from low to high."""
    arm = plan.arms[1].name
    found = {}
    for case, place in sorted(places.items(), key=lambda it: it[1]):
        pairs = [
            [b.cells[case, name].metrics["throughput"] for name in (arm, plan.baseline)]
            for b in blocks
            if (case, arm) in b.cells
        ]
        if pairs:
            found[place] = np.log([mine / theirs for mine, theirs in pairs])
    return found


def _pointwise(values: Mapping[float, np.ndarray], effect: Effect) -> bool:
    """Whether Student's interval of each point by itself has the truth, at all points."""
    for place, found in values.items():
        reach = t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / math.sqrt(len(found))
        if abs(found.mean() - effect(place)) > reach:
            return False
    return True


def _bootstrap(
    values: Mapping[float, np.ndarray], draws: np.random.Generator
) -> tuple[float, float] | None:
    """The middle 95 % of crossings over resampled blocks; None where most have none."""
    found = []
    for _ in range(RESAMPLES):
        means = [(x, draws.choice(v, len(v)).mean()) for x, v in values.items()]
        place = _interpolated(means)
        if place is not None:
            found.append(place)
    if len(found) < RESAMPLES / 2:
        return None
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def _interpolated(means: Sequence[tuple[float, float]]) -> float | None:
    """Where straight lines between means cross zero first, upwards."""
    for (x, low), (y, high) in itertools.pairwise(means):
        if low < 0 <= high:
            return float(math.exp(math.log(x) - low / (high - low) * math.log(y / x)))
    return None


# rows


def rows_of(truth: str, points: str, wild: bool, studies: int, budget: str) -> Iterator[Row]:
    """The rows of one truth."""
    effect, places = TRUTHS[truth]
    found = [simulated(effect, points, wild, seed, budget) for seed in range(studies)]
    name = f"{truth}, {points}{', wild' if wild else ''}"
    if not places:
        yield _share(f"{name}: any word, all false", [f.words for f in found], at_most=ALPHA)
    yield _share(
        f"{name}: the band holds at all points", [f.band for f in found], at_least=1 - ALPHA,
        rival="pointwise", theirs=[f.pointwise for f in found],
    )  # fmt: skip
    right = [all(_has(interval, places) for interval in f.crossings) for f in found]
    yield _share(f"{name}: no interval without its crossing", right, at_least=1 - ALPHA)
    if places:
        asked = [f.bootstrap for f in found if f.bootstrap is not None]
        rival = [_has(interval, places) for interval in asked]
        all_found = [len(f.crossings) == len(places) for f in found]
        yield _share(
            f"{name}: every crossing found", all_found, rival="bootstrap holds", theirs=rival
        )
        widths = [math.log2(high / low) for f in found for low, high in f.crossings]
        if widths:
            yield Row(f"{name}: width", "", "doublings", statistics.median(widths))
    yield Row(f"{name}: runs", "", "runs", statistics.fmean(f.runs for f in found))


def _has(interval: tuple[float, float], places: Sequence[float]) -> bool:
    """Whether exactly one crossing is in an interval; the ends of points count."""
    return sum(interval[0] <= place <= interval[1] for place in places) == 1


def _share(
    name: str,
    hits: Sequence[bool],
    at_least: float | None = None,
    at_most: float | None = None,
    rival: str = "",
    theirs: Sequence[bool] = (),
) -> Row:
    low, high = binomtest(sum(hits), len(hits)).proportion_ci(method="exact")
    goal, met = "", True
    if at_least is not None:
        goal, met = f"at least {at_least:g}", high >= at_least
    if at_most is not None:
        goal, met = f"at most {at_most:g}", low <= at_most
    common = statistics.fmean(theirs) if theirs else None
    return Row(
        name, rival, "fraction", statistics.fmean(hits), common,
        low=low, high=high, goal=goal, met=met,
    )  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Print the rows; 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="few studies: it runs")
    asked = parser.parse_args(words)
    studies, budget = (2, "200s") if asked.quick else (asked.studies, "300s")
    settings = [(truth, points, False) for truth in TRUTHS for points in POINTS]
    settings += [("equal", "fixed", True), ("crossing", "refined", True)]
    rows = [row for setting in settings for row in rows_of(*setting, studies, budget)]
    write_bounded("curves", rows, asked.json)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
