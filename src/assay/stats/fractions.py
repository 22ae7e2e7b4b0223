"""Which cells of a two-level factorial a screen runs: all of them, or a well-chosen fraction.

A fraction takes the first factors as a full factorial and sets each further one by a parity rule
on them. Every rule here makes a factor *on* where an odd number of others is on, so the cell with
everything off always belongs to the fraction. The price is aliases: effects whose columns are
equal, or opposite, over the cells that were run and therefore cannot be told apart. The
resolution is the length of the shortest such coincidence: at IV main effects are clear of
two-way interactions, at V those are also clear of each other.

All rules are tried, which for up to 8 factors takes milliseconds; no table is kept. Not here:
combinations that are illegal; a study leaves those cells out of what is returned.

Sources: Box & Hunter, Technometrics 3 (1961), resolution; Fries & Hunter, Technometrics 22
(1980), minimum aberration; Montgomery, Design and Analysis of Experiments, chapter 8.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FACTORS_MAX = 8
_FULL_UP_TO = 4  # factors that are crossed completely unless a size is asked for
_CELLS_MAX = 32  # cells of a block that is not asked for by size; 4 blocks are 128 runs
_CLEAR = 5  # the resolution from which every effect listed here stands alone


@dataclass(frozen=True)
class Design:
    """Cells of a two-level factorial.

    runs        levels (0 off, 1 on) in the order of the factors; everything off comes first
    resolution  None when the factorial is full
    generators  how each added factor is set, in +-1 coding: "E = -A x B x C x D"
    aliases     main effects and two-way interactions that share a column up to its sign; groups
                of one are left out, main effects come first
    """

    runs: tuple[tuple[int, ...], ...]
    resolution: int | None
    generators: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...]


def fraction(factors: Sequence[str], size: int | None = None) -> Design:
    """The best design of `size` cells: highest resolution, then minimum aberration.

    Without a size: all cells for up to 4 factors, else the smallest fraction of resolution V
    with at most 32 cells, else the best one of 32. Raises ValueError on 9 factors or more, on a
    name given twice, and on a size that is no power of two or does not fit the factors.
    """
    _check(factors, size)
    count = len(factors)
    base = _default_base(count) if size is None else size.bit_length() - 1
    rules = _rules(count, base)
    runs = tuple(_run(levels, rules) for levels in itertools.product((0, 1), repeat=base))
    return Design(
        runs=runs,
        resolution=min(_lengths(rules, base), default=None),
        generators=tuple(_text(factors[base + k], rule, factors) for k, rule in enumerate(rules)),
        aliases=tuple(group for group in alias_groups(columns(factors, runs)) if len(group) > 1),
    )


def columns(factors: Sequence[str], runs: Iterable[Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """Main effects, then two-way interactions "F:G", each as its column of -1 and +1."""
    signs = list(zip(*([2 * level - 1 for level in run] for run in runs), strict=True))
    found = dict(zip(factors, signs, strict=True))
    for first, second in itertools.combinations(factors, 2):
        product = (f * g for f, g in zip(found[first], found[second], strict=True))
        found[f"{first}:{second}"] = tuple(product)
    return found


def alias_groups(columns: Mapping[str, tuple[int, ...]]) -> list[tuple[str, ...]]:
    """The effects by what tells them apart: equal or opposite columns share a group."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, column in columns.items():
        groups.setdefault(tuple(column[0] * sign for sign in column), []).append(name)
    return [tuple(group) for group in groups.values()]


def _check(factors: Sequence[str], size: int | None) -> None:
    count = len(factors)
    if not count or len(set(factors)) < count:
        raise ValueError(f"factors must have different names, and there must be one: {factors}")
    if count > FACTORS_MAX:
        raise ValueError(
            f"{count} factors are more than a screen of {FACTORS_MAX}; leave out those least "
            "likely to matter, or run one-at-a-time first and screen what is left"
        )
    if size is not None and (size < 2 or size.bit_count() != 1 or size > 2**count):
        sizes = ", ".join(str(2**base) for base in range(1, count + 1) if 2**base > count)
        raise ValueError(f"{size} cells for {count} factors; take one of {sizes}")


def _default_base(count: int) -> int:
    if count <= _FULL_UP_TO:
        return count
    bases = range(_FULL_UP_TO, _CELLS_MAX.bit_length())
    clear = (b for b in bases if min(_lengths(_rules(count, b), b), default=count) >= _CLEAR)
    return next(clear, bases[-1])


def _rules(count: int, base: int) -> tuple[int, ...]:
    """For each added factor the basic factors that set it, as a bit mask."""
    choices = [mask for mask in range(2**base) if mask.bit_count() >= 2]
    options = itertools.combinations(choices, count - base)

    def aberration(rules: tuple[int, ...]) -> tuple[int, ...]:
        lengths = _lengths(rules, base)
        return tuple(lengths.count(length) for length in range(3, count + 1))

    best = min(options, key=aberration, default=None)
    if best is None:
        least = 2 ** count.bit_length()
        raise ValueError(f"{2**base} cells are too few for {count} factors; take {least} or more")
    return best


def _lengths(rules: Sequence[int], base: int) -> list[int]:
    return [word.bit_count() for word in _words(rules, base)]


def _words(rules: Sequence[int], base: int) -> list[int]:
    """The defining relation: every product of factors that is constant over the cells."""
    words = [0]
    for k, rule in enumerate(rules):
        words += [word ^ rule ^ (1 << (base + k)) for word in words]
    return words[1:]


def _run(levels: tuple[int, ...], rules: Sequence[int]) -> tuple[int, ...]:
    mask = sum(level << k for k, level in enumerate(levels))
    return (*levels, *((mask & rule).bit_count() % 2 for rule in rules))


def _text(factor: str, rule: int, factors: Sequence[str]) -> str:
    """The rule in +-1 coding: a product of an even number of offs is +1, so it needs a minus."""
    names = [name for k, name in enumerate(factors) if rule >> k & 1]
    return f"{factor} = {'' if len(names) % 2 else '-'}{' x '.join(names)}"
