"""Every rule of an inspection."""

from __future__ import annotations

from assay.readiness.finding import ReadinessRule
from assay.readiness.rules_binary import RULES as BINARY_RULES
from assay.readiness.rules_source import RULES as SOURCE_RULES

RULES: tuple[ReadinessRule, ...] = (*BINARY_RULES, *SOURCE_RULES)
