"""Programs and libraries that Assay makes itself, so that one line or one flag differs.

A recipe makes arms: the same program, compiled by the same compiler with the same
flags from the same sources (the distribution's, or a crate's), but for one thing. What
was made once is kept by the digest of all that went into it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from assay.builds.nginx import NGINX
from assay.builds.recipe import Built, Recipe
from assay.builds.rocksdb import ROCKSDB

_ALL: tuple[Recipe, ...] = (NGINX, ROCKSDB)
RECIPES: Mapping[str, Recipe] = MappingProxyType({r.name: r for r in _ALL})

__all__ = ["RECIPES", "Built", "Recipe"]
