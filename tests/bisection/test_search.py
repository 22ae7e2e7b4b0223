"""A search from plan to report, on fakes: what it names, how it goes on, and what verify sees."""

import json
from dataclasses import replace

import pytest
from search_kit import LEVELS, STUDY, commits, lab, slower_from

from assay.bisection import SearchBundle, found_differences, is_search, searched
from assay.bisection.running import Wanted
from assay.core.errors import AlteredError, BundleError, InputError, VoidError
from assay.report import search_lines
from assay.report.html.bisection import search_html
from fakes import throttled


def test_the_level_that_costs_is_named_and_the_search_verifies(tmp_path):
    bundle, found = lab(tmp_path / "b", slower_from(17)).searched()
    (culprit,) = found.culprits
    assert (culprit.after_name, culprit.name) == (LEVELS[16], LEVELS[17])
    assert culprit.low < -0.05 < culprit.high < 0
    assert found.answer == "named"
    assert is_search(bundle.folder)
    assert found_differences(bundle) == []
    assert bundle.found() == found


def test_a_search_backwards_through_the_levels_finds_what_became_faster(tmp_path):
    made = lab(tmp_path / "b", slower_from(17))
    made.wanted = Wanted(LEVELS[-1], LEVELS[0], seed=3)
    _, found = made.searched()
    assert found.better
    assert [c.name for c in found.culprits] == [LEVELS[16]]


