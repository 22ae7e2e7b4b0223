"""What `[measure]` and a case come to in each run: the counters read, and the data loaded."""

from __future__ import annotations

from assay.core.timeline import GROUPS as OF_TIMELINES
from assay.counters import GROUPS
from assay.study.file import MeasureSection
from assay.study.model import Case
from assay.targets import Target
from assay.targets.servers.framework.load import EACH_RUN


def counter_groups(section: MeasureSection) -> tuple[str, ...]:
    """The groups of counters that are asked for, and those of a timeline."""
    of_timeline = OF_TIMELINES if section.timeline else ()
    return tuple(dict.fromkeys(n for n in (*section.counters, *of_timeline) if n in GROUPS))


def loads_each_run(case: Case, target: Target) -> bool:
    """Whether each run of a case loads its data."""
    attached = case.settings.get("attach") is not None
    asked = bool(case.settings.get(EACH_RUN)) and not attached
    return asked or target.loads_in_run
