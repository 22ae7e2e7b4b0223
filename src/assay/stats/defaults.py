"""What somebody's runs leave open: the arm to compare with, and which values are good."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import get_args

from assay.core.errors import InputError
from assay.core.metrics import METRICS, Better, metric
from assay.core.parameters import nearest
from assay.stats.decision import listed
from assay.stats.run_table import Columns

BASELINE = "baseline"
_DIRECTIONS: dict[str, Better] = {way: way for way in get_args(Better)}


def default_baseline(runs: Mapping[str, Columns]) -> str:
    """The arm called baseline, or else the first one; `runs` by metric."""
    arms = [arm for columns in runs.values() for arm in columns.arms]
    return BASELINE if BASELINE in arms else arms[0]


def directions(given: Iterable[str], metrics: Sequence[str]) -> dict[str, tuple[Better, bool]]:
    """Metric -> the direction in which it improves, and whether that is only assumed.

    `given`: "higher", "lower" or "METRIC=lower". What is not given is as the metric is known, or
    else higher. Raises InputError on anything else, on a metric that is not there and on
    contradictions.
    """
    said: dict[str, Better] = {}
    for text in given:
        name, _, way = text.rpartition("=")
        direction = _DIRECTIONS.get(way)
        if direction is None:
            raise InputError(
                f"--better is {text!r}", next_step="say higher, lower, or METRIC=higher|lower"
            )
        if name and name not in metrics:
            raise InputError(
                f"--better {text}: there is no metric {name!r}{nearest(name, metrics)}",
                next_step=f"name one of {listed(metrics)}",
            )
        if said.setdefault(name, direction) != direction:
            raise InputError(f"--better {text} contradicts another --better", next_step="drop one")
    found: dict[str, tuple[Better, bool]] = {}
    for name in metrics:
        known = said.get(name) or said.get("") or _known(name)
        found[name] = (known or "higher", known is None)
    return found


def _known(name: str) -> Better | None:
    if name.partition(".")[0] not in METRICS:
        return None
    with suppress(ValueError):
        return metric(name).better
    return None
