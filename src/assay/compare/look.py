"""A first look: every command once, before a study begins.

It tells how long an execution takes, which the budget needs, and a command that fails is said at
once. Nothing of it counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.core.errors import InputError, RunError
from assay.study import Arm, Case, Study, arms
from assay.targets import TARGETS
from assay.targets.base import Measured

BLOCKS = 24
"""So many blocks a budget pays for that nobody gave."""

LEAST_S, MOST_S = 60.0, 3600.0
"""And it is at least and at most so long."""


@dataclass(frozen=True)
class Look:
    """By case and arm how long an execution took, in seconds; `metrics` of the arms likewise."""

    took_s: Mapping[tuple[str, str], float]
    metrics: Mapping[tuple[str, str], Mapping[str, float]]

    def typical_s(self, case: str) -> float:
        """The mean of a case's commands."""
        found = [s for (name, _), s in self.took_s.items() if name == case]
        return math.fsum(found) / len(found)

    def budget_s(self, study: Study) -> float:
        """What `BLOCKS` blocks take, within bounds."""
        each = [
            TARGETS["job"].seconds(study.launch(case, arm, seed=0))
            for case in study.cases
            for arm in arms(study)
        ]
        return min(MOST_S, max(LEAST_S, BLOCKS * math.fsum(each)))


def look(study: Study, told: Callable[[str], object] = lambda text: None) -> Look:
    """Try each command once; InputError names the one that fails, and says what it wrote."""
    took, metrics = {}, {}
    seen: set[str] = set()
    for case in study.cases:
        for arm in arms(study):
            if arm.placebo:
                continue
            name = command_name(arm)
            told(f"trying {name}" + (f" ({case.name})" if len(study.cases) > 1 else ""))
            measured = _tried(study, case, arm)
            took[case.name, name] = measured.metrics["wall_time"] / 1e9
            metrics[case.name, name] = measured.metrics
            seen.add(name)
    return Look(took, metrics)


def command_name(arm: Arm) -> str:
    """What the command of an arm is called."""
    return arm.levels["command"]


def _tried(study: Study, case: Case, arm: Arm) -> Measured:
    launch = study.launch(case, arm, seed=0)
    launch = replace(launch, warmup_s=0.0, window_s=0.001)
    target, where = TARGETS[case.target], f"{command_name(arm)!r}"
    if len(study.cases) > 1:
        where += f", {case.name}"
    with TemporaryDirectory(prefix="assay-look-") as folder:
        target.check(launch)
        server = target.start(launch, Path(folder) / "log")
        try:
            measured = server.measure(lambda done, spent: None)
        except RunError as error:
            raise InputError(
                f"{where}, tried before the first run: {error.message}",
                next_step=error.next_step or "mend the command; nothing was compared",
            ) from error
        finally:
            with suppress(ProcessLookupError):
                server.stop()
    if not measured.complete:
        raise KeyboardInterrupt("nothing was measured yet")
    if measured.metrics.get(study.primary, 0.0) <= 0:
        raise InputError(
            f"{where}: {study.primary} is {measured.metrics.get(study.primary, 0.0):g}, and "
            "ratios need numbers above zero",
            next_step="measure something else: --metric, --value",
        )
    return measured
