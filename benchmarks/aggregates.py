"""Rewards for sums over agents: the value, the certified gap, and the work of solving.

Run: .venv/bin/python benchmarks/aggregates.py [--time-limit 60] [CASE ...]

Cases:
  few   9 agents of 4 states, and a cost of 10 whenever at least 4 of them charge: solved exactly
  many  30 agents of 12 states with a common peak: charging costs more above a limit
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence

from coreplan import TIMMDP, Agent, Aggregate, Amount, Condition, Entry, RewardFunction, solve


def battery(name: str, levels: int, use: float) -> Agent:
    """A battery that is charged, used or left alone; unused, it may lose charge."""

    def actions(level: int) -> list[str]:
        return ["rest", *(["charge"] if level + 1 < levels else []), *(["use"] if level else [])]

    def outcomes(level: int, action: str) -> Mapping[int, float]:
        if action == "charge":
            return {level + 1: 0.9, level: 0.1}
        if action == "use" and level > 1:
            return {level - 1: use, level - 2: 1 - use}
        if action == "use":
            return {level - 1: 1.0}
        return {level: 1.0}

    return Agent.from_functions(name, levels // 3, actions, outcomes)


def team(count: int, levels: int, horizon: int, peak: Aggregate, seed: int = 1) -> TIMMDP:
    """Batteries that earn by use and pay for charging, at prices that differ between stages."""
    draw = random.Random(seed)
    agents = [battery(f"b{i}", levels, round(draw.uniform(0.6, 0.9), 2)) for i in range(count)]
    rewards = []
    for agent in agents:
        worth = [round(draw.uniform(2, 8), 2) for _ in range(horizon)]
        price = [round(draw.uniform(1, 3), 2) for _ in range(horizon)]
        entries = [
            Entry({agent.name: Condition(action=action)}, sign * values[stage], [stage])
            for action, sign, values in (("use", 1, worth), ("charge", -1, price))
            for stage in range(horizon)
        ]
        rewards.append(RewardFunction([agent.name], entries))
    return TIMMDP(agents, rewards, horizon, f"{count} batteries", aggregates=[peak])


def charging(count: int) -> list[Amount]:
    """One unit for each battery that charges."""
    return [Amount({f"b{i}": Condition(action="charge")}, 1) for i in range(count)]


def few() -> TIMMDP:
    """A threshold: too many at once cost 10."""
    peak = Aggregate("peak", charging(9), function=lambda charging: -10 if charging >= 4 else 0)
    return team(9, 4, 10, peak)


def many() -> TIMMDP:
    """A peak: above 8 units each one more costs 3, above 12 it costs 8."""
    peak = Aggregate("peak", charging(30), points=[(8, 0), (12, -12), (30, -156)])
    return team(30, 12, 24, peak)


CASES = {"few": few, "many": many}


def main(arguments: Sequence[str] | None = None) -> None:
    """Solve the cases, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("cases", nargs="*", default=[], metavar="CASE")
    given = parser.parse_args(arguments)
    print(
        f"{'case':6}  {'status':>11}  {'value':>12}  {'upper bound':>12}  {'gap':>8}  "
        f"{'seconds':>8}  {'kernel cells':>14}  {'relaxation rounds':>17}"
    )
    for name in given.cases or CASES:
        result = solve(CASES[name](), time_limit=given.time_limit)
        others = result.statistics.others
        print(
            f"{name:6}  {result.status:>11}  {result.value:12.4f}  {result.upper_bound:12.4f}  "
            f"{100 * result.relative_gap:6.2f} %  {result.seconds:8.2f}  "
            f"{others.get('kernel_cells', 0):14,.0f}  {others.get('relaxation_rounds', 0):17,.0f}"
        )


if __name__ == "__main__":
    main()
