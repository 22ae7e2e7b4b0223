"""What a study leaves behind: the bundle, its runs, and their replay."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.record.bundle import Bundle
    from assay.record.chain import ChainPlace, require_free
    from assay.record.found import RunFound
    from assay.record.observations import counted_blocks, counting, statuses
    from assay.record.profile import ProfiledFunction, ProfiledStack, RunProfile
    from assay.record.remaining import expected_blocks, remaining_s
    from assay.record.replay import Replay, Step
    from assay.record.run import KindRecord, RunRecord, WitnessRecord
    from assay.record.verification import (
        checked_verdicts,
        counted_runs,
        differences,
        replayed,
        verdicts_of,
    )

__getattr__, __dir__ = lazily(
    __name__,
    bundle="Bundle",
    chain="ChainPlace require_free",
    found="RunFound",
    observations="counted_blocks counting statuses",
    profile="ProfiledFunction ProfiledStack RunProfile",
    remaining="expected_blocks remaining_s",
    replay="Replay Step",
    run="KindRecord RunRecord WitnessRecord",
    verification="checked_verdicts counted_runs differences replayed verdicts_of",
)

__all__ = [
    "Bundle",
    "ChainPlace",
    "KindRecord",
    "ProfiledFunction",
    "ProfiledStack",
    "Replay",
    "RunFound",
    "RunProfile",
    "RunRecord",
    "Step",
    "WitnessRecord",
    "checked_verdicts",
    "counted_blocks",
    "counted_runs",
    "counting",
    "differences",
    "expected_blocks",
    "remaining_s",
    "replayed",
    "require_free",
    "statuses",
    "verdicts_of",
]
