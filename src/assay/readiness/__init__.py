"""ARM readiness of binaries and sources: what could be slow there, told before any benchmark.

`census.py` is what the native decoder says of an ELF image, `source/` what two compilers would see
of a source tree. Rules are functions of these; each finding names the study that would measure it.
"""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.readiness.answer import InspectedFile, as_json
    from assay.readiness.finding import ReadinessFinding, ReadinessRule
    from assay.readiness.inspection import Inspection, Report, inspect
    from assay.readiness.machine import Machine, machine_from, saved_machine
    from assay.readiness.rules import RULES
    from assay.readiness.sarif import sarif_log

__getattr__, __dir__ = lazily(
    __name__,
    answer="InspectedFile as_json",
    finding="ReadinessFinding ReadinessRule",
    inspection="Inspection Report inspect",
    machine="Machine machine_from saved_machine",
    rules="RULES",
    sarif="sarif_log",
)

__all__ = [
    "RULES",
    "InspectedFile",
    "Inspection",
    "Machine",
    "ReadinessFinding",
    "ReadinessRule",
    "Report",
    "as_json",
    "inspect",
    "machine_from",
    "sarif_log",
    "saved_machine",
]
