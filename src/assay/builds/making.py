"""Making a variation of a program: from the cache, or built, harvested and kept.

What is kept of a build is what the last link read, the commands that made it, and what the objects
hold; the tree it was made in is another matter (`tree`), and may go at any time. A build is kept
whole or not at all.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from assay.builds import contents, link, patches
from assay.builds.compilers import (
    CompilerCall,
    Compilers,
    common_flags,
    compilers,
    requires_headers,
)
from assay.builds.link import PLAIN
from assay.builds.patches import Overlay
from assay.builds.program import Buildable, Unpacked
from assay.builds.progress import BuildProgress, tell
from assay.builds.recipe_file import BuildRecipe
from assay.builds.room import make_room
from assay.builds.stranger import BuildError, closed_network, working_place
from assay.builds.tree import BuildTree, held
from assay.builds.variation import Variation, of_settings
from assay.core.cache import cache, keep
from assay.core.digest import canonical, contents_digest, digest, file_digest
from assay.core.errors import InputError, MissingError

VERSION = 1
"""Grows when what is made of the same inputs changes."""

DIGEST = "assay.sha256"
ABOUT, CONTENTS, OBJECTS, INSTALLED = "build.json", "contents.json", "objects", "install"
_WARNING = re.compile(r"(?m)^[^\n]*\bwarning: ")
KEPT_ORDERS = 3
"""Links of one build in other orders that are kept; older ones go."""


@dataclass(frozen=True)
class BuiltProgram:
    """A build. `mark` begins the build id of every link of it; `code` is one digest of all
    functions and data of its objects. `seconds` and `warnings` are of the build that made it, which
    compiled no more than had changed. `path` is its executable, linked as the program's build does.
    """

    path: Path
    sha256: str
    build_id: str
    mark: str
    code: str
    size_bytes: int
    seconds: float
    warnings: int
    compiler: str
    flags: str
    source: str
    source_sha256: str
    commit: str
    variation: str
    without_network: bool
    folder: Path


def make(program: Buildable, variation: Variation) -> BuiltProgram:
    """The build of a variation, made now if it is not kept.

    BuildError if it does not compile, another MissingError with the one command if something is
    not here, InputError if a patch does not apply or a commit is not there.
    """
    found = compilers(variation.compiler)
    unpacked = program.unpacked(variation.commit)
    overlay = overlay_of(variation, unpacked)
    tree, mark = _keys(program, unpacked, overlay, found, variation)
    kept = cache("builds") / f"{program.recipe.name}-{mark[:20]}"
    if not kept.is_dir():
        require(program.recipe, variation.compiler)
        making = _Making(program, variation, unpacked, overlay, found, tree, mark)
        keep(kept, making.fill)
    os.utime(kept)
    return _with_path(_load(kept), program.recipe, variation)


def is_kept(program: Buildable, variation: Variation) -> bool:
    """Whether it was made before."""
    unpacked = program.unpacked(variation.commit)
    found = compilers(variation.compiler)
    _, mark = _keys(program, unpacked, overlay_of(variation, unpacked), found, variation)
    return (cache("builds") / f"{program.recipe.name}-{mark[:20]}").is_dir()


def overlay_of(variation: Variation, unpacked: Unpacked) -> dict[str, bytes | None]:
    """What stands in the source instead of what came; InputError if a patch does not apply."""
    return {
        **patches.patched(variation.patches, unpacked.folder),
        **{name: text.encode() for name, text in variation.files},
    }


def differences(one: BuiltProgram, other: BuiltProgram) -> contents.BuildDifference:
    """The functions and data in which two builds differ."""
    if one.code == other.code:
        return contents.BuildDifference()
    sides = [contents.load_items(made.folder / CONTENTS) for made in (one, other)]
    return contents.compared(*sides)


def relinked(made: BuiltProgram, seed: int) -> Path:
    """The executable with its functions in the order of a seed from 1 on, linked now if it is not
    there; `PLAIN` is the program's own order. BuildError, MissingError without lld, InputError if
    it was changed since."""
    about = json.loads((made.folder / ABOUT).read_text())
    place = working_place(cache("builds")) / f"run-{made.mark[:20]}"
    order = place / f"order-{seed}"
    product = order / str(about["product"])
    if not order.is_dir():
        place.mkdir(exist_ok=True)
        _tidy(place)
        keep(order, lambda making: _link_into(making, made, about, seed))
    if not product.is_file() or (order / DIGEST).read_text() != contents_digest(product):
        raise InputError(
            f"{product} was changed since it was built",
            next_step=f"remove {place}; it is made again",
        )
    os.utime(order)
    return product


def _link_into(making: Path, made: BuiltProgram, about: Mapping[str, str], seed: int) -> None:
    installed = made.folder / INSTALLED
    if installed.is_dir():
        shutil.copytree(installed, making, symlinks=True, dirs_exist_ok=True, copy_function=_cloned)
    product = making / about["product"]
    product.unlink(missing_ok=True)
    ran = CompilerCall(about["link_folder"], tuple(about["link_words"]))
    objects, tree = made.folder / OBJECTS, Path(about["tree"])
    compiler = Path(about["linker"])
    link.relink(ran, objects, tree, compiler, product, f"{made.mark[:32]}{seed:08x}", seed)
    (making / DIGEST).write_text(file_digest(product))


def _cloned(source: str, target: str) -> None:
    """Equal files are one."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _tidy(place: Path) -> None:
    """Removes orders that were linked long ago."""
    orders = [p for p in place.glob("order-*") if p.name != f"order-{PLAIN}"]
    for old in sorted(orders, key=lambda p: p.stat().st_mtime)[: -KEPT_ORDERS or None]:
        shutil.rmtree(old, ignore_errors=True)


