"""Arms that differ: power, price, equivalence, coverage.

Nine pairs of run-to-run deviation and effect under realistic noise; in each the smallest effect
worth having and the margin are the effect itself, the hardest case. Beside every number of ours
stands what the same procedure does when the noise is known instead of estimated from 8 blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from assay.stats import Rule, Word

from .noise import NOISES, Floats, streams
from .procedure import Tally, known_plan, planned, whole
from .rivals import USUAL
from .rows import Promise, Row, Table, covered_needed, grid, share, summary, three_digits
from .scale import Scale, Steps

MEAN_RUNS = {
    (0.01, 0.01): 37, (0.01, 0.02): 19, (0.01, 0.05): 14,
    (0.02, 0.01): 115, (0.02, 0.02): 36, (0.02, 0.05): 17,
    (0.05, 0.01): 678, (0.05, 0.02): 172, (0.05, 0.05): 32,
}  # fmt: skip
"""(deviation, effect) -> mean runs of a study planned with known noise and all of alpha."""
MEAN_RUNS_SLACK = 1.2
POWER_NEEDED = dict.fromkeys([(0.01, 0.01), (0.01, 0.02), (0.02, 0.02), (0.02, 0.05)], 0.85)
EQUIVALENCE = [(0.01, 0.01), (0.01, 0.02), (0.02, 0.01), (0.02, 0.02)]
"""(deviation, margin)"""
WRONG_SIGN, FALSE_EQUIVALENCE, COVERAGE = 0.001, 0.06, 0.95


@dataclass
class Point:
    """One truth: our tally, that with known noise, and how often each rival saw the arm gain."""

    ours: Tally
    known: Tally
    rivals: dict[str, int] = field(default_factory=dict)


@cache
def point(deviation: float, effect: float, truth: float, studies: int, seed: int) -> Point:
    """Simulate one truth (fractions); `effect` is the smallest worth having and the margin."""
    rule = Rule(effect, effect)
    budget = _budget(deviation / effect)
    found = Point(Tally(rule, truth), Tally(rule, truth), dict.fromkeys(USUAL, 0))
    name = f"{deviation} {effect} {truth}"
    make, blocks = NOISES["realistic"].at(deviation), 0
    for stream in streams(make, studies, budget, math.log1p(truth), (seed, name)):
        blocks = blocks or known_plan(_noise(stream.contrasts - stream.effect), rule, budget)
        found.ours.add(whole(values, rule, budget) for values in stream.contrasts)
        found.known.add(planned(values, rule, blocks) for values in stream.contrasts)
        for method, rival in USUAL.items():
            found.rivals[method] += int(np.count_nonzero(rival(stream) > 0))
    return found


def _budget(ratio: float) -> int:
    """Blocks nobody would exceed at this ratio of noise to effect; the plan stays below them."""
    return 300 if ratio <= 1 else 1000 if ratio <= 2.5 else 2000


def _noise(contrasts: Floats) -> float:
    """Standard deviation of a block's contrast, robustly, over many studies."""
    return float(np.median(np.abs(contrasts))) / 0.6745


def power(scale: Scale) -> Steps:
    """Chance to find an effect, runs it takes, and rivals at their usual size."""
    points, rows = {}, []
    for k, (deviation, effect) in enumerate(MEAN_RUNS):
        points[deviation, effect] = point(deviation, effect, effect, scale.studies, scale.seed)
        yield (k + 1) / len(MEAN_RUNS)
    for where, found in points.items():
        rows += _power_rows(where, found)
    body = [(f"CV {dev:.0%}, effect {eff:.0%}", _power_cells((dev, eff), p))
            for (dev, eff), p in points.items()]  # fmt: skip
    heads = ["power", "runs", "table", "wrong", "known", "runs", *"abcdef"]
    keys = "\n".join(f"  {key}  {name}" for key, name in zip("abcdef", USUAL, strict=True))
    title = (
        f"realistic noise, {scale.studies} studies each; rivals at their usual size;\n"
        f"`known` is power and runs with the noise known beforehand\n{keys}"
    )
    return Table(f"{title}\n{grid([heads], body, first=22)}\n{summary(rows)}", rows)


def _power_cells(where: tuple[float, float], found: Point) -> list[str]:
    ours, known = found.ours, found.known
    return [
        three_digits(ours.count(Word.HELPS) / ours.studies),
        f"{ours.mean_runs:.1f}",
        str(MEAN_RUNS[where]),
        str(ours.count(Word.HURTS)),
        three_digits(known.count(Word.HELPS) / known.studies),
        f"{known.mean_runs:.1f}",
        *(three_digits(hits / ours.studies) for hits in found.rivals.values()),
    ]


