"""From a running server to the next study: what to try first, and the most that it can give."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.diagnosis.gathering import Sources, gather
    from assay.diagnosis.judgement import diagnose
    from assay.diagnosis.records import (
        Candidate,
        Diagnosis,
        ExaminedServer,
        Gathered,
        Noticed,
        Trial,
    )
    from assay.diagnosis.studies import write_studies
    from assay.diagnosis.subject import find_subject
    from assay.diagnosis.trials import Examined

__getattr__, __dir__ = lazily(
    __name__,
    judgement="diagnose",
    gathering="Sources gather",
    records="Candidate Diagnosis ExaminedServer Gathered Noticed Trial",
    studies="write_studies",
    subject="find_subject",
    trials="Examined",
)

__all__ = [
    "Candidate",
    "Diagnosis",
    "Examined",
    "ExaminedServer",
    "Gathered",
    "Noticed",
    "Sources",
    "Trial",
    "diagnose",
    "find_subject",
    "gather",
    "write_studies",
]
