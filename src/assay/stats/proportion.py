"""The interval of a proportion by the score of its test.

Source: Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
the American Statistical Association 22 (1927).
"""

from __future__ import annotations

import math

Z = 1.959963984540054
"""The 97.5 % point of the normal distribution: intervals of 95 %."""


def wilson(hits: int, trials: int, z: float = Z) -> tuple[float, float]:
    """The ends of the interval of hits/trials; of no trials all is possible."""
    if not trials:
        return 0.0, 1.0
    share, z2 = hits / trials, z * z
    middle = 2 * hits + z2
    reach = z * math.sqrt(z2 + 4 * hits * (1 - share))
    return (middle - reach) / (2 * (trials + z2)), (middle + reach) / (2 * (trials + z2))
