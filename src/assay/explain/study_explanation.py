"""All that explains a study: what `assay explain --json` prints."""

from __future__ import annotations

from dataclasses import dataclass

from assay.explain.explanation import Explanation, explanations
from assay.explain.profile import Moved, differences
from assay.explain.stalls import ArmStalls, stalls_of
from assay.record import Bundle, checked_verdicts, counted_runs


@dataclass(frozen=True)
class Profiled:
    """Where the time went in an arm and in the one it is compared with; shares as fractions.

    `blocks`: those in which both were profiled; `unused`: profiles that were not of their window.
    """

    case: str
    arm: str
    against: str
    blocks: int
    unused: int
    functions: tuple[Moved, ...]


@dataclass(frozen=True)
class Everything:
    """Explanations of every arm, profiles where the study took any, and stalls."""

    explanations: tuple[Explanation, ...]
    profiles: tuple[Profiled, ...]
    stalls: tuple[ArmStalls, ...] = ()


def everything(bundle: Bundle) -> Everything:
    """All of a bundle; BundleError without verdicts, AlteredError if it was altered."""
    verdicts = checked_verdicts(bundle)
    return Everything(
        tuple(explanations(bundle.plan, bundle.runs(), verdicts)),
        tuple(
            Profiled(d.case, d.arm, d.against, d.blocks, d.unused, tuple(d.functions))
            for d in differences(bundle, verdicts)
        ),
        tuple(stalls_of(bundle.plan, counted_runs(bundle))),
    )
