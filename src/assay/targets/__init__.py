"""Servers under test. One file each, and one line in the registry below."""

from collections.abc import Mapping
from types import MappingProxyType

from assay.changes import Change
from assay.host.traits import OTHERS, UNKNOWN, ServerTraits
from assay.targets.base import Around, Launch, Measured, OnInterval, Server, Slices, Target
from assay.targets.jobs.job import JOB
from assay.targets.native.engine import ENGINE
from assay.targets.native.micro import MICRO
from assay.targets.programs.program import PROGRAM
from assay.targets.servers.framework.target import ServerTarget
from assay.targets.servers.mariadb import MARIADB
from assay.targets.servers.memcached import MEMCACHED
from assay.targets.servers.nginx import NGINX
from assay.targets.servers.postgresql import POSTGRESQL
from assay.targets.servers.redis import REDIS
from assay.targets.servers.valkey import VALKEY
from assay.targets.stores.framework.target import StoreTarget
from assay.targets.stores.rocksdb import ROCKSDB
from assay.targets.stores.sqlite import SQLITE
from assay.targets.wheels.chdb import CHDB
from assay.targets.wheels.duckdb import DUCKDB

_SERVERS = (REDIS, VALKEY, MEMCACHED, NGINX, MARIADB, POSTGRESQL, DUCKDB, CHDB)
_STORES = (ROCKSDB, SQLITE)
_ALL: tuple[Target, ...] = (
    ENGINE,
    MICRO,
    *map(ServerTarget, _SERVERS),
    *map(StoreTarget, _STORES),
    PROGRAM,
    JOB,
)
TARGETS: Mapping[str, Target] = MappingProxyType({t.kind: t for t in _ALL})


def targets_of(change: Change) -> list[str]:
    """Kinds of target that a change can be switched on, sorted."""
    return sorted(kind for kind, target in TARGETS.items() if change.fits(target))


def traits_of(kind: str) -> ServerTraits:
    """What is known of a kind of server, whether it is a target or not."""
    target = TARGETS.get(kind)
    return OTHERS.get(kind, UNKNOWN) if target is None else target.traits


__all__ = [
    "TARGETS",
    "Around",
    "Launch",
    "Measured",
    "OnInterval",
    "Server",
    "Slices",
    "Target",
    "targets_of",
    "traits_of",
]
