"""Rewards for sums over agents: the value, the certified gap, and the work of solving.

Run: .venv/bin/python benchmarks/aggregates.py [--time-limit 60] [--without IDEA ...] [CASE ...]
where an idea is an option of `core` such as search.

Cases:
  few     9 agents of 4 states, and a cost of 10 whenever at least 4 of them charge
  chance  the same, but charging and use have several outcomes
  many    30 agents of 12 states with a common peak: charging costs more above a limit
  cars    14 cars that charge three times: a fixed cost if more than 4 do at once
  crane   10 contractors with one crane: three jobs each, half of which lift
  cranes  14 of them with two cranes

Work is counted in units of which the core does about 10^9 per second; it does not depend on the
machine. Seconds do, and on all else that runs there.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence

from coreplan import TIMMDP, Agent, Aggregate, Amount, Condition, Entry, RewardFunction, solve


def battery(name: str, levels: int, use: float | None) -> Agent:
    """A battery that is charged, used or left alone.

    With a chance `use`, use takes one level, else two; charging then fails with a chance of 0.1.
    Without it, both are certain.
    """

    def actions(level: int) -> list[str]:
        return ["rest", *(["charge"] if level + 1 < levels else []), *(["use"] if level else [])]

    def outcomes(level: int, action: str) -> Mapping[int, float]:
        if action == "rest":
            return {level: 1.0}
        if use is None or (action == "use" and level == 1):
            return {level + 1 if action == "charge" else level - 1: 1.0}
        if action == "charge":
            return {level + 1: 0.9, level: 0.1}
        return {level - 1: use, level - 2: 1 - use}

    return Agent.from_functions(name, levels // 3, actions, outcomes)


def team(
    count: int, levels: int, horizon: int, peak: Aggregate, *, chance: bool, seed: int = 1
) -> TIMMDP:
    """Batteries that earn by use and pay for charging, at prices that differ between stages."""
    draw = random.Random(seed)
    uses = [round(draw.uniform(0.6, 0.9), 2) for _ in range(count)]
    agents = [battery(f"b{i}", levels, use if chance else None) for i, use in enumerate(uses)]
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


def few(*, chance: bool = False) -> TIMMDP:
    """A threshold: too many at once cost 10."""
    peak = Aggregate("peak", charging(9), function=lambda charging: -10 if charging >= 4 else 0)
    return team(9, 4, 10, peak, chance=chance)


def many() -> TIMMDP:
    """A peak: above 8 units each one more costs 3, above 12 it costs 8."""
    peak = Aggregate("peak", charging(30), points=[(8, 0), (12, -12), (30, -156)])
    return team(30, 12, 24, peak, chance=True)


def chargers(agents: int, horizon: int, limit: int, penalty: float, seed: int = 1) -> TIMMDP:
    """Cars that charge three times, and a fixed cost if more than the limit do so at once."""
    draw = random.Random(seed)
    made, rewards, amounts = [], [], []
    for i in range(agents):
        name, fails = f"c{i}", 0.4 * draw.random()
        laws = {
            str(level): {
                "charge": {str(level + 1): 1 - fails, str(level): fails},
                "wait": {str(level): 1.0},
            }
            for level in range(3)
        }
        made.append(Agent(name, "0", {**laws, "3": {"wait": {"3": 1.0}}}))
        entries = [
            Entry(
                {name: Condition(action="charge", next=str(k + 1), state=str(k))}, 2 + draw.random()
            )
            for k in range(3)
        ]
        entries += [
            Entry({name: Condition(action="charge")}, -0.2 * t, stages=[t]) for t in range(horizon)
        ]
        rewards.append(RewardFunction([name], entries))
        amounts.append(Amount({name: Condition(action="charge")}, 1))
    table = [-penalty if k > limit else 0.0 for k in range(agents + 1)]
    return TIMMDP(made, rewards, horizon, aggregates=[Aggregate("peak", amounts, table=table)])


def cranes(agents: int, horizon: int, capacity: int, seed: int = 1) -> TIMMDP:
    """Contractors with three jobs in a row, some of which need one of few cranes."""
    draw = random.Random(seed)
    made, rewards, amounts = [], [], []
    for i in range(agents):
        name = f"w{i}"
        lengths = [draw.randint(1, 3) for _ in range(3)]
        laws: dict[str, dict[str, dict[str, float]]] = {}
        entries, lifting = [], []
        for job, length in enumerate(lengths):
            start, after = f"before {job}", f"before {job + 1}"
            late = 0.3 * draw.random()
            steps = [f"{job}/{left}" for left in range(length - 1, 0, -1)]
            chain = [start, *steps]
            laws[start] = {"wait": {start: 1.0}}
            for here, there in zip(chain, [*steps, after], strict=True):
                laws.setdefault(here, {})["work"] = {there: 1 - late, here: late}
            if draw.random() < 0.5:
                lifting += chain
            entries.append(
                Entry(
                    {name: Condition(state=chain[-1], action="work", next=after)},
                    6 + 6 * draw.random(),
                )
            )
        laws["before 3"] = {"wait": {"before 3": 1.0}}
        entries.append(Entry({name: Condition(action="work")}, -1.0))
        made.append(Agent(name, "before 0", laws))
        rewards.append(RewardFunction([name], entries))
        if lifting:
            amounts.append(Amount({name: Condition(state=lifting, action="work")}, 1))
    table = [-8.0 * max(0, k - capacity) for k in range(len(amounts) + 1)]
    return TIMMDP(made, rewards, horizon, aggregates=[Aggregate("cranes", amounts, table=table)])


CASES = {
    "few": few,
    "chance": lambda: few(chance=True),
    "many": many,
    "cars": lambda: chargers(14, 12, 4, 10.0),
    "crane": lambda: cranes(10, 16, 1),
    "cranes": lambda: cranes(14, 20, 2),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Solve the cases, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--without", action="append", default=[], metavar="IDEA")
    parser.add_argument("cases", nargs="*", default=[], metavar="CASE")
    given = parser.parse_args(arguments)
    print(
        f"{'case':6}  {'status':>11}  {'value':>12}  {'upper bound':>12}  {'gap':>8}  "
        f"{'work':>8}  {'seconds':>8}  {'kernel cells':>14}  {'rounds':>7}  {'records':>9}"
    )
    for name in given.cases or CASES:
        result = solve(
            CASES[name](), time_limit=given.time_limit, **dict.fromkeys(given.without, False)
        )
        others = result.statistics.others
        print(
            f"{name:6}  {result.status:>11}  {result.value:12.4f}  {result.upper_bound:12.4f}  "
            f"{100 * result.relative_gap:6.2f} %  {others.get('work', 0.0):8.2f}  "
            f"{result.seconds:8.2f}  "
            f"{others.get('kernel_cells', 0):14,.0f}  {others.get('relaxation_rounds', 0):7,.0f}  "
            f"{others.get('search_records', 0):9,.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
