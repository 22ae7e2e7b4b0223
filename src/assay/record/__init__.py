"""What a study leaves behind: the bundle, its runs, and their replay."""

from assay.record.bundle import Bundle, require_free
from assay.record.replay import Replay, Step
from assay.record.run import RunRecord, WitnessRecord
from assay.record.verify import differences, replayed, verdicts_of

__all__ = [
    "Bundle",
    "Replay",
    "RunRecord",
    "Step",
    "WitnessRecord",
    "differences",
    "replayed",
    "require_free",
    "verdicts_of",
]
