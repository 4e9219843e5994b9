"""The export to SPUDD's format, read back by a small reader of its own and solved from that."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import judge
from coreplan import ModelError, SolverError
from coreplan.interop import spudd
from coreplan.interop.spudd import CLOCK, to_spudd
from helpers import agrees, from_file, package_state, random_mpp, scale
from strategies import Problem, problem_dicts, staged_dicts

Tree = Any
Values = dict[str, str]


class Reader:
    """Reads a file of SPUDD: variables, diagrams, actions, reward, discount and horizon."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"//.*", "", text)
        self._tokens = re.findall(r"[()\[\]]|[^\s()\[\]]+", text)
        self._diagrams: dict[str, Tree] = {}
        self.variables: dict[str, list[str]] = {}
        self.actions: dict[str, dict[str, Tree]] = {}
        self.normalised = True
        self._read()

    def _next(self, expected: str | None = None) -> str:
        token = self._tokens.pop(0)
        assert expected is None or token == expected, (token, expected)
        return token

    def _read(self) -> None:
        self._next("(")
        self._next("variables")
        while self._next() == "(":
            name = self._next()
            self.variables[name] = []
            while (value := self._next()) != ")":
                self.variables[name].append(value)
            assert len(set(self.variables[name])) == len(self.variables[name]) > 0
        while self._tokens:
            word = self._next()
            if word == "unnormalised":
                self.normalised = False
            elif word == "dd":
                name = self._next()
                assert name not in self._diagrams
                self._diagrams[name] = self._diagram()
                self._next("enddd")
            elif word == "action":
                self._action(self._next())
            elif word == "reward":
                self.reward = self._diagram()
            elif word == "discount":
                self.discount = float(self._next())
            elif word == "horizon":
                self.horizon = int(self._next())
            else:
                raise AssertionError(word)

    def _action(self, name: str) -> None:
        assert name not in self.actions
        self.actions[name] = {}
        while (part := self._next()) != "endaction":
            self.actions[name][part] = self._diagram()
        assert set(self.actions[name]) == {*self.variables, "cost"}

    def _diagram(self) -> Tree:
        """A number, (variable (value diagram) ...), (name of a diagram), or [+ diagrams]."""
        if self._next() == "[":
            self._next("+")
            terms = []
            while self._tokens[0] != "]":
                terms.append(self._diagram())
            self._next("]")
            return ("+", terms)
        word = self._next()
        if word.removesuffix("'") in self.variables:
            branches = {}
            while self._next() == "(":
                value = self._next()
                branches[value] = self._diagram()
                self._next(")")
            # All values, for nothing says what the others would mean.
            assert list(branches) == self.variables[word.removesuffix("'")]
            return ("?", word, branches)
        self._next(")")
        if word in self._diagrams:
            return self._diagrams[word]
        assert re.fullmatch(r"-?\d+(\.\d+)?", word), word
        return float(word)

    def at(self, tree: Tree, values: Values) -> float:
        """The value of a diagram."""
        while not isinstance(tree, float):
            if tree[0] == "+":
                return math.fsum(self.at(term, values) for term in tree[1])
            tree = tree[2][values[tree[1]]]
        return tree

    def law(self, tree: Tree, variable: str, values: Values) -> list[tuple[str, float]]:
        """What a variable can be next, with probabilities."""
        chances = [
            (value, self.at(tree, {**values, f"{variable}'": value}))
            for value in self.variables[variable]
        ]
        total = 1.0 if self.normalised else math.fsum(chance for _, chance in chances)
        assert abs(total - 1) < 1e-6
        return [(value, chance / total) for value, chance in chances if chance > 0]

    def value(self, start: Values) -> float:
        """Plain value iteration, backwards from where it matters."""
        names = list(self.variables)

        @cache
        def moves(state: tuple[str, ...]) -> list[tuple[float, list[tuple[float, Any]]]]:
            values = dict(zip(names, state, strict=True))
            return [
                (
                    self.at(self.reward, values) - self.at(action["cost"], values),
                    list(self._outcomes([self.law(action[v], v, values) for v in names])),
                )
                for action in self.actions.values()
            ]

        @cache
        def best(left: int, state: tuple[str, ...]) -> float:
            if left == 0:  # iterations start from the reward
                return self.at(self.reward, dict(zip(names, state, strict=True)))
            return max(
                earned
                + self.discount * math.fsum(chance * best(left - 1, to) for chance, to in law)
                for earned, law in moves(state)
            )

        return best(self.horizon, tuple(start[name] for name in names))

    def sweep(self, start: Values, sweeps: int) -> float:
        """Value iteration over the whole state space, as the program does it."""
        names = list(self.variables)
        states = list(itertools.product(*self.variables.values()))
        known = {
            state: self.at(self.reward, dict(zip(names, state, strict=True))) for state in states
        }
        for _ in range(sweeps):
            known = {state: self._backed_up(names, state, known) for state in states}
        return known[tuple(start[name] for name in names)]

    def _backed_up(
        self, names: list[str], state: tuple[str, ...], known: dict[tuple[str, ...], float]
    ) -> float:
        values = dict(zip(names, state, strict=True))
        return max(
            self.at(self.reward, values)
            - self.at(action["cost"], values)
            + self.discount
            * math.fsum(
                chance * known[after]
                for chance, after in self._outcomes([self.law(action[v], v, values) for v in names])
            )
            for action in self.actions.values()
        )

    @staticmethod
    def _outcomes(laws: list[list[tuple[str, float]]]) -> Iterator[tuple[float, tuple[str, ...]]]:
        for each in itertools.product(*laws):
            yield math.prod(chance for _, chance in each), tuple(value for value, _ in each)


