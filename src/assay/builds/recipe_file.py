"""A recipe as data: how one program is made of its source, in commands without a shell.

Commands are lists of words. `{jobs}` is the number of jobs for `make`, `{install}` the folder of an
installation, and `{options}` stands for the words of a variation. They run in the unpacked source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from assay.core import document
from assay.core.errors import FileError, InputError, Problem
from assay.core.fields import Fields
from assay.core.parameters import nearest

Words = tuple[str, ...]
Commands = tuple[Words, ...]

RECONFIGURES = frozenset(
    (
        "configure",
        "configure.ac",
        "configure.in",
        "Makefile.in",
        "Makefile.am",
        "Makefile.global.in",
    )
)
"""Files after whose change nothing of an older configuration is kept."""


@dataclass(frozen=True)
class BuildRecipe:
    """How a program is made.

    `package` is the distribution's source package, empty where there is none. `needs` are programs
    and `headers` header files, each with the package that has it. `product` is what runs: a path
    in the source or, where something is installed, in the installation; `linked` is then what of
    the source it is a copy of. `units` is about how many files are compiled. `forget` are files
    that must not come with a source.
    """

    name: str
    make: Commands
    product: str
    package: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    configure: Commands = ()
    install: Commands = ()
    linked: str = ""
    units: int = 0
    forget: Words = ()

    @property
    def linked_file(self) -> str:
        """The path in the source of what the last link makes."""
        return self.linked or self.product

    def content(self) -> dict[str, Any]:
        """All that a build depends on."""
        return asdict(self)


def read_recipe(fields: Fields, name: str) -> BuildRecipe:
    """A recipe from a table; mistakes are noted in `fields`, and the recipe is then of no use."""
    recipe = BuildRecipe(
        name=name,
        make=_commands(fields, "make", required=True),
        product=_inside(fields, "product", fields.text("product")),
        package=fields.text("package", ""),
        needs=_packages(fields, "needs"),
        headers=_packages(fields, "headers"),
        configure=_commands(fields, "configure"),
        install=_commands(fields, "install"),
        linked=_inside(fields, "linked", fields.text("linked", "")),
        units=fields.count("units", 0),
        forget=tuple(_inside(fields, "forget", f) for f in fields.texts("forget", [])),
    )
    if recipe.install and not recipe.linked:
        fields.wrong(
            ("product",),
            "what is installed is a copy of something that was linked",
            'add linked = "PATH" of it in the source',
        )
    return recipe


def _inside(fields: Fields, key: str, path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        fields.wrong((key,), f"{key}: {path!r} lies outside of the source", "give a path inside it")
    return path


def _packages(fields: Fields, key: str) -> dict[str, str]:
    found = fields.table(key)
    for name, package in found.items():
        if not isinstance(package, str) or not package:
            fields.wrong((key, name), f"{key}.{name} should be a package", 'write name = "package"')
    return {n: str(p) for n, p in found.items()}


def _commands(fields: Fields, key: str, *, required: bool = False) -> Commands:
    """One command as a list of words, or several as a list of them."""
    fields.asked.append(key)
    given = fields.values.get(key)
    if given is None:
        if required:
            fields.wrong((), f"{key!r} is missing in {fields.what}", f'add {key} = ["make"]')
        return ()
    commands = [given] if _is_words(given) else given
    if not isinstance(commands, list) or not all(_is_words(c) for c in commands) or not commands:
        message = f"{key} should be a command as a list of words, or a list of such"
        fields.wrong((key,), message, f'write {key} = ["make", "-j2"]')
        return ()
    return tuple(tuple(c) for c in commands)


def _is_words(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(w, str) and w for w in value)


@cache
def shipped_recipes() -> Mapping[str, BuildRecipe]:
    """The recipes that come with Assay, by name."""
    folder = resources.files("assay") / "builds" / "recipes"
    found = {}
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            name = file.name.removesuffix(".toml")
            found[name] = parse_recipe(name, file.read_text("utf-8"))
    return found


def parse_recipe(name: str, text: str) -> BuildRecipe:
    """The recipe in a file's text; a FileError with lines and columns if it is none."""
    doc = document.parse(f"{name}.toml", text)
    problems: list[Problem] = []
    fields = Fields(doc, (), f"the recipe of {name}", problems)
    recipe = read_recipe(fields, name)
    fields.unknown()
    if problems:
        raise FileError(doc.name, problems)
    return recipe


def recipe_of(name: str) -> BuildRecipe:
    """A shipped recipe; InputError lists what there is."""
    known = shipped_recipes()
    if name not in known:
        raise InputError(
            f"there is no recipe for {name!r}{nearest(name, known)}",
            next_step=f"recipes: {', '.join(known)}; or write [build] with make and product",
        )
    return known[name]
