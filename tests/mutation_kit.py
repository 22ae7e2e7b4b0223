"""Damage drawn from a number, for tests of what reads a stranger's files, and what it may cost."""

from __future__ import annotations

import random
import resource

UNFORESEEN = "or Assay is wrong"
"""In the sentence of an error that nobody foresaw."""

GROWTH_KIB = 512 << 10
"""What reading damaged files may take of memory."""

PIECES = (b"\xff\xfe", b"\0", b'"', b"{", b"[" * 3000, b"\n")


def of_bytes(data: bytes, drawn: random.Random) -> bytes:
    """Some bytes changed, taken out, or put in."""
    made = bytearray(data)
    for _ in range(drawn.choice((1, 1, 3, 20))):
        place = drawn.randrange(len(made) + 1)
        how = drawn.random()
        if how < 0.5 and made:
            made[min(place, len(made) - 1)] = drawn.randrange(256)
        elif how < 0.75:
            del made[place : place + drawn.choice((1, 5, 500))]
        else:
            made[place:place] = drawn.choice(PIECES)
    return bytes(made)


def of_numbers(data: bytes, drawn: random.Random) -> bytes:
    """Fields of 1 to 8 bytes that hold a size, a count or an offset where it should not be."""
    made = bytearray(data)
    for _ in range(drawn.choice((1, 2, 6))):
        width = drawn.choice((1, 2, 4, 8))
        place = drawn.randrange(max(1, len(made) - width))
        value = drawn.choice((0, 1, len(data), 1 << 31, -1, (1 << 63) - 1, drawn.getrandbits(64)))
        order = drawn.choice(("little", "big"))
        made[place : place + width] = (value % (1 << 8 * width)).to_bytes(width, order)
    return bytes(made[: len(data)])


def cut(data: bytes, drawn: random.Random) -> bytes:
    """Its beginning."""
    return data[: drawn.randrange(len(data))]


def peak_kib() -> int:
    """The most memory that this process, or one that it waited for, has had."""
    return max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
