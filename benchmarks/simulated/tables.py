"""All tables, in the order in which they are printed."""

from __future__ import annotations

from collections.abc import Callable

from . import alarms, effects, families, live, replays
from .scale import Scale, Steps

TABLES: dict[str, tuple[Callable[[Scale], Steps], float]] = {
    "errors": (alarms.grades, 25),
    "hostile": (alarms.hostile, 30),
    "control": (alarms.control, 0.1),
    "power": (effects.power, 25),
    "equivalence": (effects.equivalence, 19),
    "coverage": (effects.coverage, 0.1),
    "arms": (families.six_arms, 10),
    "extension": (families.extensions, 23),
    "nginx": (replays.nginx, 0.1),
    "combinations": (families.combinations, 1),
    "wandering": (live.wandering, 60),
    "time": (replays.timing, 11),
}
"""Name -> the function that makes the table, and the seconds it took once, for the time left.

The control counts again what the first two tables counted, and the coverage what power and
equivalence did: alone they take as long."""
