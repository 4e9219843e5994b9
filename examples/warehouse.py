"""A new domain: robots in a warehouse that get in each other's way.

Each robot must go to a shelf and back to its dock. A robot can slip and stay in its place. A move
costs a little, two robots in one place cost much. This file describes nothing else.

Run it: python examples/warehouse.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from coreplan import TIMMDP, Agent, Condition, Entry, RewardFunction, solve
from coreplan.model import TranslatedProblem, Words

MAP = """
A.S
.#.
B.T
"""
MOVES = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1), "stay": (0, 0)}
Place = tuple[int, int]


@dataclass(frozen=True)
class Robot:
    """One robot: its dock, where it starts and ends, and the shelf that it must reach."""

    name: str
    dock: str
    shelf: str
    slip: float = 0.1


@dataclass(frozen=True)
class Warehouse(TranslatedProblem):
    """Robots on a map; letters are docks and shelves, ``#`` is a wall."""

    robots: tuple[Robot, ...]
    horizon: int
    map: str = MAP
    worth: float = 20.0
    blocked: float = 15.0
    name: str = "warehouse"

    @property
    def words(self) -> Words:
        """The terms of this domain in messages."""
        return Words("warehouse", "robot", "step")

    @cached_property
    def places(self) -> dict[Place, str]:
        """All free places of the map, each with a name."""
        return {
            (row, column): f"{row}-{column}" if each == "." else each
            for row, line in enumerate(self.map.strip().splitlines())
            for column, each in enumerate(line)
            if each != "#"
        }

    def to_timmdp(self) -> TIMMDP:
        """Turn each robot into an agent, and each meeting in a place into a cost."""
        rewards = [self._own(robot) for robot in self.robots]
        for i, one in enumerate(self.robots):
            for other in self.robots[i + 1 :]:
                meetings = tuple(
                    Entry(
                        {each.name: Condition(next={"place": name}) for each in (one, other)},
                        -self.blocked,
                    )
                    for name in self.places.values()
                )
                rewards.append(RewardFunction((one.name, other.name), meetings))
        agents = tuple(self._agent(robot) for robot in self.robots)
        return TIMMDP(agents, tuple(rewards), self.horizon, self.name)

    def _agent(self, robot: Robot) -> Agent:
        """Describe a robot: its states are places, with and without the goods."""
        transitions: dict[str, dict[str, dict[str, float]]] = {}
        features = {}
        for loaded in (False, True):
            for place, name in self.places.items():
                state = self._state(name, loaded)
                features[state] = {"place": name, "loaded": loaded}
                transitions[state] = {}
                for move, (down, right) in MOVES.items():
                    there = self.places.get((place[0] + down, place[1] + right))
                    if there is None:
                        continue
                    after = self._state(there, loaded or there == robot.shelf)
                    law = {after: 1.0}
                    if after != state:
                        law = {after: 1 - robot.slip, state: robot.slip}
                    transitions[state][move] = law
        return Agent(robot.name, self._state(robot.dock, False), transitions, features)

    def _own(self, robot: Robot) -> RewardFunction:
        moves = tuple(move for move in MOVES if move != "stay")
        home = self._state(robot.dock, True)
        away = tuple(self._state(name, True) for name in self.places.values() if name != robot.dock)
        entries = (
            Entry({robot.name: Condition(action=moves)}, -1),
            Entry({robot.name: Condition(state=away, next=home)}, self.worth),
        )
        return RewardFunction((robot.name,), entries)

    @staticmethod
    def _state(place: str, loaded: bool) -> str:
        return f"{place}, loaded" if loaded else place


TWO = Warehouse((Robot("Ann", "A", "T"), Robot("Ben", "B", "S")), horizon=9)

if __name__ == "__main__":
    result = solve(TWO)
    print(result.summary())
    assert result.policy is not None
    print(result.policy.tree(depth=1))
    print(result.policy.explain(0))
