"""The catalogue of changes: what can be switched, how, and how to see that it is on."""

from assay.changes.catalogue import CATALOGUE, find
from assay.changes.declaration import (
    HTM,
    NUMA,
    THP_ALWAYS,
    Application,
    Build,
    Change,
    Command,
    Dose,
    Level,
    LevelError,
    Prediction,
    lacking,
)
from assay.changes.evidence import Evidence, HostValue, RanFunction, SeenExecutable
from assay.changes.generic import GENERIC, MAY_BE_UNSET, applied_values, generic_change, image_of
from assay.changes.witness import Held, Witness

__all__ = [
    "CATALOGUE",
    "GENERIC",
    "HTM",
    "MAY_BE_UNSET",
    "NUMA",
    "THP_ALWAYS",
    "Application",
    "Build",
    "Change",
    "Command",
    "Dose",
    "Evidence",
    "Held",
    "HostValue",
    "Level",
    "LevelError",
    "Prediction",
    "RanFunction",
    "SeenExecutable",
    "Witness",
    "applied_values",
    "find",
    "generic_change",
    "image_of",
    "lacking",
]
