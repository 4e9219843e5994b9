"""The engine: make the problem small, take it apart, solve each part exactly where it fits."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.algorithms.task import SolverTask
from coreplan.compile import CompiledProblem
from coreplan.errors import SolverError
from coreplan.maintenance.states import ContractorStates
from coreplan.policy import GONE, LocalRule, Policy, Reduced, TeamRule, make_maps
from coreplan.result import Result

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Part:
    """What is known of one team of agents that can interact."""

    agents: list[int]
    lower: float
    upper: float
    solution: _core.TeamSolution | None
    """None if it does not fit; then every agent does what is best alone."""


def solve_core(
    task: SolverTask,
    threads: int | None = None,
    shape: bool = True,
    drop: bool = True,
    settle: bool = True,
    eliminate: bool = True,
    merge: bool = True,
) -> Result:
    """Shape, shrink, decouple, and solve each team by the tensor kernel."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int)):
        raise SolverError(f"threads is {threads!r}; expected a whole number or None")
    if threads is not None and threads < 1:
        raise SolverError(f"threads is {threads}; expected at least 1")
    steps = {"shape": shape, "drop": drop, "settle": settle, "eliminate": eliminate, "merge": merge}
    for name, value in steps.items():
        if not isinstance(value, bool):
            raise SolverError(f"{name} is {value!r}; expected True or False")
    compiled = task.compile(merge)
    monitor = task.limits.monitor
    reduction = _core.reduce(compiled.model, **steps, monitor=monitor)
    teams = _core.components(reduction.model)
    report = reduction.report
    logger.info(
        "%s",
        f"shrunk: {report.classes_before:,} to {report.classes_after:,} local states, "
        f"{report.joint_before:,.0f} to {report.joint_after:,.0f} joint states; "
        f"teams of {', '.join(str(len(team)) for team in teams)}",
    )
    parts = []
    stop = _core.Stop.none
    # Small teams first: when a limit strikes, most is solved.
    workers = threads or os.cpu_count() or 1
    for team in sorted(teams, key=lambda t: _core.kernel_bytes(reduction.model, t, True, workers)):
        # The kernel is fast if the agent with the most states comes last.
        team.sort(key=lambda i: int(reduction.model.layer_begin(i)[-1]))
        part, stopped = _solve_part(task, compiled, reduction, team, workers)
        parts.append(part)
        if stop == _core.Stop.none:
            stop = stopped
    # The reduction's offset is all agents' best alone; parts that are not solved have their own.
    error = reduction.error
    constant = sum(compiled.model.constant_at(t) for t in range(task.stage, task.problem.horizon))
    lower = constant + sum(part.lower for part in parts) - error
    upper = constant + sum(part.upper for part in parts) + error
    return task.make_result(
        "core",
        lower,
        max(upper, lower),
        stop,
        _make_policy(task, compiled, reduction, parts),
        0,
        0,
        message=_say(parts, compiled),
        others={"kernel_cells": sum(p.solution.cells for p in parts if p.solution is not None)},
    )


def _solve_part(
    task: SolverTask,
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    team: list[int],
    threads: int,
) -> tuple[_Part, _core.Stop]:
    monitor = task.limits.monitor
    stop: _core.Stop
    try:
        solution = _core.solve_team(reduction.model, team, True, threads, monitor)
        if solution.stop == _core.Stop.none:
            value = solution.value + sum(reduction.offset_of(i) for i in team)
            return _Part(team, value, value, solution), _core.Stop.none
        stop = solution.stop
    except _core.LimitReached as error:
        stop = _core.Stop[error.args[0]]
    bounds = _core.independent_bounds(
        _core.restrict_to(compiled.model, team), task.limits.unlimited_monitor()
    )
    return _Part(team, bounds.lower, bounds.upper, None), stop


def _say(parts: list[_Part], compiled: CompiledProblem) -> str:
    unsolved = [part for part in parts if part.solution is None]
    names = compiled.indexed.agent_names
    return "; ".join(
        f"the team of {len(part.agents)} agents around {names[part.agents[0]]!r} is not solved "
        "exactly: everybody in it does what is best alone"
        for part in unsolved
    )


def _make_policy(
    task: SolverTask,
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    parts: list[_Part],
) -> Policy:
    agents = range(len(compiled.indexed.agents))
    alone = _core.independent_bounds(compiled.model, task.limits.unlimited_monitor())
    layers = compiled.indexed.horizon - compiled.indexed.stage
    reduced = []
    for i in agents:
        begin = reduction.model.layer_begin(i).astype(np.int64)
        sizes = np.diff(compiled.model.layer_begin(i))
        class_of = reduction.class_of(i).astype(np.int64)
        gone = class_of == GONE
        class_of -= np.repeat(begin[:-1], sizes)
        class_of[gone] = GONE
        twin = _kept_twins(compiled, i, gone)
        row_begin = reduction.action_begin(i).astype(np.int64)
        lengths = np.diff(row_begin)[twin]
        action_begin = np.concatenate([[0], np.cumsum(lengths)])
        shifts = np.repeat(row_begin[twin] - action_begin[:-1], lengths)
        reduced.append(
            Reduced(
                class_of[twin].astype(np.uint32),
                np.diff(begin)[:layers].astype(np.uint32),
                action_begin.astype(np.uint32),
                reduction.action_of(i)[np.arange(len(shifts)) + shifts],
            )
        )
    teams = [
        TeamRule(
            tuple(part.agents),
            part.solution.decisions + np.uint32(1),
            reduced=tuple(reduced[i] for i in part.agents),
        )
        for part in parts
        if part.solution is not None
    ]
    return Policy(
        task.problem,
        compiled.indexed,
        make_maps(compiled),
        teams,
        LocalRule(tuple(alone.action(i) for i in agents)),
        history=not compiled.merged,
    )


def _kept_twins(
    compiled: CompiledProblem, agent: int, gone: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Per class: itself or, if it is gone, one that is not and differs in past times only.

    People ask by what has been done; then any start and end times have to be as good.
    """
    states = compiled.indexed.agents[agent].states
    itself = np.arange(len(gone))
    if compiled.merged or not isinstance(states, ContractorStates):
        return itself
    asked = np.zeros(len(gone), np.int64)
    asked[compiled.model.node_class(agent)] = np.array(states.asked_for())[
        compiled.graphs.node_state(agent)
    ]
    kept_for = np.full(len(states), -1)
    kept_for[asked[~gone]] = itself[~gone]
    return np.where(gone & (kept_for[asked] >= 0), kept_for[asked], itself)