def _keys(
    program: Buildable,
    unpacked: Unpacked,
    overlay: Overlay,
    found: Compilers,
    variation: Variation,
) -> tuple[str, str]:
    """The digest of what a tree depends on beside its source, and that of all of a build."""
    settings = [VERSION, program.recipe.content(), program.source, found.identity]
    tree = digest(canonical([*settings, of_settings(variation), platform.machine()]))
    own = {name: None if c is None else digest(c) for name, c in overlay.items()}
    same = {n for n, c in own.items() if c and unpacked.manifest.get(n, "").endswith(c)}
    changed = {name: content for name, content in own.items() if name not in same}
    return tree, digest(canonical([tree, unpacked.identity, changed, list(variation.link)]))


def require(recipe: BuildRecipe, compiler: str = "") -> None:
    """MissingError with the one command that gets all that a recipe needs and is not here."""
    absent = {p: package for p, package in recipe.needs.items() if shutil.which(p) is None}
    if shutil.which(compiler or "cc") is not None:
        headers = requires_headers(compilers(compiler), list(recipe.headers))
        absent |= {header: recipe.headers[header] for header in headers}
    if absent:
        packages = " ".join(dict.fromkeys(absent.values()))
        raise MissingError(
            f"building {recipe.name} needs {', '.join(absent)}, not here",
            next_step=f"sudo apt-get install {packages}",
        )


