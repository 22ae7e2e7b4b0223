"""Reasons: every code has one sentence, made from its fields and from nothing else."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import assay.stats
from assay.reasons import Code, Reason, worded
from assay.reasons.sentences import SENTENCES
from assay.stats import Rule, judge_once
from assay.verdict.rows import Row


def test_every_code_has_a_sentence() -> None:
    """The list is closed."""
    assert set(SENTENCES) == set(Code)


def test_statistics_write_no_numbers_into_text() -> None:
    """They give codes with fields: the one place that words them is `assay.reasons`."""
    folder = Path(assay.stats.__file__).parent
    taken = {
        name
        for path in folder.glob("*.py")
        for names in re.findall(r"from assay\.core\.units import (.+)", path.read_text())
        for name in names.split(", ")
    }
    assert taken == {"parse_percent"}


def test_a_sentence_takes_named_fields_only() -> None:
    """So that the fields of the JSON are the names in the code."""
    for code, said in SENTENCES.items():
        kinds = {p.kind for p in inspect.signature(said).parameters.values()}
        assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD}, code


def test_a_reason_survives_json_with_its_sentence() -> None:
    """Whoever reads `verdicts.json` words it as whoever wrote it."""
    series = {"a": [(b, 0.1 + 0.001 * b) for b in range(12)]}
    reasons = judge_once(series, Rule(0.02, 0.02), 12)["a"].reasons
    read = [Reason.model_validate(json.loads(r.model_dump_json())) for r in reasons]
    assert worded(read) == "the interval lies above zero (look 1 of 1, 12 blocks)"


def test_a_row_over_all_cases_says_its_kind_and_its_scope() -> None:
    """Also where it was written with "suite" in place of the kind."""
    written = {
        "case": "suite",
        "contrast": {"kind": "suite", "of": "a:b", "given": "", "against": ""},
        **{"arm": "", "metric": "throughput", "word": "helps", "strength": "confirmed"},
        **{"estimate": 0.1, "low": None, "high": None, "blocks": 8, "effort": None},
        **{"dose": {}, "witness": {"held": True, "evidence": []}, "reason": "as it was said"},
    }
    row = Row.model_validate(written)
    assert (row.contrast.kind, row.scope) == ("interaction", "suite")
    assert (row.reason, row.reasons) == ("as it was said", [])
