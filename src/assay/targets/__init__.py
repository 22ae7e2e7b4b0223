"""Servers under test. One file each, and one line in the registry below."""

from collections.abc import Mapping
from types import MappingProxyType

from assay.targets.base import Around, Launch, Measured, OnInterval, Server, Target
from assay.targets.native.engine import ENGINE
from assay.targets.native.micro import MICRO
from assay.targets.servers.framework.target import ServedTarget
from assay.targets.servers.mariadb import MARIADB
from assay.targets.servers.nginx import NGINX
from assay.targets.servers.postgresql import POSTGRESQL
from assay.targets.servers.redis import REDIS
from assay.targets.servers.valkey import VALKEY
from assay.targets.stores.framework.target import StoredTarget
from assay.targets.stores.rocksdb import ROCKSDB
from assay.targets.stores.sqlite import SQLITE
from assay.targets.wheels.chdb import CHDB
from assay.targets.wheels.duckdb import DUCKDB

_SERVED = (REDIS, VALKEY, NGINX, MARIADB, POSTGRESQL, DUCKDB, CHDB)
_STORED = (ROCKSDB, SQLITE)
_ALL = (ENGINE, MICRO, *map(ServedTarget, _SERVED), *map(StoredTarget, _STORED))
TARGETS: Mapping[str, Target] = MappingProxyType({t.kind: t for t in _ALL})

__all__ = ["TARGETS", "Around", "Launch", "Measured", "OnInterval", "Server", "Target"]
