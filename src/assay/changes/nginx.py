"""Changes of nginx: the instruction in its spin-wait loops, its locks, and who contends.

`nginx.pause` is another build of the same sources at each level; `zone` is what puts
a lock before every proxied request, so that without it no level of `pause` can matter.
"""

from __future__ import annotations

from assay.builds.nginx import COUNTED, FUNCTIONS, holds
from assay.changes.builders import ARM, X86, number, part
from assay.changes.declaration import Application, Build, Change, Dose, Level
from assay.changes.signature import falls, rises
from assay.changes.witness import Expected, Functions, ReadBack

NGINX = frozenset({"nginx"})
PROXIED = frozenset({"http-proxy"})
"""The workload under which requests go through an upstream and its lock."""

PAUSES = {
    "none": None,
    "none-kept": None,
    "nop": None,
    "pause": X86,
    "double-pause": X86,
    "yield": ARM,
    "isb": ARM,
    "wfet": "wfxt",
}
"""What each build needs of the processor."""

ON_OFF = {"off": "off", "on": "on"}

CONTENDED = Dose("contended", "contended acquisitions per request", may_lack=True)


def _loops(arm: str) -> tuple[Expected, ...]:
    """The functions with the loop: the arm's instruction, so often, and none of the others."""
    wanted = holds(arm)
    others = tuple(i for i in COUNTED if i not in wanted)
    return tuple(Expected(f, exactly=wanted, lacks=others) for f in FUNCTIONS)


NGINX_CHANGES = (
    Change(
        "nginx.pause",
        "instruction that waits in nginx's spin loops, each another build; none lets the compiler "
        "delete the empty loop, none-kept does not",
        NGINX,
        {a: Level(a, Application(build=Build("nginx", a)), n) for a, n in PAUSES.items()},
        "none",
        "pause",
        Functions("lock_wait", {a: _loops(a) for a in PAUSES}),
        "D",
        CONTENDED,
        signature=falls("cpu_per_operation"),
    ),
    part(
        "nginx.zone",
        "balancing state in shared memory behind a lock, or each worker's own and no lock at all",
        NGINX,
        "zone",
        ON_OFF,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="A",
        workloads=PROXIED,
        signature=rises("waits_per_operation.all"),
    ),
    number(
        "nginx.workers",
        "worker processes, which may contend for a lock",
        NGINX,
        "worker_processes",
        off=1,
        on=2,
        effort="A",
        dose=CONTENDED,
        signature=rises("throughput"),
    ),
    part(
        "nginx.reuseport",
        "a listening socket for each worker, or one that all accept from",
        NGINX,
        "reuseport",
        ON_OFF,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="A",
        signature=falls("latency_p99"),
    ),
    part(
        "nginx.accept_mutex",
        "workers take turns at accepting connections",
        NGINX,
        "accept_mutex",
        ON_OFF,
        off="off",
        on="on",
        witness=ReadBack(),
        effort="A",
        signature=falls("cpu_per_operation"),
    ),
    part(
        "nginx.balancer",
        "how an upstream is chosen: by turns, by the fewest connections, by address, at random",
        NGINX,
        "balancer",
        {b: b for b in ("round-robin", "least_conn", "ip_hash", "random")},
        off="round-robin",
        on="random",
        witness=ReadBack(),
        workloads=PROXIED,
        signature=falls("waits_per_operation.all"),
    ),
)
