"""What somebody gave in the environment that is secret: kept by Assay, inherited by nobody."""

from __future__ import annotations

import os

VARIABLE = "ASSAY_PASSWORD"
LEDGER = "ASSAY_LEDGER"
"""The URL of a ledger may hold a password too."""

_kept: dict[str, str] = {}


def take() -> None:
    """Takes it out of the environment, so that servers, tools and users' commands do not get it."""
    for name in (VARIABLE, LEDGER):
        given_now = os.environ.pop(name, None)
        if given_now is not None:
            _kept[name] = given_now


def given(name: str = VARIABLE) -> str | None:
    """What was given; None if nothing was."""
    take()
    return _kept.get(name)
