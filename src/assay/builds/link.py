"""The last link of a program, kept so that it can be made again: in the same or in another order.

Objects are kept by content: what two builds have in common is there once. A link that is made again
is the program's own command with four things changed: where the result goes, the build id, which
says what it was made of and in which order, and for a shuffled one the linker (lld) and the order.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.builds import tools
from assay.builds.compilers import CompilerCall
from assay.builds.stranger import BuildError
from assay.core.digest import file_digest
from assay.core.errors import MissingError

LINKED = (".o", ".a", ".lo", ".so", ".obj", ".map", ".ver", ".sym", ".ld", ".list", ".lds", ".txt")
REFUSED = ("-B", "-specs", "--specs", "-wrapper", "-fplugin", "-Wl,-plugin", "-Wl,--plugin")
"""Words that would have the linker run what the source brings."""

PLAIN = 0
"""The seed of the order in which the program's own build links."""


def inputs(ran: CompilerCall, tree: Path) -> list[str]:
    """The files of the tree that a link reads, as paths below it, each once."""
    found: dict[str, None] = {}
    for path in _read_by(ran.words, tree / ran.folder, tree):
        if path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(tree):
            found[os.path.relpath(path, tree)] = None
    return list(found)


def _read_by(words: Sequence[str], folder: Path, tree: Path) -> Iterator[Path]:
    searched: list[Path] = []
    for place, word in enumerate(words):
        if place and words[place - 1] == "-o":
            continue
        if word.startswith("-L"):
            searched.append(folder / (word[2:] or words[place + 1]))
        elif word.startswith("-l"):
            for at in searched:
                yield from (at / f"lib{word[2:]}{end}" for end in (".a", ".so"))
        elif word.startswith("@"):
            response = folder / word[1:]
            yield response
            if response.is_file() and response.resolve().is_relative_to(tree):
                yield from _read_by(shlex.split(response.read_text()), folder, tree)
        elif word.startswith("-Wl,"):
            for part in word.split(","):
                yield folder / part.rpartition("=")[2]
        elif not word.startswith("-"):
            yield folder / word


def gather(names: Sequence[str], tree: Path, place: Path, store: Path) -> None:
    """Puts what a link reads into `place`, under the same paths; equal contents are kept once."""
    store.mkdir(parents=True, exist_ok=True)
    for name in names:
        kept = store / file_digest(tree / name)
        if not kept.is_file():
            part = store / f".{kept.name}.{os.getpid()}"
            shutil.copyfile(tree / name, part, follow_symlinks=False)
            part.replace(kept)
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(kept, target)


def relink(
    ran: CompilerCall,
    objects: Path,
    tree: Path,
    compiler: Path,
    product: Path,
    build_id: str,
    seed: int,
) -> None:
    """Links `product` of the objects in a folder; `seed` is the order, `PLAIN` the program's own.

    BuildError if the linker refuses, MissingError without lld for an order that is not the own.
    """
    if seed != PLAIN and shutil.which("ld.lld") is None:
        raise MissingError(
            "another order of functions takes the linker lld, which is not here",
            next_step='sudo apt-get install lld, or write layout = "plain" in [build]',
        )
    wanted = [*_words(ran, tree), f"-Wl,--build-id=0x{build_id}"]
    if "-flto" in wanted and "clang" not in compiler.name:
        wanted.append(f"-flto={len(os.sched_getaffinity(0))}")  # as many at once: the same code
    if seed != PLAIN:
        wanted += ["-fuse-ld=lld", f"-Wl,--shuffle-sections=.text.*={seed}"]
    product.parent.mkdir(parents=True, exist_ok=True)
    part = product.with_name(f".{product.name}.part")
    folder = objects / ran.folder
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [str(compiler), *wanted, "-o", str(part)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=tools.environment(),
    )
    if done.returncode:
        log = product.with_name(f"{product.name}.link.log")
        log.write_text(f"{shlex.join([str(compiler), *wanted])}\n{done.stderr}{done.stdout}")
        line = tools.first_error(done.stderr)
        raise BuildError(f"{product.name} cannot be linked again: {line}", log, line)
    part.replace(product)


def _words(ran: CompilerCall, tree: Path) -> list[str]:
    """The link's words without its output, paths into the tree made relative to its folder."""
    kept: list[str] = []
    skip = False
    for word in ran.words:
        if skip or word == "-o":
            skip = not skip
            continue
        if word.startswith(REFUSED):
            message = (
                f"the link of this program has {word.split('=')[0]}, which Assay does not repeat"
            )
            raise BuildError(message, tree, word)
        here = os.path.relpath(tree, tree / ran.folder)
        kept.append(word.replace(f"{tree}{os.sep}", f"{here}{os.sep}"))
    return [word for word in kept if "prefix-map" not in word]
