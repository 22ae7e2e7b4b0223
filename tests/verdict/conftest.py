"""The simulated machine of benchmarks/verdict.py, so that tests and benchmark share one."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def benchmark_verdict():
    """benchmarks/verdict.py as a module."""
    path = Path(__file__).parents[2] / "benchmarks" / "verdict.py"
    spec = importlib.util.spec_from_file_location("benchmark_verdict", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]
