"""What the audit says of one statement."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar

from assay.claims.interval import Interval
from assay.claims.units import NUMBER, Unit


class Result(enum.StrEnum):
    """The four answers."""

    FOLLOWS = "follows"
    NOT = "does not follow"
    UNCHECKED = "cannot be checked"
    WRONG_KIND = "wrong kind"


@dataclass(frozen=True)
class AuditedRow:
    """One statement, as `assay audit --json` prints it; `recomputed` is [low, high] or null."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    claim: str
    source: str
    place: str
    statement: str
    stated: str
    recomputed: list[float] | None
    result: Result
    reason: str


@dataclass(frozen=True)
class Audited:
    """One statement, held against its evidence.

    `recomputed` is [low, high] in the unit stated, or None where the statement is no number or
    the evidence is missing. `design` is what the protocol behind it could have seen, if stated.
    """

    claim: str
    source: str
    place: str
    statement: str
    stated: str
    recomputed: tuple[float, float] | None
    result: Result
    reason: str
    design: str = ""

    @property
    def is_contradicted(self) -> bool:
        """Whether the evidence contradicts it."""
        return self.result in (Result.NOT, Result.WRONG_KIND)

    def row(self) -> dict[str, Any]:
        """As `assay audit --json` prints it: an AuditedRow."""
        reason = f"{self.reason}. Design: {self.design}" if self.design else self.reason
        return asdict(
            AuditedRow(
                claim=self.claim,
                source=self.source,
                place=self.place,
                statement=self.statement,
                stated=self.stated,
                recomputed=list(self.recomputed) if self.recomputed else None,
                result=self.result,
                reason=reason,
            )
        )

    def recomputed_text(self) -> str:
        """The interval for people; "" where there is none."""
        if self.recomputed is None:
            return ""
        low, high = (Fraction(end) for end in self.recomputed)
        return shown(Interval(low, high), NUMBER)


def shown(found: Interval, unit: Unit) -> str:
    """A recomputed interval for people, in a unit: one number where its ends print alike."""
    low, high = found.low / unit.scale, found.high / unit.scale
    name = "" if unit.text in ("times", "1", "") else f" {unit.text.split(' of ')[0]}"
    if low == high and low.denominator == 1:
        return f"{int(low):,}{name}"
    for digits in (6, 5, 4, 3):
        if _rounded(low, digits) == _rounded(high, digits):
            return f"{_rounded(low, min(digits, 4))}{name}"
    return f"{_rounded(low, 4)} to {_rounded(high, 4)}{name}"


def _rounded(value: Fraction, digits: int) -> str:
    """A number with that many digits that count, and no exponent."""
    number = float(value)
    if number == 0:
        return "0"
    size = len(str(int(abs(number)))) if abs(number) >= 1 else 0
    return f"{number:,.{max(0, digits - size)}f}" if size else f"{number:.{digits}g}"
