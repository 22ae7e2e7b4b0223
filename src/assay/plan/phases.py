"""What a plan fixes for designs that do more than compare arms with a baseline.

A screen fixes which combinations its first blocks run, and what those cannot separate. A
scaling study fixes its number of blocks and which arm is which number of threads. An axis fixes its
points, each of which is a case of its own, and which of them only a refinement may add.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Phase(BaseModel):
    """The base of what a plan says about its phases: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedScreen(Phase):
    """The first `blocks` blocks run `cells`; `aliases` are effects those cannot tell apart.

    `resolution` is None where every legal combination is run.
    """

    blocks: int
    cells: list[str]
    resolution: int | None
    generators: list[str]
    aliases: list[list[str]]


class PlannedPoint(Phase):
    """One arm of a scaling study."""

    arm: str
    configuration: str
    threads: int


class PlannedScaling(Phase):
    """All points in every one of `blocks` blocks, on so many CPUs."""

    blocks: int
    cpus: int
    points: list[PlannedPoint]

    @property
    def configurations(self) -> list[str]:
        """One name, or two that are compared; the first is the baseline's."""
        return list(dict.fromkeys(p.configuration for p in self.points))


class PlannedAxisPoint(Phase):
    """A point of an axis.

    `case`: the case that it is. `of`: the case that was spread over the axis, empty where there was
    one. `value`: where it stands, in the unit used inside; `text`: as the study writes it. `later`:
    it is measured only where a curve is refined.
    """

    case: str
    of: str
    value: float
    text: str
    later: bool = False


class PlannedAxis(Phase):
    """What the cases of a study vary, and at which points.

    `varies`: a setting or a parameter, such as "target.connections" or "workload.records".
    `extra`: how many points may be added to each curve's case. `usl`: whether the Universal
    Scalability Law is fitted over the points, on `cpus` CPUs.
    """

    name: str
    varies: str
    logarithmic: bool
    usl: bool
    extra: int
    points: list[PlannedAxisPoint]
    cpus: int = 0

    @property
    def curves(self) -> list[str]:
        """The cases that were spread over the axis; one that has no name is empty."""
        return list(dict.fromkeys(p.of for p in self.points))

    @property
    def opening(self) -> list[str]:
        """The cases of the points that are measured from the first block on."""
        return [p.case for p in self.points if not p.later]

    def points_of(self, curve: str) -> list[PlannedAxisPoint]:
        """The points of a curve, those that may be added among them, from low to high."""
        return sorted((p for p in self.points if p.of == curve), key=lambda p: p.value)
