"""What a study promises before its first run: effect sizes, error rate, and the words.

A `Rule` is written down with the study and never changes afterwards; every verdict of the
study is a function of the rule, the planned number of blocks and the runs. It is not a plan:
how many blocks the rule costs on this machine is `plan.py`.

Sources: the reserve for later extensions and the two-sided equivalence level follow the
project's method note (docs/method.md); TOST is Schuirmann, J. Pharmacokin. Biopharm. 15 (1987).
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

from assay.stats.constants import STANDARD, Constants


class Word(enum.StrEnum):
    """The five answers there are. `INVALID` is given by the bench, never by arithmetic."""

    HELPS = "helps"
    HURTS = "hurts"
    NO_DIFFERENCE = "no difference"
    UNDECIDED = "undecided"
    INVALID = "invalid"


class Strength(enum.StrEnum):
    """Whether the error rate of the study covers the answer, or it is only a lead."""

    CONFIRMED = "confirmed"
    SUGGESTS = "suggests"


@dataclass(frozen=True)
class Rule:
    """The decision rule of one study; sizes are fractions (0.02 is 2 %).

    smallest  smallest effect worth having; it sets the price of the study
    margin    largest difference that counts as none
    alpha     chance, over the whole study, of any false "helps" or "hurts"
    reserve   share of both kinds of error kept back for extending a study that ends undecided, so
              that an extension cannot lift the total above what was promised (union bound)
    equivalence  two-sided chance of a false "no difference" of one contrast: 5 % on either side
    constants  what else verdicts depend on
    """

    smallest: float
    margin: float
    alpha: float = 0.05
    reserve: float = STANDARD.reserve
    equivalence: float = STANDARD.equivalence
    constants: Constants = STANDARD

    def __post_init__(self) -> None:
        for name in ("smallest", "margin"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must lie between 0 and 1, not {getattr(self, name)}")
        if not 0 < self.alpha < 0.5:
            raise ValueError(f"alpha must lie between 0 and 0.5, not {self.alpha}")
        if not 0 <= self.reserve < 1:
            raise ValueError(f"reserve must lie between 0 and 1, not {self.reserve}")

    @property
    def alpha_main(self) -> float:
        """What the planned looks may spend on helps and hurts: 0.04 of the default 0.05."""
        return self.alpha * (1 - self.reserve)

    @property
    def alpha_equivalence(self) -> float:
        """What the planned looks may spend on equivalence (TOST): 4 % on either side."""
        return self.equivalence * (1 - self.reserve)

    def extension(self, number: int) -> Rule:
        """The rule of the test at the end of extension `number` (1, 2, ...).

        It spends half of what is left of the reserve, and nothing of it is kept back: all
        extensions together stay within alpha.
        """
        share = self.reserve * self.constants.extension_reserve**number
        return replace(
            self, alpha=self.alpha * share, equivalence=self.equivalence * share, reserve=0.0
        )

    @property
    def smallest_log(self) -> float:
        """`smallest` in natural-log units."""
        return math.log1p(self.smallest)

    @property
    def margin_log(self) -> float:
        """`margin` in natural-log units."""
        return math.log1p(self.margin)
