"""Tools that write JSON: hyperfine, Google Benchmark, pytest-benchmark, JMH, k6.

Sources: the files themselves (tests/data/imports says which are real), JMH's JSONResultFormat, and
k6's summary export.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from assay.core.metrics import Better
from assay.imports.result import Entry, Format, Reader, broken


def _reader(tool: str, entries: Callable[[Any], list[Entry]]) -> Reader:
    """A reader of a tool's JSON; what does not have its shape is said with the file."""

    def read(path: Path, text: str) -> list[Entry]:
        try:
            return entries(json.loads(text))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            broken(path, tool, f"{type(error).__name__} at {error}")

    return read


def _hyperfine(data: Any) -> list[Entry]:
    """Each entry of `results` is a command; its `times` are seconds, one a run."""
    found = []
    for result in data["results"]:
        name = _with_parameters(result["command"], result.get("parameters") or {})
        found.append(Entry(name, "s", "lower", tuple(map(float, result["times"]))))
    return found


def _with_parameters(command: str, parameters: dict[str, str]) -> str:
    missing = [f"{n}={v}" for n, v in parameters.items() if str(v) not in command]
    return f"{command} ({', '.join(missing)})" if missing else command


def _google_benchmark(data: Any) -> list[Entry]:
    """Repetitions of each benchmark; aggregates are left out where repetitions are there."""
    values: dict[tuple[str, str], list[float]] = {}
    rows = [b for b in data["benchmarks"] if b.get("run_type", "iteration") == "iteration"]
    if data["benchmarks"] and not rows:
        raise ValueError("only aggregates are in it: run it without aggregates only")
    for row in rows:
        if row.get("error_occurred"):
            raise ValueError(f"{row['name']} failed: {row.get('error_message', '')}")
        key = row.get("run_name", row["name"]), row["time_unit"]
        values.setdefault(key, []).append(float(row["real_time"]))
    return [Entry(n, u, "lower", tuple(v)) for (n, u), v in values.items()]


def _pytest_benchmark(data: Any) -> list[Entry]:
    """Rounds of each test, in seconds; without `--benchmark-save-data` there is one mean."""
    found = []
    for test in data["benchmarks"]:
        rounds = test["stats"].get("data") or [test["stats"]["mean"]]
        found.append(Entry(test["name"], "s", "lower", tuple(map(float, rounds))))
    return found


def _jmh(data: Any) -> list[Entry]:
    """A fork is a process: the mean of its iterations is one run."""
    found = []
    for result in data:
        metric = result["primaryMetric"]
        parameters = result.get("params") or {}
        said = ",".join(f"{n}={v}" for n, v in parameters.items())
        name = result["benchmark"] + (f":{said}" if said else "")
        better: Better = "higher" if result["mode"] == "thrpt" else "lower"
        forks = tuple(fmean(map(float, fork)) for fork in metric["rawData"])
        found.append(Entry(name, metric["scoreUnit"], better, forks))
    return found


K6: tuple[tuple[str, str, str, Better], ...] = (
    ("http_reqs", "rate", "1/s", "higher"),
    ("http_req_duration", "avg", "ms", "lower"),
    ("http_req_duration", "p(95)", "ms", "lower"),
    ("iterations", "rate", "1/s", "higher"),
)
"""Of k6's metrics those that say how fast a server was."""


def _k6(data: Any) -> list[Entry]:
    """One summary is one run; its numbers stand under `values` in handleSummary's form."""
    found = []
    for metric, field, unit, better in K6:
        values = data["metrics"].get(metric, {})
        values = values.get("values", values)
        if field in values:
            name = f"{metric}.{field}"
            found.append(Entry(name, unit, better, (float(values[field]),)))
    if not found:
        raise ValueError("it has neither http_reqs nor iterations")
    return found


def _has(*words: str) -> Callable[[str], bool]:
    """Whether the beginning of a file is JSON with these keys."""
    return lambda head: head.lstrip()[:1] in ("{", "[") and all(f'"{w}"' in head for w in words)


JSON_FORMATS = (
    Format(
        "hyperfine",
        "hyperfine",
        "in turn",
        _has("results", "command"),
        _reader("hyperfine", _hyperfine),
        "the k-th runs of the commands",
    ),
    Format(
        "jmh",
        "JMH",
        "in turn",
        lambda head: head.lstrip()[:1] == "[" and '"benchmark"' in head and '"mode"' in head,
        _reader("JMH", _jmh),
        "the k-th forks; a fork is one run, the mean of its iterations",
    ),
    Format(
        "google-benchmark",
        "Google Benchmark",
        "one process",
        _has("context", "library_build_type"),
        _reader("Google Benchmark", _google_benchmark),
        "the k-th repetitions of the benchmarks",
    ),
    Format(
        "pytest-benchmark",
        "pytest-benchmark",
        "one process",
        _has("machine_info"),
        _reader("pytest-benchmark", _pytest_benchmark),
        "the k-th rounds of the tests",
    ),
    Format(
        "k6",
        "k6",
        "one run",
        _has("metrics"),
        _reader("k6", _k6),
        "the k-th summaries of the arms",
    ),
)
