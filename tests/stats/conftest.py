"""The simulated studies of benchmarks/, so that tests and benchmark share one machine."""

from types import ModuleType

import pytest

import verdict


@pytest.fixture(scope="session")
def benchmark_verdict() -> ModuleType:
    """benchmarks/verdict.py."""
    return verdict
