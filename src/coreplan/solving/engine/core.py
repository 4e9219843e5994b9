"""The engine: make the problem smaller, split it into teams, solve or bound each team."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.errors import SolverError
from coreplan.model.problem import Words
from coreplan.policies.group_rule import Chances, Event, GroupRule, GroupTable
from coreplan.policies.lookahead import LookaheadRule
from coreplan.policies.policy import Policy
from coreplan.policies.rules import (
    GONE,
    MOST_JOINT_CLASSES,
    LocalMap,
    LocalRule,
    Reduced,
    TeamRule,
    number_joint_classes,
)
from coreplan.proof.certificate import Certificate
from coreplan.solving.compile import CompiledProblem
from coreplan.solving.engine.ahead import Decided, look_ahead
from coreplan.solving.engine.certify import TeamProof, certify
from coreplan.solving.engine.order import canonical_order, teams_in_order
from coreplan.solving.engine.team import EngineOptions, Team
from coreplan.solving.engine.way_back import make_reduced, map_local, reduce_model
from coreplan.solving.lookahead import model_of
from coreplan.solving.maps import make_maps
from coreplan.solving.on_ray import partners_on_ray
from coreplan.solving.options import CoreOptions
from coreplan.solving.preference import Attempt, preferred
from coreplan.solving.result import PendingCertificate, Result, is_closed, unproven_team
from coreplan.solving.start import Base, Start, take_start
from coreplan.solving.task import SolverTask
from coreplan.solving.tuning import Tuning
from coreplan.support.processors import choose_count

logger = logging.getLogger(__name__)


STEPS = ("shape", "drop", "settle", "eliminate", "merge")
"""Options that switch off a step of shrinking."""
IDEAS = ("split", "skip", "floors", "tables")
"""Options that switch off an idea of the search."""


def solve_core(task: SolverTask, options: CoreOptions) -> Result:
    """Shape, shrink, decouple; solve small teams exactly, bound the others and search."""
    if options.cluster == "local":
        return _solve(task, options)
    with partners_on_ray(task, options, _solve) as shared:
        return _solve(task, shared)


def _solve(task: SolverTask, options: CoreOptions) -> Result:
    threads = choose_count(options.threads)
    steps = {name: bool(getattr(options, name)) for name in STEPS}
    ideas = {name: bool(getattr(options, name)) for name in IDEAS}
    tuning = options.tuning or Tuning()
    compiled = task.compile(options.merge)
    limits = task.limits
    given = None if options.start is None else take_start(task, compiled, options.start)
    try:
        # Reserve room for a plan first: there must be one in any case.
        limits.monitor.reserve(
            tuning.copies * compiled.model.bytes, "the least that the engine needs"
        )
    except _core.LimitReached as error:
        if options.certificate is not None:
            raise
        return _plan_alone(task, compiled, given, str(error.args[1]))
    settings = EngineOptions(
        limits,
        threads,
        options.seed,
        options.exact,
        options.search,
        options.wants_certificate,
        ideas,
        options.deterministic,
        math.inf if options.work_limit is None else float(options.work_limit),
        max(tuning.closed, options.tolerance),
        tuning,
        options.lookahead,
    )
    reduction, teams, engine = _set_up(compiled, steps, settings)
    report = reduction.report
    logger.info(
        "%s",
        f"shrunk: {report.classes_before:,} to {report.classes_after:,} local states, "
        f"{report.joint_before:,.4g} to {report.joint_after:,.4g} joint states; "
        f"teams of {', '.join(str(len(team.agents)) for team in teams)}",
    )
    if given is not None:
        engine.known = given.value
        engine.bases = given.bases(compiled, reduction)
    engine.run(float(options.relative_gap), float(options.absolute_gap))
    lower, upper = engine.lower, engine.bounds()[1]
    decided = engine.look_ahead() if options.lookahead and compiled.model.unit_mass else None
    limits.phase = "result"
    counts = _count(teams) | {"work": limits.work}
    reduced = _let_go(compiled, reduction, teams)
    try:
        policy, whole = _make_policy(task, compiled, reduction, reduced, teams)
        if not whole:
            # The tables that the memory limit is about are freed by now.
            lower = min(lower, policy.evaluate(memory_limit=limits.memory_limit_mb))
    except (MemoryError, SolverError):
        engine.fall_back()
        lower, decided = engine.lower, None
        policy, _ = _make_policy(task, compiled, reduction, reduced, teams)
    if not compiled.model.unit_mass:
        # With the probabilities as they are written, if that is not too costly.
        with suppress(MemoryError, SolverError):
            lower = max(lower, policy.evaluate(memory_limit=limits.memory_limit_mb))
    upper = max(lower, upper)
    taken = given is not None and given.value >= lower
    # Maps of the solved model: a preferred plan comes from another one, merged differently.
    maps = policy.maps
    if engine.stop == _core.Stop.none and not taken and is_closed(lower, upper, settings.closed):
        limited = replace(
            settings,
            certify=False,
            work_limit=_work_of_preference(settings),
            closed=tuning.closed,  # far less than a start is worth
        )
        wanted = preferred(
            compiled,
            options.prefer,
            policy,
            lower,
            limits,
            lambda leaning: _solve_again(task, leaning, steps, limited),
            options.keep,
        )
        if wanted is not None:
            policy, lower = wanted.policy, min(wanted.value, upper)
            counts |= {"preference_gap": wanted.gap, "work": limits.work}
    own, worth = policy, lower

    def make_certificate() -> Certificate:
        proof = certify(
            task.problem,
            compiled,
            reduction,
            reduced,
            teams,
            maps,
            own,
            worth,
            engine.certified,
            searches=not limits.interrupted,  # after Ctrl-C, checking records would take too long
        )
        if given is not None and given.value >= worth and given.policy.history == proof.history:
            proof = replace(proof, policy=given.policy.base, lower=given.value)
        return proof

    if given is not None and taken:
        lower, policy, decided = given.value, given.policy, None
    if decided is not None and not is_closed(lower, upper, task.tolerance):
        policy = _looking_ahead(policy, reduced, decided)
    else:
        decided = None
    result = task.make_result(
        "core",
        lower,
        upper,
        engine.stop,
        policy,
        sum(team.expanded for team in teams),
        sum(team.actions for team in teams),
        message=engine.say(compiled.indexed.agent_names, task.problem.words),
        others=counts,
        allowed_gap=max(options.absolute_gap, options.relative_gap * abs(lower)),
    )
    if decided is not None:
        result = replace(result, estimate=decided.estimate)
    if options.wants_certificate:
        result = replace(result, pending_certificate=PendingCertificate(make_certificate))
    return result


def _set_up(
    compiled: CompiledProblem, steps: Mapping[str, bool], options: EngineOptions
) -> tuple[_core.Reduction, list[Team], _Engine]:
    """Make the problem smaller and split it into teams."""
    options.limits.phase = "shrinking"
    reduction = reduce_model(compiled, steps, options.limits)
    order = canonical_order(reduction.model, compiled.indexed.agent_names)
    teams = [
        Team(reduction.model, team, options)
        for team in teams_in_order(_core.components(reduction.model), order)
    ]
    offset = compiled.model.constant + reduction.offset
    return reduction, teams, _Engine(teams, offset, reduction.error, options)


def _let_go(
    compiled: CompiledProblem, reduction: _core.Reduction, teams: Sequence[Team]
) -> list[Reduced]:
    """Free what only served to solve the teams; return each agent's map to its own states."""
    for team in teams:
        team.let_go()
    _core.return_freed_memory()
    return [make_reduced(compiled, reduction, i) for i in range(len(compiled.indexed.agents))]


