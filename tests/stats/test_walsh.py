"""Walsh averages by rank, against all of them formed and sorted."""

import numpy as np
import pytest

from assay.stats import walsh
from assay.stats.walsh import LIMIT, UNIT, Walsh, on_grid

SIZES = (1, 2, 3, 4, 5, 8, 9, 16, 31, 60, 87, 88, 89, 120)

KINDS = {
    "untied": lambda rng, n: rng.normal(0, 0.02, n),
    "coarse": lambda rng, n: np.round(rng.normal(0, 1, n)),
    "all equal": lambda rng, n: np.full(n, rng.normal()),
    "all zero": lambda rng, n: np.zeros(n),
    "two values": lambda rng, n: rng.choice([-0.3, 0.7], n),
    "mirrored": lambda rng, n: np.concatenate([x := rng.normal(0, 1, n), -x])[:n],
    "neighbours on the grid": lambda rng, n: rng.integers(-3, 4, n) / UNIT,
    "an outlier on each side": lambda rng, n: np.append(rng.normal(0, 1e-6, n), [-LIMIT, LIMIT])[
        -n:
    ],
    "one run at the end of floating point": lambda rng, n: np.append(np.zeros(n), 1454.0)[-n:],
}


def all_averages(grid) -> list[float]:
    """The definition: every pair with i <= j, in whole numbers, sorted."""
    n = len(grid)
    sums = sorted(int(grid[i]) + int(grid[j]) for i in range(n) for j in range(i, n))
    return [s / (2 * UNIT) for s in sums]


@pytest.mark.parametrize("window", [1, 7, walsh.WINDOW_MIN], ids=["halved", "mixed", "as it is"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_rank_is_that_of_the_sorted_averages(kind, window, monkeypatch):
    """To the last bit, whether averages are formed at once or found by halving."""
    monkeypatch.setattr(walsh, "WINDOW_MIN", window)
    rng = np.random.default_rng((1, window, *map(ord, kind)))
    for n in SIZES:
        grid = np.sort(on_grid(KINDS[kind](rng, n)))
        expected = all_averages(grid)
        sample = Walsh(grid)
        assert sample.count == len(expected)
        for rank in rng.permutation(sample.count)[:300] + 1:
            assert sample.kth(int(rank)) == expected[rank - 1], (n, rank)


@pytest.mark.parametrize("window", [1, walsh.WINDOW_MIN])
@pytest.mark.parametrize("kind", KINDS)
def test_the_median_is_that_of_all_averages(kind, window, monkeypatch):
    """The middle one, or the mean of the two in the middle."""
    monkeypatch.setattr(walsh, "WINDOW_MIN", window)
    rng = np.random.default_rng((2, *map(ord, kind)))
    for n in SIZES:
        grid = np.sort(on_grid(KINDS[kind](rng, n)))
        expected = float(np.median(all_averages(grid)))
        assert Walsh(grid).median() == pytest.approx(expected, rel=1e-15, abs=1e-13)


@pytest.mark.parametrize("n", [400, 1000])
def test_what_was_asked_before_changes_no_answer(n):
    """Ranks asked in any order, of one sample or each of a new one."""
    rng = np.random.default_rng(3)
    for decimals in (12, 3):
        grid = np.sort(on_grid(np.round(rng.normal(0, 0.02, n), decimals)))
        rows, columns = np.triu_indices(n)
        expected = np.sort(grid[rows] + grid[columns]) / (2 * UNIT)
        asked = Walsh(grid)
        for rank in [1, 2, asked.count // 2, asked.count, *rng.integers(1, asked.count, 40)]:
            assert asked.kth(int(rank)) == Walsh(grid).kth(int(rank)) == expected[rank - 1]


@pytest.mark.parametrize("rank", [0, -1, 4])
def test_a_rank_that_does_not_exist_is_refused(rank):
    """Two values have three averages."""
    with pytest.raises(IndexError, match=r"outside 1\.\.3"):
        Walsh(np.array([1, 2])).kth(rank)
