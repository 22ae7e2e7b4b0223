"""Arms that Assay itself knows of a program: variations with names, disassembled before use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path

from assay.builds.making import BuiltProgram, is_kept, make, require
from assay.builds.program import Buildable
from assay.builds.recipe import Built, Recipe
from assay.builds.recipe_file import BuildRecipe
from assay.builds.variation import Variation
from assay.core.errors import InputError


class VariedRecipe(Recipe, ABC):
    """Arms that are variations of one program."""

    called: str
    """The program, in messages."""

    @abstractmethod
    def is_fetched(self) -> bool:
        """Whether its source is here: a look into the cache."""

    @abstractmethod
    def needs(self) -> BuildRecipe:
        """What building it takes, known before its source is."""

    @abstractmethod
    def program(self) -> Buildable:
        """The program; its source is fetched if it is not here."""

    @abstractmethod
    def variation(self, program: Buildable, arm: str) -> Variation:
        """What an arm has of its own."""

    @abstractmethod
    def look(self, made: Path, arm: str) -> None:
        """MissingError if the code of what was made is not the arm's."""

    def own_flags(self, arm: str) -> str:
        """What an arm is compiled with that others are not, in words for a plan."""
        return ""

    def kept(self, arm: str) -> bool:
        if not self.is_fetched():
            return False
        program = self.program()
        return is_kept(program, self.variation(program, arm))

    def make(self, arm: str) -> Built:
        if arm not in self.arms:
            raise InputError(
                f"{arm!r} is not a build of {self.called}",
                next_step=f"builds: {', '.join(self.arms)}",
            )
        require(self.needs())
        program = self.program()
        made = make(program, self.variation(program, arm))
        self.look(made.path, arm)
        return replace(_built(made), flags=made.flags + self.own_flags(arm))


def _built(made: BuiltProgram) -> Built:
    return Built(made.path, made.sha256, made.source, made.source_sha256, made.compiler, made.flags)
