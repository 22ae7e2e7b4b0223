"""What a killed `assay` left behind is taken back, before the next command does anything."""

from __future__ import annotations

from assay.cli._output import complain, story
from assay.core.errors import AssayError
from assay.host.transaction.run import recover
from assay.linux.tree import Tree
from assay.targets import TARGETS
from assay.targets.servers.framework.attached_settings import restore_abandoned
from assay.targets.servers.framework.target import ServedTarget


def take_back() -> None:
    """Changes to this host and to running servers; where that fails it is said."""
    kinds = {t.kind: t.adapter.attachable for t in TARGETS.values() if isinstance(t, ServedTarget)}
    try:
        for found in recover(Tree()):
            story().print(f"taken back: host transaction {found.name}, which was cut short or over")
        for line in restore_abandoned({k: a for k, a in kinds.items() if a is not None}):
            story().print(line, style="dim")
    except AssayError as error:
        complain(error.message, error.next_step)
