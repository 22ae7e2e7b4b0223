"""The recipe of RocksDB, on a crate of three small files: the real one takes half an hour."""

from __future__ import annotations

import io
import platform
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from assay import native
from assay.builds import RECIPES, Built, crate, rocksdb
from assay.builds.progress import BuildProgress, listening
from assay.changes import CATALOGUE
from assay.core.digest import file_digest
from assay.core.errors import InputError, MissingError
from witness_kit import showing

RECIPE = RECIPES["rocksdb"]
X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="its checksum is written for it")

CHECKSUM = """
#include <cstddef>
#ifdef __SSE4_2__
#include <wmmintrin.h>
#endif
namespace rocksdb { namespace crc32c {
#ifdef __SSE4_2__
uint32_t crc32c_3way(uint32_t crc, const char* p, size_t n) {
  while (n--) crc = __builtin_ia32_crc32qi(crc, *p++);
  __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128(crc), _mm_cvtsi32_si128(3), 0);
  return _mm_cvtsi128_si32(product);
}
#else
uint32_t ExtendImpl(uint32_t crc, const char* p, size_t n) {
  while (n--) crc = crc * 31 + *p++;
  return crc;
}
#endif
}}
"""
FILES = {
    "rocksdb_lib_sources.txt": "db/c.cc\nutil/crc32c.cc\nutil/build_version.cc\n",
    "build.rs": 'config.flag("-std=c++17");',
    "build_version.cc": "int version() { return 1; }",
    "rocksdb/db/c.cc": "int open_it() { return 2; }",
    "rocksdb/util/crc32c.cc": CHECKSUM,
}


def crate_of(path: Path, changed: Mapping[str, str] = MappingProxyType({})) -> Path:
    """A crate's file: laid out as the real one, with few sources."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {**FILES, **changed}.items():
            entry = tarfile.TarInfo(f"librocksdb-sys-1/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache whose name has a blank and a dollar in it, and the small crate."""
    cache = tmp_path / "a $cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv(rocksdb.SOURCE_VARIABLE, str(crate_of(tmp_path / "small.crate")))
    return cache


def steps_of(arm: str) -> tuple[Built, list[BuildProgress]]:
    steps: list[BuildProgress] = []
    with listening(steps.append):
        return RECIPE.make(arm), steps


@X86
def test_the_arms_differ_in_the_instructions_of_the_checksum_and_in_nothing_else() -> None:
    """Same sources, same compiler, one object made anew."""
    portable, crc = RECIPE.make("portable"), RECIPE.make("crc")
    assert portable.sha256 != crc.sha256
    assert portable.compiler == crc.compiler
    assert portable.source_sha256 == crc.source_sha256
    assert crc.flags == f"{portable.flags}; util/crc32c.cc: -msse4.2 -mpclmul"
    sizes = [_sizes(b.path) for b in (portable, crc)]
    changed = {n for n in set(sizes[0]) | set(sizes[1]) if sizes[0].get(n) != sizes[1].get(n)}
    assert changed == {
        "_ZN7rocksdb6crc32c10ExtendImplEjPKcm",
        "_ZN7rocksdb6crc32c11crc32c_3wayEjPKcm",
    }


