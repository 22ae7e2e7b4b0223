"""The password that somebody gave in the environment: kept by Assay, inherited by nobody."""

from __future__ import annotations

import os

VARIABLE = "ASSAY_PASSWORD"

_kept: list[str] = []


def take() -> None:
    """Takes it out of the environment, so that servers, tools and users' commands do not get it."""
    given = os.environ.pop(VARIABLE, None)
    if given is not None:
        _kept[:] = [given]


def given() -> str | None:
    """What was given; None if nothing was."""
    take()
    return _kept[0] if _kept else None
