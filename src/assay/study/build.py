"""The program that a study builds: `[build]`, a shipped recipe or one of the study's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from assay.builds import Buildable, Variation
from assay.builds.program import GIT, TARBALL
from assay.builds.recipe_file import BuildRecipe, read_recipe, shipped_recipes
from assay.changes.build_levels import BUILD_CHANGES
from assay.core.document import Document
from assay.core.errors import Problem
from assay.core.fields import Fields

Layout = Literal["shuffled", "plain"]
LAYOUTS: tuple[Layout, ...] = ("shuffled", "plain")


@dataclass(frozen=True)
class StudyBuild:
    """A program, and what all its builds have in common.

    `layout`: whether each block links all arms anew, their functions in an order that it draws, so
    that a verdict is of the change and not of where one build happens to have put its functions.
    Where functions of one build are put together at the link it is "plain" for all: an order that
    the others alone draw, by another linker, would be a second difference.
    """

    program: Buildable
    layout: Layout
    common: Variation

    def with_all(self, variations: Iterable[Variation]) -> StudyBuild:
        """The same for a study of these builds."""
        plain = any(variation.optimises_links for variation in variations)
        return replace(self, layout="plain") if plain else self


def read_build(
    doc: Document,
    problems: list[Problem],
    base: Path,
    targets: Sequence[str],
    changes: Sequence[str],
) -> StudyBuild | None:
    """The program of a study, None where no change is a build. Mistakes are noted in `problems`."""
    needs = [change for change in changes if change in BUILD_CHANGES]
    if "build" not in doc.values and not needs:
        return None
    written = Document(doc.name, {"build": {}, **doc.values}, dict(doc.positions))
    fields = Fields(written, ("build",), "[build]", problems)
    recipe = _recipe(fields, targets)
    source = _source(fields.text("source", "debian"), base)
    layout = fields.choice("layout", LAYOUTS, LAYOUTS[0])
    flags = fields.texts("flags", [])
    configure = fields.texts("options", [])
    fields.unknown()
    if "build" in doc.values and not needs:
        kinds = ", ".join(BUILD_CHANGES)
        fields.wrong((), "[build] stands for itself: no factor is a build", f"use {kinds}")
    if recipe is None:
        return None
    common = Variation(flags=tuple(flags), configure=tuple(configure))
    return StudyBuild(Buildable(recipe, source), layout, common).with_all([common])


def _recipe(fields: Fields, targets: Sequence[str]) -> BuildRecipe | None:
    """A recipe by its name, that of the target, or the one that the table itself is."""
    if "make" in fields.values or "product" in fields.values:
        before = len(fields.problems)
        recipe = read_recipe(fields, fields.text("name", "program"))
        return recipe if len(fields.problems) == before else None
    known: Mapping[str, BuildRecipe] = shipped_recipes()
    different = sorted(set(targets))
    default = different[0] if len(different) == 1 and different[0] in known else None
    if "recipe" not in fields.values and default is None:
        listed = ", ".join(known)
        message = f"there is no recipe for {' and '.join(different)}"
        fields.wrong((), message, f"give make and product in [build], or a recipe: {listed}")
        fields.asked.append("recipe")
        return None
    return known[fields.choice("recipe", list(known), default or next(iter(known)))]


def _source(given: str, base: Path) -> str:
    """Relative paths start at the study's folder."""
    for kind in (GIT, TARBALL):
        if given.startswith(kind):
            return f"{kind}{base / Path(given.removeprefix(kind)).expanduser()}"
    return given
