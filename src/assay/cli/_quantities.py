"""Quantities given to an option: a mistake names the option and what may be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from assay.core.errors import InputError
from assay.core.units import parse_duration, parse_percent, parse_size

T = TypeVar("T")


def read_seconds(option: str, text: str) -> float:
    """Seconds of a duration such as "10m". InputError if it is none."""
    return _read(parse_duration, option, text)


def read_fraction(option: str, text: str) -> float:
    """The fraction of a percentage such as "5%". InputError if it is none."""
    return _read(parse_percent, option, text)


def read_bytes(option: str, text: str) -> int:
    """Bytes of a size such as "8GiB"; a bare number is bytes. InputError if it is none."""
    return int(text) if text.isdecimal() else _read(parse_size, option, text)


def _read(parse: Callable[[str], T], option: str, text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        message, _, example = str(error).partition("; ")
        raise InputError(f"{option}: {message}", next_step=example) from error
