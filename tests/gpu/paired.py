# SPDX-License-Identifier: MIT
"""Is a cost within its limit? Answers from pairs of measurements taken in turn, with the risk of being wrong bounded.

    differences = [traced / untraced - 1, ...]         one a round
    estimate, low, high = paired.interval(differences)
    paired.decide(low, high, limit)                    "holds", "fails" or "cannot tell"

The interval is that of Wilcoxon's signed ranks (Hodges and Lehmann): the middle of the means of all pairs of
differences, and between which of these means the true difference lies. It supposes no distribution, only that
differences scatter alike to both sides, which runs taken in turn do.

Rounds may be added while nothing can be told, but one may look only at the numbers of rounds in LOOKS, and in place of
the next of them where time ends: who looks after each round ends up believing chance. At most len(LOOKS) looks are
made, each at an equal share of RISK; so no verdict is wrong more often than RISK says, to either side.
"""

import math
import statistics

LOOKS = (6, 12, 24)
RISK = 0.05


def signed_rank_counts(n):
    """Returns, by sum, how many of the 2^n ways to choose from the ranks 1..n have it."""
    counts = [1]
    for rank in range(1, n + 1):
        grown = counts + [0] * rank
        for total, ways in enumerate(counts):
            grown[total + rank] += ways
        counts = grown
    return counts


def interval(differences, risk=RISK / len(LOOKS)):
    """(estimate, low, high): each end is passed with at most this risk. Too few rounds: ends at infinity."""
    n = len(differences)
    if n == 0:
        return None, -math.inf, math.inf
    means = sorted((differences[i] + differences[j]) / 2 for i in range(n) for j in range(i, n))
    outside, chance = 0, 0.0  # means beyond each end
    for ways in signed_rank_counts(n):
        chance += ways / 2**n
        if chance > risk:
            break
        outside += 1
    low, high = (means[outside - 1], means[-outside]) if outside else (-math.inf, math.inf)
    return statistics.median(means), low, high


def decide(low, high, limit):
    if high <= limit:
        return "holds"
    return "fails" if low > limit else "cannot tell"
