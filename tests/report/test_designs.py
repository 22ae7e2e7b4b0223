"""What designs beyond one contrast answer: in the terminal, in the view, and drawn on the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser, framed
from design_samples import designed, scaling
from dom import Page, parsed
from report_samples import EVIL, Made, cases
from sample_kit import CACHE, HEAD, HINT, PADDING, TAIL, made

from assay.record import Bundle
from assay.report import verdict_lines
from assay.report.html.page import report_html
from assay.report.html.rows import VerdictTable
from assay.report.html.scaling import _between
from assay.report.html.view import view
from assay.report.words.answer import answer
from assay.report.words.scaling import bounded
from assay.verdict.rows import Bounded


def text(bundle: Bundle) -> str:
    return "\n".join(line.text for line in verdict_lines(bundle.verdicts(), bundle.plan))


def sections(bundle: Bundle, group: int = 0) -> dict[str, VerdictTable]:
    """The sections of one case's verdicts by key."""
    return {s.key: s for s in view(bundle).verdicts.groups[group].sections}


def labels(section: VerdictTable) -> list[str]:
    return [row.label for row in section.rows]


@pytest.fixture(scope="session")
def dumped(samples: Made, browser: Browser) -> dict[str, Page]:
    """Pages of the new designs after their scripts have run."""
    names = ("flip", "race", "screen", "fraction", "scaling", "refused", "extended", "told-apart")
    return {name: parsed(browser.dom(samples.page(name))) for name in names}


class TestGroups:
    """Rows stand under what they are."""

    def test_arms_averages_and_settings_are_apart(self, samples: Made) -> None:
        """Seven arms, three averages, nine settings, three interactions, one self-check."""
        found = sections(samples.bundle("flip"))
        counts = {key: len(s.rows) for key, s in found.items()}
        expected = {"change": 7, "main": 3, "simple": 9, "interaction": 3, "control": 1}
        assert counts == expected
        assert "hint given cache" in labels(found["simple"])
        assert "averaged over the settings of the others" in found["main"].title
        assert "half of how much" in found["interaction"].title

    def test_only_arms_have_an_effort_and_a_dose(self, samples: Made) -> None:
        """An average has the name of an arm and cannot be bought."""
        found = sections(samples.bundle("flip"))
        assert all(row.effort for row in found["change"].rows)
        for key in ("main", "simple", "interaction", "control"):
            assert not any(row.effort or row.dose for row in found[key].rows)

    def test_rows_over_all_cases_are_grouped_as_those_of_one(self, tmp_path: Path) -> None:
        """They have the kinds of the cases, and the scope of the suite."""
        three = HEAD + HINT + CACHE + TAIL.replace("one-at-a-time", "factorial")
        bundle = made(tmp_path / "b", cases(three))
        together, one = sections(bundle, 0), sections(bundle, 1)
        assert {k: labels(s) for k, s in together.items()} == {k: labels(s) for k, s in one.items()}
        assert set(one) == {"change", "main", "simple", "interaction", "control"}

    def test_a_ladder_says_that_order_counts(self, samples: Made) -> None:
        """In the heading, in the note, and in every name."""
        step = sections(samples.bundle("ladder"))["step"]
        assert step.title == "Steps, in this order"
        assert "place in the order" in step.note
        assert labels(step) == ["cache after baseline", "cache+padding after cache"]
        assert "Steps, in this order" in text(samples.bundle("ladder"))

    @pytest.mark.parametrize("name", ["screen", "fraction", "scaling", "slow-runs", "flip"])
    def test_no_lead_stands_among_the_verdicts(self, samples: Made, name: str) -> None:
        """Whatever only suggests has a place of its own."""
        bundle = samples.bundle(name)
        confirmed = [
            r
            for r in bundle.verdicts().verdicts
            if r.metric == "throughput"
            and r.strength == "confirmed"
            and r.contrast.kind != "scaling"
        ]
        shown = [s for g in samples.view(name).verdicts.groups for s in g.sections]
        assert sum(len(s.rows) for s in shown) == len(confirmed)
        leads = samples.view(name).metrics.leads
        assert all(
            row.metric != "throughput"
            for part in (leads.stand_out, leads.effects, leads.rest)
            for row in part
        )

    def test_a_sign_that_flips_is_said(self, samples: Made) -> None:
        """The average of it is nothing; answer and terminal both tell where it helps and hurts."""
        bundle = samples.bundle("flip")
        said = (
            "hint changes its sign: it helps alone and given padding, and hurts given cache and "
            "cache+padding"
        )
        assert f"{said}." in answer(bundle.plan, bundle.verdicts())
        assert said in text(bundle)


