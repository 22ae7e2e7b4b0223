"""Why a verdict is what it is: a code with its fields, and the one place that words them."""

from assay.reasons.reason import Reason, worded

__all__ = ["Reason", "worded"]
