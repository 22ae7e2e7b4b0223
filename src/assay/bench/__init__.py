"""Running a schedule: the life of a run, voids, the journal, and going on after a crash."""

from assay.bench.life import Clocks
from assay.bench.study_run import prepare, run
from assay.bench.watch import Silent, Watcher

__all__ = ["Clocks", "Silent", "Watcher", "prepare", "run"]
