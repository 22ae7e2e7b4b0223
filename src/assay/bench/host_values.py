"""Values of the host that an arm asks for: in force while its run lasts, and not a moment longer.

They go through a transaction of the host's that belongs to this process: if it is
killed, the next `assay` command takes them back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from assay.changes import HostValue
from assay.core.errors import AssayError, MissingError, RestoreError
from assay.core.interrupt import heard, held_off
from assay.host.transaction import (
    HostPlan,
    HostTree,
    Status,
    apply,
    forget,
    has_value,
    roll_back,
    value_item,
)
from assay.host.transaction.folder import names
from assay.host.transaction.run import check

HOST = HostTree()
LET_GO_S = 10.0


@contextmanager
def in_force(values: Mapping[str, str], host: HostTree = HOST) -> Iterator[None]:
    """The values, for as long as the block runs. MissingError if one is not taken; RestoreError if
    one could not be brought back, or was changed by somebody else meanwhile."""
    plan = _plan(values, host)
    if not plan.items:
        yield
        return
    with held_off():
        try:
            with heard():
                apply(plan, host, owner=os.getpid())
                yield
        finally:
            _end(plan, host)


def _end(plan: HostPlan, host: HostTree) -> None:
    """Brings all of it back. RestoreError if a value is somebody else's by now."""
    drifted = []
    if plan.id in names(host):
        outcomes = _brought_back(host, plan.id).outcomes
        drifted = [plan.items[n].path for n, how in outcomes.items() if how == "drifted"]
    forget(host, plan.id)
    if drifted:
        raise RestoreError(
            f"{drifted[0]} was changed by another program during a run; Assay leaves it alone",
            next_step="find out who manages it, then `assay run --resume`",
        )


def _brought_back(host: HostTree, name: str) -> Status:
    """Rolled back; a server that has just ended may hold pages of a pool for a moment."""
    end = time.monotonic() + LET_GO_S
    while True:
        try:
            return roll_back(host, name)
        except RestoreError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def check_values(values: Mapping[str, str], host: HostTree = HOST) -> None:
    """MissingError if this machine or this user cannot have them; nothing is written."""
    plan = _plan(values, host)
    try:
        check(plan, host)
    except MissingError as error:
        raise MissingError(
            f"{error.message}", next_step="run the study as root, on the host itself"
        ) from error


def shown(values: Mapping[str, str], host: HostTree = HOST) -> dict[str, HostValue]:
    """What the kernel's files hold now: the evidence that witnesses look at."""
    found = {}
    for key, value in values.items():
        try:
            is_now, holds = has_value(host, key, value)
        except AssayError as error:
            is_now, holds = error.message, False
        found[key] = HostValue(is_now, holds)
    return found


def _plan(values: Mapping[str, str], host: HostTree) -> HostPlan:
    items = [value_item(host, k, v, reason="a level of a study") for k, v in values.items()]
    return HostPlan.of([item for item in items if item is not None], host)
