"""RocksDB as a shared library, with and without CRC32 instructions in its checksum.

The sources are those inside the crate `librocksdb-sys`. Arms differ in how
`util/crc32c.cc` was compiled and in nothing else: `portable` for any processor of the
architecture, as distributions and wheels ship it, `crc` with the instructions that
processors have had for fifteen years. RocksDB chooses when it is compiled, not when it
runs, so the portable library computes CRC32C by tables on every machine.

The crate's own list of sources and its definitions are used, without compression
libraries, io_uring and jemalloc. All objects are made once (`make` with all CPUs, 20 to
25 minutes on two) and kept, so that the other arm is one object and the linker. What
was compiled before a build was interrupted is kept too. Nothing is stripped, because
witnesses look for functions by name.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from assay import native
from assay.builds import crate, source, tools
from assay.builds.compile import make
from assay.builds.recipe import Built, Recipe, load
from assay.builds.source import Source
from assay.core.cache import cache, keep, turn
from assay.core.digest import canonical, digest, file_digest
from assay.core.errors import InputError, MissingError

CRATE, VERSION = "librocksdb-sys", "0.19.0"
SHA256 = "4f45e86edad8e88efe97dbf384b4e48e1ff0f111eabf154c7b09d7a1e5fb573c"
SOURCE_VARIABLE = "ASSAY_ROCKSDB_SOURCE"
"""The path of a crate's file (.crate), instead of the one that is fetched."""

LIBRARY = "librocksdb.so"
LIST = Path("rocksdb_lib_sources.txt")
OWN_VERSION = "build_version.cc"
"""The crate's own, instead of one that RocksDB would make of a repository."""

X86, ARM = "x86_64", "aarch64"
DEFINES = (
    "NDEBUG=1",
    "HAVE_ALIGNED_NEW",
    "HAVE_UINT128_EXTENSION",
    "OS_LINUX",
    "ROCKSDB_PLATFORM_POSIX",
    "ROCKSDB_LIB_IO_POSIX",
    "ROCKSDB_SCHED_GETCPU_PRESENT",
    "ROCKSDB_AUXV_GETAUXVAL_PRESENT",
    "ROCKSDB_FALLOCATE_PRESENT",
    "ROCKSDB_RANGESYNC_PRESENT",
    "ROCKSDB_PTHREAD_ADAPTIVE_MUTEX",
)
"""Those of the crate's build script for Linux; the last is RocksDB's own build's and Debian's,
without which `use_adaptive_mutex` does nothing."""
INCLUDES = ("rocksdb/include", "rocksdb", "rocksdb/third-party/gtest-1.8.1/fused-src", ".")
FLAGS = "-O2 -fPIC -pthread -w -include cstdint"
LINK = "-shared -pthread -ldl -Wl,--build-id=sha1"
RECIPE = 1
"""Grows when what this file makes changes."""

INSTRUCTIONS: Mapping[str, str] = {
    X86: "-msse4.2 -mpclmul",
    ARM: "-march=armv8-a+crc+crypto",
}
"""What `crc` adds, by architecture."""

CHOOSING: Mapping[str, tuple[str, ...]] = {
    X86: ("util/crc32c.cc",),
    ARM: ("util/crc32c.cc", "util/crc32c_arm64.cc"),
}
"""What is compiled again for `crc`."""

ARMS = ("portable", "crc")
CHECKSUM = r"crc32c.*(ExtendImpl|3way|ExtendARMImpl)|^crc32c_arm64$"
"""Functions that compute a CRC32C, by their names in a symbol table."""


@dataclass(frozen=True)
class Layout:
    """The sources of a version: a folder, what is compiled in it, and with which flags."""

    folder: Path
    files: tuple[str, ...]
    flags: str


class _RocksDB(Recipe):
    """The recipe."""

    name = "rocksdb"
    arms = ARMS
    takes = "20 to 25 minutes on 2 CPUs, once"

    def kept(self, arm: str) -> bool:
        """Whether the arm was made before; looks at nothing but the cache."""
        return any(cache("builds").glob(f"rocksdb-{arm}-*/build.json"))

    def make(self, arm: str) -> Built:
        if arm not in ARMS:
            raise InputError(
                f"{arm!r} is not a build of RocksDB", next_step=f"builds: {', '.join(ARMS)}"
            )
        found = source.given_or(SOURCE_VARIABLE, lambda: crate.crate(CRATE, VERSION, SHA256))
        compiler, machine = tools.compiler("c++", partial(_run, Path.cwd())), platform.machine()
        if machine not in INSTRUCTIONS:
            raise MissingError(
                f"RocksDB is built for {' and '.join(INSTRUCTIONS)} only; this is {machine}",
                next_step="use the distribution's library",
            )
        unpacked, objects, made = _places(found.sha256, compiler, machine, arm)
        if not made.is_dir():
            keep(unpacked, lambda making: _unpack(found, making))
            layout = layout_of(unpacked / "crate")
            objects.mkdir(parents=True, exist_ok=True)
            with turn(objects):
                compile_all(layout, objects)
            about = Built(
                Path(LIBRARY), "", found.version, found.sha256, compiler, said(layout, arm, machine)
            )
            keep(made, lambda making: _link(arm, layout, objects, making, about))
        return load(made)


