"""From runs to verdicts: the statistics of Assay, and nothing about servers.

`decide` is for anybody's runs. A study uses `plan_blocks` once and `judge` after every block;
`suggest` reads the metrics that are not the primary one. docs/method.md has the mathematics.
"""

from typing import TYPE_CHECKING

from assay._lazy import lazily

if TYPE_CHECKING:
    from assay.verdict.checks import Code, Doubt
    from assay.verdict.contrast import (
        Contrast,
        change,
        interaction,
        main_effect,
        series,
        simple_effect,
        step,
    )
    from assay.verdict.decision import Decision, Verdict, decide
    from assay.verdict.plan import Plan, plan_blocks
    from assay.verdict.rule import Rule, Strength, Word
    from assay.verdict.secondary import suggest
    from assay.verdict.sequence import Judgement, judge, judge_once

__getattr__, __dir__ = lazily(
    __name__,
    checks="Code Doubt",
    contrast="Contrast change interaction main_effect series simple_effect step",
    decision="Decision Verdict decide",
    plan="Plan plan_blocks",
    rule="Rule Strength Word",
    secondary="suggest",
    sequence="Judgement judge judge_once",
)

__all__ = [
    "Code",
    "Contrast",
    "Decision",
    "Doubt",
    "Judgement",
    "Plan",
    "Rule",
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
