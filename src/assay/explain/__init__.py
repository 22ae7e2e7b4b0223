"""Why: what a change was to move and did, how much it could have gained, what limits next, and
where the time went."""

from assay.explain.explanation import Explanation, explain, explanations
from assay.explain.flame_graph import Frame, flame_graph, merged
from assay.explain.headroom import Bound
from assay.explain.identity import Identity, Term
from assay.explain.limits import Limit
from assay.explain.profile import (
    OTHERS,
    ArmProfile,
    Between,
    Moved,
    ProfileDifference,
    differences,
    profiles_of,
)
from assay.explain.stalls import ArmStalls, Timeline, stalls_of, timelines
from assay.explain.study_explanation import Everything, Profiled, everything

__all__ = [
    "OTHERS",
    "ArmProfile",
    "ArmStalls",
    "Between",
    "Bound",
    "Everything",
    "Explanation",
    "Frame",
    "Identity",
    "Limit",
    "Moved",
    "ProfileDifference",
    "Profiled",
    "Term",
    "Timeline",
    "differences",
    "everything",
    "explain",
    "explanations",
    "flame_graph",
    "merged",
    "profiles_of",
    "stalls_of",
    "timelines",
]
