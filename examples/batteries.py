"""A domain with a common peak: households with batteries that share one connection to the grid.

A household draws its demand, which is random, and what charges its battery, or less while the
battery helps. Prices change during the day. What all households draw together above the limit of
the connection costs extra, so they should not all charge while it is cheap.

Run it: python examples/batteries.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from coreplan import (
    TIMMDP,
    Agent,
    Aggregate,
    Amount,
    Condition,
    Entry,
    Policy,
    RewardFunction,
    solve,
)
from coreplan.model import TranslatedProblem, Words

POWER = {"charge": 1, "idle": 0, "help": -1}
"""What an action adds to the draw of a household, in units of energy per stage."""


@dataclass(frozen=True)
class Household:
    """One household with a battery.

    Parameters
    ----------
    name
        Its name.
    capacity
        Units of energy that the battery holds.
    charge
        Units in it at the beginning.
    low, high
        Units of demand at a stage with low and with high demand.
    change
        Probability that the demand changes from one stage to the next.
    """

    name: str
    capacity: int = 3
    charge: int = 0
    low: int = 1
    high: int = 2
    change: float = 0.25


@dataclass(frozen=True)
class Batteries(TranslatedProblem):
    """Households with batteries behind one connection.

    Parameters
    ----------
    households
        The households.
    prices
        The price of a unit at each stage.
    limit
        Units that all households together may draw at a stage without extra cost.
    extra
        The cost of each unit above the limit.
    worth
        The worth of a unit that is left in a battery at the end.
    name
        The name of the problem.
    """

    households: tuple[Household, ...]
    prices: tuple[float, ...]
    limit: int
    extra: float = 4.0
    worth: float = 1.0
    name: str = "batteries"

    @property
    def horizon(self) -> int:  # type: ignore[override]
        """A decision for each price."""
        return len(self.prices)

    @property
    def words(self) -> Words:
        """The terms of this domain in messages."""
        return Words("neighbourhood", "household", "hour")

    def to_timmdp(self) -> TIMMDP:
        """Turn households into agents, prices into their rewards, the peak into an aggregate."""
        draws = [
            Amount({each.name: Condition(state=state, action=action)}, draw)
            for each in self.households
            for state, actions in self.draws(each).items()
            for action, draw in actions.items()
            if draw
        ]
        peak = Aggregate(
            "peak", draws, function=lambda total: -self.extra * max(0, total - self.limit)
        )
        return TIMMDP(
            tuple(self._agent(each) for each in self.households),
            tuple(self._bill(each) for each in self.households),
            self.horizon,
            self.name,
            aggregates=(peak,),
        )

    @cached_property
    def independent(self) -> Batteries:
        """The same households without a limit: everyone plans alone."""
        return replace(self, limit=10**6, name=f"{self.name}, no limit")

    @staticmethod
    def state(charge: int, demand: int) -> str:
        """The name of a state."""
        return f"{charge} charged, demand {demand}"

    def draws(self, of: Household) -> dict[str, dict[str, int]]:
        """What a household draws from the grid, for each state and each action that it has."""
        return {
            self.state(charge, demand): {
                action: demand + power
                for action, power in POWER.items()
                if 0 <= charge + power <= of.capacity and demand + power >= 0
            }
            for charge in range(of.capacity + 1)
            for demand in (of.low, of.high)
        }

    def _agent(self, of: Household) -> Agent:
        """Describe a household: its states are the charge of its battery and its demand."""
        transitions: dict[str, dict[str, dict[str, float]]] = {}
        features = {}
        for charge in range(of.capacity + 1):
            for demand, other in ((of.low, of.high), (of.high, of.low)):
                name = self.state(charge, demand)
                features[name] = {"charge": charge, "demand": demand}
                transitions[name] = {
                    action: {
                        self.state(charge + POWER[action], demand): 1 - of.change,
                        self.state(charge + POWER[action], other): of.change,
                    }
                    for action in self.draws(of)[name]
                }
        return Agent(of.name, self.state(of.charge, of.low), transitions, features)

    def _bill(self, of: Household) -> RewardFunction:
        """What a household pays for what it draws, and the worth of what is left at the end."""
        by_draw: dict[int, list[Condition]] = {}
        for state, actions in self.draws(of).items():
            for action, draw in actions.items():
                by_draw.setdefault(draw, []).append(Condition(state=state, action=action))
        bills = [
            Entry({of.name: condition}, -price * draw, (stage,))
            for stage, price in enumerate(self.prices)
            for draw, conditions in by_draw.items()
            for condition in conditions
            if price * draw
        ]
        left = [
            Entry(
                {of.name: Condition(next={"charge": charge})},
                self.worth * charge,
                (self.horizon - 1,),
            )
            for charge in range(1, of.capacity + 1)
        ]
        return RewardFunction((of.name,), (*bills, *left))


DAY = (3.0, 2.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 4.0, 3.0)
"""Prices of the twelve double hours of a day, cheap at noon because of the sun."""


def neighbourhood(count: int, prices: tuple[float, ...] = DAY) -> Batteries:
    """Some households, half of them with a larger battery, and a connection that is just enough."""
    homes = tuple(
        Household(f"home {k + 1}", capacity=3 if k % 2 else 4, change=0.2 + 0.1 * (k % 3))
        for k in range(count)
    )
    return Batteries(homes, prices, limit=2 * count, name=f"{count} batteries")


FOUR = neighbourhood(4)

if __name__ == "__main__":
    result = solve(FOUR)
    print(result.summary())
    assert result.policy is not None
    print(result.policy.tree(depth=1))
    selfish = solve(FOUR.independent).policy
    assert selfish is not None
    everyone = Policy.from_function(FOUR, selfish.act)
    print(f"together: {result.value:.2f}, each for itself: {everyone.evaluate():.2f}")
