"""What one build has of its own: a commit, patches, flags, a compiler, options."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from assay.core.digest import canonical, digest

NOTHING: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variation:
    """Everything in which builds of one program may differ. Two that are equal are one build.

    `flags` come after those of the program's own build, so that they win; `without` are taken out
    of it. `configure` are words for the program's configure or, where it has none, its make.
    `link` are further words of the last link. `files` are contents of source files by path, as
    text; they come after the patches.
    """

    commit: str = ""
    patches: tuple[Path, ...] = ()
    flags: tuple[str, ...] = NOTHING
    without: tuple[str, ...] = NOTHING
    compiler: str = ""
    configure: tuple[str, ...] = NOTHING
    link: tuple[str, ...] = NOTHING
    files: tuple[tuple[str, str], ...] = ()

    def merged(self, other: Variation) -> Variation:
        """Both at once: lists one after the other; ValueError if both name what can only be one."""
        values: dict[str, Any] = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, tuple):
                values[field.name] = mine + theirs
            elif mine and theirs:
                raise ValueError(f"two factors both set the {field.name}")
            else:
                values[field.name] = mine or theirs
        return Variation(**values)

    @property
    def is_of_source(self) -> bool:
        """Whether only the source differs from that of another, so that a patch is what it is."""
        return not (self.flags or self.without or self.compiler or self.configure)

    @property
    def optimises_links(self) -> bool:
        """Whether functions are put together at the link: objects then hold no machine code.

        Options may hold such flags too: `OPT=-O3 -flto`; and a flag a value: `-flto=auto`.
        """
        return "-flto" in " ".join((*self.flags, *self.configure)).replace("=", " ").split()

    def said(self) -> str:
        """In words, for a plan: what it has beside the program's own."""
        parts = [f"commit {self.commit}"] if self.commit else []
        parts += [f"patch {path.name}" for path in self.patches]
        parts += [f"file {name}" for name, _ in self.files]
        parts += [self.compiler] if self.compiler else []
        parts += [*self.flags, *(f"without {flag}" for flag in self.without)]
        parts += [*self.configure, *(f"link {word}" for word in self.link)]
        return " ".join(parts) or "as it is"


def of_settings(variation: Variation) -> str:
    """The digest of what a whole tree of objects depends on, beside its source."""
    own = (variation.flags, variation.without, variation.compiler, variation.configure)
    return digest(canonical([list(v) if isinstance(v, tuple) else v for v in own]))
