"""Addresses of servers as people write them.

    mysql://user:password@host:3306/database        mysql://user@/database?socket=/run/x.sock
    postgresql://user:password@host:5432/database   postgresql://user@/database?host=/run/dir
    redis://:password@host:6379/0                   redis://?socket=/run/redis.sock
    http://host:8080/path                           http://host/path?socket=...  is a query of HTTP

A password in a URL is seen by everybody who may list processes: `ASSAY_PASSWORD`
in the environment is taken where the URL has none. Parts are percent-decoded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from assay._errors import InputError

PORTS = {"mysql": 3306, "postgresql": 5432, "redis": 6379, "http": 80}
ALIASES = {"mariadb": "mysql", "postgres": "postgresql", "valkey": "redis"}
USERS = {"mysql": "root", "postgresql": "postgres"}
POSTGRESQL_SOCKET = ".s.PGSQL.{port}"
PASSWORD_VARIABLE = "ASSAY_PASSWORD"


@dataclass(frozen=True)
class Target:
    """A server and as whom; `socket` stands for host and port where it is not None."""

    protocol: str
    host: str = ""
    port: int = 0
    socket: str | None = None
    user: str = ""
    password: str | None = field(default=None, repr=False)
    database: str = ""
    path: str = "/"
    """What is asked for, of HTTP."""

    def request(self) -> dict[str, Any]:
        """The target of a request to `assayer load`."""
        names = ("protocol", "host", "port", "socket", "user", "password", "database")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        where = self.socket or f"{self.host}:{self.port}"
        return f"{self.protocol} at {where}"


def parse_url(text: str, environment: Mapping[str, str] | None = None) -> Target:
    """The target of a URL; InputError says what is wrong with it."""
    environment = os.environ if environment is None else environment
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _refused(_shown(text), str(error)) from error
    protocol = ALIASES.get(parts.scheme, parts.scheme)
    if protocol not in PORTS:
        known = ", ".join(sorted(PORTS))
        raise _refused(_shown(text), f"the scheme {parts.scheme!r} is not one of {known}")
    password = None if parts.password is None else unquote(parts.password)
    if password is None:
        password = environment.get(PASSWORD_VARIABLE)
    port = port or PORTS[protocol]
    socket = None if protocol == "http" else _socket(text, protocol, parts, port)
    if socket is None and not parts.hostname:
        raise _refused(_shown(text), "it names neither a host nor a socket")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(
        protocol=protocol,
        host=parts.hostname or "",
        port=port,
        socket=socket,
        user=unquote(parts.username or USERS.get(protocol, "")),
        password=password,
        database="" if protocol == "http" else unquote(parts.path.lstrip("/")),
        path=path,
    )


def _socket(text: str, protocol: str, parts: SplitResult, port: int) -> str | None:
    options = parse_qs(parts.query, keep_blank_values=True)
    known = {"socket", "host"} if protocol == "postgresql" else {"socket"}
    for name in options.keys() - known:
        raise _refused(_shown(text), f"the option {name!r} is not known")
    folder = options.get("host", [None])[-1]
    if folder is not None:
        return f"{folder.rstrip('/')}/{POSTGRESQL_SOCKET.format(port=port)}"
    return options.get("socket", [None])[-1]


def _shown(text: str) -> str:
    """The URL without its password."""
    head, at, tail = text.rpartition("@")
    scheme, colon, rest = head.partition("://")
    user = rest.partition(":")[0]
    return f"{scheme}{colon}{user}{at}{tail}" if at else text


def _refused(shown: str, why: str) -> InputError:
    return InputError(
        f"{shown!r} is not the address of a server: {why}",
        next_step="write for example mysql://user@127.0.0.1:3306/database",
    )
