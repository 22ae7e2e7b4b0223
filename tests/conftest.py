"""Fixtures that every folder shares: a fake target, and a study that runs on it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fakes import FACTS, FakeTarget

from assay.bench import prepare, run
from assay.record import Bundle
from assay.study import Study, read

STUDY = """
name = "fake"
question = "Does anything help?"

[target]
kind = "engine"

[workload]
kind = "ycsb"

[measure]
primary = "throughput"
warmup = "100ms"
window = "300ms"
also = ["latency_p99"]

[[factor]]
name = "hint"
change = "engine.spin_hint"
on = "pause"

[[factor]]
name = "cache"
change = "engine.data_cache"

[design]
kind = "one-at-a-time"

[decide]
smallest = "5%"
margin = "5%"
budget = "60s"
"""


@pytest.fixture
def fake() -> FakeTarget:
    """A target on which the lock-free cache is 30 % faster and nothing else matters."""
    return FakeTarget(
        effect=lambda settings, env: 1.3 if settings["data_cache"] == "lock-free" else 1.0
    )


@pytest.fixture
def study(fake: FakeTarget) -> Study:
    """The study above, read for the fake target."""
    return read("fake.toml", STUDY, Path("."), targets={"engine": fake})


@pytest.fixture
def finished(tmp_path: Path, fake: FakeTarget, study: Study) -> Bundle:
    """A bundle of the study above, run to its end."""
    return run_fake(tmp_path / "bundle", fake, study)


def run_fake(folder: Path, fake: FakeTarget, study: Study, seed: int = 7, **options) -> Bundle:
    """Run a study on a fake target; its bundle."""
    targets = {"engine": fake}
    bundle = prepare(study, folder, FACTS, base=Path("."), seed=seed, targets=targets, **options)
    run(bundle, targets=targets, clocks=fake.clock.clocks())
    return bundle


@pytest.fixture
def read_study(fake: FakeTarget) -> Callable[..., Study]:
    """Read a study text for the fake target, with overrides."""

    def reader(text: str = STUDY, **overrides: str) -> Study:
        dotted = {k.replace("__", "."): v for k, v in overrides.items()}
        return read("fake.toml", text, Path("."), dotted, {"engine": fake})

    return reader
