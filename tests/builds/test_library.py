"""What a library's file tells, held against binutils."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from assay.builds.library import Library
from assay.core.errors import InputError
from assay.targets.stores.framework.store import find
from assay.targets.stores.rocksdb import ROCKSDB

X86 = """
#include <nmmintrin.h>
unsigned long f(unsigned long c, const char *p) {
  c = _mm_crc32_u8(c, p[0]);
  c = _mm_crc32_u16(c, *(short *)(p + 1));
  c = _mm_crc32_u32(c, *(int *)(p + 3));
  return _mm_crc32_u64(c, *(long *)(p + 7));
}
static int hidden(int x) { return x + 1; }
int (*used)(int) = hidden;
"""
ARM = """
#include <arm_acle.h>
unsigned f(unsigned c, const char *p) {
  c = __crc32cb(c, p[0]);
  c = __crc32ch(c, *(short *)(p + 1));
  c = __crc32cw(c, *(int *)(p + 3));
  c = __crc32d(c, *(long *)(p + 7));
  return __crc32cd(c, *(long *)(p + 7));
}
"""
MACHINES = [("", X86, "-msse4.2"), ("aarch64-linux-gnu-", ARM, "-march=armv8-a+crc")]


def compiled(folder: Path, tools: str, text: str, *flags: str) -> Path:
    (folder / "f.c").write_text(text)
    made = folder / "f.so"
    command = [f"{tools}gcc", "-O1", "-fPIC", "-shared", "-nostdlib", *flags]
    subprocess.run([*command, str(folder / "f.c"), "-o", str(made)], check=True)
    return made


@pytest.mark.parametrize(("tools", "text", "flag"), MACHINES, ids=["x86_64", "aarch64"])
def test_crc32_instructions_are_as_many_as_objdump_finds(
    tools: str, text: str, flag: str, tmp_path: Path
) -> None:
    """Of every width; and none where there is none."""
    made = compiled(tmp_path, tools, text, flag)
    listing = subprocess.run(
        [f"{tools}objdump", "-d", str(made)], capture_output=True, text=True, check=True
    ).stdout
    expected = len(re.findall(r"\tcrc32", listing))
    assert expected >= 4
    assert Library(made).crc32_instructions() == expected
    assert Library(compiled(tmp_path, tools, "int f;")).crc32_instructions() == 0


def test_functions_are_found_by_name_exported_or_not(tmp_path: Path) -> None:
    """In either symbol table, each once; a stripped file has the exported ones."""
    made = compiled(tmp_path, "", X86, "-msse4.2")
    assert Library(made).functions("^(f|hidden)$") == ["f", "hidden"]
    subprocess.run(["strip", str(made)], check=True)
    assert Library(made).functions("^(f|hidden)$") == ["f"]
    assert Library(made).functions("absent") == []


def test_debians_rocksdb_holds_no_crc32_instruction() -> None:
    """Version 7.8.3 computes CRC32C by tables, whatever the processor has."""
    found = find(ROCKSDB)
    assert found is not None, "scripts/install-test-tools gets it"
    library = Library(found)
    assert library.functions(r"^_ZN7rocksdb6crc32c6ExtendEjPKcm$")
    assert library.crc32_instructions() == 0


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + b"\0" * 90])
def test_what_is_no_library_is_refused(content: bytes, tmp_path: Path) -> None:
    """With its path."""
    path = tmp_path / "x.so"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.so is no ELF file of 64 bits"):
        Library(path)
    with pytest.raises(InputError, match="cannot be read"):
        Library(tmp_path / "absent")


def test_a_library_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """Its headers point behind its end."""
    made = compiled(tmp_path, "", X86, "-msse4.2")
    made.write_bytes(made.read_bytes()[:80])
    with pytest.raises(InputError, match="is cut off"):
        Library(made)
