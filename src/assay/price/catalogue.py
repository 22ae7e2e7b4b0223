"""The price catalogue: what a machine costs, for how long, in which money, and who says so.

A catalogue is a TOML file of [[price]] tables. Prices are kept as printed and brought to one hour
only to be compared; a year has 365 days and a month is a twelfth of it. There are no exchange
rates: prices in two currencies are not compared.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from assay.core.document import Document, parse
from assay.core.errors import CatalogueError, InputError, Problem
from assay.core.fields import Fields
from assay.core.parameters import nearest

HOURS = {"hour": 1.0, "month": 365 * 24 / 12, "year": 365 * 24.0}


@dataclass(frozen=True)
class Price:
    """One row. `price` is an amount of `currency` for each `period`; None where not known."""

    machine: str
    price: float
    currency: str
    period: str
    vcpu: int | None = None
    memory_gb: float | None = None
    ghz: float | None = None
    billing: str | None = None
    date: str | None = None
    source: str | None = None

    @property
    def per_hour(self) -> float:
        """The price of one hour."""
        return self.price / HOURS[self.period]


def shipped_prices() -> dict[str, Price]:
    """The catalogue that comes with Assay: the rows of the five seeds that print prices."""
    found: dict[str, Price] = {}
    folder = resources.files("assay") / "library" / "prices"
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            found |= read_prices(file.name, file.read_text("utf-8"))
    return found


def prices(catalogues: Iterable[str | Path] = ()) -> dict[str, Price]:
    """The shipped rows and those of the catalogues given, which go before them."""
    found = shipped_prices()
    for path in catalogues:
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path} cannot be read: {error}", next_step="give a TOML file with [[price]]"
            ) from error
        found |= read_prices(str(path), text)
    return found


def find_price(machine: str, known: dict[str, Price]) -> Price:
    """The row of a machine; InputError names the nearest."""
    if machine in known:
        return known[machine]
    raise InputError(
        f"there is no price for {machine!r}{nearest(machine, known)}",
        next_step=f"known are {', '.join(known)}; add rows with --catalogue FILE",
    )


def read_prices(name: str, text: str) -> dict[str, Price]:
    """The rows in `text` by machine; CatalogueError holds every mistake found."""
    document = parse(name, text, CatalogueError)
    problems: list[Problem] = []
    top = Fields(document, (), "the top level", problems)
    rows = top.tables("price")
    top.unknown()
    found: dict[str, Price] = {}
    if not rows and not problems:
        top.wrong((), "no [[price]] in the catalogue", "add one for each machine")
    for index in range(rows):
        row = _row(document, index, problems)
        if row.machine in found:
            said = f"{row.machine!r} stands here twice"
            problems.append(
                document.problem(("price", index, "machine"), said, "give each its own name")
            )
        found[row.machine] = row
    if problems:
        raise CatalogueError(name, problems)
    return found


def _row(document: Document, index: int, problems: list[Problem]) -> Price:
    fields = Fields(document, ("price", index), "a price", problems)
    currency = fields.text("currency")
    if currency and not (len(currency) == 3 and currency.isalpha() and currency.isupper()):
        fields.wrong(("currency",), f"{currency!r} is no currency", 'such as "USD" or "EUR"')
    made = Price(
        machine=fields.text("machine"),
        price=fields.number("price"),
        currency=currency,
        period=fields.choice("period", HOURS),
        vcpu=fields.count("vcpu", None),
        memory_gb=fields.number("memory_gb", None),
        ghz=fields.number("ghz", None),
        billing=fields.text("billing", None),
        date=_date(fields),
        source=fields.text("source", None),
    )
    fields.unknown()
    return made


def _date(fields: Fields) -> str | None:
    """A day as YYYY-MM-DD, bare or as a text, or a year or month as a text."""
    value = fields.values.get("date")
    if isinstance(value, datetime.date):
        fields.asked.append("date")
        return value.isoformat()
    return fields.text("date", None)
