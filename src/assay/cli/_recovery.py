"""What a killed `assay` left behind is brought back before the next command does anything."""

from __future__ import annotations

from functools import partial

from assay.cli._output import complain, story
from assay.host.transaction import HostTree
from assay.host.transaction import abandoned as transactions
from assay.targets import TARGETS
from assay.targets.servers.framework.attached_settings import abandoned as settings
from assay.undo.recovery import recover


def take_back() -> None:
    """Changes to this host and to running servers; says what was brought back and what was not."""
    servers = {k: t.attachable for k, t in TARGETS.items() if t.attachable is not None}
    found = recover(partial(transactions, HostTree()), partial(settings, servers))
    for what in found.done:
        story().print(f"brought back: {what}", style="dim")
    for error in found.failed:
        complain(error.message, error.next_step)
