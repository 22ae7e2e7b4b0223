"""More than one contrast, and more than one attempt: six arms, extensions, combinations."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from assay.stats import Rule, Word, judge, judge_once, main_effect, plan_blocks, simple_effect
from assay.stats.boundary import once
from assay.stats.sample_size import PILOT_BLOCKS
from assay.stats.selection import best_set
from assay.stats.sequence import extended
from assay.stats.signed_rank import SignedRank

from .noise import NOISES, Floats, shuffled, streams
from .procedure import ARM, SIGN
from .rows import Row, Table, alarms_allowed, grid, share, summary, three_digits
from .scale import Scale, Steps

RULE = Rule(0.02, 0.02)
SIX_BLOCKS, SIX_EFFECTS = 30, (0.05, 0.03, -0.03, 0.02, 0.0, 0.0)
FAMILY_RATE = 0.065
EXTENSIONS, EXTENDED_BUDGET, ATTEMPTS = 2, 20, 4
HURTS_NEEDED = {12: 0.985, 20: 0.995}  # 99 and 100 %, rounded
BEST_NEEDED = 0.95
ALL_THREE = ("TSX", "SNAP", "LLDC")
CELLS = {
    (0, 0, 0): 1.00, (1, 0, 0): 1.08, (0, 1, 0): 1.01, (1, 1, 0): 1.08 * 0.95,
    (0, 0, 1): 1.02, (1, 0, 1): 1.14 / 1.04, (0, 1, 1): 1.02 * 1.03, (1, 1, 1): 1.14,
}  # fmt: skip
"""Speeds of (TSX, SNAP, LLDC), invented after a study of a database on a server: SNAP gains 1 %
alone, loses 5 % on top of TSX, gains 3 and 4 % where LLDC is on, and .7 % on average."""


def six_arms(scale: Scale) -> Steps:
    """Six arms against one baseline in 30 blocks, alpha shared by Holm's method."""
    null = _six(scale, (0.0,) * 6, "null")
    yield 0.5
    words, runs = _six(scale, SIX_EFFECTS, "effects")
    yield 1.0
    studies = scale.studies
    any_false = sum(any(word in SIGN for word in study) for study in null[0])
    hits = [
        sum(SIGN.get(study[k], 0) == np.sign(effect) for study in words)
        for k, effect in enumerate(SIX_EFFECTS)
        if effect
    ]
    wrong = sum(
        SIGN.get(word, 0) * effect < 0
        for study in words
        for word, effect in zip(study, SIX_EFFECTS, strict=True)
    )
    names = [f"{effect:+.0%}" for effect in SIX_EFFECTS if effect]
    most = 7 * SIX_BLOCKS
    rows = [
        share("six equal arms, any told apart", any_false, studies, at_most=FAMILY_RATE),
        *(share(f"six arms, power at {n}", h, studies) for n, h in zip(names, hits, strict=True)),
        share("six arms, wrong sign", wrong, 6 * studies, at_most=0),
        Row("six arms, mean runs", "all arms to the end", "runs", runs, float(most), runs / most),
    ]
    cells = [three_digits(row.ours) for row in rows[:-1]] + [f"{runs:.0f}"]
    text = grid([["FWER", *names, "wrong", "runs"]], [("realistic noise, CV 2 %", cells)], 26)
    title = (
        f"six arms, {SIX_BLOCKS} blocks, Holm; arms leave when decided, else {most} runs; "
        f"{studies} studies"
    )
    return Table(f"{title}\n{text}\n{summary(rows)}", rows)


def _six(scale: Scale, effects: tuple[float, ...], name: str) -> tuple[list[list[Word]], float]:
    """The words of every study, arm by arm, and the mean number of runs that were made."""
    arms = len(effects) + 1
    gains = np.log1p([0.0, *effects])
    words, runs = [], 0
    make = NOISES["realistic"].at(0.02)
    for table in _tables(make, scale.studies, SIX_BLOCKS, arms, (scale.seed, f"six {name}")):
        against = (table + gains)[:, :, 1:] - table[:, :, :1]
        for values in against:
            family = {str(k): list(enumerate(values[:, k].tolist())) for k in range(arms - 1)}
            found = judge(family, RULE, SIX_BLOCKS, SIX_BLOCKS)
            judged = [found[str(k)] for k in range(arms - 1)]
            words.append([judgement.word for judgement in judged])
            blocks = [judgement.blocks for judgement in judged]
            runs += sum(blocks) + max(blocks)  # the baseline runs until the last arm has left
    return words, runs / scale.studies


