"""A reason as data: a code of a closed list, and the numbers and names that belong to it.

Whoever decides makes reasons, whoever reads asks for codes, and nobody reads a sentence back. The
sentence of a code is in `sentences.py`. Reasons stand in `verdicts.json` beside their sentences.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from assay.reasons.sentences import SENTENCES, Code

Field = str | int | float | None


class Reason(BaseModel):
    """One reason: its code, and the fields that its sentence needs; sizes are fractions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: Code
    fields: dict[str, Field] = {}

    @classmethod
    def of(cls, code: Code, **fields: Field) -> Reason:
        """The reason of a code."""
        return cls(code=code, fields=fields)

    @property
    def text(self) -> str:
        """The reason as a sentence without capital and full stop."""
        return SENTENCES[self.code](**self.fields)


def worded(reasons: Iterable[Reason]) -> str:
    """Several reasons as one text, in their order."""
    return "; ".join(reason.text for reason in reasons)
