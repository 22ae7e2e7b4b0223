"""benchmarks/identical.py: its studies can be read, and what it counts as false."""

from __future__ import annotations

import json
from pathlib import Path

import identical
import pytest
import shipped

from assay.study import read
from assay.study import shipped as shipped_studies


@pytest.mark.parametrize("name", identical.TARGETS)
def test_every_study_of_it_can_be_read(name: str, tmp_path: Path) -> None:
    text = identical.study(name, "slices", identical.SECONDS, "400ms")
    study = read(f"{name}.toml", text, tmp_path)
    assert not study.factors
    assert study.name == f"identical-{name}"


def line(target: str, number: int, *words: str) -> dict[str, object]:
    found = dict(zip(identical.ARMS, words, strict=True))
    return {"target": target, "number": number, "words": found, "noise": 0.02}


def test_a_study_errs_if_one_of_its_arms_does_and_void_ones_are_no_studies(tmp_path: Path) -> None:
    lines = [
        line("redis", 0, "no difference", "undecided"),
        line("redis", 1, "helps", "hurts"),
        line("nginx", 0, "no difference", "no difference"),
        {"target": "nginx", "number": 1, "void": "block 1 was void 4 times"},
    ]
    file = tmp_path / "kept.jsonl"
    file.write_text("".join(json.dumps(x) + "\n" for x in lines) + '{"target": "redis", "cut off')
    found = {row.metric: row.rival for row in identical.rows(identical.kept(file))}
    assert found == {
        "nginx": "0 of 1 studies",
        "redis": "1 of 2 studies",
        "all": "1 of 3 studies",
    }


def test_all_studies_that_are_run_again_are_shipped() -> None:
    assert set(shipped.STUDIES) <= set(shipped_studies())
