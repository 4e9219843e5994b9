"""Paired tests and intervals for comparisons of solvers. Small, exact where it matters, seeded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

EXACT_UP_TO = 300
"""The signed-rank test is exact up to this many pairs; above, the normal approximation is close."""

RESAMPLES, SEED, LEVEL = 10_000, 1, 0.95
FEWEST = 5
"""An interval needs this many values; fewer say nothing about their spread."""

_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class PairedTest:
    """The outcome of a paired test.

    Attributes
    ----------
    pairs
        Number of pairs that count: without ties.
    p
        How likely a difference at least this large is, if both sides are equally good: two-sided.
    exact
        Whether `p` is exact; otherwise it is the normal approximation.
    """

    pairs: int
    p: float
    exact: bool = True

    def to_dict(self) -> dict[str, Any]:
        """All attributes by name."""
        return asdict(self)


def sign_test(wins: int, losses: int) -> PairedTest:
    """The exact two-sided sign test: only who won counts, and ties do not.

    Examples
    --------
    >>> sign_test(6, 0).p, sign_test(0, 0).p
    (0.03125, 1.0)
    """
    pairs = wins + losses
    few = min(wins, losses)
    if 2 * few >= pairs - 1:  # the middle: both tails together have all
        return PairedTest(pairs, 1.0)
    if pairs <= 1000:
        tail = sum(math.comb(pairs, k) for k in range(few + 1)) / 2**pairs
    else:
        whole = math.lgamma(pairs + 1) - pairs * math.log(2)
        tail = math.fsum(
            math.exp(whole - math.lgamma(k + 1) - math.lgamma(pairs - k + 1))
            for k in range(few + 1)
        )
    return PairedTest(pairs, min(1.0, 2 * tail))


def signed_rank_test(differences: Sequence[float]) -> PairedTest:
    """Wilcoxon's two-sided signed-rank test: who won counts, and by how much in order.

    Differences of 0 do not count. Equal sizes share their ranks, and the distribution of the sum of
    ranks is that of these ranks, so the test is exact with ties.

    Examples
    --------
    >>> signed_rank_test([1, 2, 3, 4, 5, 6]).p, signed_rank_test([1, -1]).p
    (0.03125, 1.0)
    """
    sizes = sorted(abs(each) for each in differences if each)
    # Twice the rank of each size, which is whole also where several share theirs.
    places: dict[float, list[int]] = {}
    for rank, size in enumerate(sizes, start=1):
        places.setdefault(size, []).append(rank)
    doubled = {size: ranks[0] + ranks[-1] for size, ranks in places.items()}
    ranks = [doubled[size] for size in sizes]
    total, pairs = sum(ranks), len(ranks)
    above = sum(doubled[each] for each in differences if each > 0)
    few = min(above, total - above)
    if pairs > EXACT_UP_TO:
        spread = math.sqrt(sum(rank * rank for rank in ranks) / 4)
        distance = max(0.0, total / 2 - few - 1)  # continuity: half a rank
        return PairedTest(pairs, math.erfc(distance / spread / math.sqrt(2)), exact=False)
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for rank in ranks:
        chance /= 2
        chance[rank:] += chance[:-rank].copy()
    return PairedTest(pairs, min(1.0, 2 * math.fsum(chance[: few + 1])))


def interval_of_mean(values: Sequence[float]) -> tuple[float, float] | None:
    """The interval of a mean by the bootstrap, 95 %; None for fewer than five values.

    The resamples are the same every time: percentiles of 10,000 means, from a fixed seed.
    """
    count = len(values)
    if count < FEWEST:
        return None
    # Raw numbers of this generator are the same in every version of numpy.
    source = np.random.PCG64(SEED)
    data = np.asarray(values, float)
    means: list[float] = []
    while len(means) < RESAMPLES:
        some = min(RESAMPLES - len(means), max(1, _AT_ONCE // count))
        drawn = source.random_raw(some * count) % np.uint64(count)
        means += data[drawn.astype(np.int64)].reshape(some, count).mean(axis=1).tolist()
    means.sort()
    cut = round(RESAMPLES * (1 - LEVEL) / 2)
    return means[cut], means[-1 - cut]
