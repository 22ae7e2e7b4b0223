"""What sample bundles are made of: a study text in parts, and a study run on a fake target."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.bench import Silent, prepare, run
from assay.core.errors import VoidError
from assay.record import Bundle
from assay.study import read
from assay.targets import Measured
from fakes import FACTS, FakeTarget

HEAD = """
name = "cache-and-hint"
question = "Which change to the page cache pays on this server?"
source = "A study made for tests."

[target]
kind = "engine"

[workload]
kind = "ycsb"

[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
also = ["latency_p99", "cpu_per_operation", "contention.data_cache"]
"""
HINT = """
[[factor]]
name = "hint"
change = "engine.spin_hint"
on = "pause"
"""
CACHE = """
[[factor]]
name = "cache"
change = "engine.data_cache"
"""
PADDING = """
[[factor]]
name = "padding"
change = "engine.padding"
off = 64
on = 128
"""
TAIL = """
[design]
kind = "one-at-a-time"

[decide]
smallest = "5%"
margin = "5%"
budget = "60s"
"""


def effect(settings: Mapping[str, Any], env: Mapping[str, Any]) -> float:
    """Lock-free gains 30 %, a hint costs 9 %, nothing else matters."""
    cache = 1.3 if settings["data_cache"] == "optimistic" else 1.0
    return cache * (1.0 if settings["hint"] == "none" else 0.91)


def scaled(measured: Measured, by: float) -> Measured:
    """The same run with a throughput so many times as high."""
    metrics = {**measured.metrics, "throughput": measured.metrics["throughput"] * by}
    return replace(measured, metrics=metrics)


def lucky(number: int, measured: Measured) -> Measured:
    """A run's own luck, so that an arm equal to the baseline does not measure the same numbers."""
    return scaled(measured, math.exp(random.Random(f"luck {number}").gauss(0, 0.004)))


def made(
    folder: Path,
    text: str,
    fake: FakeTarget | None = None,
    seed: int = 7,
    facts: Mapping[str, Any] = FACTS,
    runs: bool = True,
    watcher: Callable[[FakeTarget], Silent] = lambda fake: Silent(),
    extensions: int = 0,
    **options: Any,
) -> Bundle:
    """A bundle of a study on a fake target, run to its end, or until it must stop."""
    fake = fake or FakeTarget(effect=effect)
    script = fake.script
    fake.script = lambda number, measured: script(number, lucky(number, measured))
    targets = {"engine": fake}
    study = read("fake.toml", text, Path("."), targets=targets)
    bundle = prepare(study, folder, facts, base=Path("."), seed=seed, targets=targets, **options)
    told = watcher(fake)
    for number in range(1 + extensions if runs else 0):
        try:
            clocks = fake.clock.clocks()
            run(bundle, told, extend=number > 0, targets=targets, clocks=clocks)
        except VoidError:
            assert bundle.verdicts().stopped
    return Bundle.open(folder)
