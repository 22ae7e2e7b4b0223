"""Commands against each other: from words on a command line to a study, and what is said of it."""

from __future__ import annotations

from assay.compare.alone import Alone, measure_alone
from assay.compare.look import Look, look
from assay.compare.question import METRICS, Contender, Question, words_of_shell
from assay.compare.study_text import study_text

__all__ = [
    "METRICS",
    "Alone",
    "Contender",
    "Look",
    "Question",
    "look",
    "measure_alone",
    "study_text",
    "words_of_shell",
]
