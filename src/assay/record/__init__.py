"""What a study leaves behind: the bundle, its runs, and their replay."""

from assay.record.bundle import Bundle, require_free
from assay.record.counting import counted_blocks, counting, statuses
from assay.record.replay import Replay, Step
from assay.record.run import RunRecord, WitnessRecord
from assay.record.verify import differences, replayed, verdicts_of

__all__ = [
    "Bundle",
    "Replay",
    "RunRecord",
    "Step",
    "WitnessRecord",
    "counted_blocks",
    "counting",
    "differences",
    "replayed",
    "require_free",
    "statuses",
    "verdicts_of",
]
