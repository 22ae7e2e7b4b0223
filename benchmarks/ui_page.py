"""How soon does the local page show a large study that runs, and how large is it?

A bundle is made up: 400 blocks of eight arms, but for the last block. Its lock is held, so the page
follows it as one that runs. Headless Chromium opens it; times are from the start of the navigation.
`first paint` is the browser's own (first-contentful-paint), `all drawn` is when every run is a dot;
then the last block is written run by run, and `a new run` is how long each one takes to be a dot.

    python benchmarks/ui_page.py [--json] [--blocks N] [--quick]
"""

from __future__ import annotations

import argparse
import http.client
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devtools import Tab, tab
from hdrh.histogram import HdrHistogram
from outcome import Row, write_bounded

from assay.core.digest import digest
from assay.native.messages import CpuShare, Health
from assay.plan import Plan
from assay.record import Bundle, Replay, RunRecord, Step, WitnessRecord
from assay.study import make_plan, read
from assay.ui import Access, UiServer, app

ARMS, BLOCKS = 8, 400
NOISE = 0.02
FIRST_PAINT_MS, ALL_DRAWN_S, NEW_RUN_S, PAGE_MB = 1000.0, 15.0, 3.0, 1.5
STUDY = """
name = "large"
question = "How soon is a large study shown?"
[target]
kind = "engine"
[workload]
kind = "ycsb"
[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
[[factor]]
name = "cache"
change = "engine.data_cache"
{arms}
[design]
kind = "arms"
[decide]
smallest = "0.1%"
margin = "0.1%"
budget = "1000h"
"""
SHAPES = "figure[data-chart=runs] [aria-description^='run,'] :is(circle, path)"
DOTS = f'document.querySelectorAll("{SHAPES}").length'
PAINT = "(performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime"


def plan_of(arms: int) -> tuple[str, Plan]:
    """A plan that ends with its schedule: full, and nothing decided before."""
    own = "".join(f'[[arm]]\nname = "equal-{n}"\nplacebo = true\n' for n in range(1, arms - 1))
    text = STUDY.replace(
        "{arms}", f'[[arm]]\nname = "cache"\nlevels = {{cache = "optimistic"}}\n{own}'
    )
    study = read("large.toml", text, Path("."))
    made = make_plan(
        study, version="0.1.0", seed=7, study_sha256=digest(text.encode()), base="",
        overrides={}, stand_ins={"engine": None}, full=True, cpus=2,
    )  # fmt: skip
    return text, made


def record_of(step: Step, number: int, histogram: str, levels: dict[str, str]) -> RunRecord:
    """A run that might be."""
    drawn = random.Random(number)
    throughput = 1e6 * drawn.lognormvariate(0.3 * (step.arm == "cache"), NOISE)
    witness = {f: WitnessRecord(level=v, held=True, evidence=f"{v} ran") for f, v in levels.items()}
    return RunRecord(
        run=number, case=step.case, arm=step.arm, block=step.block, attempt=step.attempt,
        slot=step.slot, retry=step.retry, extension=step.extension, status="ok", reason="",
        started="2026-01-01T00:00:00", took_s=0.5, window_s=0.3, operations=300_000, errors=0,
        metrics={"throughput": throughput, "latency_p99": 3e9 / throughput}, counters={},
        histogram=histogram, latency_of="operations", intervals=[], threads=[],
        cpus=[CpuShare(cpu=c, busy=0.9, user=0.8, system=0.1, softirq=0.0, steal=0.0)
              for c in range(8)],
        read_back={}, witness=witness, dose={},
        health=Health(loader="client", busiest_thread=0.3, late_sends=0.0, asked_per_s=None,
                      achieved_per_s=1e6, server_idle=0.0, foreign_cpu=0.0, steal=0.0,
                      clock_step_ms=0.0),
    )  # fmt: skip


@contextmanager
def bundle_that_runs(folder: Path, arms: int, blocks: int) -> Iterator[tuple[Bundle, Replay]]:
    """All but the last block, and the lock held."""
    text, plan = plan_of(arms)
    bundle = Bundle.create(folder, text, plan, {"arch": "x86_64", "cpus": 8})
    made = HdrHistogram(1, 60_000_000_000, 3)
    for percent in range(50, 400):
        made.record_value(2_000 * percent, 200)
    encoded = made.encode().decode()
    bundle.lock()
    replay = Replay(plan)
    try:
        while len(replay.blocks) < blocks - 1:
            grow(bundle, replay, encoded)
        yield bundle, replay
    finally:
        bundle.close()


