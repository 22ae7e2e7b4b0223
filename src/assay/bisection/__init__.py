"""Which commit, package or value made a server slower: a search that measures, in a bundle."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.bisection.bundle import SearchBundle, is_search
    from assay.bisection.findings import found_of
    from assay.bisection.plan import PlannedNode, SearchPlan
    from assay.bisection.progress import SearchWatcher
    from assay.bisection.replay import SearchReplay
    from assay.bisection.rows import Found, FoundCulprit, FoundStage
    from assay.bisection.verification import checked_found, found_differences, searched

__getattr__, __dir__ = lazily(
    __name__,
    bundle="SearchBundle is_search",
    findings="found_of",
    plan="PlannedNode SearchPlan",
    progress="SearchWatcher",
    replay="SearchReplay",
    rows="Found FoundCulprit FoundStage",
    verification="checked_found found_differences searched",
)

__all__ = [
    "Found",
    "FoundCulprit",
    "FoundStage",
    "PlannedNode",
    "SearchBundle",
    "SearchPlan",
    "SearchReplay",
    "SearchWatcher",
    "checked_found",
    "found_differences",
    "found_of",
    "is_search",
    "searched",
]
