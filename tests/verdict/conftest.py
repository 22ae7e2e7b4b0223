"""The simulated studies of benchmarks/, so that tests and benchmark share one machine."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # where benchmarks/verdict.py finds its package, too


@pytest.fixture(scope="session")
def benchmark_verdict():
    """benchmarks/verdict.py as a module."""
    path = BENCHMARKS / "verdict.py"
    spec = importlib.util.spec_from_file_location("benchmark_verdict", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]