class TestTerminal:
    """Many rows, one line each."""

    def test_a_row_has_one_line_unless_its_reason_says_more(self, samples: Made) -> None:
        """Evidence is printed once; a plain reason not at all; what is not exercised is said."""
        lines = text(samples.bundle("flip")).splitlines()
        row = next(k for k, line in enumerate(lines) if line.startswith("hint given padding"))
        assert lines[row + 1].startswith("hint given cache ")
        assert "not exercised" in lines[row + 2]
        evidence = [line for line in lines if "witness  held" in line]
        assert len(evidence) == len(set(evidence)) == 6
        assert not any("the interval lies within" in line for line in lines)

    def test_headings_come_in_order_and_the_self_check_last(self, samples: Made) -> None:
        """Arms first."""
        said = text(samples.bundle("flip"))
        heads = ("Changes:", "Main effects:", "Simple effects:", "Interactions:", "Self-check:")
        places = [said.index(head) for head in heads]
        assert places == sorted(places)
        assert said.index("aa-control") > said.index("Self-check:")

    def test_best_set_and_front_are_a_few_lines(self, samples: Made) -> None:
        """Who is beaten by whom, and what each effort is sure to bring."""
        said = text(samples.bundle("flip"))
        assert "best set: one of cache, cache+padding is the best of 8 arms" in said
        assert "by cache: hint, " in said
        assert "none baseline; A hint, at least +1" in said
        assert "(sweet spot)" in said

    def test_a_screen_comes_before_the_verdicts_on_fresh_runs(self, samples: Made) -> None:
        """Its effects suggest; the arms it handed on are measured again."""
        said = text(samples.bundle("screen"))
        screen, verdicts = said.split("Changes: each arm against baseline, on fresh runs", 1)
        assert "Screen (leads, no verdicts): all 8 legal combinations, in 4 blocks" in screen
        assert "cache        suggests better" in screen
        assert "helps" not in screen
        assert "cache                helps" in verdicts
        fraction = text(samples.bundle("fraction"))
        assert "8 of 32 combinations, resolution III" in fraction
        assert "these cells cannot tell apart: hint, cache:queued-lock or padding" in fraction

    def test_scaling_is_told_with_its_throughput(self, samples: Made) -> None:
        """Contention in points, never without the throughput beside it."""
        said = text(samples.bundle("scaling"))
        assert "peak near" in said
        assert "] points" in next(x for x in said.splitlines() if x.startswith("contention of"))
        assert "More contention can go with more throughput" in said
        assert "threads   baseline     cache        cache against baseline (leads)" in said
        assert "suggests worse" in next(x for x in said.splitlines() if x.startswith("1  "))

    def test_a_refusal_is_said_once_and_the_points_stay(self, samples: Made) -> None:
        """The same reason for two configurations is one line."""
        said = text(samples.bundle("refused"))
        assert said.count("the curve bends where threads begin to share the 2 CPUs") == 1
        assert "2 Mop/s" in said

    def test_an_extension_is_told_where_the_plan_is(self, samples: Made) -> None:
        """How many blocks were planned, and how many came on top."""
        bundle = samples.bundle("extended")
        assert "extended once: 16 + 8 blocks" in text(bundle)
        said = samples.view("extended").plan
        assert dict(said.pairs)["extension"].startswith("extended once: 16 + 8 blocks")
        assert dict(said.pairs)["blocks"].startswith("24 complete of 24 planned")

    def test_rare_slow_runs_are_told_in_points_as_measured(self, samples: Made) -> None:
        """More slow runs is a plus, and no verdict; what does not stand out is only named."""
        said = text(samples.bundle("slow-runs")).split("Rare slow runs (leads, no verdicts)")[1]
        assert "padding   suggests worse    share +25.0 points [+" in said
        assert "of 40 runs were more than 10 % slower" in said
        assert "no detectable difference from the baseline: hint" in said

    def test_a_control_that_differs_is_said_once_and_first(self, samples: Made) -> None:
        """Every verdict is invalid, and nothing is led to either."""
        said = text(samples.bundle("told-apart"))
        assert said.count("differs from it (") == 1
        assert said.index("differs from it (") < said.index("Changes:")
        for gone in ("helps  ", "best set", "leads", "recommended"):
            assert gone not in said


