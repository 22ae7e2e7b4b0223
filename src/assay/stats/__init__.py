"""The statistics of Assay: numbers in, verdicts out, and nothing about studies or servers.

`decide` is for anybody's runs. A study uses `plan_blocks` once and `judge` after every block;
`suggest` reads the metrics that are not the primary one. docs/method.md has the mathematics.
"""

from typing import TYPE_CHECKING

from assay.core.lazy import lazily

if TYPE_CHECKING:
    from assay.stats.contrast import (
        Contrast,
        change,
        interaction,
        main_effect,
        series,
        simple_effect,
        step,
    )
    from assay.stats.decision import Decision, Verdict, decide
    from assay.stats.rule import Rule, Strength, Word
    from assay.stats.sample_size import Sizing, plan_blocks
    from assay.stats.secondary import suggest
    from assay.stats.sequence import Judgement, judge, judge_once

__getattr__, __dir__ = lazily(
    __name__,
    contrast="Contrast change interaction main_effect series simple_effect step",
    decision="Decision Verdict decide",
    sample_size="Sizing plan_blocks",
    rule="Rule Strength Word",
    secondary="suggest",
    sequence="Judgement judge judge_once",
)

__all__ = [
    "Contrast",
    "Decision",
    "Judgement",
    "Rule",
    "Sizing",
    "Strength",
    "Verdict",
    "Word",
    "change",
    "decide",
    "interaction",
    "judge",
    "judge_once",
    "main_effect",
    "plan_blocks",
    "series",
    "simple_effect",
    "step",
    "suggest",
]
