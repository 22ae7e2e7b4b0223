"""Servers under test. One file each, and one line in the registry below."""

from collections.abc import Mapping
from types import MappingProxyType

from assay.targets.base import Around, Launch, Measured, OnInterval, Server, Target
from assay.targets.chdb import CHDB
from assay.targets.duckdb import DUCKDB
from assay.targets.engine import ENGINE
from assay.targets.mariadb import MARIADB
from assay.targets.micro import MICRO
from assay.targets.nginx import NGINX
from assay.targets.postgresql import POSTGRESQL
from assay.targets.redis import REDIS
from assay.targets.rocksdb import ROCKSDB
from assay.targets.served.target import ServedTarget
from assay.targets.sqlite import SQLITE
from assay.targets.stored.target import StoredTarget
from assay.targets.valkey import VALKEY

_SERVED = (REDIS, VALKEY, NGINX, MARIADB, POSTGRESQL, DUCKDB, CHDB)
_STORED = (ROCKSDB, SQLITE)
_ALL = (ENGINE, MICRO, *map(ServedTarget, _SERVED), *map(StoredTarget, _STORED))
TARGETS: Mapping[str, Target] = MappingProxyType({t.kind: t for t in _ALL})

__all__ = ["TARGETS", "Around", "Launch", "Measured", "OnInterval", "Server", "Target"]
