"""What every workload is: a name, a question it asks of a server, and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay._parameters import Parameter


@dataclass(frozen=True)
class Workload:
    """A load with its data set."""

    kind: str
    text: str
    parameters: Mapping[str, Parameter]