def _work_of_preference(options: EngineOptions) -> float:
    """The work, counted from the start, after which any optimal plan is good enough."""
    tuning, work = options.tuning, options.limits.work
    most = max(tuning.least_preference, tuning.preference_part * work)
    return min(options.work_limit, work + most)


def _solve_again(
    task: SolverTask, compiled: CompiledProblem, steps: Mapping[str, bool], options: EngineOptions
) -> Attempt | None:
    """Solve a problem that is similar to the one just solved, within the given work."""
    reduction, teams, engine = _set_up(compiled, steps, options)
    engine.run(0.0, 0.0)
    if options.limits.monitor.look():
        return None

    def make_policy() -> Policy:
        reduced = _let_go(compiled, reduction, teams)
        return _make_policy(task, compiled, reduction, reduced, teams)[0]

    quick = all(team.exact_work <= team.exact_at_once for team in teams)
    return Attempt(*engine.bounds(), quick, make_policy)


def _plan_alone(
    task: SolverTask, compiled: CompiledProblem, given: Start | None, reason: str
) -> Result:
    """The policy in which each agent acts alone, if memory is too short for more."""
    alone = _core.independent_bounds(compiled.model, task.limits.unlimited_monitor())
    agents = range(len(compiled.indexed.agents))
    lower = alone.lower
    if given is not None and given.value >= lower:
        lower, policy = given.value, given.policy
    else:
        policy = Policy(
            task.problem,
            compiled.indexed,
            make_maps(compiled),
            [],
            LocalRule(tuple(alone.action(i) for i in agents)),
            history=not compiled.merged,
        )
    upper = max(lower, alone.upper)
    stop = _core.Stop.memory_limit
    return task.make_result("core", lower, upper, stop, policy, 0, 0, message=reason)


