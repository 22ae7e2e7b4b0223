"""Programs and libraries that Assay makes itself, so that one line or one flag differs.

A recipe makes arms: the same program, compiled by the same compiler with the same
flags from the same sources (the distribution's, or a crate's), but for one thing. What
was made once is kept by the digest of all that went into it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from assay.builds.contents import BuildDifference
from assay.builds.link import PLAIN
from assay.builds.making import BuiltProgram, differences, is_kept, make, relinked
from assay.builds.nginx import NGINX
from assay.builds.program import Buildable, program
from assay.builds.recipe import Built, Recipe
from assay.builds.recipe_file import BuildRecipe
from assay.builds.rocksdb import ROCKSDB
from assay.builds.stranger import BuildError
from assay.builds.variation import Variation

_ALL: tuple[Recipe, ...] = (NGINX, ROCKSDB)
RECIPES: Mapping[str, Recipe] = MappingProxyType({r.name: r for r in _ALL})

__all__ = [
    "PLAIN",
    "RECIPES",
    "BuildDifference",
    "BuildError",
    "BuildRecipe",
    "Buildable",
    "Built",
    "BuiltProgram",
    "Recipe",
    "Variation",
    "differences",
    "is_kept",
    "make",
    "program",
    "relinked",
]