def stationary(raw: Problem) -> Problem:
    """The same problem without what depends on the stage."""
    made = {**raw}
    if raw["format"] == "mpp/1":
        made.pop("must_complete", None)

        def first(part: dict[str, Any]) -> dict[str, Any]:
            cost = part["cost"]
            kept = {key: value for key, value in part.items() if key != "window"}
            return {**kept, "cost": cost[0] if isinstance(cost, list) else cost}

        made["agents"] = [
            {**agent, "tasks": [first(task) for task in agent["tasks"]]} for agent in raw["agents"]
        ]
        made["network"] = [first(each) for each in raw.get("network", [])]
    else:
        made["rewards"] = [
            {
                **function,
                "entries": [
                    {key: value for key, value in entry.items() if key != "stages"}
                    for entry in function["entries"]
                ],
            }
            for function in raw.get("rewards", [])
        ]
    return made


def value_of_file(raw: Problem, **options: Any) -> float:
    """The value of the initial state, from the file alone."""
    model = to_spudd(from_file(raw), **options)
    reader = Reader(model.text)
    assert reader.horizon == model.horizon
    return reader.value(dict(model.start))


@given(problem_dicts(max_work=1000))
def test_stationary_problems(raw: Problem) -> None:
    """A problem that does not depend on the stage has no clock, and the judge's value."""
    raw = stationary(raw)
    assert CLOCK not in Reader(to_spudd(from_file(raw)).text).variables
    assert agrees(value_of_file(raw), judge.optimal_value(raw), 1e-8 * scale(raw))


@given(problem_dicts(max_work=1000) | staged_dicts(max_work=500), st.booleans())
def test_problems_of_all_kinds(raw: Problem, clock: bool) -> None:
    """Windows, rewards of some stages, must_complete: the file has the judge's value."""
    value = value_of_file(raw, clock=clock)
    assert agrees(value, judge.optimal_value(raw), 1e-8 * scale(raw))


@given(problem_dicts(max_work=60) | staged_dicts(max_work=30), st.integers(0, 2))
def test_sweeps_over_the_whole_state_space(raw: Problem, more: int) -> None:
    """As many sweeps as stages give the value; with a clock, further sweeps do not change it."""
    model = to_spudd(from_file(raw), clock=True)
    reader = Reader(model.text)
    assume(math.prod(map(len, reader.variables.values())) * len(reader.actions) <= 3000)
    value = reader.sweep(dict(model.start), model.horizon + more)
    assert agrees(value, judge.optimal_value(raw), 1e-8 * scale(raw))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cost": [1, 2, 3, 4]}, "the reward 'own costs and revenues of C0'"),
        ({"window": [1, 9]}, "agent 'C0' has other actions in state"),
        ({"window": [0, 2]}, "has other actions in state 'idle/to do w0' at stage 3 than at stage"),
    ],
)
def test_why_there_is_a_clock(change: dict[str, Any], said: str) -> None:
    """Costs per step, and windows, are named in the file with the agent and the place."""
    raw = stationary(random_mpp(2, 2, 4))
    assert CLOCK not in to_spudd(from_file(raw)).start
    raw["agents"][0]["tasks"][0] |= change
    model = to_spudd(from_file(raw))
    assert model.start[CLOCK] == "t0"
    assert said in model.text
    assert Reader(model.text).variables[CLOCK] == ["t0", "t1", "t2", "t3", "t4"]
    assert agrees(value_of_file(raw), judge.optimal_value(raw), 1e-8)


