"""Sensors that track targets together: rewards that no agent earns alone.

Sensors stand in a row, and targets move between them. A sensor looks left or right, which costs a
little and may use up a part of its battery; turning takes a step. A target counts as tracked, and
only then earns, while both of its neighbouring sensors look at it at the same time. Targets are
agents without choices: their position is their state, and the sensors see it.

Run it: python examples/sensors.py
"""

from __future__ import annotations

import itertools

from coreplan import TIMMDP, Agent, Condition, Entry, RewardFunction, solve

SIDES = ("left", "right")


def sensor(name: str, battery: int, drain: float) -> Agent:
    """Make a sensor: its state is the side that it faces and the charge of its battery."""

    def actions(state: tuple[str, int]) -> list[str]:
        return ["rest", "turn", *(["look"] if state[1] > 0 else [])]

    def outcomes(state: tuple[str, int], action: str) -> dict[tuple[str, int], float]:
        side, charge = state
        if action == "turn":
            return {(SIDES[1 - SIDES.index(side)], charge): 1.0}
        if action == "look":
            return {(side, charge): 1 - drain, (side, charge - 1): drain}
        if charge == battery:
            return {state: 1.0}
        return {(side, charge): 0.5, (side, charge + 1): 0.5}

    return Agent.from_functions(
        name,
        (SIDES[1], battery),
        actions,
        outcomes,
        features=lambda state: {"side": state[0], "charge": state[1]},
    )


def target(name: str, gaps: int, start: int, moves: float) -> Agent:
    """Make a target: its state is the gap between two sensors in which it is."""

    def outcomes(gap: int, _: str) -> dict[int, float]:
        law: dict[int, float] = {gap: 1 - moves}
        for step in (-1, 1):
            there = min(max(gap + step, 0), gaps - 1)
            law[there] = law.get(there, 0.0) + moves / 2
        return law

    return Agent.from_functions(
        name, start, lambda _: ["move"], outcomes, features=lambda gap: {"gap": gap}
    )


def sensors(
    count: int = 7,
    targets: int = 2,
    horizon: int = 8,
    *,
    battery: int = 2,
    drain: float = 0.5,
    moves: float = 0.4,
    worth: float = 10.0,
    cost: float = 1.0,
) -> TIMMDP:
    """Make a row of sensors with targets between them.

    Parameters
    ----------
    count
        Number of sensors, at least two.
    targets
        Number of targets; they start evenly spread over the row.
    horizon
        Number of decisions.
    battery
        Full charge of a sensor; a sensor without charge cannot look.
    drain
        Probability that looking uses up one unit of charge.
    moves
        Probability that a target leaves its gap, for each side with the same probability.
    worth
        Reward for each step in which both neighbours of a target look at it.
    cost
        Cost of looking.
    """
    row = [sensor(f"sensor {i + 1}", battery, drain) for i in range(count)]
    gaps = count - 1
    moving = [
        target(f"target {k + 1}", gaps, (2 * k + 1) * gaps // (2 * targets), moves)
        for k in range(targets)
    ]
    rewards = [
        RewardFunction((each.name,), (Entry({each.name: Condition(action="look")}, -cost),))
        for each in row
    ]
    for gap, (left, right) in enumerate(itertools.pairwise(row)):
        for each in moving:
            tracked = Entry(
                {
                    left.name: Condition(state={"side": "right"}, action="look"),
                    right.name: Condition(state={"side": "left"}, action="look"),
                    each.name: Condition(state={"gap": gap}),
                },
                worth,
            )
            rewards.append(RewardFunction((left.name, right.name, each.name), (tracked,)))
    name = f"{count} sensors, {targets} targets, {horizon} steps"
    return TIMMDP((*row, *moving), tuple(rewards), horizon, name)


if __name__ == "__main__":
    result = solve(sensors(4, 1, 6))
    print(result.summary())
    assert result.policy is not None
    print(result.policy.explain(0))
