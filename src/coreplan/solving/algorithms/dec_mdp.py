"""The optimal decentralised policy: each agent sees its own local state only. See docs/dec-mdp.md.

Teams that never interact are searched one by one. What a team gets is bounded from below by a
policy in hand and from above by the search or, before there is one, by what a team could get that
sees everything.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from coreplan import _core
from coreplan.policies.policy import Policy
from coreplan.policies.rules import LocalRule
from coreplan.solving.compile import CompiledProblem
from coreplan.solving.engine.team import is_slow
from coreplan.solving.engine.way_back import make_reduced, map_local, reduce_model
from coreplan.solving.limits import Limits
from coreplan.solving.maps import make_maps
from coreplan.solving.options import DecMdpOptions
from coreplan.solving.result import Result, Statistics
from coreplan.solving.task import SolverTask
from coreplan.solving.tuning import Tuning

logger = logging.getLogger(__name__)

TUNING = Tuning()
STEPS = ("shape", "drop", "settle", "eliminate", "merge")
"""Of shrinking. All of them keep the decentralised optimum, too."""
TRIES = 30
"""Of the local search by best responses, before anything else and now and then."""
TABLES_PART = 0.25
"""Of the time left: a team whose centralised values take longer is bounded otherwise first."""
SECONDS_PER_BYTE = 2e-9
"""That it takes to fill these tables, about."""
ROUNDS = 100
"""Of the relaxation of a team, if nobody has said how long to go on; then a round may take..."""
ROUND_SECONDS = 0.1
"""... about so long."""
SLICE = 0.2
"""Seconds of search between two looks at all bounds."""


def solve_dec_mdp(task: SolverTask, options: DecMdpOptions) -> Result:
    """Find the best policy of which every agent looks at its own local state only."""
    compiled = task.compile(options.merge)
    limits = task.limits
    limits.phase = "shrinking"
    reduction = reduce_model(compiled, dict.fromkeys(STEPS, options.merge), limits)
    limits.phase = "policies"
    teams = [
        _Team(reduction.model, agents, options.seed, limits)
        for agents in _core.components(reduction.model)
    ]
    logger.info("teams of %s", ", ".join(str(len(team.agents)) for team in teams))
    error = reduction.error
    solver = _Solver(teams, compiled.model.constant + reduction.offset, error, limits)
    solver.run()
    limits.phase = "result"
    policy = _make_policy(task, compiled, reduction, teams)
    value = _core.value_of(
        compiled.model,
        [each.tolist() for each in policy.local.actions],
        limits.unlimited_monitor(),
    )
    lower = max(value, limits.lower)
    # The policy and the optimum are each within the error of their values on the reduced model.
    upper = max(lower, min(limits.upper, lower + sum(team.gap for team in teams) + 2 * error))
    work = solver.count()
    return task.make_result(
        "dec-mdp",
        lower,
        upper,
        solver.stop,
        policy,
        work.joint_states_expanded,
        work.joint_actions_evaluated,
        message=solver.say(compiled.indexed.agent_names),
        others=work.others,
        objective="decentralised",
    )


class _Team:
    """Agents that interact: their search, and bounds without constants and offsets."""

    def __init__(
        self, model: _core.CompiledModel, agents: Sequence[int], seed: int, limits: Limits
    ) -> None:
        # Games and tables are fast if the agent with the most to choose from comes last.
        self.agents = sorted(agents, key=lambda i: len(model.action_after(i)))
        self.model = _core.restrict_to(model, self.agents)
        self.search = _core.DecentralisedSearch(self.model, seed, limits.monitor)
        self.prepared = False
        self.relaxation: _core.Relaxation | None = None
        """Where centralised values are out of reach: a bound on them."""

    @property
    def lower(self) -> float:
        """The value of the policy in hand."""
        return self.search.lower

    @property
    def upper(self) -> float:
        """No decentralised policy of the team is worth more."""
        upper = self.search.upper
        if self.relaxation is not None:
            upper = min(upper, self.relaxation.upper)
        return max(self.lower, upper)

    @property
    def gap(self) -> float:
        """How far the bounds are apart."""
        return self.upper - self.lower

    @property
    def table_seconds(self) -> float:
        """How long it takes to find the centralised values, about."""
        return self.search.table_bytes * SECONDS_PER_BYTE

    @property
    def origin_of_bound(self) -> str:
        """Where the upper bound is from, in words."""
        if self.relaxation is not None and self.relaxation.upper < self.search.upper:
            return "a relaxation of the centralised problem"
        if self.prepared:
            return "the search"
        return "the best that each agent could get with the others as favourable as can be"

    def start_relaxation(self, limits: Limits) -> _core.Relaxation | None:
        """A relaxation of the centralised problem; None if there is no memory or time for one."""
        try:
            self.relaxation = _core.Relaxation(self.model, 1, TUNING.cuts, limits.monitor)
        except _core.LimitReached:
            return None
        return self.relaxation


class _Solver:
    """All teams, one after the other, the small ones first."""

    def __init__(self, teams: Sequence[_Team], offset: float, error: float, limits: Limits) -> None:
        self.teams = sorted(teams, key=lambda team: team.table_seconds)
        self.offset = offset
        self.error = error
        self.limits = limits
        self.stop = _core.Stop.none

    @property
    def tolerance(self) -> float:
        """How far the bounds of one team may be apart if the whole is to count as optimal."""
        value = self.offset + sum(team.lower for team in self.teams)
        return TUNING.closed_by_search * TUNING.closed * max(1.0, abs(value)) / len(self.teams)

    def report(self) -> None:
        """Tell the bounds on the whole problem's value."""
        lower = self.offset + sum(team.lower for team in self.teams) - self.error
        upper = self.offset + sum(team.upper for team in self.teams) + self.error
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise OverflowError("the rewards are too large to be added up")
        self.limits.report(lower, max(lower, upper))

    def run(self) -> None:
        """Work until the bounds meet or a limit strikes."""
        self.report()
        for team in self.teams:
            if not self._stopped():
                team.search.improve(TRIES)
        self.report()
        for team in self.teams:
            if team.gap > self.tolerance and not self._stopped():
                self._solve(team)
                self.report()
        if self._stopped():
            return
        open_teams = [team for team in self.teams if team.gap > self.tolerance]
        if any(team.search.stop == _core.Stop.memory_limit for team in open_teams):
            self.stop = _core.Stop.memory_limit

    def _stopped(self) -> bool:
        if self.limits.monitor.look():
            self.stop = self.limits.monitor.stop
        return self.stop != _core.Stop.none

    def _solve(self, team: _Team) -> None:
        if not team.search.fits:
            self._bound(team, self.limits.seconds_left)
        elif team.table_seconds > TABLES_PART * self.limits.seconds_left:
            self._bound(team, TABLES_PART * self.limits.seconds_left)
        if self._stopped() or team.gap <= self.tolerance:
            return
        self.limits.phase = "kernel"
        team.prepared = team.search.prepare()
        if not team.prepared:
            return
        self.report()
        self.limits.phase = "search"
        while not team.search.run(self.tolerance, SLICE):
            self.report()
            if team.search.stop != _core.Stop.none or self._stopped():
                return

    def _bound(self, team: _Team, seconds: float) -> None:
        """Bound a team that is too large for tables: a bound on the centralised value will do."""
        begin = self.limits.seconds
        relaxation = team.start_relaxation(self.limits)
        if relaxation is None:
            return
        gains: list[float] = []
        while team.gap > self.tolerance and not self._stopped():
            self.report()
            spent = self.limits.seconds - begin
            if spent > seconds or (math.isinf(seconds) and relaxation.rounds >= ROUNDS):
                return
            self.limits.phase = "relaxation"
            before = relaxation.upper
            budget = ROUND_SECONDS
            if math.isfinite(seconds):
                budget = min(max(0.3, 0.5 * spent), self.limits.seconds_left / 10)
            if is_slow(gains, team.gap, TUNING) or relaxation.settled:
                gains.clear()
                grown = relaxation.grow(
                    budget * _core.UNITS_PER_SECOND, len(team.agents), self.limits.monitor
                )
                if relaxation.settled and not grown:
                    return
            relaxation.step(team.lower, self.limits.monitor)
            gains.append(before - relaxation.upper)
            self.limits.phase = "policies"
            team.search.improve(TRIES)

    def count(self) -> Statistics:
        """How much work it was."""
        works = [team.search.work for team in self.teams]
        others: dict[str, float] = {
            "kernel_cells": sum(work.cells for work in works),
            "search_nodes": sum(work.nodes for work in works),
            "bayesian_games": sum(work.games for work in works),
            "game_types": sum(work.types for work in works),
            "partial_solutions": sum(work.partial_solutions for work in works),
            "best_responses": sum(work.best_responses for work in works),
        }
        relaxations = [team.relaxation for team in self.teams if team.relaxation is not None]
        if relaxations:
            others["relaxation_rounds"] = sum(each.rounds for each in relaxations)
        return Statistics(
            sum(work.joint_types for work in works),
            sum(work.joint_actions for work in works),
            others=others,
        )

    def say(self, names: Sequence[str]) -> str:
        """In words: which teams are not solved, and where their bounds are from."""
        said = []
        for team in self.teams:
            if team.gap <= self.tolerance:
                continue
            reason = f" ({team.search.message})" if team.search.message else ""
            said.append(
                f"the team of {len(team.agents)} agents around {names[min(team.agents)]!r} is "
                f"bounded, not solved{reason}: its policy is the best found so far, its upper "
                f"bound is from {team.origin_of_bound}, its gap is {team.gap:.4g}"
            )
        if not said and self.error > 0:
            said.append(
                "rounding, and probabilities that do not add up to 1, leave a gap of "
                f"{self.error:.4g}"
            )
        return "; ".join(said)


def _make_policy(
    task: SolverTask,
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    teams: Sequence[_Team],
) -> Policy:
    """The policy in hand, on the problem's own states and actions."""
    alone = _core.independent_bounds(compiled.model, task.limits.unlimited_monitor())
    local = [alone.action(i) for i in range(len(compiled.indexed.agents))]
    for team in teams:
        for k, i in enumerate(team.agents):
            reduced = make_reduced(compiled, reduction, i)
            chosen = team.search.action(k)
            local[i] = map_local(compiled, reduction, reduced, i, chosen, local[i])
    return Policy(
        task.problem,
        compiled.indexed,
        make_maps(compiled),
        [],
        LocalRule(tuple(local)),
        history=not compiled.merged,
    )
