"""A real search: a planted repository of a small server, built and measured, few commits and a
large effect. A machine that is busy voids nothing for long: nobody waits for a quiet one here."""

import json
from dataclasses import replace

from planted.repository import planted, study_text

from assay.bench.life import REAL
from assay.bisection import found_differences
from assay.bisection.running import Wanted, prepare_search, search
from assay.bisection.subject import subject_of
from assay.host import host_facts
from assay.study import locate

COMMITS, CULPRIT = 6, 3


def test_the_planted_commit_is_found_in_a_real_repository(tmp_path):
    repository = planted(tmp_path / "repository", COMMITS, CULPRIT, 2.0, broken=[1])
    study = tmp_path / "study.toml"
    text = study_text("100ms", "50%", primary="cpu_per_operation", alpha=0.2)
    study.write_text(text)
    subject = subject_of(locate(str(study)), repo=repository.folder)
    clocks = replace(REAL, settle=lambda waiting: None)
    wanted = Wanted(repository.commits[0], repository.commits[-1], seed=1)
    bundle = prepare_search(subject, wanted, tmp_path / "b", host_facts(), clocks=clocks)
    found = search(bundle, subject, clocks=clocks)
    (culprit,) = found.culprits
    assert culprit.name == repository.guilty
    assert set(culprit.unbuilt) <= {1}
    assert "work" in culprit.functions
    assert found_differences(bundle) == []
    assert json.loads((bundle.folder / "plan.json").read_text())["over"] == "commits"
