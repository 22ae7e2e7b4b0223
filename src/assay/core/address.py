"""Addresses of servers as people write them.

    mysql://user:password@host:3306/database        mysql://user@/database?socket=/run/x.sock
    postgresql://user:password@host:5432/database   postgresql://user@/database?host=/run/dir
    redis://:password@host:6379/0                   redis://?socket=/run/redis.sock
    http://host:8080/path                           http://host/path?socket=...  is a query of HTTP
    memcached://host:11211                          memcached:///?socket=/run/memcached.sock
    rediss://host:6379/0                            https://host/path  both over TLS from the start

`sslmode` and `sslrootcert` say how TLS is spoken, as of PostgreSQL: options of the query, and of
what follows a `#` for https, whose query is the server's.
A password in a URL is seen by everybody who may list processes: `ASSAY_PASSWORD`
in the environment is taken where the URL has none. Parts are percent-decoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from assay.core import password as passwords
from assay.core.errors import InputError

SSLMODES = ("disable", "prefer", "require", "verify-ca", "verify-full")
SECURE_SSLMODES = SSLMODES[2:]
TLS = frozenset({"sslmode", "sslrootcert"})
POSTGRESQL_SOCKET = ".s.PGSQL.{port}"
PASSWORD_VARIABLE = passwords.VARIABLE


@dataclass(frozen=True)
class Scheme:
    """What a scheme stands for, and the options that may follow it."""

    protocol: str
    port: int
    user: str = ""
    options: frozenset[str] = frozenset()
    is_secure: bool = False
    """Whether TLS is spoken from the start."""


_MYSQL = Scheme("mysql", 3306, "root", TLS | {"socket"})
_POSTGRESQL = Scheme("postgresql", 5432, "postgres", TLS | {"socket", "host"})
_REDIS = Scheme("redis", 6379, options=frozenset({"socket"}))
_REDISS = Scheme("redis", 6379, options=TLS, is_secure=True)
SCHEMES = {
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "postgresql": _POSTGRESQL,
    "postgres": _POSTGRESQL,
    "redis": _REDIS,
    "valkey": _REDIS,
    "rediss": _REDISS,
    "valkeys": _REDISS,
    "memcached": Scheme("memcached", 11211, options=frozenset({"socket"})),
    "http": Scheme("http", 80),
    "https": Scheme("http", 443, options=TLS, is_secure=True),
}
"""A protocol is one line here."""
_OF_HTTP = (SCHEMES["http"], SCHEMES["https"])
_UNREADABLE = "its port is no number; before the @ write %23 for #, %2F for / and %3F for ?"


@dataclass(frozen=True)
class ServerAddress:
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
    sslmode: str = "disable"
    sslrootcert: str | None = None
    """A PEM file of the authorities to trust; None for those that the system trusts."""

    def request(self) -> dict[str, Any]:
        """The target of a request to `assayer load`."""
        names = ("protocol", "host", "port", "socket", "user", "password", "database",
                 "sslmode", "sslrootcert")  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        where = self.socket or f"{self.host}:{self.port}"
        return f"{self.protocol} at {where}"


def parse_url(text: str, environment: Mapping[str, str] | None = None) -> ServerAddress:
    """The target of a URL; InputError says what is wrong with it, and repeats no secret.

    `environment` stands for the process's own, whose password no child inherits.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        # Its words quote what may be a part of the password.
        raise _refused(_shown(text), _UNREADABLE) from None
    if "@" in text and "@" not in parts.netloc and SCHEMES.get(parts.scheme) not in _OF_HTTP:
        raise _refused(_shown(text), _UNREADABLE)
    scheme = SCHEMES.get(parts.scheme)
    if scheme is None:
        known = ", ".join(sorted(SCHEMES))
        raise _refused(_shown(text), f"the scheme {parts.scheme!r} is not one of {known}")
    password = None if parts.password is None else unquote(parts.password)
    if password is None:
        password = passwords.given() if environment is None else environment.get(PASSWORD_VARIABLE)
    port = port or scheme.port
    options = _options(text, scheme, parts)
    socket = options.get("socket")
    if (folder := options.get("host")) is not None:
        socket = f"{folder.rstrip('/')}/{POSTGRESQL_SOCKET.format(port=port)}"
    if socket is None and not parts.hostname:
        raise _refused(_shown(text), "it names neither a host nor a socket")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return ServerAddress(
        protocol=scheme.protocol,
        host=parts.hostname or "",
        port=port,
        socket=socket,
        user=unquote(parts.username or scheme.user),
        password=password,
        database="" if scheme.protocol == "http" else unquote(parts.path.lstrip("/")),
        path=path,
        sslmode=_sslmode(text, scheme, options),
        sslrootcert=options.get("sslrootcert"),
    )


def _options(text: str, scheme: Scheme, parts: SplitResult) -> dict[str, str]:
    """The query is HTTP's own; what follows a # goes to no server."""
    written = {"http": "", "https": parts.fragment}.get(parts.scheme, parts.query)
    options = parse_qs(written, keep_blank_values=True)
    for name in sorted(options.keys() - scheme.options):
        raise _refused(_shown(text), f"the option {name!r} is not known")
    return {name: values[-1] for name, values in options.items()}


def _sslmode(text: str, scheme: Scheme, options: Mapping[str, str]) -> str:
    """Nobody speaks TLS unasked, and who names an authority or a scheme with TLS means it."""
    checked = scheme.is_secure or "sslrootcert" in options
    mode = options.get("sslmode", "verify-full" if checked else "disable")
    known = SECURE_SSLMODES if scheme.is_secure else SSLMODES
    if mode not in known:
        why = f"the sslmode {mode!r} is not one of {', '.join(known)}"
        raise _refused(_shown(text), why)
    return mode


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