def _count(teams: Sequence[Team]) -> dict[str, float]:
    """The amount of work, other than joint states and actions."""
    counts: dict[str, float] = {"kernel_cells": sum(team.kernel_cells for team in teams)}
    relaxations = [team.relaxation for team in teams if team.relaxation is not None]
    if relaxations:
        counts["clusters"] = sum(len(each.clusters) for each in relaxations)
        counts["relaxation_rounds"] = sum(each.rounds for each in relaxations)
        counts["interactions_bounded_coarsely"] = sum(each.coarse for each in relaxations)
    for team in teams:
        for side, work in team.work_of_sides.items():
            counts[f"{side}_work"] = counts.get(f"{side}_work", 0.0) + work
    searched = [team for team in teams if team.search is not None]
    if searched:
        counts["search_records"] = sum(t.search.records for t in searched if t.search is not None)
    written = [team for team in teams if team.decisions is not None]
    if written:
        states = sum(team.decisions.states for team in written if team.decisions is not None)
        counts["policy_states"] = states
        counts["search_overhead"] = sum(team.expanded for team in written) / max(states, 1)
    return counts


class _Engine:
    """All teams, and the division of work between them."""

    def __init__(
        self, teams: Sequence[Team], offset: float, error: float, options: EngineOptions
    ) -> None:
        self.teams = teams
        self.offset = offset
        self.error = error
        self.options = options
        self.limits = options.limits
        self.limits.alone = offset
        self.stop = _core.Stop.none
        self.worked_off = False
        """Whether the work limit was reached."""
        self.known = -math.inf
        """The value of a given plan to start from."""
        self.bases: list[Base] | None = None
        """That plan, agent by agent, if each action depends only on the agent's own state."""

    @property
    def lower(self) -> float:
        """The value of the teams' own policies."""
        return self.offset + sum(team.lower for team in self.teams) - self.error

    def bounds(self) -> tuple[float, float]:
        """The bounds on the value of the whole problem."""
        lower = max(self.lower, self.known)
        upper = self.offset + sum(team.upper for team in self.teams) + self.error
        return lower, max(lower, upper)

    def certified(self, proofs: Sequence[TeamProof | None]) -> float:
        """The upper bound that relaxations, exact solutions and proofs of searches prove."""
        shown = [
            team.certified if proof is None else proof.upper
            for team, proof in zip(self.teams, proofs, strict=True)
        ]
        return max(self.bounds()[1], self.offset + sum(shown) + self.error)

    def run(self, relative_gap: float, absolute_gap: float) -> None:
        """Work until the bounds meet, no bound improves any more, or a limit is reached."""
        try:
            self._run(relative_gap, absolute_gap)
        except MemoryError:
            # The system has no more memory. The result so far is the answer.
            self.stop = _core.Stop.memory_limit
            for team in self.teams:
                team.make_room()
        finally:
            for team in self.teams:
                team.finish()

    def _run(self, relative_gap: float, absolute_gap: float) -> None:
        # Small teams first: most are then solved when a limit is reached.
        tuning = self.options.tuning
        for team in sorted(self.teams, key=lambda team: team.exact_work):
            at_once = min(team.exact_at_once, self.options.work_left)
            if team.exact_work <= at_once and not self._stopped():
                team.solve_exactly()
        if self.bases is not None:
            for team in self.teams:
                if team.solution is None and not self._stopped():
                    self.limits.phase = "policies"
                    team.start([self.bases[i] for i in team.agents])
        while not self._stopped():
            lower, upper = self.bounds()
            self.limits.report(lower, upper)
            if self._stopped():
                break
            allowed = max(absolute_gap, relative_gap * abs(lower))
            whole = tuning.closed_by_teams * self.options.closed * max(1.0, abs(lower))
            closed = whole / len(self.teams)
            left = [t for t in self.teams if (t.gap > closed or t.unproven) and not t.exhausted]
            if not left or upper - lower <= allowed:
                break
            if self.known > self.lower and is_closed(lower, upper, self.options.closed):
                break  # the given plan is optimal
            # The clock only decides when to stop; the policies are written down after that.
            self.limits.keep_back(
                sum(team.last_seconds for team in self.teams) + self._ahead_seconds
            )
            chosen = self._next_team(left)
            chosen.closed = closed
            chosen.room_for_search = self._room_for_search(chosen, left)
            chosen.work()
        self.limits.keep_back(0.0)
        if self.stop == _core.Stop.time_limit:
            for team in self.teams:
                team.write_last()
        self.limits.report(*self.bounds())
        if self.stop == _core.Stop.none and any(t.memory_short and t.gap > 0 for t in self.teams):
            self.stop = _core.Stop.memory_limit

    @property
    def _ahead_seconds(self) -> float:
        """Time to keep for teams that look ahead."""
        tuning = self.options.tuning
        expected = self.options.lookahead and any(
            len(team.agents) >= tuning.ahead_agents and team.solution is None and team.gap > 0
            for team in self.teams
        )
        return tuning.ahead_seconds * self.limits.seconds if expected else 0.0

    def look_ahead(self) -> Decided | None:
        """Let teams decide as they go if they gain by it; None if none does, or after Ctrl-C."""
        lower, upper = self.bounds()
        if self.stop not in (_core.Stop.none, _core.Stop.time_limit):
            return None
        if is_closed(lower, upper, self.options.closed) or self.known > self.lower:
            return None
        try:
            return look_ahead(
                self.teams, self.lower, upper, self.limits, self.options.seed, self.options.threads
            )
        except MemoryError:
            return None

    def _next_team(self, left: Sequence[Team]) -> Team:
        """The team whose bounds are to be improved next.

        The one that promises most, unless another has had far less work than most: the last gap of
        a small team is often closed at once, without a sign before.
        """
        mean = sum(team.spent for team in left) / len(left)
        least = min(left, key=lambda team: team.spent)
        if least.spent < self.options.tuning.even_part * mean:
            return least
        return max(left, key=lambda team: team.promise)

    def _room_for_search(self, team: Team, left: Sequence[Team]) -> float:
        """Bytes that a team's search may take if it begins now, so that all may have one."""
        taken = sum(each.search_memory for each in self.teams)
        most = self.options.tuning.search_memory * (self.limits.monitor.memory_left + taken)
        waiting = sum(len(each.agents) for each in left if each.search is None)
        return max(0.0, most - taken) * len(team.agents) / max(1, waiting)

    def fall_back(self) -> None:
        """Use the policy in which agents act alone: memory is too short to write a better one."""
        self.stop = _core.Stop.memory_limit
        for team in self.teams:
            team.fall_back()

    def _stopped(self) -> bool:
        if self.limits.monitor.look():
            self.stop = self.limits.monitor.stop
        elif self.stop == _core.Stop.none and self.options.work_left <= 0:
            # The formats have no separate status for the work limit; the message names it.
            self.stop = _core.Stop.time_limit
            self.worked_off = True
        return self.stop != _core.Stop.none

    def say(self, names: Sequence[str], words: Words) -> str:
        """Text on whether the work limit was reached, and which teams are not solved."""
        said = [f"the work limit of {self.options.work_limit:g} was reached"]
        said = said if self.worked_off else []
        said += [
            unproven_team(words, [names[agent] for agent in sorted(team.agents)], team.gap)
            for team in self.teams
            if team.solution is None and team.gap > 0
        ]
        return "; ".join(said)


