"""Teams that decide as they go: which of them gain by it, and what their plan is worth.

Looking ahead from a policy of known value is never worse than the policy (cpp/policies/lookahead).
How much better it is, only simulation can tell. Pilot runs show whether a team gains at all, how
much of the variance the luck of the runs explains, and how many runs the estimate needs. The
estimate comes from other runs: what the pilot determines does not depend on them, so they are
unbiased. All numbers of runs follow from counted work, never from a clock.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.solving.engine.team import Team
from coreplan.solving.limits import Limits
from coreplan.solving.result import ValueEstimate
from coreplan.solving.tuning import Tuning

logger = logging.getLogger(__name__)

Floats = NDArray[np.float64]

CONFIDENCE = 0.999
"""Probability that the value of a plan is at least the lower end of its estimate."""
QUANTILE = NormalDist().inv_cdf(CONFIDENCE)


@dataclass(eq=False)
class AheadTeam:
    """A team that may look ahead.

    Attributes
    ----------
    team
        The team.
    bases
        The policies to look ahead from; the first is the team's own.
    """

    team: Team
    bases: list[_core.TeamPolicy]
    core: _core.Lookahead | None
    base_value: float
    """What the first base is worth, without constants."""
    part: float = 1.0
    """Part of the luck of a run that is taken off."""
    deviation: float = 0.0
    """Standard deviation of what is left, over runs."""
    seed: int = 0
    """The seed of its runs."""
    pilot: tuple[Floats, Floats] | None = None
    """What the pilot runs earned, and what of that was luck."""


@dataclass(frozen=True)
class Decided:
    """The teams that look ahead, and the estimate of the whole plan's value."""

    teams: list[AheadTeam]
    estimate: ValueEstimate


def look_ahead(
    teams: Sequence[Team], lower: float, upper: float, limits: Limits, seed: int, threads: int
) -> Decided | None:
    """Choose the teams that look ahead, and estimate what the plan is then worth.

    Parameters
    ----------
    teams
        All teams, whose work is done.
    lower, upper
        The proven bounds on the value of the plan.
    limits
        The limits of the solve. If one is reached, the teams keep their policies, or the estimate
        is made of fewer runs.
    seed, threads
        The seed of the runs, and the number of threads, which does not affect the result.

    Returns
    -------
    Decided
        None if no team gains by looking ahead.
    """
    runs = _Runs(limits, seed, threads)
    chosen = []
    for k, team in enumerate(teams):
        if not may_look_ahead(team):
            continue
        limits.phase = "lookahead"
        one = _prepare(team, limits)
        if one is not None and runs.pilot(one, k):
            chosen.append(one)
    if not chosen:
        return None
    tuning = teams[0].tuning
    target = tuning.estimate_part * max(upper - lower, 0.0)
    value, error, count = runs.estimate(chosen, target, tuning)
    for one in chosen:
        one.core = None  # its memory is needed for the plan
    least = min(max(lower, lower + value - QUANTILE * error), upper)
    estimate = ValueEstimate(lower + value, error, least, CONFIDENCE, count)
    logger.info(
        "%s",
        f"{len(chosen)} teams look ahead: value {estimate.value:.10g} estimated from "
        f"{count:,} runs, standard error {error:.4g}",
    )
    return Decided(chosen, estimate)


def may_look_ahead(team: Team) -> bool:
    """Whether a team is large, is not proven optimal, and has a policy to look ahead from."""
    return (
        len(team.agents) >= team.tuning.ahead_agents
        and team.solution is None
        and team.decisions is None
        and team.found is not None
        and team.gap > team.closed
    )


def _prepare(team: Team, limits: Limits) -> AheadTeam | None:
    """Make what finds a team's decisions; None if its policy is no base, or memory is short."""
    assert team.found is not None
    bases = [team.found, *team.profiles]
    if not _core.Lookahead.applies(team.model, bases):
        bases = [team.found]
    if not _core.Lookahead.applies(team.model, bases):
        return None
    try:
        core = _core.Lookahead(team.model, bases, limits.monitor)
    except _core.LimitReached:
        return None
    root = np.zeros(len(team.agents), np.uint32)
    worth = [core.value(b, 0, root) for b in range(len(bases))]
    # Beyond a number of joint states, a table's value is not that of the policy found.
    proven = team.lower - team.model.constant
    if max(worth) < proven - 1e-9 * max(1.0, abs(team.lower)):
        return None
    return AheadTeam(team, bases, core, max(worth[0], proven))


class _Runs:
    """Runs of teams that look ahead. The pilot's come first, the others after them."""

    def __init__(self, limits: Limits, seed: int, threads: int) -> None:
        self._limits = limits
        self._seed = seed
        self._threads = threads
        self._work_per_run = 0.0
        self._before = limits.work

    def pilot(self, one: AheadTeam, number: int) -> bool:
        """Whether a team surely gains by looking ahead, in some runs to begin with."""
        tuning = one.team.tuning
        one.seed = _seed_of(self._seed, number)
        begin = self._limits.work
        earned, luck = self._run(one, 0, tuning.pilot_runs)
        if len(earned) < tuning.pilot_runs:
            return False
        self._work_per_run += (self._limits.work - begin) / tuning.pilot_runs
        one.pilot = (earned, luck)
        spread = float(np.var(luck))
        if spread > 0:
            one.part = float(np.mean((earned - earned.mean()) * (luck - luck.mean()))) / spread
        left = earned - one.part * luck
        one.deviation = float(left.std(ddof=1))
        # With a part of one there is no chance to be misled by luck.
        gains = earned - luck - one.base_value
        margin = QUANTILE * float(gains.std(ddof=1)) / math.sqrt(len(gains))
        return float(gains.mean()) - margin > tuning.least_gain * one.team.gap

    def estimate(
        self, teams: Sequence[AheadTeam], target: float, tuning: Tuning
    ) -> tuple[float, float, int]:
        """What the teams gain beyond their policies; with its standard error and the runs."""
        deviation = math.sqrt(sum(one.deviation**2 for one in teams))
        asked = (QUANTILE * deviation / target) ** 2 if target > 0 else math.inf
        work = max(tuning.least_estimate, tuning.estimate_work * self._before)
        most = min(work / max(self._work_per_run, 1e-12), tuning.most_runs)
        count = int(max(tuning.pilot_runs, min(asked, most)))
        totals = np.zeros(0)
        done = tuning.pilot_runs
        while len(totals) < count:
            size = min(tuning.runs_at_once, count - len(totals))
            batch = np.zeros(size)
            for one in teams:
                earned, luck = self._run(one, done, size)
                if len(earned) < size:
                    break
                batch += earned - one.part * luck - one.base_value
            else:
                totals = np.append(totals, batch)
                done += size
                continue
            break
        if len(totals) < tuning.pilot_runs:
            # A limit was reached. Without a fitted part, the pilot itself is unbiased.
            totals = np.zeros(tuning.pilot_runs)
            for one in teams:
                assert one.pilot is not None
                totals += one.pilot[0] - one.pilot[1] - one.base_value
        error = float(totals.std(ddof=1)) / math.sqrt(len(totals))
        return float(totals.mean()), error, len(totals)

    def _run(self, one: AheadTeam, first: int, count: int) -> tuple[Floats, Floats]:
        """What runs earned, and what of that was luck; nothing if a limit is reached."""
        assert one.core is not None
        return one.core.run(one.seed, first, count, self._threads, self._limits.monitor)


def _seed_of(seed: int, number: int) -> int:
    """The seed of a team's runs."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])
