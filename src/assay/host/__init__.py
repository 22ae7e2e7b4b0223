"""The machine: its facts."""

from assay.host.facts import host_facts, limits

__all__ = ["host_facts", "limits"]
