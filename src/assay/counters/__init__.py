"""Counters of the host and of the server, read beside a run; docs/counters.md."""

from assay.counters import callgrind
from assay.counters.derived import DerivedFigure, figures
from assay.counters.groups import GROUPS, CounterGroup, CounterRequest, asked, group_of, why_absent
from assay.counters.models import Model, model_here, model_of, models
from assay.counters.perf_stat import Count, read_perf_stat, totals
from assay.counters.probes import Probes
from assay.counters.profiler import Possible, Profiling, profilable
from assay.counters.recording import Recording, recording
from assay.counters.window import Counting, Series, WindowCounts, probe

__all__ = [
    "GROUPS",
    "Count",
    "CounterGroup",
    "CounterRequest",
    "Counting",
    "DerivedFigure",
    "Model",
    "Possible",
    "Probes",
    "Profiling",
    "Recording",
    "Series",
    "WindowCounts",
    "asked",
    "callgrind",
    "figures",
    "group_of",
    "model_here",
    "model_of",
    "models",
    "probe",
    "profilable",
    "read_perf_stat",
    "recording",
    "totals",
    "why_absent",
]
