"""Executables that Assay makes itself, from the distribution's sources, so that one line differs.

A recipe makes arms: the same program, compiled by the same compiler with the same
flags from the same sources, but for one thing. What was made once is kept by the
digest of all that went into it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from assay.builds.nginx import NGINX
from assay.builds.recipe import Built, Recipe

RECIPES: Mapping[str, Recipe] = MappingProxyType({r.name: r for r in (NGINX,)})

__all__ = ["RECIPES", "Built", "Recipe"]
