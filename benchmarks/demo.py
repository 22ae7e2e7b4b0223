"""How many of the demo's three changes are decided, and after how long? Calm and disturbed.

Runs the shipped study `quickstart` several times on the machine as it is, and as often while a
compiler keeps one CPU busy: by turns, so that both see the same machine. Seconds are those of
measuring, warm-ups and server starts included, as the study's own budget counts them. A demo that
is kept already is counted, not run again.

    python benchmarks/demo.py [--quick] [--json] [--times N] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from outcome import Row, write_shares
from placebo import patiently
from shipped import DECIDED

import assay
from assay.core.errors import VoidError
from assay.record import Bundle

FUNCTIONS = 3000
BETWEEN = "".join(
    f"int f{i}(int x) {{ return (x * {i}) ^ (x >> {i % 13}); }}\n" for i in range(FUNCTIONS)
)
"""What is compiled, over and over: takes some seconds each time."""


@dataclass(frozen=True)
class Once:
    """One demo: how many of its changes were decided, and what that took."""

    disturbed: bool
    decided: int
    changes: int
    seconds: float
    noise: float | None


@contextmanager
def compiler() -> Iterator[None]:
    """Keeps the last CPU busy with a compiler until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "functions.c")
        source.write_text(BETWEEN)
        loop = f"while :; do gcc -O2 -c {source.name} -o functions.o || exit 1; done"
        last = max(os.sched_getaffinity(0))
        process = subprocess.Popen(
            ["/bin/sh", "-c", loop], cwd=folder, start_new_session=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {last}),
        )  # fmt: skip
        try:
            yield
            if process.poll() is not None:
                raise SystemExit("the compiler ended by itself: is gcc installed?")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 15)
            process.wait()


def made(bundle: Path, budget: str, seed: int) -> None:
    """Runs the demo once."""
    shutil.rmtree(bundle, ignore_errors=True)
    overrides = {"decide.budget": f'"{budget}"'} if budget else None
    first = lambda: assay.run_study("quickstart", bundle, overrides=overrides, seed=seed)[1]  # noqa: E731
    patiently(first, bundle)


def once(bundle: Path, disturbed: bool) -> Once:
    """What came of one demo; a study that was void decided nothing."""
    if not (bundle / "verdicts.json").exists():
        return Once(disturbed, 0, 3, 0.0, None)
    kept = Bundle.open(bundle)
    found = kept.verdicts()
    rows = [r for r in found.verdicts if r.contrast.kind == "change" and r.scope == "case"]
    rows = [r for r in rows if r.metric == found.primary and r.strength == "confirmed"]
    seconds = sum(run.took_s for run in kept.runs())
    noise = found.planned.noise if found.planned else None
    return Once(disturbed, sum(r.word in DECIDED for r in rows), len(rows), seconds, noise)


def rows(demos: Sequence[Once]) -> Iterator[Row]:
    """Calm and disturbed: the share of changes decided, with the median of seconds and of noise."""
    for disturbed in (False, True):
        ours = [demo for demo in demos if demo.disturbed == disturbed]
        if not ours:
            continue
        changes, decided = sum(d.changes for d in ours), sum(d.decided for d in ours)
        seconds = sorted(demo.seconds for demo in ours)[len(ours) // 2]
        noises = sorted(demo.noise for demo in ours if demo.noise is not None)
        noise = f"pair noise {100 * noises[len(noises) // 2]:.1f} %" if noises else "no plan"
        whole = sum(d.decided == d.changes for d in ours)
        yield Row(
            "beside a compiler" if disturbed else "calm",
            f"{decided} of {changes} changes, all in {whole} of {len(ours)} demos, "
            f"median {seconds:.0f} s, {noise}",
            "%", 100 * decided / max(changes, 1),
        )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one demo each, cut short")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--times", type=int, default=10, help="demos of each kind")
    parser.add_argument("--keep", type=Path, default=Path("bundles/demo"), metavar="FOLDER")
    options = parser.parse_args(arguments)
    times, budget = (1, "20s") if options.quick else (options.times, "")
    options.keep.mkdir(parents=True, exist_ok=True)
    demos = []
    for number in range(times):
        for disturbed in (False, True):
            bundle = options.keep / f"{'disturbed' if disturbed else 'calm'}-{number:02d}"
            if not (bundle / "verdicts.json").exists():
                sys.stderr.write(f"{bundle.name}\n")
                try:
                    with compiler() if disturbed else nullcontext():
                        made(bundle, budget, number)
                except VoidError as error:
                    sys.stderr.write(f"{bundle.name}: {error.message}\n")
            demos.append(once(bundle, disturbed))
    found = list(rows(demos))
    write_shares("demo", found, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