def _power_rows(where: tuple[float, float], found: Point) -> list[Row]:
    deviation, effect = where
    name = f"CV {deviation:.0%}, effect {effect:.0%}"
    ours = found.ours
    helps, studies = ours.count(Word.HELPS), ours.studies
    limit = MEAN_RUNS_SLACK * MEAN_RUNS[where]
    wrong = max(1, round(WRONG_SIGN * studies))
    return [
        share(f"power, {name}", helps, studies, at_least=POWER_NEEDED.get(where)),
        share(f"wrong sign, {name}", ours.count(Word.HURTS), studies, at_most=wrong),
        (Promise if where in POWER_NEEDED else Row)(
            f"mean runs, {name}", "noise known, all of alpha (method note)", "runs",
            ours.mean_runs, float(MEAN_RUNS[where]), ours.mean_runs / MEAN_RUNS[where],
            goal=f"<= {limit:.1f}", met=ours.mean_runs <= limit,
        ),
        *(
            share(f"power, {name}", helps, studies, rival=method, theirs=hits / studies)
            for method, hits in found.rivals.items()
        ),
    ]  # fmt: skip


def equivalence(scale: Scale) -> Steps:
    """ "No difference" where it is false, where it is true, and where it is barely true."""
    rows, body = [], []
    for k, (deviation, margin) in enumerate(EQUIVALENCE):
        name = f"CV {deviation:.0%}, margin {margin:.0%}"
        cells = []
        for share_of_margin in (1.0, 0.0, 0.5):
            truth = share_of_margin * margin
            found = point(deviation, margin, truth, scale.studies, scale.seed)
            cells += _equivalence_cells(share_of_margin, found)
            rows += _equivalence_rows(name, share_of_margin, found)
            yield (k + (1.5 - share_of_margin) / 1.5) / len(EQUIVALENCE)
        body.append((name, cells))
    heads = ["false", "equal", "known", "runs", "most", "half", "helps"]
    title = (
        f"realistic noise, {scale.studies} studies each: `no difference` when the truth is the\n"
        "margin (false), zero (equal; with known noise; mean and most runs), half the\n"
        "margin (half; there `helps` is true as well)"
    )
    return Table(f"{title}\n{grid([heads], body, first=22)}\n{summary(rows)}", rows)


def _equivalence_cells(share_of_margin: float, found: Point) -> list[str]:
    same = three_digits(found.ours.count(Word.NO_DIFFERENCE) / found.ours.studies)
    if share_of_margin == 1.0:
        return [same]
    if share_of_margin:
        return [same, three_digits(found.ours.count(Word.HELPS) / found.ours.studies)]
    known = three_digits(found.known.count(Word.NO_DIFFERENCE) / found.known.studies)
    return [same, known, f"{found.ours.mean_runs:.1f}", str(found.ours.most_runs)]


def _equivalence_rows(name: str, share_of_margin: float, found: Point) -> list[Row]:
    ours = found.ours
    same = ours.count(Word.NO_DIFFERENCE)
    if share_of_margin == 1.0:
        metric = f"false 'no difference' at the margin, {name}"
        return [share(metric, same, ours.studies, at_most=FALSE_EQUIVALENCE)]
    if share_of_margin:
        helps = ours.count(Word.HELPS)
        return [
            share(f"'no difference' at half the margin, {name}", same, ours.studies),
            share(f"'helps' at half the margin, {name}", helps, ours.studies),
        ]
    known = found.known.count(Word.NO_DIFFERENCE) / found.known.studies
    return [
        share(
            f"'no difference' between equal arms, {name}", same, ours.studies,
            rival="noise known", theirs=known,
        ),
        Row(f"mean runs of equal arms, {name}", "", "runs", ours.mean_runs),
        Row(f"most runs of equal arms, {name}", "", "runs", float(ours.most_runs)),
    ]  # fmt: skip


def coverage(scale: Scale) -> Steps:
    """Does the interval shown with the verdict hold the truth, and do the two agree?"""
    places = [(dev, eff, eff) for dev, eff in MEAN_RUNS]
    places += [(dev, eff, part * eff) for dev, eff in EQUIVALENCE for part in (0.0, 0.5)]
    rows, body, tallies = [], [], []
    for k, (deviation, effect, truth) in enumerate(places):
        tally = point(deviation, effect, truth, scale.studies, scale.seed).ours
        tallies.append(tally)
        name = f"CV {deviation:.0%}, margin {effect:.0%}, truth {truth:.1%}"
        rows += [
            share(
                f"interval holds the truth, {name}", tally.covered, tally.studies,
                at_least=covered_needed(tally.studies),
            ),
            share(f"word and interval agree, {name}", tally.agreeing, tally.studies, at_least=1.0),
        ]  # fmt: skip
        body.append((name, [three_digits(r.ours) for r in rows[-2:]]))
        yield (k + 1) / len(places)
    covered, of = (sum(getattr(t, name) for t in tallies) for name in ("covered", "studies"))
    rows.append(share("interval holds the truth, all of these", covered, of, at_least=COVERAGE))
    body.append(("all of these", [three_digits(rows[-1].ours)]))
    title = (
        f"the interval when the study stops, {scale.studies} studies each: it holds the truth,\n"
        "and agrees with the word"
    )
    return Table(f"{title}\n{grid([['holds', 'agree']], body)}\n{summary(rows)}", rows)