@dataclass(frozen=True)
class _Making:
    """A build that is to be made now."""

    program: Buildable
    variation: Variation
    unpacked: Unpacked
    overlay: Overlay
    found: Compilers
    tree_key: str
    mark: str

    def fill(self, making: Path) -> None:
        """Fills a folder with all that is kept of the build."""
        make_room()
        recipe = self.program.recipe
        place = working_place(cache("builds")) / f"tree-{self.tree_key[:20]}"
        lock = cache("builds") / f"tree-{self.tree_key[:20]}.lock"
        what, begun = f"building {recipe.name} ({self.variation.said()})", time.monotonic()
        with held(place, lock, recipe, self.found, self.variation) as tree:
            try:
                tree.build(self.unpacked, self.overlay, self._watch(begun), what)
                self._install(tree, making, what)
            except BuildError as error:
                raise self._kept_log(error) from None
            self._harvest(tree, making, time.monotonic() - begun)

    def _watch(self, begun: float) -> Callable[[int], None]:
        units, told = self.program.recipe.units, [-1]

        def watch(done: int) -> None:
            if done == told[0]:
                return
            told[0] = done
            spent, share = time.monotonic() - begun, done / units if units else 0.0
            left = spent * (1 - share) / share if 0.02 < share <= 1 else None
            tell(BuildProgress(self.program.recipe.name, done, max(units, done), left))

        return watch

    def _kept_log(self, error: BuildError) -> BuildError:
        """The same error; its log stays where it is, and what is said of it is where."""
        kept = cache("builds") / f"failed-{self.program.recipe.name}-{self.mark[:12]}.log"
        shutil.copyfile(error.log, kept)
        return BuildError(error.message, kept, error.line)

    def _install(self, tree: BuildTree, making: Path, what: str) -> None:
        if not self.program.recipe.install:
            return
        there = tree.source.parent / INSTALLED
        shutil.rmtree(there, ignore_errors=True)
        there.mkdir()
        tree.give(there)
        for command in self.program.recipe.install:
            tree.run(command, what, install=there)
        shutil.copytree(there, making / INSTALLED, symlinks=True)
        shutil.rmtree(there)

    def _harvest(self, tree: BuildTree, making: Path, seconds: float) -> None:
        recipe, ran = self.program.recipe, tree.linking()
        if ran is None:
            raise self._kept_log(tree.without_link())
        ran = replace(ran, words=(*ran.words, *self.variation.link))
        names = link.inputs(ran, tree.source)
        store = cache("builds") / "store"
        link.gather(names, tree.source, making / OBJECTS, store)
        product, words = tree.source / recipe.linked_file, ran.words
        is_cxx = self.found.cxx is not None and tree.is_cxx(ran)
        linker = self.found.cxx if is_cxx and self.found.cxx else self.found.c
        items = self._contents(making, names, ran, tree, linker)
        contents.save(items, making / CONTENTS)
        about = BuiltProgram(
            path=Path(recipe.product),
            sha256=file_digest(product),
            build_id="",
            mark=self.mark,
            code=contents.code_digest(items),
            size_bytes=product.stat().st_size,
            seconds=round(seconds, 2),
            warnings=len(_WARNING.findall(tree.log.read_text("utf-8", "replace"))),
            compiler=self.found.said,
            flags=common_flags(tree.ran()),
            source=self.unpacked.version,
            source_sha256=self.unpacked.identity,
            commit=self.unpacked.commit,
            variation=self.variation.said(),
            without_network=bool(closed_network()),
            folder=Path(),
        )
        more = {
            "product": recipe.product,
            "link_folder": ran.folder,
            "link_words": list(words),
            "tree": str(tree.source),
            "linker": str(linker),
        }
        (making / ABOUT).write_text(json.dumps({**asdict(about), **more}, default=str, indent=1))
        shutil.copyfile(tree.log, making / "log")

    def _contents(
        self, making: Path, names: list[str], ran: CompilerCall, tree: BuildTree, linker: Path
    ) -> list[contents.Item]:
        """Of the objects, or where functions are put together at the link, of its result."""
        objects = making / OBJECTS
        if not self.variation.optimises_links:
            return contents.of_objects([objects / name for name in names], objects)
        linked = objects / "assay.linked.o"
        whole = replace(ran, words=(*ran.words, "-Wl,--emit-relocs"))
        link.relink(whole, objects, tree.source, linker, linked, self.mark[:40], PLAIN)
        try:
            return contents.of_objects([linked], objects)
        finally:
            linked.unlink()


def _load(kept: Path) -> BuiltProgram:
    about = json.loads((kept / ABOUT).read_text())
    names = BuiltProgram.__dataclass_fields__
    values = {name: value for name, value in about.items() if name in names}
    return BuiltProgram(**{**values, "path": Path(about["path"]), "folder": kept})


def _with_path(made: BuiltProgram, recipe: BuildRecipe, variation: Variation) -> BuiltProgram:
    path = relinked(made, PLAIN)
    build_id = f"{made.mark[:32]}{PLAIN:08x}"
    return replace(made, path=path, build_id=build_id, sha256=contents_digest(path))
