"""Simulation: many runs of a policy, and their statistics.

Like evaluation, it uses the description of the problem and no code of the solvers. The core moves
the agents and counts. It asks for the policy's choices when it reaches a joint state for the first
time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.analysis.reward_tables import add_tables, parts_of, reward_tables
from coreplan.analysis.simulation import Completion, Estimate, Simulation, make_estimate
from coreplan.analysis.trajectories import replay
from coreplan.errors import LimitError, ModelError
from coreplan.model.indexed import IndexedAgent
from coreplan.model.rewards import MatchedTransitions
from coreplan.policies.evaluation import Beginning, start_of
from coreplan.policies.policy import Policy
from coreplan.solving.limits import Limits
from coreplan.solving.solver import errors_of_the_core
from coreplan.support.checks import found, is_number
from coreplan.support.clock import now
from coreplan.support.late import provides
from coreplan.support.processors import choose_count

Floats = NDArray[np.float64]

SECONDS_AT_ONCE = 0.1
"""The approximate time of one batch of runs; callbacks and limits act between batches."""
MOST_AT_ONCE = 1 << 17
"""The most runs of one batch."""
DECIDED_AT_ONCE = 64
"""The runs of one batch if the plan decides as it goes: decisions take most of the time."""
MOST_DECISION_BYTES = 1 << 29
"""The memory for decisions above which they are forgotten."""


@dataclass(frozen=True, slots=True)
class SimulationProgress:
    """The progress of a simulation.

    Attributes
    ----------
    runs, asked
        The number of complete runs, and the number requested.
    seconds
        Time since the beginning.
    mean
        The mean return so far.
    """

    runs: int
    asked: int
    seconds: float
    mean: float


@provides("Policy.simulate")
def simulate(
    policy: Policy,
    runs: int,
    seed: int = 1,
    *,
    confidence: float = 0.95,
    threads: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[SimulationProgress], object] | None = None,
    keep: int = 0,
) -> Simulation:
    """Run a policy many times, and collect statistics.

    Parameters
    ----------
    policy
        The policy.
    runs
        The number of independent runs, at least 2; thousands are better.
    seed
        The seed of the random numbers: the same seed gives the same numbers, with any number of
        threads.
    confidence
        The approximate probability that the intervals contain the exact values.
    threads
        The number of threads; default: one for each processor that this process may use.
    time_limit
        Seconds after which the simulation stops with the runs so far.
    callback
        Called several times a second; return ``True`` to stop with the runs so far.
    keep
        The number of runs to keep step by step, as ``trajectories``: the first ones.

    Returns
    -------
    Simulation
        The statistics; of fewer runs if the time limit or Ctrl-C stopped the simulation.

    Raises
    ------
    LimitError
        If the simulation is stopped before two runs are complete.

    Examples
    --------
    >>> from coreplan import Contractor, Delay, MaintenanceProblem, Task, solve
    >>> task = Task("a1", duration=1, cost=3, revenue=20, delay=Delay(0.25, 1))
    >>> policy = solve(MaintenanceProblem((Contractor("Alpha", (task,)),), horizon=3)).policy
    >>> shown = simulate(policy, runs=10_000, seed=1)
    >>> shown.value.low < 16.25 < shown.value.high
    True
    >>> shown.quantile(0.1), shown.quantile(0.9)
    (14.0, 17.0)
    """
    _check("runs", runs, 2)
    _check("seed", seed, 0)
    if threads is not None:
        _check("threads", threads, 1)
    if not is_number(confidence) or not 0 < confidence < 1:
        raise ModelError(
            f"confidence is {found(confidence)}; expected a number between 0 and 1, such as 0.95"
        )
    limits = Limits(time_limit)
    _check("keep", keep, 0)
    with limits.catch_interrupts(), errors_of_the_core():
        simulated = Runs(policy, seed, limits).run(runs, confidence, threads, callback)
    if not keep:
        return simulated
    kept = replay(policy, seed, min(keep, simulated.runs), start_of(policy))
    return replace(simulated, trajectories=kept)


def _check(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ModelError(f"{name} is {found(value)}; expected a whole number of at least {least}")


def _reached_milestones(agent: IndexedAgent) -> NDArray[np.uint32]:
    """For each transition of an agent: the milestone that it reaches, or NO_EVENT."""
    if not agent.milestones:
        return np.zeros(0, np.uint32)
    matches = MatchedTransitions(agent)
    reached = np.full(len(agent.outcome_next), _core.NO_EVENT, np.uint32)
    for k, condition in enumerate(agent.milestones.values()):
        reached[matches.of(condition)] = k
    return reached


class Runs:
    """The runs of a policy, and their statistics so far.

    They begin at the start of the policy, or in another joint state.
    """

    def __init__(
        self, policy: Policy, seed: int, limits: Limits, beginning: Beginning | None = None
    ) -> None:
        self._policy = policy
        self._start = beginning or start_of(policy)
        self._indexed = policy.indexed
        self._limits = limits
        self._seed = seed
        self._parts = [tuple(part) for part in policy.parts]
        self._tables = reward_tables(policy.indexed, self._start.stage)
        self._sums = parts_of(self._tables)
        problem = _core.SimulatedProblem(
            policy.horizon - self._start.stage, max(1, len(self._sums))
        )
        for i, agent in enumerate(policy.indexed.agents):
            problem.add_agent(
                self._start.state[i],
                np.array(agent.outcome_begin, np.uint32),
                np.array(agent.outcome_next, np.uint32),
                np.array(agent.outcome_probability, np.float64),
                _reached_milestones(agent),
                len(agent.milestones),
            )
        for part in self._parts:
            problem.add_part(part)
        number = {part: k for k, part in enumerate(self._sums)}
        add_tables(problem, self._tables, [number[table.part] for table in self._tables])
        key, other_key = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
        self._simulator = _core.Simulator(problem, key, other_key, limits.monitor)
        self._returns: list[Floats] = []

    def run(
        self,
        runs: int,
        confidence: float,
        threads: int | None,
        callback: Callable[[SimulationProgress], object] | None,
    ) -> Simulation:
        """Simulate until the requested number of runs is complete, or until it is stopped."""
        simulator = self._simulator
        workers = choose_count(threads)
        decides = bool(self._policy.ahead)
        at_once = block = DECIDED_AT_ONCE if decides else _core.Simulator.block
        total = 0.0
        while simulator.runs < runs:
            begun = now()
            simulator.begin(min(at_once, runs - simulator.runs), block)
            if not self._go_on(workers):
                break
            self._returns.append(np.array(simulator.totals()))
            if simulator.decision_bytes > MOST_DECISION_BYTES:
                simulator.forget()
            if not decides and now() - begun < SECONDS_AT_ONCE:
                at_once = min(2 * at_once, MOST_AT_ONCE)
            if callback is not None:
                total += float(self._returns[-1].sum())
                done = simulator.runs
                progress = SimulationProgress(done, runs, self._limits.seconds, total / done)
                if callback(progress) is True:
                    break
        if simulator.runs < 2:
            why = self._limits.monitor.stop
            reason = "time_limit" if why == _core.Stop.time_limit else "interrupted"
            raise LimitError(reason, "the simulation stopped before two runs were complete")
        return self._result(runs, confidence)

    def _go_on(self, workers: int) -> bool:
        """Complete all runs that have begun; return False if a limit is reached."""
        simulator, monitor = self._simulator, self._limits.monitor
        while not simulator.advance(workers):
            if monitor.look() or monitor.stop != _core.Stop.none:
                return False
            for number in range(simulator.question_count):
                layer, part, states = simulator.question(number)
                agents = self._parts[part]
                choices = self._choose(layer, agents, states.reshape(-1, len(agents)).T)
                simulator.answer(number, np.stack(choices, axis=1).astype(np.uint32).reshape(-1))
        return True

    def _choose(
        self, layer: int, agents: tuple[int, ...], states: NDArray[np.uint32]
    ) -> list[NDArray[np.int64]]:
        if layer == 0 and self._start.choices is not None:
            return [np.array([self._start.choices[i]]) for i in agents]
        columns = [column.copy() for column in states]
        return self._policy.choose_many(self._start.stage + layer, agents, columns)

    # -- results ------------------------------------------------------------------------------

    def _result(self, asked: int, confidence: float) -> Simulation:
        simulator, indexed = self._simulator, self._indexed
        runs = simulator.runs
        returns = np.concatenate(self._returns)
        mean = float(returns.mean())
        value = make_estimate(mean, float(np.square(returns - mean).sum()), runs, confidence)
        amounts = self.amounts()
        functions = [0.0] * len(indexed.functions)
        for reward, amount in zip(indexed.rewards, amounts, strict=True):
            functions[reward.function] += amount
        nothing = Estimate(0.0, 0.0, 0.0, runs, confidence)
        own = dict.fromkeys(indexed.agent_names, nothing)
        shared = {}
        aggregates = {}
        means, squares = simulator.means().tolist(), simulator.squares().tolist()
        for k, part in enumerate(self._sums):
            estimate = make_estimate(means[k], squares[k], runs, confidence)
            if isinstance(part, int):
                aggregates[indexed.functions[part]] = estimate
                continue
            names = tuple(indexed.agent_names[i] for i in part)
            if len(names) == 1:
                own[names[0]] = estimate
            else:
                shared[names] = estimate
        return Simulation(
            problem=indexed.name,
            value=value,
            asked=asked,
            seed=self._seed,
            seconds=self._limits.seconds,
            returns=np.sort(returns),
            own=own,
            shared=shared,
            aggregates=aggregates,
            functions=tuple(functions),
            function_names=indexed.functions,
            money=self._policy.problem.money(indexed, mean, amounts),
            completions=self._completions(runs),
        )

    def amounts(self) -> list[float]:
        """The mean amount of each reward, by its number.

        Probabilities that do not quite add up to 1 count as if they did.
        """
        amounts = [0.0] * len(self._indexed.rewards)
        for k, table in enumerate(self._tables):
            earned = table.amounts(self._simulator.seen(k), self._simulator.runs)
            for number, amount in zip(table.rewards, earned.tolist(), strict=True):
                amounts[number] = amount
        return amounts

    def _completions(self, runs: int) -> tuple[Completion, ...]:
        first, stages = self._start.stage, self._policy.horizon - self._start.stage
        steps = np.arange(first, self._policy.horizon)
        found_out = []
        for i, agent in enumerate(self._indexed.agents):
            if not agent.milestones:
                continue
            counts = self._simulator.events(i).reshape(-1, stages)
            behind = agent.states.achieved(self._start.state[i])
            for name, row in zip(agent.milestones, counts.astype(np.float64), strict=True):
                if name in behind:
                    continue
                done = float(row.sum())
                found_out.append(
                    Completion(
                        agent.name,
                        name,
                        1 - done / runs,
                        float(row @ steps) / done if done else None,
                        first,
                        tuple((row / runs).tolist()),
                    )
                )
        return tuple(found_out)
