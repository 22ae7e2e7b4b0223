"""The mark `server`: a test that starts more than a short program, which `make check` leaves out.

Files and fixtures below give it. A test without it that starts such a program fails, so the mark
cannot be forgotten.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.targets import TARGETS

TESTS = Path(__file__).parent

FILES = (
    "bisection/test_planted.py",
    "builds/",
    "compare/test_compare_runs.py",
    "compare/test_gate.py",
    "fleet/test_keeper.py",
    "fleet/test_nodes.py",
    "fleet/test_ray.py",
    "fleet/test_rays.py",
    "host/test_findings_here.py",
    "host/test_namespaces.py",
    "host/test_rights.py",
    "host/test_transaction.py",
    "load/",
    "readiness/test_census_truth.py",
    "readiness/test_real_",
    "targets/",
    "test_compare_benchmark.py",
    "test_demo_benchmark.py",
    "test_fault_at.py",
    "test_kill.py",
    "test_least_rights.py",
    "test_limits.py",
    "test_native_builds.py",
    "test_native_limits.py",
    "test_native_objects.py",
    "test_readiness_benchmark.py",
    "test_run_cost.py",
    "test_sampler_benchmark.py",
    "test_startup_benchmark.py",
    "test_steering_runs.py",
    "test_ui_benchmark.py",
    "test_wheel.py",
    "ui/test_watched.py",
)
"""How the paths of files begin whose tests start servers, builds or processes that they kill."""

FIXTURES = frozenset({"browser", "chromium", "desk"})
"""Fixtures of tests that start a browser or the command."""

SHORT = frozenset(
    {
        "aarch64-linux-gnu-gcc",
        "assayer",
        "cp",
        "echo",
        "fc-list",
        "gcc",
        "git",
        "ldconfig",
        "ls",
        "objdump",
        "openssl",
    }
    | {"rm", "sh", "touch", "vmstat", "zstd"}
)
"""Programs that end at once."""

QUESTIONS = frozenset({"--describe-config", "-C", "-V", "-v", "--help", "--version"})
"""Options with which a server answers and ends."""

SHORT_VERBS = frozenset({"census", "facts", "hits", "object", "sample"})
"""Verbs of assayer that neither serve nor load."""

unmarked: list[str] = []
"""The running test, where it has no mark."""


HOST = (
    "bench/",
    "fleet/test_keeper.py",
    "fleet/test_ray.py",
    "host/",
    "linux/",
    "targets/test_embedded.py",
    "targets/test_nginx.py",
    "targets/test_program_page.py",
    "targets/test_redis.py",
    "targets/test_rocksdb.py",
    "targets/test_sql_servers.py",
    "targets/test_stores.py",
    "targets/test_valkey.py",
    "test_fault_at.py",
    "test_least_rights.py",
    "test_steering_runs.py",
)
"""How the paths of files begin whose tests change values of the machine, or look at them: they have
the mark `host`, and run one after the other."""


def in_file(item: pytest.Item) -> str:
    """The path of its file below `tests/`."""
    return item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""


def is_marked(item: pytest.Item) -> bool:
    """By its file, a fixture or a mark of its own."""
    named = FIXTURES & set(getattr(item, "fixturenames", ()))
    marked = item.get_closest_marker("server") is not None
    return marked or bool(named) or in_file(item).startswith(FILES)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest chooses by marks."""
    for item in items:
        if is_marked(item):
            item.add_marker("server")
        if in_file(item).startswith(HOST):
            item.add_marker("host")


def pytest_collection_finish() -> None:
    """Asks the installed servers for their settings, which is kept: no test pays for it, and the
    first of those that read them does not start a program."""
    for target in TARGETS.values():
        assert target.settings is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Notes whether what runs may start servers."""
    if not is_marked(item):
        unmarked.append(item.nodeid)
    try:
        return (yield)
    finally:
        unmarked.clear()


def is_short(program: str, words: list[str]) -> bool:
    """Whether it ends at once."""
    name = Path(program).name
    if name == "assayer":
        return words[1:2] == ["--help"] or bool(SHORT_VERBS & set(words[1:2]))
    return name in SHORT or bool(QUESTIONS & set(words))


def hear(event: str, given: tuple) -> None:
    """Called as a process is started."""
    if event == "subprocess.Popen" and unmarked:
        words = [os.fsdecode(word) for word in given[1]]
        program = os.fsdecode(given[0] or words[0])
        if not is_short(program, words):
            pytest.fail(f"{unmarked[0]} starts {program}: give it pytest.mark.server")


sys.addaudithook(hear)
