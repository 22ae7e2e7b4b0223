"""What a plan fixes for designs that do more than compare arms with a baseline.

A screen fixes which combinations its first blocks run, and what those cannot separate. A
scaling study fixes its number of blocks and which arm is which number of threads.
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
