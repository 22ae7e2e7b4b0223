"""What throughput is worth: work per money, the gain, the saving, and the price to break even.

With work X per unit of time and a price P for it, of machines a and b:

    gain               (Xa / Pa) / (Xb / Pb) - 1        no upper limit
    saving             1 - (Pa / Xa) / (Pb / Xb)        of cost at equal work; never above 100 %
    break-even price   Pb * Xa / Xb                     of a, above which b is the better buy

Gain and saving are two faces of one log ratio: saving = 1 - 1 / (1 + gain). A measurement's
interval is one of ln(Xa / Xb), so each end of it gives an end of every figure; prices are taken
as exact. Everything is reckoned from unrounded values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from assay.core.errors import InputError
from assay.price.catalogue import Price


@dataclass(frozen=True)
class Ratio:
    """Xa / Xb, with its interval; the ends are None where nothing bounds them."""

    value: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        ends = [v for v in (self.value, self.low, self.high) if v is not None]
        if not all(math.isfinite(v) and v > 0 for v in ends):
            raise InputError(
                f"a ratio of throughputs has to be above 0, not {ends}",
                next_step="give two throughputs above 0",
            )


@dataclass(frozen=True)
class Bounds:
    """A figure with its interval."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Worth:
    """Machine a against machine b. Gain and saving are fractions, prices amounts of a's currency
    for a's period; `per_core` and `per_ghz` are gains of work per core and per core and GHz.

    `work_a` and `work_b` are throughputs where they are known; `per_price_a` and `per_price_b`
    are throughput for each unit of currency per period.
    """

    machine: str
    against: str
    ratio: Bounds
    gain: Bounds
    saving: Bounds
    break_even: Bounds
    price: float
    currency: str
    period: str
    per_core: Bounds | None
    per_ghz: Bounds | None
    work_a: float | None
    work_b: float | None
    per_price_a: float | None
    per_price_b: float | None
    warnings: tuple[str, ...]

    def model(self, of: str) -> dict[str, Any]:
        """As `assay price --json` prints it: a Priced. `of` says what the ratio is of."""
        return {"of": of, **asdict(self)}


@dataclass(frozen=True)
class Priced(Worth):
    """A worth with what was measured, in words."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    of: str


def worth(
    ratio: Ratio | tuple[float, float], a: Price, b: Price, warnings: tuple[str, ...] = ()
) -> Worth:
    """Machine `a` against `b`, from a ratio of throughputs or two throughputs.

    InputError where the prices are in two currencies. `warnings` are the caller's, which stand
    before those about the prices.
    """
    work_a, work_b = ratio if isinstance(ratio, tuple) else (None, None)
    if isinstance(ratio, tuple):
        if not all(math.isfinite(x) and x > 0 for x in ratio):
            raise InputError(
                f"throughputs have to be above 0, not {ratio}", next_step="give two measured ones"
            )
        ratio = Ratio(ratio[0] / ratio[1])
    if a.currency != b.currency:
        raise InputError(
            f"{a.machine} is priced in {a.currency}, {b.machine} in {b.currency}",
            next_step="give both in one currency, at the rate of the day they are compared for",
        )
    cost = a.per_hour / b.per_hour
    cores = _over(a.vcpu, b.vcpu)
    clocks = cores * a.ghz / b.ghz if cores and a.ghz and b.ghz else None
    return Worth(
        machine=a.machine,
        against=b.machine,
        ratio=_mapped(ratio, lambda x: x),
        gain=_mapped(ratio, lambda x: x / cost - 1),
        saving=_mapped(ratio, lambda x: 1 - cost / x),
        break_even=_mapped(ratio, lambda x: a.price / cost * x),
        price=a.price,
        currency=a.currency,
        period=a.period,
        per_core=_mapped(ratio, lambda x: x / cores - 1) if cores else None,
        per_ghz=_mapped(ratio, lambda x: x / clocks - 1) if clocks else None,
        work_a=work_a,
        work_b=work_b,
        per_price_a=work_a / a.price if work_a else None,
        per_price_b=work_b / b.price if work_b else None,
        warnings=(*warnings, *price_warnings(a, b)),
    )


def _over(a: float | None, b: float | None) -> float | None:
    return a / b if a and b else None


def _mapped(ratio: Ratio, rising: Callable[[float], float]) -> Bounds:
    """A figure that rises with the ratio, at its value and both ends."""
    low = None if ratio.low is None else rising(ratio.low)
    high = None if ratio.high is None else rising(ratio.high)
    return Bounds(rising(ratio.value), low, high)


def price_warnings(a: Price, b: Price) -> tuple[str, ...]:
    """What makes two prices hard to compare."""
    if a == b:
        return ()
    found = []
    if a.period != b.period:
        found.append(
            f"{a.machine} is priced by the {a.period}, {b.machine} by the {b.period}: brought "
            "to one hour, without the discount that a longer term may hold"
        )
    for name, what in (("date", "dates"), ("billing", "kinds of billing")):
        one, other = getattr(a, name), getattr(b, name)
        if one != other and one and other:
            found.append(f"different {what}: {one} and {other}")
    lacking = [p.machine for p in (a, b) if p.date is None]
    if lacking:
        found.append(f"no date is known for the price of {' and '.join(lacking)}")
    if a.per_hour == b.per_hour:
        found.append(
            "both machines have one price: if that is an assumption, so is all that follows"
        )
    if a.memory_gb is None or b.memory_gb is None:
        found.append("the memory of a machine is not known")
    elif a.memory_gb != b.memory_gb:
        found.append(f"unequal memory: {a.memory_gb:g} GB and {b.memory_gb:g} GB")
    if a.vcpu is None or b.vcpu is None:
        found.append("the CPUs of a machine are not known")
    elif a.vcpu != b.vcpu:
        found.append(f"unequal CPUs: {a.vcpu} and {b.vcpu}")
    return tuple(found)
