"""A factor's change and levels from what a study file says of it; mistakes are ValueErrors.

A FactorError names the key of the factor that is wrong, a LevelError the level; any other is about
the change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.builds import Variation
from assay.changes import GENERIC, MAY_BE_UNSET, Change, Level, LevelError, find, generic_change
from assay.changes.build_levels import BUILD_CHANGES
from assay.study.file import FactorSection
from assay.study.model import Case
from assay.targets import Target

OF_DEVICES = frozenset({"rps", "xps", "irq"})


class FactorError(ValueError):
    """A mistake in one key of a factor."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


def change_and_levels(
    section: FactorSection, cases: list[Case], base: Path, targets: Mapping[str, Target]
) -> tuple[Change, dict[str, Level]]:
    """The change a factor names, and its levels by the study's own names, off first."""
    if section.levels is not None and (section.on is not None or section.off is not None):
        raise FactorError("a factor has levels, or off and on, not both", "levels")
    for key in ("touches", "machine"):
        if getattr(section, key) is not None and section.change not in BUILD_CHANGES:
            known = ", ".join(BUILD_CHANGES)
            raise FactorError(f"{key} belongs to builds ({known}), not to {section.change}", key)
    if section.change in GENERIC:
        return _generic(section, cases, base)
    if section.setting or section.variable:
        key = "setting" if section.setting else "variable"
        raise FactorError("setting and variable belong to the changes setting and env", key)
    change, *_ = [find(section.change, targets[c.target]) for c in cases]
    written = _written(section, change)
    if len(written) < 2:
        message = f"a factor needs two levels; {section.change} has {len(written)} here"
        raise FactorError(message, _levels_key(section))
    levels = {name: change.level(value) for name, value in written.items()}
    if section.device is not None:
        levels = {name: _on_device(level, section) for name, level in levels.items()}
    return change, levels


def _on_device(level: Level, section: FactorSection) -> Level:
    """The level of one network device, where its change is of such."""
    steer = level.application.steer
    if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,15}", section.device or ""):
        raise FactorError(f"{section.device!r} is no name of a network device", "device")
    if not set(steer) & OF_DEVICES:
        raise FactorError(f"{section.change} is of no network device; take device out", "device")
    named = {f"{key}@{section.device}": value for key, value in steer.items()}
    return replace(level, application=replace(level.application, steer=named))


def key_at_fault(section: FactorSection, error: ValueError) -> str:
    """The key of a factor that an error is about."""
    if isinstance(error, FactorError):
        return error.key
    if not isinstance(error, LevelError):
        return "change"
    at_fault = error.value == section.off and section.off is not None
    return "off" if at_fault and section.levels is None else _levels_key(section)


def _levels_key(section: FactorSection) -> str:
    """The key that says which levels there are; the change where none does."""
    given = (k for k in ("levels", "on", "off") if getattr(section, k) is not None)
    return next(given, "change")


def _written(section: FactorSection, change: Change) -> dict[str, Any]:
    if isinstance(section.levels, dict):
        return section.levels
    if section.levels is not None:
        return {str(v): v for v in section.levels}
    number = change.numeric_setting is not None and not change.sized
    off = (int(change.off) if number else change.off) if section.off is None else section.off
    on = (int(change.on) if number else change.on) if section.on is None else section.on
    return {str(off): off, str(on): on}


def _generic(
    section: FactorSection, cases: list[Case], base: Path
) -> tuple[Change, dict[str, Level]]:
    if section.device is not None:
        message = f"factor {section.name}: device belongs to host.rps, host.xps, host.irq"
        raise FactorError(message, "device")
    if isinstance(section.levels, list):
        levels = {str(v): v for v in section.levels}
    else:
        levels = section.levels or {"off": section.off, "on": section.on}
    unset = [n for n, v in levels.items() if v is None]
    if len(levels) < 2 or (unset and section.change not in MAY_BE_UNSET):
        message = f"factor {section.name}: give off and on, or levels"
        raise FactorError(message, _levels_key(section))
    if "on" in unset:
        raise FactorError(f"factor {section.name}: on is missing", _levels_key(section))
    change = generic_change(
        section.change,
        section.name,
        section.setting or section.variable,
        levels,
        target=cases[0].target,
        base=base,
    )
    return change, {name: _of_machine(level, section) for name, level in change.levels.items()}


def _of_machine(level: Level, section: FactorSection) -> Level:
    """A build that is another only on one kind of machine; the source as it is is one on any."""
    builds = level.application.variation not in (None, Variation())
    return replace(level, needs=section.machine) if builds else level
