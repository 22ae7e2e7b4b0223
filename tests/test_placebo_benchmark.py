"""benchmarks/placebo.py: its studies can be read, and what it counts as false."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import placebo
import pytest

from assay.core.errors import VoidError
from assay.study import read


@pytest.mark.parametrize("case", placebo.PLACEBOS, ids=lambda p: p.name)
def test_every_study_of_it_can_be_read(case: placebo.Placebo, tmp_path: Path) -> None:
    """A server that changes its settings would break it in silence."""
    study = read(f"{case.name}.toml", placebo.study(case, 300, "1s"), tmp_path)
    assert len(study.factors) == 1


def test_false_verdicts_are_counted_among_the_studies_that_ended(
    monkeypatch, capsys, tmp_path: Path
) -> None:
    """Helps and hurts are false; what was void was no study."""
    words = iter(["no difference", "helps", "undecided", None])

    def run_study(*_: object) -> tuple[None, SimpleNamespace]:
        word = next(words)
        if word is None:
            raise VoidError("block 1 was void 4 times")
        row = SimpleNamespace(
            contrast=SimpleNamespace(kind="change"), word=word, blocks=9,
            estimate=0.01, low=-0.02, high=None,
        )  # fmt: skip
        return None, SimpleNamespace(verdicts=[row])

    resumed = []

    def resume_study(bundle: Path) -> SimpleNamespace:
        resumed.append(bundle)
        raise VoidError(f"block 1 was void {4 * len(resumed) + 4} times")

    monkeypatch.setattr(placebo.assay, "run_study", run_study)
    monkeypatch.setattr(placebo.assay, "resume_study", resume_study)
    names = [p.name for p in placebo.PLACEBOS[:4]]
    assert placebo.main(["--keep", str(tmp_path / "kept"), "--only", *names]) == 0
    assert len(list((tmp_path / "kept").glob("*.toml"))) == 4
    told = capsys.readouterr().out
    assert "1 of 3 studies that ended gave a false verdict" in told
    assert "-2.0 % to ?" in told
    assert len(resumed) == placebo.ATTEMPTS - 1
