"""Requests for one small file: from the server itself, or through it from servers behind it.

The second is the test of the nginx-devel thread of December 2023 (512 bytes, a proxy before
eight upstreams), on one machine and loopback.
"""

from __future__ import annotations

from assay.workloads.base import Workload

HTTP_GET = Workload(kind="http-get", text="one static file over kept connections", parameters={})
HTTP_PROXY = Workload(
    kind="http-proxy",
    text="one file of 512 bytes through a reverse proxy, from eight upstreams of Assay's own",
    parameters={},
    settings={"upstreams": 8, "zone": "off", "balancer": "round-robin", "keepalive": 32},
)
