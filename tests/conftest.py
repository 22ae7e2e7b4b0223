"""Fixtures that every folder shares: a fake target, and a study that runs on it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core import password
from assay.record import Bundle
from assay.study import Study, read
from fakes import STUDY, FakeTarget, run_fake

pytest_plugins = ["limits", "marks"]


def pytest_configure() -> None:
    """Told to end, tests end what they started, as they do on Ctrl-C. The ledger of whoever runs
    them gets no bundle of theirs."""
    os.environ[password.LEDGER] = "off"
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture
def fake() -> FakeTarget:
    """A target on which the lock-free cache is 30 % faster and nothing else matters."""
    return FakeTarget(
        effect=lambda settings, env: 1.3 if settings["data_cache"] == "optimistic" else 1.0
    )


@pytest.fixture
def study(fake: FakeTarget) -> Study:
    """The study above, read for the fake target."""
    return read("fake.toml", STUDY, Path("."), targets={"engine": fake})


@pytest.fixture
def finished(tmp_path: Path, fake: FakeTarget, study: Study) -> Bundle:
    """A bundle of the study above, run to its end."""
    return run_fake(tmp_path / "bundle", fake, study)


@pytest.fixture
def read_study(fake: FakeTarget) -> Callable[..., Study]:
    """Read a study text for the fake target, with overrides."""

    def reader(text: str = STUDY, **overrides: str) -> Study:
        dotted = {k.replace("__", "."): v for k, v in overrides.items()}
        return read("fake.toml", text, Path("."), dotted, {"engine": fake})

    return reader
