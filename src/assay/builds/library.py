"""What the file of a shared library tells of itself: its functions, and CRC32 instructions.

A library of a distribution is stripped: functions that it does not export have no
name, so no census can be asked for them. That there is no CRC32 instruction in it at
all can be seen without names. On x86-64 the bytes of every such instruction hold F2,
perhaps a prefix, 0F 38 and F0 or F1, so where these do not stand in the code there is
none; the other way round they might, once in many gigabytes, stand there by chance.
On aarch64 an instruction is a word, and the words of CRC32 are told by a mask.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import InputError

X86_64, AARCH64 = 62, 183
"""Machines, as ELF numbers them."""
_CODE, _SYMBOLS, _DYNAMIC_SYMBOLS = 0x4, 2, 11
_FUNCTION = 2
_CRC32_X86 = re.compile(rb"\xf2[\x40-\x4f\x66]{0,2}\x0f\x38[\xf0\xf1]", re.DOTALL)
_CRC32_A64, _CRC32_A64_MASK = 0x1AC04000, 0x7FE0E000
"""CRC32B to CRC32CX: any size, either polynomial, any registers."""


@dataclass(frozen=True)
class Section:
    """One section: bytes of the file."""

    kind: int
    is_code: bool
    offset: int
    size: int
    link: int


class Library:
    """An ELF file of 64 bits, little-endian."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._data = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error}") from error
        if self._data[:6] != b"\x7fELF\x02\x01":
            raise InputError(f"{path} is no ELF file of 64 bits", next_step="give a library's path")
        self.machine = struct.unpack_from("<H", self._data, 18)[0]
        try:
            self.sections = list(self._sections())
        except struct.error as error:
            raise InputError(f"{path} is cut off", next_step="give a library's path") from error

    def _sections(self) -> Iterator[Section]:
        start = struct.unpack_from("<Q", self._data, 40)[0]
        size, count = struct.unpack_from("<HH", self._data, 58)
        for number in range(count):
            _, kind, flags, _, offset, length, link = struct.unpack_from(
                "<IIQQQQI", self._data, start + number * size
            )
            yield Section(kind, bool(flags & _CODE), offset, length, link)

    def functions(self, pattern: str) -> list[str]:
        """Names in the symbol tables of functions that match, each once, in order of names."""
        wanted = re.compile(pattern)
        tables = [s for s in self.sections if s.kind in (_SYMBOLS, _DYNAMIC_SYMBOLS)]
        found = {name for table in tables for name in self._names(table) if wanted.search(name)}
        return sorted(found)

    def _names(self, table: Section) -> Iterator[str]:
        texts = self.sections[table.link].offset
        for place in range(table.offset, table.offset + table.size, 24):
            name, info, _, section, _, size = struct.unpack_from("<IBBHQQ", self._data, place)
            if info & 0xF == _FUNCTION and section and size:
                end = self._data.index(b"\0", texts + name)
                yield self._data[texts + name : end].decode("utf-8", "replace")

    def crc32_instructions(self) -> int:
        """How many CRC32 instructions stand in its code."""
        counts = {X86_64: _crc32_x86, AARCH64: _crc32_a64}
        if self.machine not in counts:
            raise InputError(f"{self.path} is for another machine (ELF number {self.machine})")
        code = (self._data[s.offset : s.offset + s.size] for s in self.sections if s.is_code)
        return sum(map(counts[self.machine], code))


def _crc32_x86(code: bytes) -> int:
    return len(_CRC32_X86.findall(code))


def _crc32_a64(code: bytes) -> int:
    words = array("I", code[: len(code) // 4 * 4])
    return sum(word & _CRC32_A64_MASK == _CRC32_A64 for word in words)
