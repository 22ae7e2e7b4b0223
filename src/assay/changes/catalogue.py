"""The changes Assay knows by name. One entry each; adding one is adding data here.

Names start with the target whose part they switch; parts that the `micro`
target has too carry both targets. Sources of the mechanisms: the five
documents the studies name, and docs/engine.md for the parts themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from assay.changes.analytic import ANALYTIC_CHANGES
from assay.changes.declaration import Change, Kind
from assay.changes.engine import ENGINE_CHANGES
from assay.changes.host import HOST_CHANGES
from assay.changes.mariadb import MARIADB_CHANGES
from assay.changes.memcached import MEMCACHED_CHANGES
from assay.changes.micro import MICRO_CHANGES
from assay.changes.nginx import NGINX_CHANGES
from assay.changes.postgresql import POSTGRESQL_CHANGES
from assay.changes.redis import REDIS_CHANGES
from assay.changes.rocksdb import ROCKSDB_CHANGES
from assay.changes.sqlite import SQLITE_CHANGES
from assay.core.parameters import nearest

_SERVERS = (
    *REDIS_CHANGES,
    *MEMCACHED_CHANGES,
    *MARIADB_CHANGES,
    *POSTGRESQL_CHANGES,
    *NGINX_CHANGES,
    *ANALYTIC_CHANGES,
)
_STORES = (*ROCKSDB_CHANGES, *SQLITE_CHANGES)
_CHANGES = (*ENGINE_CHANGES, *MICRO_CHANGES, *_SERVERS, *_STORES, *HOST_CHANGES)
CATALOGUE: Mapping[str, Change] = MappingProxyType({c.name: c for c in _CHANGES})


def find(name: str, target: Kind) -> Change:
    """The change called `name` for `target`; ValueError says what there is."""
    change = CATALOGUE.get(name)
    fitting = [c.name for c in _CHANGES if c.fits(target)]
    if change is None:
        generic = ("setting", "env", "binary", "command")
        raise ValueError(
            f"{name!r} is not a change{nearest(name, [*CATALOGUE, *generic])}; "
            f"target {target.kind} has {', '.join((*fitting, *generic))}"
        )
    if not change.fits(target):
        raise ValueError(
            f"{name} is a change of {_whose(change)}, not of {target.kind}, "
            f"which has {', '.join(fitting)}"
        )
    return change


def _whose(change: Change) -> str:
    """The targets of a change that does not fit all of them, in words."""
    named = " and ".join(sorted(change.targets))
    return "servers that a load connects to" if change.scope == "servers" else named
