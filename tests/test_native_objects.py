"""What the native half says of a library's file, held against binutils."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from assay import native
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
    assert native.counted_instructions(made, "crc32") == expected
    assert (
        native.counted_instructions(compiled(tmp_path, tools, "int f(void) { return 0; }"), "crc32")
        == 0
    )


def test_functions_are_found_by_name_exported_or_not(tmp_path: Path) -> None:
    """In either symbol table, each once; a stripped file has the exported ones."""
    made = compiled(tmp_path, "", X86, "-msse4.2")
    assert named(made, "^(f|hidden)$") == ["f", "hidden"]
    subprocess.run(["strip", str(made)], check=True)
    assert named(made, "^(f|hidden)$") == ["f"]
    assert named(made, "absent") == []


def named(library: Path, pattern: str) -> list[str]:
    return [function.raw for function in native.functions_named(library, pattern)]


def test_debians_rocksdb_holds_no_crc32_instruction() -> None:
    """Version 7.8.3 computes CRC32C by tables, whatever the processor has."""
    found = find(ROCKSDB)
    assert found is not None, "scripts/install-test-tools gets it"
    assert native.functions_named(found, r"^_ZN7rocksdb6crc32c6ExtendEjPKcm$")
    assert native.counted_instructions(found, "crc32") == 0


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + b"\0" * 90])
def test_what_is_no_library_is_refused(content: bytes, tmp_path: Path) -> None:
    """With its path and the reason."""
    path = tmp_path / "x.so"
    path.write_bytes(content)
    refused(path, "empty|not an ELF file|32-bit")
    refused(tmp_path / "absent", "cannot be read")


def refused(path: Path, why: str) -> None:
    with pytest.raises(InputError, match=f"{path.name}: .*({why})"):
        native.functions_named(path, ".")
    with pytest.raises(InputError, match=f"{path.name}: .*({why})"):
        native.counted_instructions(path, "crc32")


def test_a_library_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """Its headers point behind its end."""
    made = compiled(tmp_path, "", X86, "-msse4.2")
    made.write_bytes(made.read_bytes()[:80])
    refused(made, "broken")
