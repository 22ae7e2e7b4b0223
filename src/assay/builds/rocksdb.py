"""RocksDB as a shared library, with and without CRC32 instructions in its checksum.

The sources are those inside the crate `librocksdb-sys`. Arms differ in how
`util/crc32c.cc` is compiled and in nothing else: `portable` for any processor of the
architecture, as distributions and wheels ship it, `crc` with the instructions that
processors have had for fifteen years. RocksDB chooses when it is compiled, not when it
runs, so the portable library computes CRC32C by tables on every machine.

The crate's own list of sources and its definitions are used, in a Makefile of ours, without
compression libraries, io_uring and jemalloc. Compiling takes 20 to 25 minutes on two CPUs; the
other arm is then one object and the linker. Nothing is stripped, because witnesses look for
functions by name.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay import native
from assay.builds import crate, source
from assay.builds.arms import VariedRecipe
from assay.builds.program import TARBALL, Buildable
from assay.builds.recipe_file import BuildRecipe
from assay.builds.variation import Variation
from assay.core.cache import cache
from assay.core.errors import InputError, MissingError

CRATE, VERSION = "librocksdb-sys", "0.19.0"
SHA256 = "4f45e86edad8e88efe97dbf384b4e48e1ff0f111eabf154c7b09d7a1e5fb573c"
SOURCE_VARIABLE = "ASSAY_ROCKSDB_CRATE"
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
INSTRUCTIONS: Mapping[str, str] = {
    X86: "-msse4.2 -mpclmul",
    ARM: "-march=armv8-a+crc+crypto",
}
"""What `crc` adds, by architecture."""

CHOOSING: Mapping[str, tuple[str, ...]] = {
    X86: ("util/crc32c.cc",),
    ARM: ("util/crc32c.cc", "util/crc32c_arm64.cc"),
}
"""What is compiled otherwise for `crc`."""

ARMS = ("portable", "crc")
CHECKSUM = r"crc32c.*(ExtendImpl|3way|ExtendARMImpl)|^crc32c_arm64$"
"""Functions that compute a CRC32C, by their names in a symbol table."""

MAKEFILE = """\
OBJECTS = {objects}
{library}: $(OBJECTS)
\tc++ -shared -pthread -o $@ $(OBJECTS) -ldl
%.o: %.cc
\tc++ {flags} $(OWN) -c $< -o $@
{chosen}: OWN = {own}
{chosen}: Makefile
"""
RECIPE = BuildRecipe(
    "rocksdb",
    make=(("make", "{jobs}", LIBRARY),),
    product=LIBRARY,
    needs={"c++": "g++", "cc": "gcc libc6-dev", "make": "make"},
    units=320,
)


class _RocksDB(VariedRecipe):
    """The recipe."""

    name, called = "rocksdb", "RocksDB"
    arms = ARMS
    takes = "20 to 25 minutes on 2 CPUs, once"

    def is_fetched(self) -> bool:
        known = cache("sources") / f"{CRATE}-{VERSION}"
        return SOURCE_VARIABLE in os.environ or known.is_dir()

    def needs(self) -> BuildRecipe:
        machine = platform.machine()
        if machine not in INSTRUCTIONS:
            raise MissingError(
                f"RocksDB is built for {' and '.join(INSTRUCTIONS)} only; this is {machine}",
                next_step="use the distribution's library",
            )
        return RECIPE

    def program(self) -> Buildable:
        found = source.given_or(SOURCE_VARIABLE, lambda: crate.crate(CRATE, VERSION, SHA256))
        return Buildable(RECIPE, f"{TARBALL}{found.path}")

    def variation(self, program: Buildable, arm: str) -> Variation:
        own = INSTRUCTIONS[platform.machine()] if arm == "crc" else ""
        return Variation(files=(("Makefile", makefile(program.unpacked().folder, own)),))

    def look(self, made: Path, arm: str) -> None:
        """The checksum of `crc` is of CRC32 instructions, `portable` holds none."""
        found = native.functions_named(made, CHECKSUM)
        holding = [f.symbol for f in found if f.counts.get("crc32")]
        if not found or bool(holding) != (arm == "crc"):
            shown = ", ".join(holding) or "none"
            raise MissingError(
                f"RocksDB built as {arm} has CRC32 instructions in {shown} "
                f"of {len(found)} functions: this compiler or this version makes other code",
                next_step="use another compiler, or leave the level out",
            )

    def own_flags(self, arm: str) -> str:
        machine = platform.machine()
        own = f"; {' '.join(CHOOSING[machine])}: {INSTRUCTIONS[machine]}"
        return own if arm == "crc" else ""


ROCKSDB = _RocksDB()


def makefile(folder: Path, own: str) -> str:
    """How the crate's sources are compiled, with `own` flags for what chooses the checksum.

    InputError if the folder does not look like the crate.
    """
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
    flags = " ".join([*words, *(f"-I{i}" for i in INCLUDES)])
    chosen = _objects(f"rocksdb/{f}" for f in CHOOSING[platform.machine()])
    return MAKEFILE.format(
        objects=_objects(files), library=LIBRARY, flags=flags, chosen=chosen, own=own
    )


def _objects(files: Iterable[str]) -> str:
    return " ".join(f"{name.removesuffix('.cc')}.o" for name in files)
