"""A thread of a mailing list decided again, and what a decision costs in time."""

from __future__ import annotations

import time

import numpy as np
from scipy import stats

from assay.stats import Rule, Word, decide, judge
from assay.stats.boundary import looks

from .procedure import ARM, planned
from .rows import Promise, Row, Table, summary
from .scale import Scale, Steps

UPLIFTS = (1.027, 1.05, 1.1075)
"""Requests per second with a pause in nginx's spin lock against without, 4 CPUs, three runs:
"2.70 - 10.75 %", of which the author drops the largest; without it the range ends at about 5 %."""
STUDIES, BLOCKS, SECONDS_MAX = 2000, 30, 60.0
_ROUNDS = 12


def nginx(scale: Scale) -> Steps:
    """Three runs, with and without the one that was called an outlier."""
    rows, lines = [], []
    for uplifts in (UPLIFTS, UPLIFTS[:2]):
        runs = [(block, "plain", 100.0) for block in range(len(uplifts))]
        runs += [(block, "pause", 100.0 * gain) for block, gain in enumerate(uplifts)]
        verdict = decide(runs, baseline="plain").verdicts["pause"]
        claimed = float(np.mean(uplifts)) >= 1.01
        said = ", ".join(f"{gain - 1:+.2%}" for gain in uplifts)
        rows.append(
            Promise(
                f"nginx, {len(uplifts)} runs: a difference is claimed",
                "means differ by 1 %", "claims", float(verdict.word != Word.UNDECIDED),
                float(claimed), goal="undecided", met=verdict.word == Word.UNDECIDED,
            )
        )  # fmt: skip
        lines.append(f"  {said}: {verdict.word}; {verdict.reason}")
        yield len(rows) / 2
    return Table("\n".join(["pause on 4 CPUs, as reported", *lines, summary(rows)]), rows)


def timing(scale: Scale) -> Steps:
    """Seconds for 2,000 studies of 30 blocks, and beside scipy's exact test at the same looks."""
    rng = np.random.default_rng(scale.seed)
    rule = Rule(0.02, 0.02)
    studies = STUDIES if scale.timed > 10 else 10 * scale.timed
    values = rng.normal(0, 0.028, (studies, BLOCKS))
    start = time.perf_counter()
    for study in values:
        planned(study, rule, BLOCKS)
    took = time.perf_counter() - start
    yield 0.2
    sides = {"assay": _replay_all, "scipy": _scipy_all}
    seconds, runs = dict.fromkeys(sides, 0.0), []
    for block in range(_ROUNDS):
        for name in rng.permutation(list(sides)):
            start = time.perf_counter()
            sides[str(name)](values[: scale.timed], rule)
            spent = time.perf_counter() - start
            seconds[str(name)] += spent
            runs.append((block, str(name), spent, len(runs)))
        yield 0.2 + 0.8 * (block + 1) / _ROUNDS
    verdict = decide(runs, baseline="scipy", better="lower").verdicts["assay"]
    low, high = (None if end is None else 1 + end for end in (verdict.low, verdict.high))
    each = {name: 1000 * spent / scale.timed / _ROUNDS for name, spent in seconds.items()}
    rows = [
        Promise(
            f"time for {studies} studies of {BLOCKS} blocks", "", "s", took,
            goal=f"< {SECONDS_MAX:g}", met=took < SECONDS_MAX,
        ),
        Row(
            f"time per study of {BLOCKS} blocks", "scipy.stats.wilcoxon exact, p values only", "ms",
            each["assay"], each["scipy"], 1 + verdict.estimate, low, high,
        ),
    ]  # fmt: skip
    text = (
        f"one core\n  {studies} studies of {BLOCKS} blocks: {took:.2f} s (limit "
        f"{SECONDS_MAX:g} s)\n  per study: {each['assay']:.3f} ms; scipy's exact p values at the "
        f"same looks {each['scipy']:.3f} ms; {rows[1].ratio:.1f} times as fast\n{summary(rows)}"
    )
    return Table(text, rows)


def _replay_all(values: np.ndarray, rule: Rule) -> None:
    for study in values:
        judge({ARM: list(enumerate(study.tolist()))}, rule, BLOCKS, BLOCKS)


def _scipy_all(values: np.ndarray, rule: Rule) -> None:
    for study in values:
        for blocks in looks(BLOCKS, rule.alpha_main):
            stats.wilcoxon(study[:blocks], method="exact")