def _tables(make, studies: int, blocks: int, arms: int, seed: tuple[int, str]) -> list[Floats]:
    """Log metric of arms in random order inside blocks: chunks (studies, blocks, arms)."""
    pairs = math.ceil(blocks * arms / 2)
    rng = np.random.default_rng([seed[0], arms])
    return [
        shuffled(rng, stream.runs[:, : blocks * arms], arms)
        for stream in streams(make, studies, pairs, 0.0, seed)
    ]


def extensions(scale: Scale) -> Steps:
    """Identical arms, budget 20, and up to two extensions whenever the answer is `undecided`."""
    allowed, rows, body = alarms_allowed(scale.studies), [], []
    for k, kind in enumerate(NOISES):
        counts = _extended(kind, scale.studies, scale.seed)
        ours = counts.pop("Assay, reserve of .01")
        name = f"A/A with {EXTENSIONS} extensions, {kind} noise"
        rows.append(share(name, ours, scale.studies, at_most=allowed))
        rows += [
            share(name, ours, scale.studies, rival=rival, theirs=hits / scale.studies)
            for rival, hits in counts.items()
        ]
        shares = [three_digits(hits / scale.studies) for hits in (ours, *counts.values())]
        body.append((f"{kind} noise, CV 5 %", shares))
        yield (k + 1) / (len(NOISES) + 1)
    same = _extended_equivalence(scale)
    rows.append(
        share(
            "false 'no difference' at the margin, with extensions", same, scale.studies,
            at_most=0.06,
        )
    )  # fmt: skip
    text = grid([["Assay", "fresh", "anew"]], body, first=26)
    title = (
        f"a budget of {EXTENDED_BUDGET} blocks, then up to {EXTENSIONS} times half as "
        f"many again; {scale.studies} A/A studies\n`fresh`: a new boundary with all of alpha every "
        f"time; `anew`: the study anew until p < .05, {ATTEMPTS} times at most"
    )
    last = f"false 'no difference' at truth = margin: {three_digits(same / scale.studies)}"
    return Table(f"{title}\n{text}\n{last}\n{summary(rows)}", rows)


def _extended(kind: str, studies: int, seed: int) -> dict[str, int]:
    """Method -> A/A studies told apart by the end of the last extension."""
    blocks = max(extended(EXTENDED_BUDGET, EXTENSIONS), ATTEMPTS * EXTENDED_BUDGET)
    counts = dict.fromkeys(["Assay, reserve of .01", "fresh boundary", "study redone"], 0)
    make = NOISES[kind].at(0.05)
    for stream in streams(make, studies, blocks, 0.0, (seed, f"extended {kind}")):
        for values in stream.contrasts:
            counts["Assay, reserve of .01"] += _extend(values) in SIGN
            counts["fresh boundary"] += _fresh(values) in SIGN
            parts = values[: ATTEMPTS * EXTENDED_BUDGET].reshape(ATTEMPTS, -1)
            counts["study redone"] += any(SignedRank(part).p_value() < 0.05 for part in parts)
    return counts


def _plan(values: Floats, rule: Rule) -> int:
    pilot = values[:PILOT_BLOCKS].tolist()
    return plan_blocks({ARM: pilot}, rule, EXTENDED_BUDGET).blocks


def _extend(values: Floats, rule: Rule = RULE) -> Word:
    """The last word of a study that is extended as long as it is undecided."""
    blocks = _plan(values, rule)
    done = extended(blocks, EXTENSIONS)
    series = {ARM: list(enumerate(values[:done].tolist()))}
    return judge(series, rule, blocks, done, extensions=EXTENSIONS)[ARM].word