class TestAnswer:
    """The paragraph on top."""

    def answer(self, samples: Made, name: str) -> str:
        bundle = samples.bundle(name)
        return " ".join(answer(bundle.plan, bundle.verdicts()))

    def test_arms_that_left_a_race_are_beaten_not_unsure(self, samples: Made) -> None:
        """Nobody waited for their verdict."""
        said = self.answer(samples, "race")
        beaten = said.partition("Beaten by another arm: ")[2].partition(".")[0]
        assert {"cache", "hint", "queued-lock"} <= set(beaten.replace(" and ", ", ").split(", "))
        assert "Unsure" not in said

    def test_arms_that_cannot_be_told_from_the_one_to_take_are_named(self, samples: Made) -> None:
        """With what they would cost."""
        said = self.answer(samples, "screen")
        assert "cannot tell whether it is the best: cache+padding may be as good or better" in said
        assert "for the same effort" in said

    def test_a_screen_that_suggests_nothing_takes_nothing(self, samples: Made) -> None:
        """Its shortlist was confirmed all the same."""
        assert self.answer(samples, "nothing").startswith("Take nothing")

    def test_scaling_has_no_arm_to_take(self, samples: Made) -> None:
        """It tells the peaks, what is less, and where which is faster."""
        said = self.answer(samples, "scaling")
        assert "Take" not in said
        assert "cache has less contention than baseline, by [+" in said
        assert "suggests worse at 1 and 2 threads; these are leads" in said
        assert "Nothing can be said about how it scales: " in self.answer(samples, "refused")

    def test_more_rare_slow_runs_are_a_lead_in_the_answer(self, samples: Made) -> None:
        """Those that are unclear are not."""
        said = self.answer(samples, "slow-runs")
        assert "A lead, no verdict: padding has more rare slow runs: 10 of 40" in said
        assert "hint has more" not in said

    def test_a_harness_that_makes_differences_has_no_answer(self, samples: Made) -> None:
        """And a banner."""
        assert self.answer(samples, "told-apart").startswith("There is no answer: the A/A control")
        (banner,) = samples.view("told-apart").banners
        assert banner.title == "No verdict of this study is valid"


