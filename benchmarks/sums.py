"""Rewards for sums over agents: the engine on teams that share a peak, a quota or a crane.

Run: .venv/bin/python benchmarks/sums.py, with --seconds for the time limit of each solve, --only
for one kind of team, and --without search (or other options of `core`) to switch ideas off.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

from coreplan import TIMMDP, Agent, Aggregate, Amount, Condition, Entry, RewardFunction, solve


def batteries(agents: int, levels: int, horizon: int, limit: int, seed: int = 1) -> TIMMDP:
    """Batteries that charge when power is cheap, sell when it is dear, and share a common peak.

    Beyond the limit, every further battery that charges costs more than the one before.
    """
    draw = random.Random(seed)
    price = [2 + draw.random() + 3 * (t % 12 >= 6) for t in range(horizon)]
    top = levels - 1
    made, rewards, amounts = [], [], []
    for i in range(agents):
        name, fails, worth = f"b{i}", 0.1 * draw.random(), 0.9 + 0.2 * draw.random()
        laws: dict[str, dict[str, dict[str, float]]] = {}
        for level in range(levels):
            laws[str(level)] = {"wait": {str(level): 1.0}}
            if level < top:
                laws[str(level)]["charge"] = {str(level + 1): 1 - fails, str(level): fails}
            if level > 0:
                laws[str(level)]["sell"] = {str(level - 1): 1.0}
        made.append(Agent(name, str(draw.randrange(levels)), laws))
        entries = []
        for t in range(horizon):
            pays = {"charge": -price[t], "sell": worth * price[t]}
            entries += [
                Entry({name: Condition(action=action)}, value, stages=[t])
                for action, value in pays.items()
            ]
        rewards.append(RewardFunction([name], entries))
        amounts.append(Amount({name: Condition(action="charge")}, 1))
    table = [-0.5 * max(0, k - limit) * (max(0, k - limit) + 1) for k in range(agents + 1)]
    return TIMMDP(made, rewards, horizon, aggregates=[Aggregate("peak", amounts, table=table)])


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


TEAMS: dict[str, Callable[[], TIMMDP]] = {
    "9 chargers x 4 states, 10 stages": lambda: chargers(9, 10, 3, 10.0),
    "12 chargers x 4 states, 12 stages": lambda: chargers(12, 12, 3, 10.0),
    "8 cranes users, 14 stages": lambda: cranes(8, 14, 1),
    "12 cranes users, 20 stages": lambda: cranes(12, 20, 2),
    "30 batteries x 12 levels, 24 stages": lambda: batteries(30, 12, 24, 7),
    "60 batteries x 12 levels, 24 stages": lambda: batteries(60, 12, 24, 14),
}


def main() -> None:
    """Print the bounds of each team after the time limit, or earlier if the gap is closed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    options = dict.fromkeys(given.without, False)
    print(f"{'team':38} {'seconds':>8} {'lower':>12} {'upper':>12} {'gap':>8}  statistics")
    for name, make in TEAMS.items():
        if given.only not in name:
            continue
        problem = make()
        begin = time.perf_counter()
        result = solve(problem, time_limit=given.seconds, threads=given.threads, **options)
        seconds = time.perf_counter() - begin
        gap = (result.upper_bound - result.value) / max(1e-9, abs(result.value))
        found = {k: round(v) for k, v in result.statistics.items() if k in SHOWN}
        print(
            f"{name:38} {seconds:8.2f} {result.value:12.4f} {result.upper_bound:12.4f} "
            f"{gap:8.2%}  {found}",
            flush=True,
        )


SHOWN = ("clusters", "relaxation_rounds", "search_records", "kernel_cells", "policy_states")

if __name__ == "__main__":
    main()