def _sizes(library: Path) -> dict[str, str]:
    lines = subprocess.run(
        ["nm", "-S", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    words = [line.split() for line in lines]
    return {w[3]: w[1] for w in words if len(w) == 4 and w[2] in "tT"}


@X86
def test_the_code_tells_which_arm_it_is() -> None:
    """By names, and without them."""
    for arm, holds in (("portable", False), ("crc", True)):
        library = RECIPE.make(arm).path
        assert bool(native.counted_instructions(library, "crc32")) == holds
        (function,) = native.functions_named(library, rocksdb.CHECKSUM)
        assert ("3way" in function.raw) == holds


@X86
def test_the_witness_of_the_change_holds_for_its_own_arm_only() -> None:
    """The census and the log must both agree."""
    from assay.targets.stores.framework.evidence import functions

    witness = CATALOGUE["rocksdb.library"].witness
    logs = {"portable": "Not supported on x86", "crc": "Supported on x86"}
    shown = {
        arm: {
            "functions": functions(RECIPE.make(arm).path, rocksdb.CHECKSUM, "crc32c"),
            "log": {"Fast CRC32 supported": said},
        }
        for arm, said in logs.items()
    }
    for arm in logs:
        for seen, evidence in shown.items():
            assert witness.judge(arm, {}, showing(**evidence)).held == (arm == seen)
        lying = {**shown[arm], "log": shown["crc" if arm == "portable" else "portable"]["log"]}
        assert not witness.judge(arm, {}, showing(**lying)).held


def test_the_second_arm_is_one_object_and_a_link() -> None:
    """What both have in common is compiled once."""
    _, steps = steps_of("portable")
    assert steps[-1].done == 4
    assert RECIPE.kept("portable")
    assert not RECIPE.kept("crc")
    _, steps = steps_of("crc")
    assert steps[-1].done == 2
    assert steps_of("portable")[1] == []


@X86
def test_a_build_whose_code_does_not_fit_its_name_is_not_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    """A version that chooses by other macros would otherwise give two arms that are the same."""
    text = CHECKSUM.replace("__SSE4_2__", "HAVE_SSE42")
    other = crate_of(tmp_path / "other.crate", {"rocksdb/util/crc32c.cc": text})
    monkeypatch.setenv(rocksdb.SOURCE_VARIABLE, str(other))
    assert RECIPE.make("portable").path.is_file()
    for _ in range(2):
        with pytest.raises(MissingError, match=r"built as crc has CRC32 instructions in none"):
            RECIPE.make("crc")


def test_a_library_that_was_changed_afterwards_is_refused() -> None:
    """Its digest is looked at each time."""
    built = RECIPE.make("portable")
    assert file_digest(built.path) == built.sha256
    assert native.census(built.path).build_id
    with built.path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match="was changed since it was built"):
        RECIPE.make("portable")


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("rocksdb_lib_sources.txt", "db/c.cc\n", "no crc32c.cc"),
        ("rocksdb_lib_sources.txt", "db/c.cc\nutil/crc32c.cc\ndb/gone.cc\n", "db/gone.cc"),
        ("build.rs", "", "no standard of C"),
    ],
)
def test_another_crate_is_refused_before_anything_is_compiled(
    name: str, text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is not as expected."""
    other = crate_of(tmp_path / "other.crate", {name: text})
    monkeypatch.setenv(rocksdb.SOURCE_VARIABLE, str(other))
    with pytest.raises(InputError, match="is not laid out as expected") as caught:
        RECIPE.make("portable")
    assert why in caught.value.message


def test_an_arm_that_there_is_not_is_refused_with_those_there_are() -> None:
    """As everywhere."""
    with pytest.raises(InputError, match="'sse' is not a build of RocksDB") as caught:
        RECIPE.make("sse")
    assert "portable, crc" in caught.value.next_step


def test_without_a_compiler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The program and its package."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match=r"needs c\+\+") as caught:
        RECIPE.make("portable")
    assert "apt-get install g++" in caught.value.next_step


CARGO = """#!/bin/sh
mkdir -p "$CARGO_HOME/registry/cache/mirror-1"
cp "$SMALL" "$CARGO_HOME/registry/cache/mirror-1/small-1.0.0+7.crate"
printf '[[package]]\\nname = "small"\\nversion = "1.0.0+7"\\n' > Cargo.lock
"""


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cargo that has one crate; its file."""
    small = crate_of(tmp_path / "small.crate")
    program = tmp_path / "bin" / "cargo"
    program.parent.mkdir()
    program.write_text(CARGO)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    monkeypatch.setenv("SMALL", str(small))
    return small


def test_a_crate_is_fetched_once_and_its_digest_is_the_known_one(
    cargo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The second time cargo is not asked; the file is looked at again."""
    known = file_digest(cargo)
    found = crate.crate("small", "1.0.0", known)
    assert found.sha256 == known
    assert found.version == "crate small 1.0.0+7"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert crate.crate("small", "1.0.0", known) == found
    found.path.write_bytes(b"other")
    with pytest.raises(InputError, match="is not what was fetched"):
        crate.crate("small", "1.0.0", known)


def test_a_crate_of_another_digest_is_refused(cargo: Path, own_cache: Path) -> None:
    """Whatever the registry says of it, and nothing of it is kept."""
    with pytest.raises(MissingError, match=f"with the SHA-256 {'0' * 64}"):
        crate.crate("small", "1.0.0", "0" * 64)
    assert list((own_cache / "assay/sources").glob("small*")) == []
