"""What the kernel shows of where server and client run, and of packets by CPU over a window."""

from __future__ import annotations

from collections.abc import Mapping

from assay.native import CpuShare, Health


def health_of(
    health: Health, cpus: list[CpuShare], server_cpus: tuple[int, ...], is_networked: bool
) -> Health:
    """The client's view, with the idle share of those CPUs that the server may use.

    Where packets are given to other CPUs, their work there belongs to no process: it is what is
    studied, and no disturbance.
    """
    own = [share for share in cpus if share.cpu in server_cpus]
    changed: Mapping[str, float] = {}
    if own:
        changed = {"server_idle": max(0.0, 1 - sum(c.busy for c in own) / len(own))}
    if is_networked:
        left = health.foreign_cpu - sum(c.softirq for c in cpus)
        changed = {**changed, "foreign_cpu": max(0.0, left)}
    return health.model_copy(update=dict(changed))
