"""Every rule of an inspection."""

from __future__ import annotations

from assay.readiness import binary, source
from assay.readiness.finding import ReadinessRule

RULES: tuple[ReadinessRule, ...] = (*binary.RULES, *source.RULES)
