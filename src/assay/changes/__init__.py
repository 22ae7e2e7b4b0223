"""The catalogue of changes: what can be switched, how, and how to see that it is on."""

from assay.changes.catalogue import CATALOGUE, find
from assay.changes.declaration import (
    EFFORTS,
    HTM,
    NUMA,
    OPPOSITE,
    THP_ALWAYS,
    Application,
    Build,
    Change,
    Command,
    Direction,
    Dose,
    Effort,
    Level,
    Prediction,
    lacking,
)
from assay.changes.generic import GENERIC, applied_values, generic_change, image_of
from assay.changes.witness import Evidence, Held, Witness

__all__ = [
    "CATALOGUE",
    "EFFORTS",
    "GENERIC",
    "HTM",
    "NUMA",
    "OPPOSITE",
    "THP_ALWAYS",
    "Application",
    "Build",
    "Change",
    "Command",
    "Direction",
    "Dose",
    "Effort",
    "Evidence",
    "Held",
    "Level",
    "Prediction",
    "Witness",
    "applied_values",
    "find",
    "generic_change",
    "image_of",
    "lacking",
]
