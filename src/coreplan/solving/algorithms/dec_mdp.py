"""The optimal decentralised policy: each agent sees only its own local state. See docs/dec-mdp.md.

Teams that never interact are searched one by one. A team's value is bounded from below by the best
policy found and from above by the search or, before the search, by the value of a team that sees
everything.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from coreplan import _core
from coreplan.model.problem import Words
from coreplan.policies.policy import Policy
from coreplan.policies.rules import LocalRule
from coreplan.solving.compile import CompiledProblem
from coreplan.solving.engine.team import is_slow
from coreplan.solving.engine.way_back import make_reduced, map_local, reduce_model
from coreplan.solving.limits import Limits
from coreplan.solving.maps import make_maps
from coreplan.solving.options import DecMdpOptions
from coreplan.solving.result import Result, Statistics, unproven_team
from coreplan.solving.task import SolverTask
from coreplan.solving.tuning import Tuning

logger = logging.getLogger(__name__)

TUNING = Tuning()
STEPS = ("shape", "drop", "settle", "eliminate", "merge")
"""Steps of shrinking. All of them keep the decentralised optimum as well."""
TRIES = 30
"""Tries of the local search by best responses, at the start and at intervals."""
WORK_PER_BYTE = 2e-9
"""Estimated work per byte to fill the tables of centralised values."""
LONG_TABLES = 0.5
"""Work beyond which a team gets other bounds first, as the tables may never be complete."""
TABLES_PART = 0.25
"""These bounds may take this part of the work for the tables."""
ROUNDS = 100
"""Rounds of the relaxation of a team without tables, if no time limit is given."""
ROUND_WORK = 0.1
"""Work of a round of the relaxation, at most; later rounds may take half of the work so far."""
SLICE = 0.1
"""Work of the search between two reports of all bounds."""


def solve_dec_mdp(task: SolverTask, options: DecMdpOptions) -> Result:
    """Find the best policy in which every agent sees only its own local state."""
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
    solver.closed = max(TUNING.closed, options.tolerance)
    solver.run()
    limits.phase = "result"
    policy = _make_policy(task, compiled, reduction, teams)
    value = _core.value_of(
        compiled.model,
        [each.tolist() for each in policy.local.actions],
        limits.unlimited_monitor(),
    )
    lower = max(value, limits.lower)
    # Both the policy and the optimum are within the error of their values on the reduced model.
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
        message=solver.say(compiled.indexed.agent_names, task.problem.words),
        others=work.others,
        objective="decentralised",
    )


class _Team:
    """Agents that interact: their search, and bounds without constants and offsets."""

    def __init__(
        self, model: _core.CompiledModel, agents: Sequence[int], seed: int, limits: Limits
    ) -> None:
        # Games and tables are fast if the agent with the most choices comes last.
        self.agents = sorted(agents, key=lambda i: len(model.action_after(i)))
        self.model = _core.restrict_to(model, self.agents)
        self.search = _core.DecentralisedSearch(self.model, seed, limits.monitor)
        self.prepared = False
        self.relaxation: _core.Relaxation | None = None
        """A bound on the centralised values, if these are too costly."""

    @property
    def lower(self) -> float:
        """The value of the best policy found."""
        return self.search.lower

    @property
    def upper(self) -> float:
        """An upper bound on the value of all decentralised policies of the team."""
        upper = self.search.upper
        if self.relaxation is not None:
            upper = min(upper, self.relaxation.upper)
        return max(self.lower, upper)

    @property
    def gap(self) -> float:
        """The distance between the bounds."""
        return self.upper - self.lower

    @property
    def table_work(self) -> float:
        """Estimated work to compute the centralised values."""
        return self.search.table_bytes * WORK_PER_BYTE

    @property
    def origin_of_bound(self) -> str:
        """The source of the upper bound, as text."""
        if self.relaxation is not None and self.relaxation.upper < self.search.upper:
            return "a relaxation of the centralised problem"
        if self.prepared:
            return "the search"
        return "the best case of each agent, with the most favourable actions of the others"

    def start_relaxation(self, limits: Limits) -> _core.Relaxation | None:
        """A relaxation of the centralised problem; None if memory or time is too short."""
        try:
            self.relaxation = _core.Relaxation(self.model, 1, TUNING.cuts, limits.monitor)
        except _core.LimitReached:
            return None
        return self.relaxation


class _Solver:
    """All teams, one after the other, the small ones first."""

    def __init__(self, teams: Sequence[_Team], offset: float, error: float, limits: Limits) -> None:
        self.teams = sorted(teams, key=lambda team: team.table_work)
        self.offset = offset
        self.error = error
        self.limits = limits
        self.closed = TUNING.closed
        """Gap, as part of the value, that counts as closed."""
        self.stop = _core.Stop.none

    @property
    def tolerance(self) -> float:
        """The gap that one team may have if the whole is to count as optimal."""
        value = self.offset + sum(team.lower for team in self.teams)
        return TUNING.closed_by_search * self.closed * max(1.0, abs(value)) / len(self.teams)

    def report(self) -> None:
        """Report the bounds on the value of the whole problem."""
        lower = self.offset + sum(team.lower for team in self.teams) - self.error
        upper = self.offset + sum(team.upper for team in self.teams) + self.error
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise OverflowError("the sum of the rewards is too large")
        self.limits.report(lower, max(lower, upper))

    def run(self) -> None:
        """Work until the bounds meet or a limit is reached."""
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
            self._bound(team, math.inf)
        elif team.table_work > LONG_TABLES:
            self._bound(team, TABLES_PART * team.table_work)
        if self._stopped() or team.gap <= self.tolerance:
            return
        self.limits.phase = "kernel"
        team.prepared = team.search.prepare()
        if not team.prepared:
            return
        self.report()
        self.limits.phase = "search"
        while not team.search.run(self.tolerance, int(SLICE * _core.UNITS_PER_SECOND)):
            self.report()
            if team.search.stop != _core.Stop.none or self._stopped():
                return

    def _bound(self, team: _Team, work: float) -> None:
        """Bound a team that is large for tables, by a bound on the centralised value.

        The clock decides nothing here; a time limit only stops it.
        """
        begin = self.limits.work
        relaxation = team.start_relaxation(self.limits)
        if relaxation is None:
            return
        gains: list[float] = []
        while team.gap > self.tolerance and not self._stopped():
            self.report()
            spent = self.limits.work - begin
            endless = math.isinf(work) and not self.limits.timed
            if spent > work or (endless and relaxation.rounds >= ROUNDS):
                return
            self.limits.phase = "relaxation"
            before = relaxation.upper
            budget = max(ROUND_WORK, 0.5 * spent)
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
        """The amount of work."""
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

    def say(self, names: Sequence[str], words: Words) -> str:
        """Text on the teams that are not solved, with the sources of their bounds."""
        said = []
        for team in self.teams:
            if team.gap <= self.tolerance:
                continue
            members = [names[agent] for agent in sorted(team.agents)]
            reason = f" ({team.search.message})" if team.search.message else ""
            said.append(
                f"{unproven_team(words, members, team.gap)}, by a bound from "
                f"{team.origin_of_bound}{reason}"
            )
        if not said and self.error > 0:
            said.append(
                f"rounding, and probabilities that do not sum to 1, leave a gap of {self.error:.4g}"
            )
        return "; ".join(said)


def _make_policy(
    task: SolverTask,
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    teams: Sequence[_Team],
) -> Policy:
    """The best policy found, on the problem's own states and actions."""
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
