"""Running a schedule: the life of a run, voids, the journal, and going on after a crash."""

from assay.bench.life import Clocks
from assay.bench.pilot import pilot, pilot_alone, require_no_pilot
from assay.bench.progress import Silent, Watcher
from assay.bench.study_run import prepare, run

__all__ = [
    "Clocks",
    "Silent",
    "Watcher",
    "pilot",
    "pilot_alone",
    "prepare",
    "require_no_pilot",
    "run",
]
