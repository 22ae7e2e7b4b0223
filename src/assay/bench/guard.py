"""The guard: rules that void a run, fixed beforehand and blind to the arm.

They look only at things outside the metric. A run that breaks one is recorded
with the reason and its block is run again (docs/house.md has the table). The
limits of client, sends, rate and errors are those that suites of load
generators were found to need; those on foreign CPU, stolen CPU and the clock are
judgements, made on a virtual machine with two CPUs.
"""

from __future__ import annotations

from assay.native.messages import Health
from assay.stats.latency import SATURATED
from assay.targets import Measured
from assay.verdict.observations import FOREIGN_CPUS, STOLEN_CPUS

BUSIEST_CLIENT = 0.80
"""A client thread busier than this, while the server idles, was the limit."""

SERVER_IDLE = 0.05
LATE_SENDS = 0.01
ERRORS = 0.001

CLOCK_STEP_MS = 20.0


def void_reason(measured: Measured, alike: bool = False) -> str:
    """Why a run cannot count, or nothing. All reasons that hold are named.

    `alike`: what others do to the machine voids no run. It meets arms that take turns alike (single
    rounds are void where it does not), and on a machine that never gets quiet it meets all runs;
    the interval tells the rest.
    """
    health = measured.health
    reasons = [*client_limits(health), *([] if alike else _machine(health))]
    if abs(health.clock_step_ms) > CLOCK_STEP_MS:
        reasons.append(f"the clock stepped by {health.clock_step_ms:.0f} ms")
    if measured.errors > ERRORS * measured.operations:
        share = measured.errors / max(measured.operations, 1)
        reasons.append(f"{100 * share:.2g} % of operations failed")
    return "; ".join(reasons)


def client_limits(health: Health) -> list[str]:
    """Why the client, and not the server, was the limit; empty if it was not."""
    reasons = []
    busiest, idle = health.busiest_thread, health.server_idle
    if busiest is not None and busiest > BUSIEST_CLIENT and idle > SERVER_IDLE:
        reasons.append(
            f"the client was the limit: its busiest thread {100 * busiest:.0f} % busy "
            f"while the server's CPUs idled {100 * idle:.0f} %"
        )
    late = health.late_sends
    if late is not None and late > LATE_SENDS:
        reasons.append(f"the client was the limit: {100 * late:.1f} % of sends were late")
    asked, achieved = health.asked_per_s, health.achieved_per_s
    if asked is not None and achieved < SATURATED * asked and idle > SERVER_IDLE:
        reasons.append(
            f"the client was the limit: {achieved:.0f} of {asked:.0f} operations/s were sent "
            f"while the server's CPUs idled {100 * idle:.0f} %"
        )
    return reasons


def _machine(health: Health) -> list[str]:
    reasons = []
    if health.foreign_cpu > FOREIGN_CPUS:
        reasons.append(f"other processes took {health.foreign_cpu:.2f} CPUs")
    if health.steal > STOLEN_CPUS:
        reasons.append(f"the hypervisor took {health.steal:.2f} CPUs")
    return reasons