def grow(bundle: Bundle, replay: Replay, histogram: str) -> None:
    """One more run."""
    step = replay.next()
    assert step is not None, "the schedule is long enough"
    levels = next(arm.levels for arm in replay.plan.arms if arm.name == step.arm)
    replay.add(bundle.append(record_of(step, len(replay.records), histogram, levels)))


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, UiServer]]:
    """The page of a folder, and its address."""
    server = UiServer()
    access = Access(token="", name=f"assay-ui-{server.port}")
    thread = threading.Thread(target=server.run, args=[app(folder, access=access)], daemon=True)
    thread.start()
    try:
        yield server.address, server
    finally:
        server.stop()
        thread.join(20)


def size_of(server: UiServer, paths: Sequence[str]) -> float:
    """Megabytes of a page and of what it loads."""
    total = 0
    for path in paths:
        held = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        held.request("GET", path)
        total += len(held.getresponse().read())
        held.close()
    return total / 1e6


def first_event_mb(server: UiServer, path: str) -> float:
    """Megabytes of the event that brings every run."""
    held = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    held.request("GET", f"{path}/events")
    answer = held.getresponse()
    while True:
        line = answer.readline()
        if line.startswith(b"data: ") and b'"runs"' in line:
            held.close()
            return len(line) / 1e6


def rows_of(arms: int, blocks: int, chromium: str) -> list[Row]:
    """Make the bundle, open its page, and let it grow."""
    with (
        tempfile.TemporaryDirectory() as place,
        bundle_that_runs(Path(place) / "shown" / "large", arms, blocks) as (bundle, replay),
        served(Path(place) / "shown") as (address, server),
        tab(chromium, Path(place) / "profile", "--window-size=1200,900") as page,
    ):
        made = len(replay.records)
        name = next(iter(_names(server)))
        began = time.perf_counter()
        page.open(f"{address}{name}")
        page.until(f"{DOTS} === {made}", timeout_s=300)
        drawn_s = time.perf_counter() - began
        paint_ms = float(page.value(PAINT))
        encoded = replay.records[0].histogram
        waits = [_seen(page, bundle, replay, encoded) for _ in range(min(arms, 8))]
        assert not page.errors, page.errors
        files = [name, "/static/page.css", "/static/charts.js", "/static/page.js"]
        size, event = size_of(server, files), first_event_mb(server, name)
    new_s = statistics.median(waits)
    what = f"{blocks} blocks of {arms} arms"
    return [
        Row("first paint", what, "ms", paint_ms, goal=f"<= {FIRST_PAINT_MS:g}",
            met=paint_ms <= FIRST_PAINT_MS),
        Row("all drawn", what, "s", drawn_s, goal=f"<= {ALL_DRAWN_S:g}",
            met=drawn_s <= ALL_DRAWN_S),
        Row("a new run is a dot", what, "s", new_s, low=min(waits), high=max(waits),
            goal=f"<= {NEW_RUN_S:g}", met=new_s <= NEW_RUN_S),
        Row("page and files", what, "MB", size, goal=f"<= {PAGE_MB:g}", met=size <= PAGE_MB),
        Row("event with every run", what, "MB", event, goal=f"<= {PAGE_MB:g}",
            met=event <= PAGE_MB),
    ]  # fmt: skip


def _names(server: UiServer) -> Iterator[str]:
    held = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    held.request("GET", "/")
    text = held.getresponse().read().decode()
    held.close()
    for part in text.split('href="')[1:]:
        if part.startswith("/bundles/"):
            yield part.partition('"')[0]


def _seen(page: Tab, bundle: Bundle, replay: Replay, encoded: str) -> float:
    """Seconds until one more run is a dot."""
    grow(bundle, replay, encoded)
    began = time.perf_counter()
    page.until(f"{DOTS} === {len(replay.records)}", timeout_s=60)
    return time.perf_counter() - began


def main(words: Sequence[str] | None = None) -> int:
    """Print the rows; 1 where a goal is missed, 3 without a browser."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--quick", action="store_true", help="12 blocks of four arms")
    asked = parser.parse_args(words)
    chromium = shutil.which("chromium")
    if chromium is None:
        print("there is no chromium: scripts/install-test-tools", file=sys.stderr)
        return 3
    arms, blocks = (4, 12) if asked.quick else (ARMS, asked.blocks)
    rows = rows_of(arms, blocks, chromium)
    write_bounded("ui-page", rows, asked.json)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
