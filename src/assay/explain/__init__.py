"""Why: what a change was to move and did, how much it could have gained, and what limits next."""

from assay.explain.explanation import Explanation, explain, explanations
from assay.explain.headroom import Bound
from assay.explain.identity import Identity, Term
from assay.explain.limits import Limit

__all__ = ["Bound", "Explanation", "Identity", "Limit", "Term", "explain", "explanations"]
