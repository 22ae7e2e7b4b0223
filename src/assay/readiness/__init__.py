"""ARM readiness of binaries and sources: what could be slow there, told before any benchmark.

`census.py` is what the native decoder says of an ELF image, `source/` what two compilers would see
of a source tree. Rules are functions of these; each finding names the study that would measure it.
"""

from assay.readiness.as_json import InspectedFile, as_json
from assay.readiness.finding import Finding, Rule
from assay.readiness.inspection import Inspection, Report, inspect
from assay.readiness.machine import Machine, machine_from, saved_machine
from assay.readiness.rules_binary import RULES as BINARY_RULES
from assay.readiness.rules_source import RULES as SOURCE_RULES
from assay.readiness.sarif import sarif_log

RULES: tuple[Rule, ...] = (*BINARY_RULES, *SOURCE_RULES)

__all__ = [
    "RULES",
    "Finding",
    "InspectedFile",
    "Inspection",
    "Machine",
    "Report",
    "Rule",
    "as_json",
    "inspect",
    "machine_from",
    "sarif_log",
    "saved_machine",
]
