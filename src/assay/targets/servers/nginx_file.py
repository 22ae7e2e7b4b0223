"""nginx's configuration file: settings to text, and text to settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

SHARED = {"zone": 516 << 10, "limit_req": 1036 << 10}
"""Sizes in bytes of what is shared: no other mapping of nginx's has one of them."""

BALANCERS = ("least_conn", "ip_hash", "random")


def configuration(
    port: int,
    settings: Mapping[str, Any],
    upstreams: Sequence[int],
    connections: int,
    host: str = "127.0.0.1",
) -> str:
    """The file. Paths in it start at the folder that `-p` names."""
    main = [
        "daemon off;",
        "pid nginx.pid;",
        "lock_file nginx.lock;",
        "error_log stderr warn;",
        f"worker_processes {settings['worker_processes']};",
        f"worker_rlimit_nofile {connections};",
        *(["worker_cpu_affinity auto;"] if settings["worker_cpu_affinity"] == "auto" else []),
        "events {",
        f"  worker_connections {connections};",
        f"  accept_mutex {settings['accept_mutex']};",
        "}",
    ]
    http = [
        *_http(settings),
        *_upstream(settings, upstreams),
        *_server(f"{host}:{port}", settings, upstreams),
    ]
    return "\n".join([*main, "http {", *(f"  {line}" for line in http), "}", ""])


def _http(settings: Mapping[str, Any]) -> list[str]:
    cached = settings["open_file_cache"]
    scratch = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    limited = settings["limit_req"] == "on"
    zone = f"limit_req_zone $server_name zone=limits:{SHARED['limit_req']} rate=1000000r/s;"
    return [
        "access_log off;",
        "default_type application/octet-stream;",
        f"keepalive_requests {settings['keepalive_requests']};",
        "keepalive_timeout 3600;",
        f"sendfile {settings['sendfile']};",
        f"tcp_nopush {settings['tcp_nopush']};",
        f"open_file_cache max={cached};" if cached else "open_file_cache off;",
        *(f"{name}_temp_path scratch_{name};" for name in scratch),
        *([zone] if limited else []),
    ]


def _upstream(settings: Mapping[str, Any], ports: Sequence[int]) -> list[str]:
    if not ports:
        return []
    balancer, kept = settings.get("balancer"), settings.get("keepalive")
    requests = settings["keepalive_requests"]
    return [
        "upstream behind {",
        *([f"  zone behind {SHARED['zone']};"] if settings.get("zone") == "on" else []),
        *([f"  {balancer};"] if balancer in BALANCERS else []),
        *(f"  server 127.0.0.1:{port} max_fails=0;" for port in ports),
        *([f"  keepalive {kept};", f"  keepalive_requests {requests};"] if kept else []),
        "}",
    ]


def _server(address: str, settings: Mapping[str, Any], upstreams: Sequence[int]) -> list[str]:
    proxied = [
        "    proxy_pass http://behind;",
        "    proxy_http_version 1.1;",
        '    proxy_set_header Connection "";',
    ]
    limited = settings["limit_req"] == "on"
    return [
        "server {",
        f"  listen {address}{' reuseport' if settings['reuseport'] == 'on' else ''};",
        "  server_name assay;",
        "  root www;",
        "  location = /file {",
        *(["    limit_req zone=limits burst=1000000 nodelay;"] if limited else []),
        *(proxied if upstreams else []),
        "  }",
        "  location = /status { stub_status; }",
        "}",
    ]


def parsed(text: str) -> dict[str, Any]:
    """The settings that a configuration file gives."""

    def word(directive: str) -> str | None:
        found = re.search(rf"(?m)^\s*{directive}\s+([^;]*);", text)
        return found[1] if found else None

    upstream = re.search(r"(?s)upstream behind \{(.*?)\}", text)
    block = upstream[1] if upstream else ""
    kept = re.search(r"(?m)^\s*keepalive (\d+);", block)
    cached = re.search(r"max=(\d+)", word("open_file_cache") or "")
    chosen = [b for b in BALANCERS if re.search(rf"(?m)^\s*{b};", block)]
    found: dict[str, Any] = {
        "worker_processes": int(word("worker_processes") or 1),
        "worker_cpu_affinity": word("worker_cpu_affinity") or "off",
        "accept_mutex": word("accept_mutex") or "off",
        "keepalive_requests": int(word("keepalive_requests") or 1000),
        "sendfile": word("sendfile") or "off",
        "tcp_nopush": word("tcp_nopush") or "off",
        "open_file_cache": int(cached[1]) if cached else 0,
        "limit_req": "on" if word("limit_req") else "off",
        "reuseport": "on" if " reuseport" in (word("listen") or "") else "off",
        "upstreams": len(re.findall(r"(?m)^\s*server 127\.0\.0\.1:", block)),
    }
    if upstream:
        found["zone"] = "on" if re.search(r"(?m)^\s*zone ", block) else "off"
        found["balancer"] = chosen[0] if chosen else "round-robin"
        found["keepalive"] = int(kept[1]) if kept else 0
    return found
