"""The machine: its facts, and whether it is quiet."""

from assay.host.facts import host_facts, limits
from assay.host.quiet import Waiting, busy_cpus, wait_until_quiet

__all__ = ["Waiting", "busy_cpus", "host_facts", "limits", "wait_until_quiet"]
