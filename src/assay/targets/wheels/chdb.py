"""chDB as a target: ClickHouse as a library of its wheel, in a process that speaks PostgreSQL's.

Its settings are those of `system.settings`, given to each session. Two more are
Assay's own, and stand for some of ClickHouse's: `jit`, compiled expressions,
aggregates and comparisons of sorting, from the first time they are met; and
`rewrite`, sums such as SUM(x + 1) as SUM(x) + COUNT(x).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from assay.core.parameters import Parameter
from assay.targets.servers.framework.adapter import Ask
from assay.targets.setting_values import ServerSetting, as_reported
from assay.targets.wheels.wheel import Wheel, WheelAdapter
from assay.workloads import ANALYTIC_WORKLOADS

BASE: Mapping[str, Any] = MappingProxyType(
    {
        "default_table_engine": "MergeTree",
        "create_table_empty_primary_key_by_default": True,
    }
)
"""With these ClickHouse takes a table as any other server does."""

JIT: Mapping[str, tuple[Any, Any]] = MappingProxyType(
    {
        "compile_expressions": (0, 1),
        "min_count_to_compile_expression": (0, 0),
        "compile_aggregate_expressions": (0, 1),
        "min_count_to_compile_aggregate_expression": (0, 0),
        "compile_sort_description": (0, 1),
        "min_count_to_compile_sort_description": (0, 0),
    }
)
"""What `jit` stands for: off, on."""
REWRITE = "optimize_arithmetic_operations_in_aggregate_functions"
_SETTINGS = "SELECT name, value FROM system.settings"
_EVENTS = "SELECT event, value FROM system.events"
COMPILED = "jit_functions"
"""Our name for compiled functions that ClickHouse holds; PostgreSQL has the same."""
_HELD = "SELECT value FROM system.metrics WHERE metric = 'CompiledExpressionCacheCount'"
_PROBE = "EXPLAIN QUERY TREE SELECT sum(number), sum(number + 1), sum(number + 2) FROM numbers(10)"


class ChDb(WheelAdapter):
    """The adapter."""

    kind = "chdb"
    text = "chDB (ClickHouse as a library), from its Python wheel, in a process for each run"
    programs = (Wheel("chdb", "chdb", libraries=("chdb/_chdb*.so",), cpu="avx2"),)
    packages = ("chdb", "chdb-core")
    workloads = ANALYTIC_WORKLOADS
    shaping = frozenset({"default_table_engine"})
    since_start = frozenset({COMPILED})
    base = BASE
    owned = frozenset({"readonly"})
    compound = (
        Parameter("jit", "choice", "compiled expressions and aggregates", None, ("off", "on")),
        Parameter("rewrite", "choice", "sums of a column plus a constant", None, ("off", "on")),
    )

    def taken_apart(self, name: str, value: Any, settings: dict[str, Any]) -> dict[str, Any]:
        return {**settings, **_stands_for(name, value)}

    def read_back(self, ask: Ask, settings: Mapping[str, Any]) -> dict[str, Any]:
        """And a fact: `sums_rewritten`, seen in the tree of a query made for that."""
        rows, tree = ask(_SETTINGS, _PROBE)
        values = {name or "": value or "" for name, value in rows}
        known = self.settings(ask.place.binary)
        found = as_reported(
            {**BASE, **settings},
            values,
            lambda name, given, reported: _is_same(known[name], given, reported),
        )
        ours = {p.name: _level_of(p.name, values) for p in self.compound if p.name in settings}
        return {"sums_rewritten": is_rewritten(tree), **found, **ours}

    def counters(self, ask: Ask) -> dict[str, float]:
        """ClickHouse's own events, and functions compiled since the start (`jit_functions`): they
        are compiled once, mostly before the window, and kept."""
        events, held = ask(_EVENTS, _HELD)
        found = {str(name): float(value or 0) for name, value in events}
        return {**found, COMPILED: float(held[0][0] or 0)}


CHDB = ChDb()


def is_rewritten(tree: list[list[str | None]]) -> bool:
    """Whether a tree of the query holds fewer sums than its three."""
    text = " ".join(value or "" for row in tree for value in row)
    return "function_name: sum" in text and text.count("function_name: sum,") < 3


def _stands_for(name: str, value: str) -> dict[str, Any]:
    place = int(value == "on")
    if name == "rewrite":
        return {REWRITE: place}
    return {setting: values[place] for setting, values in JIT.items()}


def _level_of(name: str, values: Mapping[str, str | None]) -> str:
    """The level of a setting of ours that all of ClickHouse's agree with, or what they are."""
    for level in ("off", "on"):
        told = {n: str(v) for n, v in _stands_for(name, level).items() if n in values}
        if told and all(values[n] == v for n, v in told.items()):
            return level
    return ", ".join(f"{n} = {values.get(n)}" for n in _stands_for(name, "on"))


def _is_same(setting: Parameter, given: object, reported: str) -> bool:
    assert isinstance(setting, ServerSetting), "the library's own"
    return setting.is_same(given, reported) or str(given) == reported
