"""A reason as data: a code of a closed list, and the numbers and names that belong to it.

Whoever decides makes reasons, whoever reads asks for codes, and nobody reads a sentence back. The
sentence of a code is in `sentences.py`. Reasons stand in `verdicts.json` beside their sentences.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from assay.reasons.code import Code
from assay.reasons.sentences import SENTENCES

Scalar = str | int | float | None
Field = Scalar | tuple[Scalar, ...]


class Reason(BaseModel):
    """One reason: its code, and the fields that its sentence needs; sizes are fractions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: Code
    fields: dict[str, Field] = {}

    @classmethod
    def of(cls, code: Code, **fields: Field) -> Reason:
        """The reason of a code."""
        return cls(code=code, fields=fields)

    def having(self, **fields: Field) -> Reason:
        """The same reason with these fields, whatever they were."""
        return Reason(code=self.code, fields=self.fields | fields)

    @property
    def text(self) -> str:
        """The reason as a sentence without capital and full stop."""
        sentence: str = SENTENCES[self.code](**self.fields)
        return sentence


class Refusal(ValueError):
    """There is no answer, for a reason that is data."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


def worded(reasons: Iterable[Reason], separator: str = "; ") -> str:
    """Several reasons as one text, in their order."""
    return separator.join(reason.text for reason in reasons)
