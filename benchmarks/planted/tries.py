"""Real searches of planted repositories, and `git bisect run` beside them.

Each try has a repository, a culprit and a seed of its own. What scripts do is done with as much
care as they have: a build is made once and kept, the server is warmed up, and its load is Assay's.
A script's run is one window of the same length as Assay's.
"""

from __future__ import annotations

import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from outcome import Row
from scipy.stats import ttest_ind
from simulated.rows import Table, share

import assay
from assay.bench.commands import CommandJournal
from assay.bench.life import REAL, Job, live
from assay.bisection.building import BuiltNode, CommitBuilder
from assay.bisection.plan import FACTOR
from assay.bisection.subject import Subject, subject_of
from assay.record import Step
from assay.study import Arm, locate
from assay.targets import TARGETS
from planted.repository import Planted, planted, study_text

COMMITS, EFFECT = 200, 0.05
FIXED, LEVEL = 10, 0.05
"""Runs of each side at a step, and the level of the test, as scripts around hyperfine have it."""
LONGEST_S = 45 * 60.0


@dataclass
class Script:
    """What a script of `git bisect run` has: a way to measure a commit once."""

    subject: Subject
    folder: Path
    seed: int
    runs: int = 0
    built: dict[str, BuiltNode] = field(default_factory=dict)

    def measure(self, commit: str) -> float:
        """ln(throughput) of one run of a commit; minus infinity where it fails."""
        node = self.built.setdefault(commit, self.subject.builder.build(commit))
        study = self.subject.with_builds({commit: node})
        case = self.subject.case
        job = Job(
            study=replace(study, measuring="runs"),
            arm=Arm(commit, {FACTOR: commit}),
            step=Step(self.runs, 0, 0, case.name, commit, False, 0),
            run=self.runs,
            seed=self.seed,
            target=TARGETS[case.target],
            log=self.folder / f"script-{self.runs}.log",
            journal=CommandJournal(self.folder / "journal.jsonl", ()),
            clocks=REAL,
            on_interval=lambda done, spent: None,
            as_it_is=True,
        )
        self.runs += 1
        record = live(job)
        value = record.metrics.get("throughput", 0.0)
        return math.log(value) if record.status == "ok" and value > 0 else -math.inf

    def several(self, commit: str) -> list[float]:
        return [self.measure(commit) for _ in range(FIXED)]


IsBad = Callable[[str], bool]


def by_test(script: Script, repository: Planted) -> IsBad:
    """Ten runs of the good end, once; ten of the middle, one after the other; a t test."""
    good = script.several(repository.commits[0])

    def is_bad(commit: str) -> bool:
        found = script.several(commit)
        return statistics.fmean(found) < statistics.fmean(good) and (
            float(ttest_ind(found, good).pvalue) < LEVEL
        )

    return is_bad


def by_threshold(script: Script, repository: Planted) -> IsBad:
    """One run of the middle, against the middle of the means of ten runs of each end."""
    ends = [script.several(repository.commits[k]) for k in (0, -1)]
    limit = statistics.fmean(statistics.fmean(end) for end in ends)
    return lambda commit: script.measure(commit) < limit


def bisected(commits: list[str], is_bad: IsBad) -> str:
    """The commit that `git bisect run` names."""
    low, high = 0, len(commits) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_bad(commits[middle]) else (middle, high)
    return commits[high]


@dataclass(frozen=True)
class Tried:
    """One search: whether it named the culprit, another, or none; what it took."""

    right: bool
    wrong: bool
    took_s: float
    runs: int


def of_assay(repository: Planted, folder: Path, seed: int) -> Tried:
    """`assay bisect` on a planted repository."""
    begun = time.monotonic()
    ends = repository.commits[0], repository.commits[-1]
    study = str(folder / "study.toml")
    _, found = assay.bisect(
        *ends, study, repository.folder, out=folder / "bundle", expected=0.6 * EFFECT, seed=seed
    )
    named = [c.name for c in found.culprits]
    right = named == [repository.guilty]
    wrong = any(c.name != repository.guilty for c in found.culprits)
    return Tried(right, wrong, time.monotonic() - begun, found.runs)


def of_script(
    repository: Planted, folder: Path, seed: int, decide: Callable[[Script, Planted], IsBad]
) -> Tried:
    """`git bisect run` on a planted repository."""
    begun = time.monotonic()
    subject = subject_of(locate(str(folder / "study.toml")), repo=repository.folder)
    script = Script(subject, folder, seed)
    assert isinstance(subject.builder, CommitBuilder), "commits are searched"
    named = bisected(repository.commits, decide(script, repository))
    is_right = named == repository.guilty
    return Tried(is_right, not is_right, time.monotonic() - begun, script.runs)


RIVALS = {
    f"git bisect run, {FIXED} runs and a t test": by_test,
    "git bisect run, one run and a threshold": by_threshold,
}


def tried(tries: int, seed: int) -> Table:
    """So many tries of each, each on a repository of its own."""
    found: dict[str, list[Tried]] = {"assay bisect": [], **{name: [] for name in RIVALS}}
    for number in range(tries):
        drawn = random.Random(f"planted {seed} {number}")
        with tempfile.TemporaryDirectory(prefix="planted-") as made:
            folder = Path(made)
            culprit = drawn.randrange(1, COMMITS)
            repository = planted(folder / "repository", COMMITS, culprit, EFFECT, seed + number)
            (folder / "study.toml").write_text(study_text())
            found["assay bisect"].append(of_assay(repository, folder, seed + number))
            for name, decide in RIVALS.items():
                found[name].append(of_script(repository, folder, seed + number, decide))
    return _table(found, tries)


def _table(found: dict[str, list[Tried]], tries: int) -> Table:
    ours = found["assay bisect"]
    slowest = max(t.took_s for t in ours)
    rows = [
        share("culprit named", sum(t.right for t in ours), tries, at_least=0.9),
        share("named wrong", sum(t.wrong for t in ours), tries, at_most=0),
        Row(
            "slowest search", "", "s", slowest, None, None, slowest, slowest,
            f"<= {LONGEST_S:.0f}", slowest <= LONGEST_S,
        ),
    ]  # fmt: skip
    for name, theirs in found.items():
        took = statistics.fmean(t.took_s for t in theirs)
        runs = statistics.fmean(t.runs for t in theirs)
        right = sum(t.right for t in theirs) / tries
        rows.append(Row(f"{name}: named", name, "share", right))
        rows.append(Row(f"{name}: mean time", name, "s", took))
        rows.append(Row(f"{name}: mean runs", name, "runs", runs))
    return Table("\n".join(_line(row) for row in rows), rows)


def _line(row: Row) -> str:
    goal = f"  goal {row.goal} {'met' if row.met else 'MISSED'}" if row.goal else ""
    return f"{row.metric:60s}{row.ours:10.3f} {row.unit}{goal}"
