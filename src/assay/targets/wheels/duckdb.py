"""DuckDB as a target: the library of its wheel, in a process that speaks PostgreSQL's protocol.

Its settings are those of `duckdb_settings()`. `rewrite` is one more, of Assay's
own: whether sums such as SUM(x + 1) are rewritten as SUM(x) + COUNT(x), which
DuckDB's optimiser does and `disabled_optimizers` can take from it.
"""

from __future__ import annotations

import re
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
        "autoinstall_known_extensions": False,  # nothing is fetched
        "enable_progress_bar": False,
    }
)
OWNED = frozenset(
    [
        "access_mode",
        "allowed_directories",
        "allowed_paths",
        "enable_external_access",
        "extension_directory",
        "extension_directories",
        "home_directory",
        "lock_configuration",
        "log_query_path",
        "profile_output",
        "profiling_output",
        "secret_directory",
        "temp_directory",
    ]
)
SHAPING = frozenset(
    [
        "default_block_size",
        "force_bitpacking_mode",
        "force_compression",
        "preserve_insertion_order",
        "storage_compatibility_version",
    ]
)
REWRITER = "aggregate_function_rewriter"
"""The optimiser that rewrites sums."""
_PROBE = "EXPLAIN SELECT sum(i), sum(i + 1), sum(i + 2) FROM range(10) t(i)"
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]i?B|bytes|B)", re.IGNORECASE)


class DuckDb(WheelAdapter):
    """The adapter."""

    kind = "duckdb"
    text = "DuckDB, from its Python wheel, in a process of its own for each run"
    programs = (Wheel("duckdb", "duckdb", libraries=("_duckdb*.so", "duckdb/*.so")),)
    packages = ("duckdb",)
    workloads = ANALYTIC_WORKLOADS
    shaping = SHAPING
    base = BASE
    owned = OWNED
    compound = (
        Parameter("rewrite", "choice", "sums of a column plus a constant", None, ("off", "on")),
    )

    def taken_apart(self, name: str, value: Any, settings: dict[str, Any]) -> dict[str, Any]:
        names = _names(settings.get("disabled_optimizers", ""))
        names = names | {REWRITER} if value == "off" else names - {REWRITER}
        return {**settings, "disabled_optimizers": ",".join(sorted(names))}

    def read_back(self, ask: Ask, settings: Mapping[str, Any]) -> dict[str, Any]:
        """And a fact: `sums_rewritten`, seen in the plan of a query made for that."""
        rows, plan = ask("SELECT name, value FROM duckdb_settings()", _PROBE)
        values = {name or "": value for name, value in rows}
        known = self.settings(ask.place.binary)
        rendered = self.told(ask.place.binary, settings)
        found = as_reported(
            {**BASE, **settings},
            values,
            lambda name, _, reported: _is_same(known[name], rendered[name], reported),
        )
        if "rewrite" in settings:
            disabled = _names(values["disabled_optimizers"])
            found["rewrite"] = "off" if REWRITER in disabled else "on"
        return {"sums_rewritten": is_rewritten(plan), **found}

    def counters(self, ask: Ask) -> dict[str, float]:
        """None: DuckDB counts nothing over the life of a database."""
        return {}


DUCKDB = DuckDb()


def is_rewritten(plan: list[list[str | None]]) -> bool:
    """Whether a plan holds fewer sums than the three of the query."""
    text = " ".join(value or "" for row in plan for value in row)
    return len(re.findall(r"\bsum(?:_no_overflow)?\(", text)) in (1, 2)


def _names(value: object) -> set[str]:
    return {word.strip().lower() for word in str(value).split(",") if word.strip()}


def _is_same(setting: Parameter, given: object, reported: str) -> bool:
    """As `ServerSetting` compares; sizes as DuckDB shortens them ("1GB" is "953.6 MiB"), lists in
    any order."""
    assert isinstance(setting, ServerSetting), "the library's own"
    if setting.is_same(given, reported) or _names(given) == _names(reported):
        return True
    one, other = _size(given), _size(reported)
    if one is None or other is None:
        return False
    (number, unit), (told, told_unit) = one, other
    cut_off = number * unit - told * told_unit
    return -1 < cut_off < max(0.1 * told_unit, 1)


def _size(value: object) -> tuple[float, int] | None:
    """A size as DuckDB reads it, and its unit: MB are of 1000, MiB of 1024."""
    match = _SIZE.fullmatch(str(value).strip())
    if match is None:
        return None
    unit = match[2].lower()
    if unit in ("b", "bytes"):
        return float(match[1]), 1
    base = 1024 if "i" in unit else 1000
    return float(match[1]), base ** ("kmgt".index(unit[0]) + 1)
