"""How many comparisons of the shipped studies are decided, and how soon?

Runs shipped studies of real servers, one after the other, each within its own budget or the one
given. What is needed to recompute a study is kept, without logs and profiles; docs/results.md has
the tables (`scripts/generate`). A study that is kept already is not run again.

    python benchmarks/shipped.py [--json] [--budget 15m] [--only NAME ...] [--kept FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from outcome import Row, write_shares
from placebo import patiently

import assay
from assay.core.errors import AssayError
from assay.record import Bundle

STUDIES = (
    "redis-io-threads",
    "nginx-pause",
    "mariadb-spin",
    "memcached-threads",
    "mariadb-checksum",
    "mariadb-sysbench",
    "mariadb-tpcc",
    "ydb-jit",
    "ydb-rewrite",
    "ycsb-servers",
    "ycsb-servers-bdf",
    "ase-hugepages",
    "ase-analogue",
    "tikv-raw-rocksdb",
    "thp-redis",
    "tidb-rps",
    "hits-queries",
    "hits-upload",
    "ydb-crc-rocksdb",
)
"""Shipped studies of real servers."""

FILES = ("study.toml", "plan.json", "host.json", "runs.jsonl", "verdicts.json")
"""What `assay verify` reads."""

DECIDED = ("helps", "hurts", "no difference")


def made(name: str, budget: str, folder: Path, kept: Path) -> str:
    """Runs one study and keeps it; says why where it could not be run to its end."""
    bundle = folder / name
    shutil.rmtree(bundle, ignore_errors=True)
    overrides = {"decide.budget": f'"{budget}"'} if budget else None
    try:
        first = lambda: assay.run_study(name, bundle, overrides=overrides, seed=1)[1]  # noqa: E731
        patiently(first, bundle)
    except AssayError as error:
        return error.message
    (kept / name).mkdir(parents=True, exist_ok=True)
    for file in FILES:
        shutil.copyfile(bundle / file, kept / name / file)
    return ""


def rows(kept: Path, names: Sequence[str]) -> Iterator[Row]:
    """Each kept study: the share of its comparisons that were decided."""
    for name in names:
        if not (kept / name / "verdicts.json").exists():
            continue
        bundle = Bundle.open(kept / name)
        found, runs = bundle.verdicts(), bundle.runs()
        ours = [r for r in found.verdicts if r.metric == found.primary and r.arm]
        ours = [r for r in ours if r.strength == "confirmed" and r.scope == "case"]
        decided = sum(r.word in DECIDED for r in ours)
        noise = f"pair noise {100 * found.planned.noise:.1f} %" if found.planned else ""
        seconds = sum(run.took_s for run in runs)
        yield Row(
            name, f"{decided} of {len(ours)} decided, {seconds / 60:.1f} min, {noise}", "%",
            100 * decided / max(len(ours), 1),
        )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run and print; returns the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--budget", default="", help="of each study, where its own is longer")
    parser.add_argument("--only", nargs="+", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--kept", type=Path, default=Path("results"))
    options = parser.parse_args(arguments)
    folder = Path("bundles/shipped")
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        if (options.kept / name / "verdicts.json").exists():
            continue
        sys.stderr.write(f"{name}\n")
        if why := made(name, options.budget, folder, options.kept):
            sys.stderr.write(f"{name}: {why}\n")
    found = list(rows(options.kept, options.only))
    write_shares("shipped", found, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