def _fresh(values: Floats) -> Word:
    """The same, but each time as a new study of more blocks, with nothing kept in reserve."""
    rule = Rule(RULE.smallest, RULE.margin, reserve=0.0)
    blocks = _plan(values, rule)
    word = Word.UNDECIDED
    for number in range(EXTENSIONS + 1):
        total = extended(blocks, number)
        series = {ARM: list(enumerate(values[:total].tolist()))}
        word = judge(series, rule, total, total)[ARM].word
        if word != Word.UNDECIDED:
            break
    return word


def _extended_equivalence(scale: Scale) -> int:
    """False "no difference" when the truth is the margin, extensions included."""
    make, found = NOISES["realistic"].at(0.02), 0
    blocks, truth = extended(EXTENDED_BUDGET, EXTENSIONS), RULE.margin_log
    for stream in streams(make, scale.studies, blocks, truth, (scale.seed, "extended equal")):
        found += sum(_extend(values) == Word.NO_DIFFERENCE for values in stream.contrasts)
    return found


def combinations(scale: Scale) -> Steps:
    """Three settings on and off: one that helps on average and hurts on top of another."""
    cells = {str(c): dict(zip(ALL_THREE, c, strict=True)) for c in CELLS}
    simple = simple_effect("SNAP", {"TSX": 1, "LLDC": 0}, cells)
    average = main_effect("SNAP", cells)
    rows, body = [], []
    for k, blocks in enumerate(HURTS_NEEDED):
        counts = dict.fromkeys(["hurts", "positive", "helps", "best"], 0)
        make, seed = NOISES["realistic"].at(0.02), (scale.seed, f"cells {blocks}")
        for table in _tables(make, scale.studies, blocks, len(CELLS), seed):
            gained = table + np.log(list(CELLS.values()))
            counts["best"] += sum(_may_be_best(study, blocks) for study in gained)
            for one, mean in zip(
                _contrast(gained, simple.weights), _contrast(gained, average.weights), strict=True
            ):
                counts["hurts"] += _once(one, blocks).word == Word.HURTS
                found = _once(mean, blocks)
                counts["positive"] += found.estimate > 0
                counts["helps"] += found.word == Word.HELPS
        name = f"2^3, {blocks} blocks"
        rows += [
            share(
                f"{name}: SNAP given TSX hurts", counts["hurts"], scale.studies,
                at_least=HURTS_NEEDED[blocks],
            ),
            share(f"{name}: averaged SNAP above zero", counts["positive"], scale.studies),
            share(f"{name}: averaged SNAP helps", counts["helps"], scale.studies),
            share(
                f"{name}: the three together are in the best set", counts["best"], scale.studies,
                at_least=BEST_NEEDED,
            ),
        ]  # fmt: skip
        body.append((name, [three_digits(row.ours) for row in rows[-4:]]))
        yield (k + 1) / 2
    text = grid([["hurts", "above", "helps", "best"]], body, first=26)
    title = (
        f"2^3 cells in random order, realistic noise, CV 2 %, {scale.studies} studies\n"
        "SNAP given TSX (truth -5 %) hurts; averaged over all settings SNAP is above zero; helps;\n"
        "TSX+SNAP+LLDC, the best in truth, is in the best set"
    )
    return Table(f"{title}\n{text}\n{summary(rows)}", rows)


def _may_be_best(study: Floats, blocks: int) -> bool:
    """Whether all three together are in the best set; shape (blocks, cells)."""
    names = [str(cell) for cell in CELLS]
    table = {b: dict(zip(names, row, strict=True)) for b, row in enumerate(study.tolist())}
    found = best_set(table, names, once(blocks), RULE.alpha, blocks)
    return str((1, 1, 1)) in found.inside


def _contrast(table: Floats, weights: Mapping[str, float]) -> Floats:
    """One number per block: shape (studies, blocks)."""
    return table @ np.array([weights.get(str(cell), 0.0) for cell in CELLS])


def _once(values: Floats, blocks: int):
    return judge_once({ARM: list(enumerate(values.tolist()))}, RULE, blocks)[ARM]
