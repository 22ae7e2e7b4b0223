"""What every workload is: a name, a question it asks of a server, and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.parameters import Parameter

Payload = Callable[[Mapping[str, Any], Mapping[str, int]], float | None]
"""From parameters and operations by kind; one kind is called "all"."""


@dataclass(frozen=True)
class Workload:
    """A load with its data set.

    `settings` are the target's settings under this workload when a study names no
    others: what the target has by default would not carry it. One that a target
    has not is no business of that target. `only` names the targets of parameters
    that not every target of the workload has. With `checks_rows` every answer is checked
    against the rows, so the load has the seed of the data. `writes` says of a study's
    parameters whether the load changes data; `payload` gives the bytes of the values that
    so many operations by kind wrote, None where that is not known.
    """

    kind: str
    text: str
    parameters: Mapping[str, Parameter]
    settings: Mapping[str, Any] = field(default_factory=dict)
    only: Mapping[str, frozenset[str]] = field(default_factory=dict)
    checks_rows: bool = False
    writes: Callable[[Mapping[str, Any]], bool] = lambda parameters: False
    payload: Payload = lambda parameters, operations: None

    @staticmethod
    def always(parameters: Mapping[str, Any]) -> bool:
        """For `writes`: whatever the parameters are."""
        return True

    def parameters_for(self, target: str) -> Mapping[str, Parameter]:
        """The parameters under this kind of target."""
        return {n: p for n, p in self.parameters.items() if target in self.only.get(n, (target,))}