ROCKSDB = _RocksDB()


def _unpack(found: Source, making: Path) -> None:
    """The sources, as `crate` in a folder."""
    source.unpack(found, making).rename(making / "crate")


def _run(folder: Path, *command: str) -> str:
    step = "it needs a C++ compiler: sudo apt-get install g++ make"
    return tools.run(command, folder, what="building RocksDB", next_step=step)


def _places(source_sha256: str, compiler: str, machine: str, arm: str) -> tuple[Path, Path, Path]:
    """Where sources, objects and the arm are kept: under the digest of all that goes into them."""
    inputs = [RECIPE, source_sha256, compiler, FLAGS, DEFINES, INCLUDES, machine]
    extra = INSTRUCTIONS[machine] if arm == "crc" else ""
    folder = cache("builds")
    return (
        folder / f"rocksdb-source-{source_sha256[:20]}",
        folder / f"rocksdb-objects-{digest(canonical(inputs))[:20]}",
        folder / f"rocksdb-{arm}-{digest(canonical([*inputs, LINK, extra]))[:20]}",
    )


def layout_of(folder: Path) -> Layout:
    """What the crate itself compiles; InputError if the folder does not look like it."""
    try:
        listed = (folder / LIST).read_text().split()
        standards = re.findall(r"-std=(c\+\+\d+)", (folder / "build.rs").read_text())
    except OSError as error:
        raise InputError(
            f"{folder} is no crate of RocksDB's sources: {error}",
            next_step=f"give the file of the crate {CRATE}",
        ) from error
    files = [f"rocksdb/{f}" for f in listed if f != f"util/{OWN_VERSION}"] + [OWN_VERSION]
    absent = [f for f in files if not (folder / f).is_file()]
    choosing = [f"rocksdb/{f}" for f in CHOOSING[X86]]
    if absent or not standards or not set(choosing) <= set(files):
        raise InputError(
            f"{folder} is not laid out as expected: "
            f"{', '.join(absent[:3]) or 'no standard of C++, or no crc32c.cc, is named'}",
            next_step=f"give the crate {CRATE} {VERSION}",
        )
    words = [f"-std={max(standards)}", FLAGS, *(f"-D{d}" for d in DEFINES)]
    return Layout(folder, tuple(files), " ".join([*words, *(f"-I{i}" for i in INCLUDES)]))


def said(layout: Layout, arm: str, machine: str) -> str:
    """The flags of an arm, in words for a plan."""
    own = " ".join(CHOOSING[machine])
    return layout.flags if arm == "portable" else f"{layout.flags}; {own}: {INSTRUCTIONS[machine]}"


def compile_all(layout: Layout, objects: Path) -> None:
    """Every object of the portable library that is not there yet."""
    make(layout.folder, layout.files, objects, f"c++ {layout.flags}", what="RocksDB")


def _link(arm: str, layout: Layout, objects: Path, making: Path, about: Built) -> None:
    """The arm's own objects, all objects linked, and the library looked at."""
    machine = platform.machine()
    own: dict[str, Path] = {}
    if arm == "crc":
        for file in (f"rocksdb/{f}" for f in CHOOSING[machine]):
            own[file] = making / f"{Path(file).stem}.o"
            flags = f"{layout.flags} {INSTRUCTIONS[machine]}".split()
            _run(layout.folder, "c++", *flags, "-c", file, "-o", str(own[file]))
    listed = [own.get(f, objects / f"{f}.o") for f in layout.files]
    (making / "objects").write_text("\n".join(f'"{path}"' for path in listed))
    library = making / LIBRARY
    _run(layout.folder, "c++", "-o", str(library), f"@{making / 'objects'}", *LINK.split())
    for made in (*own.values(), making / "objects"):
        made.unlink()
    look(library, arm)
    built = replace(about, sha256=file_digest(library))
    (making / "build.json").write_text(json.dumps(asdict(built), default=str, indent=1))


def look(library: Path, arm: str) -> None:
    """Disassembled: the checksum of `crc` is of CRC32 instructions, `portable` holds none."""
    found = native.functions_named(library, CHECKSUM)
    holding = [f.symbol for f in found if f.counts.get("crc32")]
    if not found or bool(holding) != (arm == "crc"):
        shown = ", ".join(holding) or "none"
        raise MissingError(
            f"RocksDB built as {arm} has CRC32 instructions in {shown} "
            f"of {len(found)} functions: this compiler or this version makes other code",
            next_step="use another compiler, or leave the level out",
        )