class TestPicturesOfArms:
    """Gain against effort."""

    def test_the_front_starts_at_the_baseline_and_rises(self, samples: Made) -> None:
        """The set, the sweet spot and by whom the others are beaten are the verdict's."""
        bundle = samples.bundle("flip")
        said, best = samples.view("flip").best, bundle.verdicts().best
        (group,) = said.groups
        assert [p.arm for p in group.front] == best.pareto
        assert [p.low for p in group.front] == sorted(p.low for p in group.front)
        assert [r.arm for r in said.rows if r.sweet] == [best.sweet_spot]
        out = {arm: beaten.sentence for arm, beaten in best.out.items()}
        assert {r.arm: r.out for r in said.rows if r.out} == out

    def test_arms_of_one_effort_stand_beside_each_other(self, samples: Made) -> None:
        """In the band of their letter, no two in one place."""
        (group,) = samples.view("race").best.groups
        letters = [slot.letter for slot in group.slots]
        assert letters == ["none", "A", "B", "C"]
        places = [p.x for p in group.points]
        assert len(set(places)) == len(places)
        for point in group.points:
            assert letters[round(point.x)] == (point.effort or "none")

    def test_arms_that_nothing_bounds_are_counted(self, samples: Made) -> None:
        """They are in the table only."""
        said = samples.view("race").best
        drawn = len(said.groups[0].points)
        assert said.unbounded == len(said.rows) - drawn > 0

    def test_where_it_would_mislead_there_is_none(self, samples: Made) -> None:
        """Not for a ladder, not for two arms, not where the harness is at fault."""
        ladder = samples.view("ladder").best
        assert ladder is not None
        assert ladder.groups == []
        assert samples.view("told-apart").best is None
        assert samples.view("scaling").best is None

    @pytest.mark.parametrize("name", ["flip", "race", "fraction"])
    def test_every_arm_with_a_bound_is_drawn(
        self, samples: Made, dumped: dict[str, Page], name: str
    ) -> None:
        """Filled in the set, hollow outside, a ring around the sweet spot, one line for steps."""
        (group,) = samples.view(name).best.groups
        marks, points = dumped[name].marks, [p for p in group.points if not p.baseline]
        assert marks["best", "arm, inside"] == sum(not p.out for p in points)
        assert marks["best", "arm, out"] == sum(bool(p.out) for p in points)
        assert marks["best", "gain interval"] == len(points)
        assert marks["best", "sweet spot"] == marks["best", "front"] == 1
        assert marks["best", "arm, baseline"] == 1

    @pytest.mark.parametrize("width", [360, 700, 1200])
    @pytest.mark.parametrize("name", ["flip", "race", "fraction"])
    def test_names_do_not_overlap_and_the_sweet_spot_has_one(
        self, samples: Made, browser: Browser, tmp_path: Path, name: str, width: int
    ) -> None:
        """Where there is no room for a name there is none."""
        question = (
            "(() => { const texts = [...page.querySelectorAll("
            "'[data-chart=best] [aria-description=name] text')];"
            "const boxes = texts.map((t) => t.getBoundingClientRect());"
            "const hits = boxes.filter((a, i) => boxes.some((b, k) => k > i && a.left < b.right"
            " && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom));"
            "return hits.length + ' ' + texts.map((t) => t.textContent).join(' '); })()"
        )
        outer = framed(samples.page(name), tmp_path, width, question)
        found = parsed(browser.dom(outer, "--allow-file-access-from-files")).root["data-answer"]
        hits, *names = (found or "").split(" ")
        assert hits == "0"
        assert any(samples.bundle(name).verdicts().best.sweet_spot.startswith(n) for n in names)


class TestPicturesOfScreens:
    """What a screen suggests."""

    def test_every_effect_is_drawn_hollow_with_its_interval(
        self, samples: Made, dumped: dict[str, Page]
    ) -> None:
        """As many as could be estimated."""
        for name in ("screen", "fraction"):
            effects = samples.bundle(name).verdicts().screen.effects
            marks = dumped[name].marks
            assert marks["screen", "interval"] == len(effects)
            better = sum(e.suggests and e.estimate > 0 for e in effects)
            assert marks["screen", "estimate, suggests better"] == better
            unclear = sum(not e.suggests for e in effects)
            assert marks["screen", "estimate, unclear"] == unclear

    def test_the_page_says_what_the_screen_cannot_know(self, dumped: dict[str, Page]) -> None:
        """Aliases, generators, resolution, and that verdicts are from fresh runs."""
        said = " ".join(dumped["fraction"].text.split())
        assert "resolution III" in said
        assert "What these cells cannot tell apart" in said
        assert "queued-lock = \N{MINUS SIGN}hint x cache" in said
        assert "cache or hint:queued-lock" in said
        assert "All of these are from fresh runs, made after the screen." in said
        assert said.index("Screen leads") < said.index("Verdicts")

    def test_predictions_stand_beside_the_verdicts_on_fresh_runs(self, samples: Made) -> None:
        """In the order of the shortlist; the others without a verdict."""
        bundle = samples.bundle("screen")
        said = samples.view("screen").screen
        assert [r.arm for r in said.handed_on] == bundle.verdicts().screen.shortlist
        assert said.handed_on[0].word == "helps"
        assert {r.arm for r in said.left} >= {"baseline", "hint", "padding"}

    def test_a_line_marks_where_fresh_runs_begin(self, dumped: dict[str, Page]) -> None:
        """One in each arm's row of dots; and where an extension begins."""
        assert dumped["screen"].marks["runs", "phase"] == 9
        assert dumped["extended"].marks["runs", "phase"] == 3


