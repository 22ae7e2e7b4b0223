"""The names of functions that an ELF file exports: what is compared between two architectures."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNSYM, _FUNCTION, _IFUNC = 11, 2, 10
MOST_SYMBOLS = 5_000_000


def exported_functions(path: Path) -> frozenset[str]:
    """Of a 64-bit little-endian file with sections; none of any other, or of a broken one."""
    if path.stat().st_size < 64:
        return frozenset()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        if held[:6] != b"\x7fELF\x02\x01":
            return frozenset()
        try:
            return frozenset(_names(held))
        except (struct.error, IndexError, ValueError):
            return frozenset()


def _names(held: mmap.mmap) -> list[str]:
    (table,) = struct.unpack_from("<Q", held, 40)
    size, count = struct.unpack_from("<HH", held, 58)
    if size != _SECTION.size:
        return []
    sections = [_SECTION.unpack_from(held, table + at * size) for at in range(count)]
    found = []
    for section in sections:
        if section[1] != _DYNSYM or section[6] >= count:
            continue
        strings, symbols = sections[section[6]], min(section[5] // _SYMBOL.size, MOST_SYMBOLS)
        for at in range(symbols):
            name, kind, _, where, _, _ = _SYMBOL.unpack_from(held, section[4] + at * _SYMBOL.size)
            if where and kind & 15 in (_FUNCTION, _IFUNC):
                start = strings[4] + name
                end = held.find(b"\0", start, start + 4096)
                found.append(held[start:end].decode("utf-8", "replace"))
    return found
