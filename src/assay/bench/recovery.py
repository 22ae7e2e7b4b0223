"""What a process that is gone changed of this host and of running servers, brought back."""

from __future__ import annotations

from functools import partial

from assay.host.transaction import HostTree
from assay.host.transaction import abandoned as transactions
from assay.targets import TARGETS
from assay.targets.servers.framework.attached_settings import abandoned as settings
from assay.undo.recovery import Kind, Recovered, recover


def take_back(*more: Kind) -> Recovered:
    """All of it, by the journals that are there, and of `more` kinds; what was brought back, and
    what could not be."""
    servers = {k: t.attachable for k, t in TARGETS.items() if t.attachable is not None}
    return recover(partial(transactions, HostTree()), partial(settings, servers), *more)
