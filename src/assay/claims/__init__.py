"""Claims: published tables, transcribed, and whether what is said of them follows from them.

Numbers are intervals of what they can have been before rounding (`printed`), derivations are
expressions over them (`expression`), and a claim file (`file`) holds only evidence and statements:
whether one holds is found (`auditing`), never written down.
"""

from assay.claims.audit import audit, audit_claim, read_claims, shipped_claims
from assay.claims.file import read_claim
from assay.claims.power import critique, smallest_visible
from assay.claims.result import Audited, AuditedRow, Result

__all__ = [
    "Audited",
    "AuditedRow",
    "Result",
    "audit",
    "audit_claim",
    "critique",
    "read_claim",
    "read_claims",
    "shipped_claims",
    "smallest_visible",
]
