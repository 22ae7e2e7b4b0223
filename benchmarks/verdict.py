"""Is the verdict right as often as it says? A/A false alarms, power, coverage, time.

Simulated studies of two arms, whole procedure included: pilot of 8 blocks, plan from |c|,
sequential looks, stop. Beside it what people do instead, on the same simulated machine: Welch's
t on three runs each, and Mann-Whitney on ten runs each, one arm after the other.

The noise is made up, in three grades (log scale, in units of the run-to-run deviation c): runs
that scatter independently, an autoregressive part, a random walk, and two runs in a hundred
that are 10 % off. `calm` has neither memory nor walk; `strong` has much of both. Real machines
are measured elsewhere; this file only shows that the arithmetic keeps its promises.

    python benchmarks/verdict.py [--quick] [--json] [--studies N]

Sources: docs/method.md; Clopper & Pearson, Biometrika 26 (1934), for the binomial intervals.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from assay.verdict import Judgement, Rule, decide, judge, plan_blocks

Floats = NDArray[np.float64]
CAP = 400  # blocks simulated at most per study
FALSE = ("helps", "hurts")


@dataclass(frozen=True)
class Noise:
    """Shares of the run-to-run deviation: independent, autoregressive, and walk per run."""

    independent: float
    memory: float
    walk: float


NOISES = {
    "calm": Noise(1.0, 0.0, 0.0),
    "realistic": Noise(0.866, 0.5, 0.15),
    "strong": Noise(0.714, 0.7, 0.5),
}
_PERSISTENCE, _OUTLIERS, _OUTLIER = 0.8, 0.02, math.log(1.10)


@dataclass(frozen=True)
class Row:
    """One line of the result; `low` and `high` bound what `goal` speaks about."""

    metric: str
    rival: str
    unit: str
    ours: float
    theirs: float
    ratio: float | None
    low: float
    high: float
    goal: str
    met: bool


def machine(rng: np.random.Generator, noise: Noise, deviation: float, runs: int) -> Floats:
    """Log metric of `runs` consecutive runs of an unchanging server, shape (runs,)."""
    kick = rng.normal(0, math.sqrt(1 - _PERSISTENCE**2), runs)
    memory = np.empty(runs)
    level = rng.normal()
    for k in range(runs):
        level = _PERSISTENCE * level + kick[k]
        memory[k] = level
    outlier = np.where(rng.random(runs) < _OUTLIERS, _OUTLIER, 0.0)
    walk = np.cumsum(rng.normal(0, noise.walk, runs))
    return deviation * (
        noise.independent * rng.normal(size=runs) + noise.memory * memory + walk
    ) + (outlier)


def contrasts(rng: np.random.Generator, log_metric: Floats, effect: float) -> Floats:
    """Two arms in random order inside blocks: arm minus baseline per block, shape (runs/2,)."""
    pairs = log_metric[: len(log_metric) // 2 * 2].reshape(-1, 2)
    sign = rng.choice((-1.0, 1.0), len(pairs))
    return sign * (pairs[:, 1] - pairs[:, 0]) + effect


def study(values: Floats, rule: Rule, cap: int) -> tuple[Judgement, int]:
    """The whole procedure on one study: its judgement, and the blocks it ran."""
    planned = plan_blocks({"arm": values[:8].tolist()}, rule, cap).blocks
    series = {"arm": list(enumerate(values[:planned].tolist()))}
    found = judge(series, rule, planned, planned)["arm"]
    return found, found.blocks


def welch_of_three(log_metric: Floats) -> bool:
    """AAABBB, Welch's t at 5 %."""
    return bool(stats.ttest_ind(log_metric[:3], log_metric[3:6], equal_var=False).pvalue < 0.05)


def mann_whitney_of_ten(log_metric: Floats) -> bool:
    """Ten runs of A, then ten of B, Mann-Whitney at 5 %."""
    return bool(stats.mannwhitneyu(log_metric[:10], log_metric[10:20]).pvalue < 0.05)


RIVALS: dict[str, Callable[[Floats], bool]] = {
    "Welch t, 3+3 runs, AAABBB": welch_of_three,
    "Mann-Whitney, 10+10 runs, A..AB..B": mann_whitney_of_ten,
}


def false_alarms(kind: str, studies: int, seed: int, deviation: float = 0.02) -> list[Row]:
    """How often identical arms are told apart, ours beside each rival."""
    rule = Rule(0.02, 0.02)
    ours, theirs = 0, dict.fromkeys(RIVALS, 0)
    for k in range(studies):
        rng = np.random.default_rng((seed, k))
        runs = machine(rng, NOISES[kind], deviation, 2 * 60)
        found, _ = study(contrasts(rng, runs, 0.0), rule, 60)
        ours += found.word in FALSE
        for name, rival in RIVALS.items():
            theirs[name] += rival(runs)
    low, high = clopper_pearson(ours, studies)
    return [
        Row(
            f"A/A false verdicts, {kind} noise",
            name,
            "share",
            ours / studies,
            count / studies,
            ours / count if count else None,
            low,
            high,
            "<= 0.05",
            high <= 0.05,
        )
        for name, count in theirs.items()
    ]


