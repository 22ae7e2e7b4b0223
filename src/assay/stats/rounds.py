"""Rounds of slices inside one block: every arm once, in random order, on servers that all live.

What a round's slices share (the machine's speed, its neighbours) is taken out by the round's mean
over arms. What is left of an arm is summed up by the pseudo-median over rounds, which a slice that
was disturbed alone does not move. The block stays the one observation: slices of one life of the
servers are no observations of their own.

Source: Hodges & Lehmann, Annals of Mathematical Statistics 34 (1963), for the pseudo-median.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def levels_of(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Each arm's level against the mean of all, in log units.

    `rounds`: one row of logs by arm for each round, at least one. The differences of two levels
    estimate the difference of the arms, and change their sign when the arms change places.
    """
    logs = np.asarray(rounds, dtype=float)
    centred = logs - logs.mean(axis=1, keepdims=True)
    first, second = np.triu_indices(len(logs))
    walsh = (centred[first] + centred[second]) / 2
    return [float(value) for value in np.median(walsh, axis=0)]
