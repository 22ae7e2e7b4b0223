"""How far a long build is, told to whoever listens: recipes tell, the command line shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class BuildProgress:
    """A build so far: `done` of `total` objects; `left_s` is a guess, None before there is one."""

    what: str
    done: int
    total: int
    left_s: float | None


Told = Callable[[BuildProgress], None]
_listening: list[Told] = []


@contextmanager
def listening(told: Told) -> Iterator[None]:
    """`told` hears of every step of any build within the block."""
    _listening.append(told)
    try:
        yield
    finally:
        _listening.remove(told)


def tell(step: BuildProgress) -> None:
    """Tells whoever listens."""
    for told in list(_listening):
        told(step)
