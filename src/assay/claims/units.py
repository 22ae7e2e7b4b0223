"""Units, far enough to tell a price per throughput from a throughput per price.

A unit is a scale and a product of symbols: "GiB" is 2^30 bytes, "TPS/USD" is transactions per
second over dollars. Sizes, times and frequencies are known and converted; any other word is a
symbol of its own (page, CPU, USD). A percentage may name what it is a share of ("% of log cache
grabs"): shares of different things are neither added nor compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_YEAR_S = 365 * 24 * 3600

KNOWN: dict[str, tuple[Fraction, dict[str, int]]] = {
    **{name: (Fraction(1), {}) for name in ("1", "times")},
    "%": (Fraction(1, 100), {}),
    **{
        name: (Fraction(scale), {"B": 1})
        for name, scale in {
            "B": 1,
            "KiB": 1 << 10,
            "MiB": 1 << 20,
            "GiB": 1 << 30,
            "TiB": 1 << 40,
            "kB": 10**3,
            "MB": 10**6,
            "GB": 10**9,
            "TB": 10**12,
        }.items()
    },
    **{
        name: (Fraction(scale), {"s": 1})
        for name, scale in {
            "ns": Fraction(1, 10**9),
            "us": Fraction(1, 10**6),
            "ms": Fraction(1, 10**3),
            "s": Fraction(1),
            "min": Fraction(60),
            "h": Fraction(3600),
            "month": Fraction(_YEAR_S, 12),
            "year": Fraction(_YEAR_S),
        }.items()
    },
    **{
        name: (Fraction(scale), {"s": -1})
        for name, scale in {"Hz": 1, "MHz": 10**6, "GHz": 10**9}.items()
    },
}
"""Units that are converted; a year has 365 days and a month is a twelfth of it."""

CURRENCIES = frozenset({"AUD", "CHF", "CNY", "EUR", "GBP", "INR", "JPY", "USD"})
"""Of these no amount may be negative."""

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*|%|1")


@dataclass(frozen=True)
class Unit:
    """`text` as written; a value times `scale` is in the product of `symbols`.

    `share_of`: what a percentage is a share of, or "" where nobody says.
    """

    text: str
    scale: Fraction
    symbols: tuple[tuple[str, int], ...]
    share_of: str = ""

    def __mul__(self, other: Unit) -> Unit:
        return _unit("", self.scale * other.scale, self.symbols + other.symbols)

    def inverse(self) -> Unit:
        """One over it."""
        return _unit("", 1 / self.scale, tuple((s, -e) for s, e in self.symbols))

    @property
    def is_number(self) -> bool:
        """Whether it is a bare number, whatever its scale."""
        return not self.symbols

    @property
    def is_money(self) -> bool:
        """Whether it is an amount in some currency."""
        return any(symbol in CURRENCIES for symbol, _ in self.symbols)

    def named(self) -> str:
        """Its symbols, for a message."""
        found = [s if e == 1 else f"{s}^{e}" for s, e in self.symbols]
        return "*".join(found) or "a bare number"


def _unit(text: str, scale: Fraction, symbols: tuple[tuple[str, int], ...]) -> Unit:
    powers: dict[str, int] = {}
    for symbol, power in symbols:
        powers[symbol] = powers.get(symbol, 0) + power
    return Unit(text, scale, tuple(sorted((s, e) for s, e in powers.items() if e)))


NUMBER = _unit("times", Fraction(1), ())


def parse_unit(text: str) -> Unit:
    """The unit in a text such as "GiB", "TPS/USD", "GHz*CPU" or "% of log grabs".

    ValueError where it is none.
    """
    written, _, share = text.strip().partition(" of ")
    if share and written.strip() != "%":
        raise ValueError(f'{text!r} is not a unit: only "%" may be "of" something')
    scale, symbols, sign = Fraction(1), [], 1
    for place, part in enumerate(re.split(r"([*/])", written.strip())):
        if place % 2:
            sign = 1 if part == "*" else -1
            continue
        name = part.strip()
        if not _SYMBOL.fullmatch(name):
            raise ValueError(f'{text!r} is not a unit; write for example "GiB" or "TPS/USD"')
        factor, known = KNOWN.get(name, (Fraction(1), {name: 1}))
        scale *= factor**sign
        symbols += [(symbol, sign * power) for symbol, power in known.items()]
    made = _unit(text.strip(), scale, tuple(symbols))
    return Unit(made.text, made.scale, made.symbols, share.strip())