def test_a_killed_search_goes_on_to_the_same_end(tmp_path):
    whole, found = lab(tmp_path / "whole", slower_from(9)).searched()
    cut = lab(tmp_path / "cut", slower_from(9))
    bundle = cut.prepared()
    lines = (whole.folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
    assert cut.go_on(bundle) == found
    (bundle.folder / "found.json").unlink()
    kept = (bundle.folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
    torn = b"".join(kept[:41]) + kept[41][:30]
    (bundle.folder / "runs.jsonl").write_bytes(torn)
    again = lab(tmp_path / "cut", slower_from(9))
    resumed = again.go_on(SearchBundle.open(bundle.folder))
    assert resumed.culprits == found.culprits
    assert resumed.stages == found.stages
    assert len(lines) == len((bundle.folder / "runs.jsonl").read_bytes().splitlines())


def test_an_altered_run_is_named(tmp_path):
    bundle, _ = lab(tmp_path / "b", slower_from(9)).searched()
    path = bundle.folder / "runs.jsonl"
    path.write_text(path.read_text().replace('"status":"ok"', '"status":"failed"', 1))
    with pytest.raises(AlteredError, match=r"line 1 of runs\.jsonl"):
        found_differences(bundle)


def test_an_altered_result_is_named(tmp_path):
    bundle, _ = lab(tmp_path / "b", slower_from(9)).searched()
    path = bundle.folder / "found.json"
    path.write_text(path.read_text().replace(LEVELS[9], LEVELS[10]))
    assert any("culprits" in text for text in found_differences(bundle))


def test_without_a_difference_nothing_is_searched(tmp_path):
    bundle, found = lab(tmp_path / "b", lambda settings, env: 1.0).searched()
    assert found.answer in ("no difference", "undecided")
    assert {s.kind for s in found.stages} == {"ends"}
    assert "nothing to search" in search_lines(bundle.plan, found)[0].text


def test_the_budget_ends_a_search_in_a_range(tmp_path):
    made = lab(tmp_path / "b", slower_from(9))
    made.wanted = replace(made.wanted, budget_s=30.0)
    bundle, found = made.searched()
    assert "budget" in found.stopped
    assert found.took_s < 32
    (left,) = found.ranges
    assert left.why == "stopped"
    assert left.after < 9 <= left.node
    assert found_differences(bundle) == []


def test_blocks_that_are_void_are_made_again_and_then_stop_the_search(tmp_path):
    disturbed = lab(tmp_path / "a", slower_from(9))
    disturbed.fake.script = lambda number, m: throttled(m) if number in (4, 20) else m
    bundle, found = disturbed.searched()
    assert [c.node for c in found.culprits] == [9]
    assert {r.run.status for r in searched(bundle).runs} == {"ok", "void"}
    always = lab(tmp_path / "b", slower_from(9))
    always.fake.script = lambda number, m: throttled(m)
    with pytest.raises(VoidError, match="void 4 times"):
        always.searched()
    always.fake.script = lambda number, m: m
    assert [c.node for c in always.go_on(SearchBundle.open(tmp_path / "b")).culprits] == [9]


def test_a_witness_that_does_not_hold_ends_the_search(tmp_path):
    made = lab(tmp_path / "b", slower_from(9))
    made.fake.lies = {"spin_limit": 7}
    _, found = made.searched()
    assert "did not run what it was to run" in found.stopped
    assert not found.culprits


def test_interrupted_it_keeps_what_was_done(tmp_path):
    made = lab(tmp_path / "b", slower_from(9))

    def interrupt(number, measured):
        if number == 50:
            raise KeyboardInterrupt
        return measured

    made.fake.script = interrupt
    with pytest.raises(KeyboardInterrupt, match="--resume"):
        made.searched()
    bundle = SearchBundle.open(tmp_path / "b")
    assert bundle.found().stopped == "you stopped it"
    assert found_differences(bundle) == []
    made.fake.script = lambda number, m: m
    assert [c.node for c in made.go_on(bundle).culprits] == [9]


def test_arms_that_take_turns_are_searched_too(tmp_path):
    study = STUDY.replace('design = "runs"', 'design = "slices"')
    _, found = lab(tmp_path / "b", slower_from(9), study).searched()
    assert [c.node for c in found.culprits] == [9]


def test_of_commits_the_one_whose_build_is_slower_is_named(tmp_path):
    made = commits(tmp_path, 30, 11)
    bundle, found = made.searched()
    (culprit,) = found.culprits
    assert (culprit.after_name, culprit.name, culprit.title) == ("c10", "c11", "change c11")
    assert found.builds <= 2 + 5
    assert found_differences(bundle) == []


def test_commits_of_equal_code_cost_a_build_and_no_run(tmp_path):
    codes = {f"c{k}": "old" if k < 11 else "new" for k in range(30)}
    _, found = commits(tmp_path, 30, 11, codes=codes).searched()
    assert [c.name for c in found.culprits] == ["c11"]
    assert {s.kind for s in found.stages} == {"ends", "same", "pair"}


def test_equal_ends_are_told_without_a_run(tmp_path):
    bundle, found = commits(tmp_path, 5, 9, codes={f"c{k}": "one" for k in range(5)}).searched()
    assert (found.answer, found.runs) == ("same", 0)
    assert "same program" in search_lines(bundle.plan, found)[0].text


def test_a_stretch_that_does_not_build_is_blamed_as_a_whole(tmp_path):
    broken = [f"c{k}" for k in range(8, 15)]
    bundle, found = commits(tmp_path, 30, 11, broken=broken).searched()
    (culprit,) = found.culprits
    assert (culprit.after, culprit.node) == (7, 15)
    assert culprit.unbuilt == list(range(8, 15))
    text = search_lines(bundle.plan, found)[0].text
    assert text.startswith("One of 8 commits after c7")
    assert (bundle.folder / "logs" / "build-c8.log").read_text() == "the whole log"


def test_an_end_that_does_not_build_is_an_error_before_any_run(tmp_path):
    made = commits(tmp_path, 5, 3, broken=["c4"])
    with pytest.raises(InputError, match="c4 does not build"):
        made.prepared()
    assert not made.folder.exists()


def test_a_build_that_became_another_is_refused_when_the_search_goes_on(tmp_path):
    made = commits(tmp_path, 30, 11)

    def interrupt(number, measured):
        if number == 40:
            raise KeyboardInterrupt
        return measured

    made.fake.script = interrupt
    with pytest.raises(KeyboardInterrupt):
        made.searched()
    made.fake.script = lambda number, m: m
    made.subject.builder.codes["c0"] = "another"
    with pytest.raises(BundleError, match="c0 is not the build"):
        made.go_on(SearchBundle.open(made.folder))


def test_the_page_draws_the_history_without_a_script(tmp_path):
    bundle, _ = commits(tmp_path, 30, 11, broken=["c14"]).searched()
    html = search_html(bundle)
    assert "<script" not in html
    assert html.count("<circle") >= 4
    assert "change c11" in html
    assert 'class="culprit"' in html


def test_names_of_commits_cannot_write_into_the_page(tmp_path):
    made = commits(tmp_path, 5, 3)
    bundle, found = made.searched()
    plan = bundle.plan
    evil = plan.nodes[3].model_copy(update={"title": "<script>x</script>"})
    nodes = [*plan.nodes[:3], evil, *plan.nodes[4:]]
    path = bundle.folder / "plan.json"
    path.write_text(json.dumps(plan.model_copy(update={"nodes": nodes}).model_dump()))
    (bundle.folder / "runs.jsonl").write_text("")
    (bundle.folder / "found.json").unlink()
    assert "<script" not in search_html(bundle)
    assert found.culprits