class TestPicturesOfScaling:
    """Throughput over threads."""

    def test_points_curves_and_peaks_are_drawn(self, dumped: dict[str, Page]) -> None:
        """Ten levels, two configurations."""
        marks = dumped["scaling"].marks
        assert marks["scaling", "measured, baseline"] == marks["scaling", "measured, cache"] == 10
        assert marks["scaling", "fit"] == 2
        assert marks["scaling", "peak"] == marks["scaling", "peak interval"] == 2

    def test_a_refused_fit_leaves_points_and_the_reason(self, dumped: dict[str, Page]) -> None:
        """And shows where the CPUs end."""
        marks, said = dumped["refused"].marks, dumped["refused"].text
        assert marks["scaling", "measured, cache"] == 6
        assert marks["scaling", "fit"] == marks["scaling", "peak"] == 0
        assert marks["scaling", "CPUs"] == 1
        assert "refused: the curve bends where threads begin to share the 2 CPUs" in said

    def test_every_level_is_named_on_the_axis(
        self, samples: Made, browser: Browser, tmp_path: Path
    ) -> None:
        """A logarithmic axis leaves none of them out."""
        question = (
            '[...page.querySelectorAll(\'[data-chart=scaling] [aria-label="x-axis tick label"]'
            " text')].map((t) => t.textContent).join(' ')"
        )
        outer = framed(samples.page("scaling"), tmp_path, 1200, question)
        root = parsed(browser.dom(outer, "--allow-file-access-from-files")).root
        assert root["data-answer"] == "1 2 4 8 12 16 24 32 48 64"

    def test_contention_is_never_shown_without_throughput(self, dumped: dict[str, Page]) -> None:
        """The warning, and a table of throughput by threads with its leads marked."""
        said = dumped["scaling"].text
        assert "More contention can go with more throughput" in said
        assert "ratios are leads, no verdicts" in said
        assert "suggests worse" in said

    def test_the_curve_between_levels_is_the_one_at_them(self) -> None:
        """Nothing is fitted anew."""
        law = {n: 100 * n / (1 + 0.05 * (n - 1) + 0.001 * n * (n - 1)) for n in (1, 2, 4, 8, 64)}
        dense = _between(list(law), list(law.values()))
        assert dense[0].value == pytest.approx(law[1])
        assert dense[-1].value == pytest.approx(law[64])
        n = dense[40].threads
        assert dense[40].value == pytest.approx(
            100 * n / (1 + 0.05 * (n - 1) + 0.001 * n * (n - 1))
        )

    @pytest.mark.parametrize(
        ("low", "high", "said"),
        [
            (5.1, 6.2, "5.6 [5.1, 6.2]"),
            (None, 6.0, "5.6 [unbounded, 6.0]"),
            (5.6, 5.6, "5.600 [5.600, 5.600]"),
            (5.599, 5.601, "5.6000 [5.5990, 5.6010]"),
        ],
    )
    def test_an_estimate_has_the_digits_that_its_interval_deserves(
        self, low: float | None, high: float, said: str
    ) -> None:
        """A quarter of its width; of its value, where one end is open."""
        assert bounded(Bounded(value=5.6, low=low, high=high)) == said
        assert bounded(None) == ""


@pytest.mark.parametrize("name", ["evil-screen", "evil-scaling"])
def test_markup_stays_text_in_the_new_sections(samples: Made, browser: Browser, name: str) -> None:
    """In tables, in the data of charts and in what the charts draw."""
    html = samples.html(name)
    assert EVIL not in html
    page = parsed(browser.dom(samples.page(name)))
    assert page.elements["img"] == 0
    assert page.elements["script"] == 3
    assert page.text.count(EVIL) > 5


@pytest.mark.parametrize("design", ["screen", "scaling"])
def test_before_its_first_phase_is_over_a_study_says_that_it_waits(
    tmp_path: Path, design: str
) -> None:
    """Neither "take nothing" nor an empty table."""
    factors = (HINT, CACHE, PADDING)
    study = designed("screen", *factors) if design == "screen" else scaling("1, 2, 3, 4, 6, 8")
    bundle = made(tmp_path / "b", study, runs=False)
    said = view(bundle)
    assert said.answer[0].startswith("There is no answer yet")
    assert said.verdicts.empty.startswith("There is no verdict yet")
    assert parsed(report_html(bundle)).loads == []


def test_a_study_of_two_changes_needs_no_headings(finished: Bundle) -> None:
    """One group is told by the line on top."""
    assert "Changes:" not in text(finished)