# -- translation back to the problem's own states and actions ----------------------------------


def _make_policy(
    task: SolverTask,
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    reduced: Sequence[Reduced],
    teams: Sequence[Team],
) -> tuple[Policy, bool]:
    """The best policy found, and whether all of it could be written down."""
    agents = range(len(compiled.indexed.agents))
    maps = make_maps(compiled)
    whole = True
    alone = _core.independent_bounds(compiled.model, task.limits.unlimited_monitor())
    local: list[NDArray[np.uint32]] = [alone.action(i) for i in agents]
    rules: list[TeamRule] = []
    for team in teams:
        if team.solution is not None:
            rules.append(
                TeamRule(
                    tuple(team.agents),
                    team.solution.take_rule(),
                    reduced=tuple(reduced[i] for i in team.agents),
                )
            )
            continue
        for k, i in enumerate(team.agents):
            local[i] = map_local(compiled, reduction, reduced[i], i, team.local[k], local[i])
        if team.decisions is not None:
            continue
        for cluster in team.clusters:
            who = [team.agents[k] for k in cluster.agents]
            rule = _make_rule(compiled, reduction, maps, reduced, who, cluster)
            whole = whole and rule is not None
            if rule is not None:
                rules.append(rule)
    searched = [team for team in teams if team.decisions is not None]
    policy = Policy(
        task.problem,
        compiled.indexed,
        maps,
        rules,
        LocalRule(tuple(local)),
        history=not compiled.merged,
        groups=_make_groups(reduced, searched) if searched else None,
    )
    return policy, whole