def test_must_complete_has_a_clock_where_it_matters() -> None:
    """With must_complete an agent may have to start in time: that depends on the stage."""
    raw = stationary(random_mpp(2, 1, 4))
    assert CLOCK not in to_spudd(from_file(raw)).start
    raw["must_complete"] = True
    raw["agents"][0]["tasks"][0]["revenue"] = -500
    assert CLOCK in to_spudd(from_file(raw)).start
    assert agrees(value_of_file(raw), judge.optimal_value(raw), 1e-8)


def test_rewards_of_some_stages() -> None:
    """An entry with `stages` needs a clock, unless it means all of them."""
    raw: Problem = {
        "format": "ti-mmdp/1",
        "horizon": 2,
        "agents": [{"name": "A", "initial": "s", "transitions": {"s": {"x": {"s": 1}}}}],
        "rewards": [{"scope": ["A"], "entries": [{"value": 2, "stages": [0]}]}],
    }
    assert "the reward 'rewards[0] of A'" in to_spudd(from_file(raw)).text
    assert value_of_file(raw) == 2
    raw["rewards"][0]["entries"][0]["stages"] = [1, 0]
    assert CLOCK not in to_spudd(from_file(raw)).start
    assert value_of_file(raw) == value_of_file(raw, clock=True) == 4


def test_actions_that_are_not_there() -> None:
    """An action that an agent does not have does what another does: nothing gets possible."""
    raw: Problem = {
        "format": "ti-mmdp/1",
        "horizon": 3,
        "agents": [
            {
                "name": "A",
                "initial": "s",
                "transitions": {"s": {"work": {"t": 1}}, "t": {"rest": {"t": 1}}},
            }
        ],
        "rewards": [{"scope": ["A"], "entries": [{"when": {"A": {"action": "work"}}, "value": 5}]}],
    }
    assert value_of_file(raw) == judge.optimal_value(raw) == 5
    raw["rewards"][0]["entries"][0]["value"] = -5
    assert value_of_file(raw) == judge.optimal_value(raw) == -5


@pytest.mark.parametrize("clock", [False, True])
def test_from_a_later_situation(clock: bool) -> None:
    """The file may start from a later stage and state."""
    raw = random_mpp(2, 2, 5) if clock else stationary(random_mpp(2, 2, 5))
    problem = from_file(raw)
    for (stage, joint), expected in list(judge.optimal_values(raw).items())[::40]:
        model = to_spudd(problem, stage=stage, state=package_state(raw, joint))
        assert model.horizon == 5 - stage
        assert Reader(model.text).value(dict(model.start)) == pytest.approx(expected, abs=1e-9)


def test_a_discount_needs_no_clock() -> None:
    """The format has discounts; from a later stage on, all rewards count as little as there."""
    raw: Problem = {
        "format": "ti-mmdp/2",
        "horizon": 4,
        "discount": 1e-5,
        "agents": [
            {
                "name": "A",
                "initial": "s",
                "transitions": {"s": {"go": {"s": 0.5, "t": 0.5}}, "t": {"go": {"s": 1}}},
            }
        ],
        "rewards": [{"scope": ["A"], "entries": [{"when": {"A": {"next": "t"}}, "value": 8}]}],
    }
    model = to_spudd(from_file(raw), stage=1, state={"A": "s"})
    assert CLOCK not in model.start
    assert "discount 0.00001\n" in model.text
    value = Reader(model.text).value(dict(model.start))
    assert value == pytest.approx(judge.timmdp_value(raw, 1, ("s",)), rel=1e-12)


def test_files_that_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many joint actions or leaves are refused before anything is written."""
    many = stationary(random_mpp(8, 3, 3))
    with pytest.raises(SolverError, match="390,625"):
        to_spudd(from_file({**many, "network": []}))
    monkeypatch.setattr(spudd, "MOST_LEAVES", 10)
    with pytest.raises(SolverError, match="leaves"):
        to_spudd(from_file(stationary(random_mpp(2, 2, 4))))
    monkeypatch.setattr(spudd, "MOST_LEAVES", 5000)
    to_spudd(from_file(stationary(random_mpp(2, 2, 4))))
    with pytest.raises(SolverError, match="leaves"):
        to_spudd(from_file(stationary(random_mpp(2, 2, 4))), clock=True)


def test_what_is_no_problem_is_refused() -> None:
    """Anything but a problem is refused in words."""
    with pytest.raises(ModelError, match="expected a TIMMDP"):
        to_spudd({})  # type: ignore[arg-type]
