"""The export to the .dpomdp format, read back by a small reader of its own and solved from that."""

from __future__ import annotations

import itertools
import math
import re
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import judge
from coreplan import ModelError, SolverError, solve
from coreplan.interop import dpomdp
from coreplan.interop.dpomdp import to_dpomdp
from helpers import agrees, from_file, package_state, random_mpp, scale
from strategies import Problem, problem_dicts, staged_dicts
from test_spudd_export import stationary

Joint = tuple[str, ...]
HEAD = ["agents", "discount", "values", "states", "start", "actions", "observations"]


class Reader:
    """Reads the part of the format that exports use, as strictly as its description says."""

    def __init__(self, text: str) -> None:
        assert text.endswith("\n")
        lines = text.splitlines()
        assert all(lines), "the format does not allow empty lines"
        self._lines = [line for line in lines if not line.startswith("#")]
        assert not any("#" in line for line in self._lines)
        found = self._head()
        assert list(found) == HEAD
        assert found["values"] == ["reward"]
        self.discount = float(found["discount"][0])
        self.states = found["states"]
        (self.start,) = found["start"]
        count = int(found["agents"][0])
        self.actions = [found["actions"][k].split() for k in range(count)]
        self.observations = [found["observations"][k].split() for k in range(count)]
        for names in [self.states, *self.actions, *self.observations]:
            assert len(set(names)) == len(names) > 0
            assert all(re.fullmatch(r"[a-z][a-zA-Z0-9_-]*", name) for name in names)
        self.commands = list(itertools.product(*self.actions))
        self.law: dict[tuple[Joint, str], dict[str, float]] = {}
        self.seen: dict[str, Joint] = {}
        self.reward: dict[tuple[Joint, str], float] = {}
        for line in self._lines:
            self._entry(line)
        for state in self.states:
            for command in self.commands:
                assert math.fsum(self.law[command, state].values()) == pytest.approx(1, abs=1e-12)
        assert set(self.seen) == set(self.states)

    def _head(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        while self._lines[0][:2] not in ("O:", "T:", "R:"):
            line = self._lines.pop(0)
            name, colon, rest = line.partition(":")
            if colon:
                assert name not in found
                found[name] = rest.split()
            else:
                found[name := list(found)[-1]].append(line)
                assert name in ("actions", "observations")
        return found

    def _commands(self, told: str) -> list[Joint]:
        if told == "*":
            return self.commands
        command = tuple(told.split())
        assert command in self.commands
        return [command]

    def _entry(self, line: str) -> None:
        kind, _, rest = line.partition(":")
        *where, number = (part.strip() for part in rest.split(" : "))
        value = float(number)
        assert math.isfinite(value)
        if kind == "T":
            told, state, after = where
            assert after in self.states
            for command in self._commands(told):
                row = self.law.setdefault((command, state), {})
                assert after not in row
                row[after] = value
        elif kind == "O":
            told, state, seen = where
            assert (told, value) == ("*", 1)
            assert state not in self.seen
            self.seen[state] = tuple(seen.split())
            assert all(
                o in all_ for o, all_ in zip(self.seen[state], self.observations, strict=True)
            )
        else:
            told, state, after, seen = where
            assert (kind, after, seen) == ("R", "*", "*")
            for command in self._commands(told):
                assert (command, state) not in self.reward
                self.reward[command, state] = value

    def central_value(self, horizon: int) -> float:
        """What the team earns if everybody sees the state of the file."""

        @cache
        def best(left: int, state: str) -> float:
            if left == 0:
                return 0.0
            return max(
                self.reward.get((command, state), 0.0)
                + self.discount
                * math.fsum(
                    chance * best(left - 1, after)
                    for after, chance in self.law[command, state].items()
                )
                for command in self.commands
            )

        return best(horizon, self.start)

    def decentralised_value(self, horizon: int, most: int) -> float | None:
        """The best of all joint policies, tried one by one; None if there are more than `most`.

        What an agent does depends on all that it has observed.
        """
        histories = [self._histories(agent, horizon) for agent in range(len(self.actions))]
        counts = (
            len(actions) ** len(own) for actions, own in zip(self.actions, histories, strict=True)
        )
        if math.prod(counts) > most:
            return None
        policies = [
            [
                dict(zip(own, chosen, strict=True))
                for chosen in itertools.product(actions, repeat=len(own))
            ]
            for actions, own in zip(self.actions, histories, strict=True)
        ]
        return max(self._value(horizon, joint) for joint in itertools.product(*policies))

    def _histories(self, agent: int, horizon: int) -> list[Joint]:
        """What an agent can have observed before it acts, whatever everybody does."""
        reached: set[tuple[str, Joint]] = {(self.start, ())}
        found = {history for _, history in reached}
        for _ in range(horizon - 1):
            reached = {
                (after, (*history, self.seen[after][agent]))
                for state, history in reached
                for command in self.commands
                for after, chance in self.law[command, state].items()
                if chance > 0
            }
            found |= {history for _, history in reached}
        return sorted(found)

    def _value(self, horizon: int, joint: tuple[dict[Joint, str], ...]) -> float:
        def expected(left: int, state: str, histories: tuple[Joint, ...]) -> float:
            if left == 0:
                return 0.0
            command = tuple(own[past] for own, past in zip(joint, histories, strict=True))
            return self.reward.get((command, state), 0.0) + self.discount * math.fsum(
                chance
                * expected(
                    left - 1,
                    after,
                    tuple(
                        (*past, seen)
                        for past, seen in zip(histories, self.seen[after], strict=True)
                    ),
                )
                for after, chance in self.law[command, state].items()
            )

        return expected(horizon, self.start, ((),) * len(joint))


@given(problem_dicts(max_work=1000) | staged_dicts(max_work=500), st.booleans())
def test_centralised_value(raw: Problem, clock: bool) -> None:
    """A team that sees the states of the file earns the judge's value."""
    model = to_dpomdp(from_file(raw), clock=clock)
    value = Reader(model.text).central_value(model.horizon)
    assert agrees(value, judge.optimal_value(raw), 1e-8 * scale(raw))


@given(problem_dicts(max_work=1000))
def test_stationary_problems_have_no_stages(raw: Problem) -> None:
    """States have a stage only where something depends on it, and the value is the same."""
    raw = stationary(raw)
    model = to_dpomdp(from_file(raw))
    reader = Reader(model.text)
    assert dpomdp.END not in reader.states
    assert agrees(reader.central_value(model.horizon), judge.optimal_value(raw), 1e-8 * scale(raw))


@given(problem_dicts(max_work=200) | staged_dicts(max_work=100), st.booleans())
def test_decentralised_value(raw: Problem, clock: bool) -> None:
    """The best of all policies by what agents observe has the value of `dec-mdp`."""
    model = to_dpomdp(from_file(raw), clock=clock)
    value = Reader(model.text).decentralised_value(model.horizon, most=2000)
    assume(value is not None)
    assert value is not None
    assert agrees(value, solve(from_file(raw), algorithm="dec-mdp").value, 1e-8 * scale(raw))


def guessing_game() -> Problem:
    """Two agents: A draws 0 or 1; B earns by guessing it, which it does not see."""
    return {
        "format": "ti-mmdp/1",
        "horizon": 2,
        "agents": [
            {
                "name": "A",
                "initial": "s",
                "transitions": {
                    "s": {"draw": {"zero": 0.5, "one": 0.5}},
                    "zero": {"rest": {"zero": 1}},
                    "one": {"rest": {"one": 1}},
                },
            },
            {
                "name": "B",
                "initial": "s",
                "transitions": {"s": {"guess 0": {"s": 1}, "guess 1": {"s": 1}}},
            },
        ],
        "rewards": [
            {
                "scope": ["A", "B"],
                "entries": [
                    {"when": {"A": {"state": "zero"}, "B": {"action": "guess 0"}}, "value": 8},
                    {"when": {"A": {"state": "one"}, "B": {"action": "guess 1"}}, "value": 6},
                ],
            }
        ],
    }


def test_what_agents_do_not_see_costs() -> None:
    """Where the decentralised optimum is lower, the file has both."""
    raw = guessing_game()
    model = to_dpomdp(from_file(raw))
    reader = Reader(model.text)
    assert reader.central_value(2) == judge.optimal_value(raw) == 7
    assert reader.decentralised_value(2, most=2000) == 4
    assert solve(from_file(raw), algorithm="dec-mdp").value == 4
    assert model.observations["A"] == {"s0": "s", "s1": "zero", "s2": "one"}


def test_from_a_later_situation() -> None:
    """The file may start from a later stage and state."""
    raw = random_mpp(2, 2, 4)
    problem = from_file(raw)
    for (stage, joint), expected in list(judge.optimal_values(raw).items())[::40]:
        model = to_dpomdp(problem, stage=stage, state=package_state(raw, joint))
        assert model.horizon == 4 - stage
        value = Reader(model.text).central_value(model.horizon)
        assert value == pytest.approx(expected, abs=1e-8)


def test_files_that_would_be_too_large() -> None:
    """A problem with too many joint states is refused with the numbers, before it is written."""
    with pytest.raises(SolverError, match="joint states and 625 joint actions; expected at most"):
        to_dpomdp(from_file(random_mpp(4, 3, 8)))


def test_what_is_no_problem_is_refused() -> None:
    """Anything but a problem is refused in words."""
    nothing: Any = {}
    with pytest.raises(ModelError, match="expected a TIMMDP"):
        to_dpomdp(nothing)
