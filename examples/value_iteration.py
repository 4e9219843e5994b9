"""A new algorithm: value iteration over joint classes, on the arrays of the compiled model.

Run it: python examples/value_iteration.py
Or: coreplan bench run examples --module examples/value_iteration.py --solver value-iteration
"""

from __future__ import annotations

import itertools

import numpy as np

import coreplan
from coreplan import _core
from coreplan.policies.rules import TeamRule
from coreplan.solving.algorithms.joint import make_team_policy
from coreplan.solving.task import SolverTask


def value_iteration(task: SolverTask, merge: bool = True) -> coreplan.Result:
    """Maximise over all joint actions of all joint classes, from the last stage to the first."""
    compiled = task.compile(merge)
    model = compiled.arrays
    agents = model.agents
    following = dict.fromkeys(itertools.product(*(classes(a, model.layers) for a in agents)), 0.0)
    rule: list[np.ndarray] = []
    evaluated = 0
    for layer in range(model.layers - 1, -1, -1):
        values, table = {}, []
        for state in itertools.product(*(classes(a, layer) for a in agents)):
            rows = [range(*a.action_begin[c : c + 2]) for a, c in zip(agents, state, strict=True)]
            worth = [
                look_ahead(model, layer, joint, following) for joint in itertools.product(*rows)
            ]
            evaluated += len(worth)
            table.append(1 + int(np.argmax(worth)))
            values[state] = max(worth)
        following = values
        rule.insert(0, np.array(table, np.uint32))
    (value,) = following.values()
    policy = make_team_policy(
        task, compiled, TeamRule(tuple(range(len(agents))), np.concatenate(rule))
    )
    states = sum(map(len, rule))
    return task.make_result(
        "value-iteration", value, value, _core.Stop.none, policy, states, states
    )


def classes(agent, layer: int) -> range:
    """The numbers of an agent's classes in one layer."""
    return range(*agent.layer_begin[layer : layer + 2])


def look_ahead(model, layer: int, joint: tuple[int, ...], following: dict) -> float:
    """The reward of a joint action now, plus the expected value of what follows."""
    afters = [a.after[action] for a, action in zip(model.agents, joint, strict=True)]
    value = model.constant[layer]
    value += sum(a.reward[action] for a, action in zip(model.agents, joint, strict=True))
    for members, values in model.interactions:
        chances = [model.agents[i].chance(afters[i], signal) for i, signal in members]
        value += values.get(layer, 0.0) * np.prod(chances)
    for members, tables in model.aggregates:
        if layer in tables:
            added = (model.agents[i].units(afters[i], units) for i, units in members)
            value += tables[layer][sum(added)]
    outcomes = [
        [(a.outcome_next[o], a.outcome_probability[o]) for o in range(*a.outcome_begin[k : k + 2])]
        for a, k in zip(model.agents, afters, strict=True)
    ]
    for combination in itertools.product(*outcomes):
        nexts, chances = zip(*combination, strict=True)
        value += np.prod(chances) * following[nexts]
    return float(value)


coreplan.register_algorithm("value-iteration", value_iteration)

if __name__ == "__main__":
    problem = coreplan.read_problem("examples/two_works.yaml")
    print(coreplan.solve(problem, algorithm="value-iteration").summary())
    for run in coreplan.compare(problem, ["value-iteration", "dp", "core"]).runs:
        print(f"{run.algorithm}: {run.result.value:.10g}")
