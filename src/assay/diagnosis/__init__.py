"""From a running server to the next study: what to try first, and the most that it can give."""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.diagnosis.gathering import Sources, gather
    from assay.diagnosis.judgement import diagnose
    from assay.diagnosis.records import Candidate, Diagnosis, ExaminedServer, Gathered, Noticed
    from assay.diagnosis.studies import write_studies
    from assay.diagnosis.subject import find_subject

__getattr__, __dir__ = lazily(
    __name__,
    judgement="diagnose",
    gathering="Sources gather",
    records="Candidate Diagnosis ExaminedServer Gathered Noticed",
    studies="write_studies",
    subject="find_subject",
)

__all__ = [
    "Candidate",
    "Diagnosis",
    "ExaminedServer",
    "Gathered",
    "Noticed",
    "Sources",
    "diagnose",
    "find_subject",
    "gather",
    "write_studies",
]
