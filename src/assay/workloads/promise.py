"""A promise about latency: what a study or a load searches the highest rate of."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from assay.core.errors import InputError
from assay.core.units import format_quantity, parse_duration
from assay.stats.latency import SATURATED

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)

BEYOND = 10
"""A try has so many requests beyond the quantile at least: of fewer it is the story of one."""

_PROMISE = re.compile(r"p([0-9]+(?:\.[0-9]+)?)\s*<\s*(\S+)")


@dataclass(frozen=True)
class Promise:
    """A quantile of the latency is below a limit."""

    quantile: float
    limit_s: float

    def __str__(self) -> str:
        return f"p{100 * self.quantile:g} < {format_quantity(self.limit_s * 1e9, 'ns')}"

    def holds(
        self,
        latency_ns: float | None,
        asked_per_s: float | None,
        achieved_per_s: float,
        errors: int,
    ) -> bool:
        """Whether a run kept it, sent what it was asked to, and nothing failed; `latency_ns` is the
        quantile's, None without requests."""
        is_sent = asked_per_s is None or achieved_per_s >= SATURATED * asked_per_s
        is_fast = latency_ns is not None and latency_ns < self.limit_s * 1e9
        return is_fast and is_sent and not errors

    @property
    def requests(self) -> int:
        """How many a try needs."""
        return math.ceil(round(BEYOND / (1 - self.quantile), 6))


def parse_promise(text: str) -> Promise:
    """The promise that a text such as "p99<5ms" makes; InputError otherwise."""
    match = _PROMISE.fullmatch(text.strip())
    if match is not None:
        quantile = round(float(match[1]) / 100, 10)
        if quantile in QUANTILES:
            try:
                return Promise(quantile, parse_duration(match[2]))
            except ValueError as error:
                raise InputError(str(error)) from error
    known = ", ".join(f"p{100 * q:g}" for q in QUANTILES)
    raise InputError(
        f"{text!r} is not a promise about latency",
        next_step=f'write for example "p99<5ms"; there is {known}',
    )
