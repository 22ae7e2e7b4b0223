"""A noisy binary search with error control: numbers in, culprits out, and nothing about commits."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.stats.bisection.forecast import Forecast, forecast_of
    from assay.stats.bisection.search import Culprit, MakeNode, Measure, Search, Stage, Unresolved
    from assay.stats.bisection.step import StepAnswer, StepTest

__getattr__, __dir__ = lazily(
    __name__,
    forecast="Forecast forecast_of",
    search="MakeNode Culprit Measure Search Stage Unresolved",
    step="StepAnswer StepTest",
)

__all__ = [
    "Culprit",
    "Forecast",
    "MakeNode",
    "Measure",
    "Search",
    "Stage",
    "StepAnswer",
    "StepTest",
    "Unresolved",
    "forecast_of",
]
