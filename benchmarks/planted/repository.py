"""Writes the repository: commits that change text, unused code or nothing that is built, and one
that makes each GET cost more.

A commit is one of four kinds, drawn from the seed: a document, a comment of the program (its
objects stay the same), an unused function (they differ, the speed does not), and, at the culprit,
more work. Commits of `broken` do not compile.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

SERVER = Path(__file__).parent / "server.c"
WORK = 12_000
"""Rounds of arithmetic of a GET: some ten times what it costs else."""

STUDY = """
name = "planted"
question = "Which commit made GET slower?"

[target]
kind = "redis"

[workload]
kind = "redis-get"
keys = 1000

[build]
make = [["cc", "-O2", "-c", "server.c"], ["cc", "-o", "tiny-server", "server.o"]]
product = "tiny-server"

[measure]
primary = "{primary}"
warmup = "100ms"
window = "{window}"
design = "{design}"

[design]
kind = "one-at-a-time"

[decide]
smallest = "{smallest}"
alpha = {alpha}
budget = "{budget}"
"""


@dataclass(frozen=True)
class Planted:
    """A repository whose commits are known, oldest first; `culprit` is an index of `commits`."""

    folder: Path
    commits: list[str]
    culprit: int

    @property
    def guilty(self) -> str:
        return self.commits[self.culprit]


def planted(
    folder: Path,
    count: int,
    culprit: int,
    effect: float,
    seed: int = 1,
    broken: Collection[int] = (),
) -> Planted:
    """A repository of `count` commits, from `culprit` on slower by about `effect` (a fraction)."""
    folder.mkdir(parents=True)
    _git(folder, "init", "-q", "-b", "main")
    drawn = random.Random(seed)
    commits = []
    for number in range(count):
        title = _change(folder, number, culprit, effect, drawn, number in broken)
        _git(folder, "add", "-A")
        _git(folder, "commit", "-q", "-m", title)
        commits.append(_git(folder, "rev-parse", "HEAD").strip())
    return Planted(folder, commits, culprit)


def _change(
    folder: Path, number: int, culprit: int, effect: float, drawn: random.Random, broken: bool
) -> str:
    """Write the files of one commit; its title."""
    kind = drawn.choice(("document", "comment", "unused", "unused"))
    work = round(WORK * (1 + effect)) if number >= culprit else WORK
    lines = [f"#define WORK {work}"]
    if kind == "comment":
        lines.append(f"/* note {number} */")
    notes = folder / "unused.h"
    kept = notes.read_text() if notes.exists() else ""
    if kind == "unused" or number == culprit:
        kept += f"__attribute__((used)) static int unused{number}(int x) "
        kept += f"{{ return x + {drawn.randrange(1 << 20)}; }}\n"
    notes.write_text(kept)
    lines.append('#include "unused.h"')
    if broken:
        lines.append("#error this commit does not compile")
    (folder / "work.h").write_text("\n".join(lines) + "\n")
    (folder / "server.c").write_text(SERVER.read_text())
    (folder / "NOTES").write_text(f"{number}\n")
    return f"{kind} {number}"


def _git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=Planter", "-c", "user.email=planter@example.org")
    command = ["git", *who, "-c", "core.hooksPath=/dev/null", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def study_text(
    window: str = "300ms",
    smallest: str = "4%",
    budget: str = "45min",
    design: str = "runs",
    primary: str = "throughput",
    alpha: float = 0.05,
) -> str:
    """The study of a planted repository."""
    return STUDY.format(
        window=window, smallest=smallest, budget=budget, design=design, primary=primary, alpha=alpha
    )