def _looking_ahead(policy: Policy, reduced: Sequence[Reduced], decided: Decided) -> Policy:
    """The same plan, in which some teams look ahead."""
    rules = [
        LookaheadRule(
            tuple(one.team.agents),
            tuple(reduced[i] for i in one.team.agents),
            model_of(one.team.model, len(one.team.agents), one.bases),
        )
        for one in decided.teams
    ]
    return Policy(
        policy.problem,
        policy.indexed,
        policy.maps,
        policy.teams,
        policy.local,
        history=policy.history,
        groups=policy.groups,
        ahead=rules,
    )


def _make_groups(reduced: Sequence[Reduced], teams: Sequence[Team]) -> GroupRule:
    """The rules of groups of agents, in all teams that were searched."""
    nothing = np.zeros(0, np.uint32)
    chances = [Chances(nothing, np.zeros(1, np.uint32), nothing)] * len(reduced)
    own = [replace(each, class_of=np.full_like(each.class_of, GONE)) for each in reduced]
    own = [replace(each, class_count=np.zeros_like(each.class_count)) for each in own]
    events: list[Event] = []
    tables: list[GroupTable] = []
    for team in teams:
        assert team.decisions is not None
        for k, i in enumerate(team.agents):
            own[i] = reduced[i]
            classes = int(reduced[i].class_count.sum())
            list_of, list_begin, runs = team.lists[k]
            chances[i] = Chances(list_of[:classes], list_begin, runs)
        for members, stages in team.events:
            named = tuple((team.agents[k], signal) for k, signal in members)
            events.append(Event(tuple(sorted(named)), tuple(stages)))
        for rows in team.decisions.groups:
            who = [team.agents[k] for k in rows.agents]
            order = np.argsort(who)
            width = len(who)
            tables.append(
                GroupTable(
                    tuple(sorted(who)),
                    rows.layer,
                    rows.classes.reshape(-1, width)[:, order],
                    rows.actions.reshape(-1, width)[:, order],
                )
            )
    return GroupRule(tuple(chances), tuple(events), tuple(tables), tuple(own))


def _make_rule(
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    maps: Sequence[LocalMap],
    reduced: Sequence[Reduced],
    who: Sequence[int],
    cluster: _core.Cluster,
) -> TeamRule | None:
    """A cluster's table as a rule; None if it has too many joint classes to number them.

    Classes that the table does not mention are left out, which keeps the numbers small.
    """
    layer = cluster.layer.astype(np.int64)
    layers = compiled.indexed.horizon - compiled.indexed.stage
    own = []
    columns = []
    codes = np.zeros(len(layer), np.uint64)
    for k, i in enumerate(who):
        classes = cluster.classes[:, k].astype(np.int64)
        begin = reduction.model.layer_begin(i).astype(np.int64)
        mentioned = np.zeros(begin[-1], bool)
        mentioned[begin[layer] + classes] = True
        counts = np.add.reduceat(np.append(mentioned, False), begin[:-1])[:layers]
        before = np.cumsum(mentioned) - mentioned
        compact = before - np.repeat(before[begin[:-1]], np.diff(begin))
        columns.append(compact[begin[layer] + classes])
        layer_of = np.repeat(np.arange(len(begin) - 1), np.diff(compiled.model.layer_begin(i)))
        number = begin[layer_of] + np.where(reduced[i].class_of == GONE, 0, reduced[i].class_of)
        known = (reduced[i].class_of != GONE) & mentioned[number]
        class_of = np.where(known, compact[number], GONE)
        own.append(
            Reduced(
                class_of.astype(np.uint32),
                np.maximum(counts, 1).astype(np.uint32),
                reduced[i].action_begin,
                reduced[i].action_of,
            )
        )
        actions = np.diff(reduction.model.action_begin(i).astype(np.int64))[begin[layer] + classes]
        codes = codes * actions.astype(np.uint64) + cluster.actions[:, k]
    numbering = number_joint_classes(maps, who, own, layers)
    if numbering.layer_offset[-1] > MOST_JOINT_CLASSES:
        return None
    numbers = np.array(numbering.layer_offset, np.uint64)[layer]
    for k, column in enumerate(columns):
        steps = np.array([row[k] for row in numbering.steps], np.uint64)
        numbers = numbers + steps[layer] * column.astype(np.uint64)
    order = np.argsort(numbers)
    return TeamRule(
        tuple(who),
        (codes[order] + np.uint64(1)).astype(np.uint32),
        reduced=tuple(own),
        numbers=numbers[order],
    )
