"""Does a verdict hold on this machine? Identical arms sixteen times over, and known slow-downs.

Whole studies of the embedded engine, measured for real: the study `aa`, which compares an arm
with itself, and the study `known-slowdown` with one more uncounted operation after every 100, 50
and 20, which is -1.0, -2.0 and -4.8 %. A false verdict, a wrong sign and an interval that misses
the truth are counted; "undecided" is an honest answer and is counted too. Nothing here is a gate
but the intervals: how often identical arms are told apart is what alpha allows, and sixteen
studies say little about it; the arithmetic is `benchmarks/verdict.py`'s.

    python benchmarks/truth.py [--quick] [--json] [--repeats N] [--budget 90s]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from outcome import Row, write_json

from assay import AssayError, run_study
from assay.study import shipped

EVERY = (100, 50, 20)


@dataclass(frozen=True)
class Answer:
    """What one study said of its only change."""

    word: str
    low: float | None
    high: float | None
    blocks: int

    def holds(self, truth: float) -> bool:
        low = -1.0 if self.low is None else self.low
        return low <= truth and (self.high is None or truth <= self.high)


def one(text: str, budget: str, seed: int) -> Answer:
    """Run one study in a folder of its own; `void` where the machine was not quiet enough."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "study.toml"
        file.write_text(text)
        try:
            _, found = run_study(
                str(file),
                Path(folder) / "bundle",
                overrides={"decide.budget": f'"{budget}"'},
                seed=seed,
            )
        except AssayError as error:
            sys.stderr.write(f"  {error}\n")
            return Answer("void", None, None, 0)
        row = next(r for r in found.verdicts if r.contrast.kind == "change")
        return Answer(row.word, row.low, row.high, row.blocks)


def rows_of(name: str, answers: list[Answer], truth: float) -> list[Row]:
    """What the answers of one kind of study come to."""
    counted = [a for a in answers if a.word != "void"]
    words = Counter(a.word for a in counted)
    wrong = {"helps", "hurts"} if truth == 0 else {"helps"}
    missed = sum(not a.holds(truth) for a in counted)

    def row(metric: str, count: int, goal: str = "", met: bool = True) -> Row:
        return Row(f"{name}: {metric}", "", "studies", count, len(counted), None, 0, 0, goal, met)

    found = [row(f'"{word}"', count) for word, count in sorted(words.items())]
    false = sum(words[w] for w in wrong)
    found.append(
        row("false verdicts", false, "" if truth == 0 else "== 0", truth == 0 or not false)
    )
    found.append(row("intervals that miss the truth", missed, "<= 1", missed <= 1))
    return found


def measure(repeats: int, aa: int, budget: str) -> list[Row]:
    """All studies, one after the other; a line on stderr for each."""
    library = shipped()
    tasks = [("aa", library["aa"], 0.0)] * aa
    for every in EVERY:
        text = library["known-slowdown"].replace("on = 33", f"on = {every}")
        truth = every / (every + 1) - 1
        tasks += [(f"{100 * truth:.1f} %", text, truth)] * repeats
    answers: dict[tuple[str, float], list[Answer]] = {}
    for seed, (name, text, truth) in enumerate(tasks, start=1):
        answer = one(text, budget, seed)
        answers.setdefault((name, truth), []).append(answer)
        low, high = (
            f"{100 * v:+.2f} %" if v is not None else "?" for v in (answer.low, answer.high)
        )
        sys.stderr.write(
            f"{seed} of {len(tasks)}: {name}: {answer.word} [{low}, {high}], "
            f"{answer.blocks} blocks\n"
        )
    return [row for (name, truth), found in answers.items() for row in rows_of(name, found, truth)]


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two short studies, for the tests")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--repeats", type=int, default=4, help="studies per known slow-down")
    parser.add_argument("--aa", type=int, default=16, help="studies of identical arms")
    parser.add_argument("--budget", default="90s", help="time one study may take")
    options = parser.parse_args(arguments)
    repeats, aa = (0, 1) if options.quick else (options.repeats, options.aa)
    rows = measure(repeats, aa, "8s" if options.quick else options.budget)
    if options.json:
        write_json("truth", rows)
    else:
        for row in rows:
            goal = f"   {row.goal} {'met' if row.met else 'MISSED'}" if row.goal else ""
            sys.stdout.write(f"{row.metric:45s} {row.ours:3.0f} of {row.theirs:3.0f}{goal}\n")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