def power(deviation: float, effect: float, studies: int, seed: int) -> list[Row]:
    """An effect just as large as the smallest worth having, and as the margin: the chance to find
    it, the price, and both kinds of interval where they are hardest to get right."""
    rule = Rule(effect, effect)
    truth = math.log1p(effect)
    helps = hurts = same = missed = runs_used = welch = 0
    for k in range(studies):
        rng = np.random.default_rng((seed, k))
        runs = machine(rng, NOISES["realistic"], deviation, 2 * CAP)
        found, blocks = study(contrasts(rng, runs, truth), rule, CAP)
        helps += found.word == "helps"
        hurts += found.word == "hurts"
        same += found.word == "no difference"
        covers = found.low is None or found.low <= effect <= found.high
        missed += found.word != "no difference" and not covers
        runs_used += 2 * blocks
        welch += welch_of_three(runs[:6] + truth * (np.arange(6) >= 3))
    name = f"effect {effect:.0%}, run deviation {deviation:.0%}"
    rival = "Welch t, 3+3 runs, AAABBB"

    def share(metric: str, hits: int, theirs: int, goal: str) -> Row:
        low, high = clopper_pearson(hits, studies)
        ratio = hits / theirs if theirs else None
        met = low >= 0.80 if goal.startswith(">=") else high <= float(goal.removeprefix("<= "))
        return Row(
            f"{metric}, {name}", rival, "share", hits / studies, theirs / studies,
            ratio, low, high, goal, met,
        )  # fmt: skip

    return [
        share("power", helps, welch, ">= 0.80"),
        share("false 'no difference'", same, 0, "<= 0.06"),
        share("interval misses the truth", missed, 0, "<= 0.05"),
        share("wrong sign", hurts, 0, "<= 0.05"),
        Row(
            f"mean runs, {name}", rival, "runs", runs_used / studies, 6.0,
            runs_used / studies / 6, 0.0, 0.0, "", True,
        ),
    ]  # fmt: skip


def timing(studies: int, blocks: int, seed: int) -> Row:
    """Time to replay one study of 30 blocks, beside scipy's exact signed-rank test at 12 looks."""
    rng = np.random.default_rng(seed)
    rule = Rule(0.02, 0.02)
    samples = [rng.normal(0, 0.028, 30) for _ in range(studies)]

    def ours() -> None:
        for values in samples:
            judge({"arm": list(enumerate(values.tolist()))}, rule, 30, 30)

    def theirs() -> None:
        for values in samples:
            for n in (8, 9, 10, 11, 13, 15, 16, 19, 21, 24, 27, 30):
                stats.wilcoxon(values[:n], method="exact")

    rows, seconds = [], {"ours": 0.0, "theirs": 0.0}
    for block in range(blocks):
        for name in rng.permutation(["ours", "theirs"]):
            start = time.perf_counter()
            ours() if name == "ours" else theirs()
            took = time.perf_counter() - start
            seconds[str(name)] += took
            rows.append((block, str(name), took, len(rows)))
    verdict = decide(rows, baseline="theirs", better="lower").verdicts["ours"]
    per_study = {name: 1000 * total / studies / blocks for name, total in seconds.items()}
    low, high = (0.0 if v is None else 1 + v for v in (verdict.low, verdict.high))
    return Row(
        "time per study of 30 blocks",
        "scipy.stats.wilcoxon, p values only",
        "ms",
        per_study["ours"],
        per_study["theirs"],
        1 + verdict.estimate,
        low,
        high,
        ">= 1",
        bool(low >= 1),
    )


def clopper_pearson(hits: int, trials: int) -> tuple[float, float]:
    """Two-sided 90 % interval of a binomial share: each end is a one-sided 95 % bound."""
    found = stats.binomtest(hits, trials).proportion_ci(0.90, method="exact")
    return float(found.low), float(found.high)


def measure(studies: int, timing_studies: int, seed: int) -> list[Row]:
    """All rows. `studies` per A/A noise grade, half of that per power point."""
    rows = [row for kind in NOISES for row in false_alarms(kind, studies, seed)]
    for deviation, effect in ((0.01, 0.01), (0.01, 0.02), (0.02, 0.02), (0.02, 0.05)):
        rows += power(deviation, effect, max(studies // 2, 10), seed)
    rows.append(timing(timing_studies, 12, seed))
    return rows


def table(rows: list[Row]) -> str:
    """The rows for people."""
    lines = [f"{'':58s} {'assay':>8s} {'rival':>8s}  90 % interval     goal"]
    for row in rows:
        interval = f"[{row.low:.3f}, {row.high:.3f}]" if row.high else ""
        goal = f"{row.goal} {'met' if row.met else 'MISSED'}" if row.goal else ""
        lines.append(
            f"{row.metric:58s} {row.ours:8.3f} {row.theirs:8.3f}  {interval:16s}  {goal:14s}"
            f"  {row.rival}"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny parameters, for the tests")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--studies", type=int, default=2000, help="A/A studies per noise grade")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    studies, timed = (20, 2) if options.quick else (options.studies, 100)
    rows = measure(studies, timed, options.seed)
    if options.json:
        host = f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
        found = {"name": "verdict", "host": host, "rows": [asdict(row) for row in rows]}
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
    else:
        sys.stdout.write(f"{studies} A/A studies per grade, seed {options.seed}\n{table(rows)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
