"""Whether the rules that void a run prefer an arm.

A rule is blind to the arm on paper; whether it is so in fact shows in the counts. If B loads the
machine so that its runs are void more often, the runs of B that count are the lucky ones, and
any difference may be that. Each arm is compared with all the others together.

A run after a void one in its block is not made, which is why runs made are the base and not runs
planned: whether a run is void is decided by that run alone. An arm that leaves the study early
has lived through other hours than the rest; a disturbance that began later then looks like a
preference. The reasons of the void runs tell which it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.reasons import Code, Reason
from assay.stats.constants import STANDARD, Constants
from assay.stats.fisher import holm, one_against_rest


def void_warning(
    voids: Mapping[str, int], runs: Mapping[str, int], constants: Constants = STANDARD
) -> Reason | None:
    """A warning when voids depend on the arm. Both by arm; `runs` are all that were made.

    Holm over the arms, or one test where there are two.
    """
    return _depends(Code.VOIDS_DEPEND, "voids", voids, runs, constants)


def failure_warning(
    failures: Mapping[str, int], runs: Mapping[str, int], constants: Constants = STANDARD
) -> Reason | None:
    """A warning when failures depend on the arm: its runs that did not fail are the lucky ones.

    Arguments and test as for `void_warning`.
    """
    return _depends(Code.FAILURES_DEPEND, "failures", failures, runs, constants)


def _depends(
    code: Code, what: str, counts: Mapping[str, int], runs: Mapping[str, int], constants: Constants
) -> Reason | None:
    """The arm whose share stands out most, as a reason; `what` names the fields of counts."""
    plain = one_against_rest(counts, runs)
    adjusted = holm(plain) if len(plain) > 2 else plain
    flagged = {arm: p for arm, p in adjusted.items() if p <= constants.warning_rare}
    if not flagged:
        return None
    arm = min(flagged, key=lambda a: (flagged[a], -counts.get(a, 0) / runs[a], a))
    others = [a for a in plain if a != arm]
    fields = {
        what: counts.get(arm, 0),
        "runs": runs[arm],
        f"other_{what}": sum(counts.get(a, 0) for a in others),
        "other_runs": sum(runs[a] for a in others),
    }
    return Reason.of(code, arm=arm, **fields, p=flagged[arm])
