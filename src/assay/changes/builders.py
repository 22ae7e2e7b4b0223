"""How a row of the catalogue becomes a change: parts with named levels, and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from assay.changes.declaration import Application, Change, Dose, Level, Signature
from assay.changes.witness import ReadBack, Witness
from assay.core.terms import Effort

ENGINE = frozenset({"engine"})
MICRO = frozenset({"micro"})
BOTH = ENGINE | MICRO

X86 = "x86_64"
ARM = "aarch64"


def levels(
    setting: str, values: Mapping[str, Any], needs: Mapping[str, str] | None = None
) -> MappingProxyType[str, Level]:
    return MappingProxyType(
        {
            name: Level(name, Application({setting: value}), (needs or {}).get(name))
            for name, value in values.items()
        }
    )


def part(  # a table row: one argument a column
    name: str,
    text: str,
    targets: frozenset[str],
    setting: str,
    values: Mapping[str, Any],
    *,
    off: str,
    on: str,
    witness: Witness,
    effort: Effort = "B",
    dose: Dose | None = None,
    needs: Mapping[str, str] | None = None,
    requires: Mapping[str, tuple[Any, ...]] | None = None,
    signature: Signature = (),
    workloads: frozenset[str] = frozenset(),
    mechanism: str = "",
    remakes_data: bool = False,
) -> Change:
    return Change(
        name,
        text,
        targets,
        levels(setting, values, needs),
        off,
        on,
        witness,
        effort,
        dose,
        requires=requires or {},
        signature=signature,
        workloads=workloads,
        mechanism=mechanism,
        remakes_data=remakes_data,
    )


def number(
    name: str,
    text: str,
    targets: frozenset[str],
    setting: str,
    *,
    off: int,
    on: int,
    witness: Witness | None = None,
    effort: Effort = "C",
    dose: Dose | None = None,
    requires: Mapping[str, tuple[Any, ...]] | None = None,
    signature: Signature = (),
    workloads: frozenset[str] = frozenset(),
    mechanism: str = "",
    whole_runs: bool = False,
) -> Change:
    return Change(
        name,
        text,
        targets,
        {},
        str(off),
        str(on),
        witness or ReadBack(),
        effort,
        dose,
        numeric_setting=setting,
        requires=requires or {},
        signature=signature,
        workloads=workloads,
        mechanism=mechanism,
        whole_runs=whole_runs,
    )


def size(
    name: str,
    text: str,
    targets: frozenset[str],
    setting: str,
    *,
    off: str,
    on: str,
    effort: Effort = "B",
    dose: Dose | None = None,
    signature: Signature = (),
) -> Change:
    return Change(
        name,
        text,
        targets,
        {},
        off,
        on,
        ReadBack(),
        effort,
        dose,
        numeric_setting=setting,
        signature=signature,
        sized=True,
    )
