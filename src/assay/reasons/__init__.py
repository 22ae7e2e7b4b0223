"""Why a verdict is what it is: a code with its fields, and the one place that words them."""

from assay.reasons.code import Code
from assay.reasons.reason import Field, Reason, Refusal, worded

__all__ = ["Code", "Field", "Reason", "Refusal", "worded"]
