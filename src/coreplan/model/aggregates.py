"""Rewards for sums over agents: thresholds, peaks, quotas, at least so many of them.

At each stage agents add amounts, by their states and actions, and the team earns what a table, a
piecewise linear function or a Python function has for the sum.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from coreplan.errors import Diagnostic, ModelError
from coreplan.model.conditions import (
    Condition,
    MatchingStates,
    Vocabulary,
    check_condition,
    check_stages,
    freeze_mapping,
)
from coreplan.support.checks import (
    AGENT_NAMES,
    Path,
    check_name,
    check_number,
    float_if_number,
    found,
    is_integer,
    is_number,
    unknown_name,
)
from coreplan.support.frozen import freeze_sequence

if TYPE_CHECKING:
    from coreplan.model.timmdp import Agent

MOST_SUMS = 1_000_000
"""The most different sums of one aggregate."""
MOST_CALLS = 10_000_000
"""The most calls of a function of stages and sums."""
_WHOLE = 1e-9
"""How far, relatively, a multiple of the step may be from a whole one."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A part of a sum, which one agent adds whenever its condition matches.

    Parameters
    ----------
    when
        The condition of exactly one agent, by the agent's name, on its state and action only.
    amount
        At least 0, and a whole multiple of the aggregate's step.
    """

    when: Mapping[str, Condition]
    amount: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "when", freeze_mapping(self.when, ("when",), "the condition of one agent")
        )
        object.__setattr__(self, "amount", float_if_number(self.amount))


@dataclass(frozen=True)
class Aggregate:
    """A reward for the sum of what agents add at the same stage.

    Amounts of one agent add up, too. The reward is given by exactly one of `table`, `points`,
    `function` and `by_stage`. A problem calls functions once for each sum and keeps tables.

    Parameters
    ----------
    name
        The name of the reward, for people. Several aggregates may have the same name, for instance
        for different stages.
    amounts
        The amounts that agents can add.
    table
        The reward for each sum: entry k is for the sum k · `step`.
    points
        Pairs of a sum and a reward, with increasing sums: linear in between, and constant before
        the first and after the last one.
    function
        Called with a sum; returns the reward. Sums are whole numbers if the step is one.
    by_stage
        Called with a stage and a sum; returns the reward. The problem then has an aggregate for
        each distinct table.
    step
        All amounts are whole multiples of it.
    stages
        The stages at which the reward is earned; None means all.

    Examples
    --------
    Three cars; it costs 10 when two or more of them charge at once:

    >>> cars = ["red", "green", "blue"]
    >>> charging = [Amount({car: Condition(action="charge")}, 1) for car in cars]
    >>> Aggregate("peak", charging, table=[0, 0, -10, -10])
    <Aggregate 'peak' of blue, green, red: a table>
    >>> Aggregate("peak", charging, function=lambda cars: -10 if cars >= 2 else 0)
    <Aggregate 'peak' of blue, green, red: a function>
    """

    name: str
    amounts: Sequence[Amount]
    table: Sequence[float] | None = field(default=None, kw_only=True)
    points: Sequence[tuple[float, float]] | None = field(default=None, kw_only=True)
    function: Callable[[Any], float] | None = field(default=None, kw_only=True)
    by_stage: Callable[[int, Any], float] | None = field(default=None, kw_only=True)
    step: float = field(default=1.0, kw_only=True)
    stages: Sequence[int] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        amounts = freeze_sequence(self.amounts, ("amounts",), "amounts", Amount)
        object.__setattr__(self, "amounts", amounts)
        object.__setattr__(self, "step", float_if_number(self.step))
        if self.table is not None:
            table = freeze_sequence(self.table, ("value", "table"), "a list of rewards")
            object.__setattr__(self, "table", tuple(map(float_if_number, table)))
        if self.points is not None:
            path = ("value", "points")
            listed = freeze_sequence(self.points, path, "a list of pairs of a sum and a reward")
            pairs = [
                freeze_sequence(each, (*path, k), "a pair of a sum and a reward")
                for k, each in enumerate(listed)
            ]
            points = tuple(tuple(map(float_if_number, pair)) for pair in pairs)
            object.__setattr__(self, "points", points)
        if self.stages is not None:
            stages = freeze_sequence(self.stages, ("stages",), "a list of stages")
            stages = tuple(int(t) if is_integer(t) else t for t in stages)
            object.__setattr__(self, "stages", stages)

    def __repr__(self) -> str:
        """The name, the agents and the kind of value: there may be very many amounts."""
        names = ", ".join(sorted({str(name) for each in self.amounts for name in each.when}))
        names = names if len(names) <= 60 else f"{names[:59]}…"
        kind = next((words for words, part in _kinds(self) if part is not None), "no value")
        return f"<Aggregate {self.name!r} of {names}: {kind}>"

    def counts_at(self, stage: int) -> bool:
        """Whether the reward can be earned at a stage."""
        return self.stages is None or stage in self.stages

    def values(self, units: int) -> tuple[float, ...]:
        """The rewards for sums of 0, 1, ... `units` steps, from the table or the points."""
        if self.table is not None:
            return tuple(self.table[: units + 1])
        assert self.points is not None
        at = [point for point, _ in self.points]
        rewards = [reward for _, reward in self.points]
        return tuple(_between(at, rewards, k * self.step) for k in range(units + 1))


def _kinds(aggregate: Aggregate) -> list[tuple[str, object]]:
    return [
        ("a table", aggregate.table),
        ("points", aggregate.points),
        ("a function", aggregate.function),
        ("a function of stages", aggregate.by_stage),
    ]


def _between(at: Sequence[float], rewards: Sequence[float], wanted: float) -> float:
    """A piecewise linear function that is constant beyond its ends."""
    right = bisect.bisect_left(at, wanted)
    if right == len(at):
        return rewards[-1]
    if right == 0 or at[right] == wanted:
        return rewards[right]
    share = (wanted - at[right - 1]) / (at[right] - at[right - 1])
    return rewards[right - 1] + share * (rewards[right] - rewards[right - 1])


def units_of(amount: float, step: float) -> int | None:
    """The number of steps in an amount; None if it is no whole number."""
    units = round(amount / step)
    return units if abs(amount / step - units) <= _WHOLE * max(1, units) else None


def most_units(aggregate: Aggregate, agents: Mapping[str, Agent]) -> int:
    """The largest sum that can come up, in steps, whatever states the agents are in."""
    added: dict[str, dict[tuple[str, str], int]] = {}
    finders: dict[str, MatchingStates] = {}
    for each in aggregate.amounts:
        ((name, condition),) = each.when.items()
        agent = agents[name]
        if name not in finders:
            finders[name] = MatchingStates(agent.states, agent.features)
        states = finders[name].of(condition.state)
        units = units_of(each.amount, aggregate.step)
        assert units is not None
        mine = added.setdefault(name, {})
        tables = [agent.transitions, *(each.transitions for each in agent.transitions_at)]
        everywhere = itertools.chain.from_iterable(tables) if states is None else states
        for state in dict.fromkeys(everywhere):
            rows = (table.get(state, ()) for table in tables)
            for action in dict.fromkeys(itertools.chain.from_iterable(rows)):
                if condition.action is None or action in condition.action:
                    mine[state, action] = mine.get((state, action), 0) + units
    return sum(max(mine.values(), default=0) for mine in added.values())


def check_aggregate(
    aggregate: Aggregate,
    path: Path,
    names: Mapping[str, Vocabulary],
    agents: Mapping[str, Agent] | None,
    horizon: int,
) -> Iterable[Diagnostic]:
    """Find all mistakes in an aggregate.

    Parameters
    ----------
    aggregate, path
        The aggregate and its place.
    names
        What conditions may name, for each agent.
    agents
        The agents; None if they have mistakes themselves, so that sums are unknown.
    horizon
        The number of stages; 0 if it is wrong itself.
    """
    count = 0
    for problem in _check_parts(aggregate, path, names, horizon):
        count += 1
        yield problem
    if count or agents is None:
        return
    units = most_units(aggregate, agents)
    if units >= MOST_SUMS:
        yield Diagnostic(
            path,
            f"the amounts can add up to {found(units * aggregate.step)}, which is {units + 1:,} "
            f"different sums in steps of {found(aggregate.step)}; the most is {MOST_SUMS:,}. Use "
            "larger steps and round the amounts, or split the aggregate",
            relies_on=path,
        )
    elif aggregate.table is not None and len(aggregate.table) <= units:
        yield Diagnostic(
            (*path, "value", "table"),
            f"found {len(aggregate.table)} rewards; expected at least {units + 1}, because the "
            f"amounts can add up to {found(units * aggregate.step)}",
            relies_on=path,
        )
    elif aggregate.by_stage is not None:
        stages = horizon if aggregate.stages is None else len(set(aggregate.stages))
        if stages * (units + 1) > MOST_CALLS:
            yield Diagnostic(
                path,
                f"the function would be called {stages * (units + 1):,} times, for {stages:,} "
                f"stages and {units + 1:,} sums; the most is {MOST_CALLS:,}. Use larger steps, or "
                "name the stages at which it is needed",
                relies_on=path,
            )


def _check_parts(
    aggregate: Aggregate, path: Path, names: Mapping[str, Vocabulary], horizon: int
) -> Iterable[Diagnostic]:
    yield from check_name(aggregate.name, (*path, "name"), "the aggregate")
    yield from check_stages(aggregate.stages, (*path, "stages"), horizon)
    step = aggregate.step
    sound_step = is_number(step) and step > 0
    if not sound_step:
        yield Diagnostic(
            (*path, "step"), f"found {found(step)}; expected the step of amounts, a number above 0"
        )
    for k, each in enumerate(aggregate.amounts):
        here = (*path, "amounts", k)
        yield from _check_when(each.when, (*here, "when"), names)
        amount = each.amount
        if not is_number(amount) or amount < 0:
            yield Diagnostic(
                (*here, "amount"), f"found {found(amount)}; expected a number of at least 0"
            )
        elif sound_step and units_of(amount, step) is None:
            yield Diagnostic(
                (*here, "amount"),
                f"found {found(amount)}; expected a whole multiple of the step {found(step)}",
                relies_on=(*path, "step"),
            )
    given = [part for _, part in _kinds(aggregate) if part is not None]
    if len(given) != 1:
        what = "more than one" if given else "none"
        yield Diagnostic(
            (*path, "value"),
            f"found {what} of a table, points and a function; expected exactly one",
            relies_on=(*path, "value"),
        )
    if aggregate.table is not None:
        yield from _check_table(aggregate.table, (*path, "value", "table"))
    if aggregate.points is not None:
        yield from _check_points(aggregate.points, (*path, "value", "points"))
    for name in ("function", "by_stage"):
        function = getattr(aggregate, name)
        if function is not None and not callable(function):
            yield Diagnostic((*path, name), f"found {found(function)}; expected a function")


def _check_when(
    when: Mapping[str, Condition], path: Path, names: Mapping[str, Vocabulary]
) -> Iterable[Diagnostic]:
    if len(when) != 1:
        yield Diagnostic(
            path,
            f"found conditions of {len(when)} agents; expected one: an amount is added by a "
            "single agent",
            relies_on=path,
        )
    for name, condition in when.items():
        here = (*path, str(name))
        if name not in names:
            yield Diagnostic(
                here,
                unknown_name(name, "agent", list(names), "the problem"),
                relies_on=AGENT_NAMES,
                at_key=True,
            )
        elif not isinstance(condition, Condition):
            yield Diagnostic(here, f"found {found(condition)}; expected a Condition")
        else:
            if condition.next is not None:
                yield Diagnostic(
                    (*here, "next"),
                    "amounts depend on the state and the action only; drop the condition on the "
                    "next state",
                    at_key=True,
                )
            yield from check_condition(name, replace(condition, next=None), here, names[name])


def _check_table(table: Sequence[object], path: Path) -> Iterable[Diagnostic]:
    if not table:
        yield Diagnostic(path, "found an empty list; expected a reward for each sum")
    for k, reward in enumerate(table):
        yield from check_number(reward, (*path, k), "a reward")


def _check_points(points: Sequence[Sequence[object]], path: Path) -> Iterable[Diagnostic]:
    if not points:
        yield Diagnostic(path, "found an empty list; expected one or more points")
    last: float | None = None
    for k, point in enumerate(points):
        here = (*path, k)
        if len(point) != 2:
            yield Diagnostic(
                here,
                f"found [{', '.join(map(found, point))}]; expected a pair of a sum and a reward",
            )
            continue
        at, reward = point
        yield from check_number(at, (*here, 0), "a sum")
        yield from check_number(reward, (*here, 1), "a reward")
        if is_number(at):
            if last is not None and float(at) <= last:  # type: ignore[arg-type]
                yield Diagnostic(
                    (*here, 0),
                    f"found the sum {found(at)} after {found(last)}; expected increasing sums",
                )
            last = float(at)  # type: ignore[arg-type]


def tabulated(
    aggregate: Aggregate, path: Path, agents: Mapping[str, Agent], horizon: int
) -> list[Aggregate]:
    """Replace a function by its tables: an aggregate for each distinct one."""
    if aggregate.function is None and aggregate.by_stage is None:
        return [aggregate]
    whole = is_integer(aggregate.step)
    step = int(aggregate.step) if whole else aggregate.step
    sums = [k * step for k in range(most_units(aggregate, agents) + 1)]
    if aggregate.function is not None:
        table = tuple(_ask(aggregate.function, (total,), path) for total in sums)
        return [replace(aggregate, function=None, table=table)]
    assert aggregate.by_stage is not None
    stages = range(horizon) if aggregate.stages is None else sorted(set(aggregate.stages))
    tables: dict[tuple[float, ...], list[int]] = {}
    for stage in stages:
        table = tuple(_ask(aggregate.by_stage, (stage, total), path) for total in sums)
        tables.setdefault(table, []).append(stage)
    return [
        replace(
            aggregate,
            by_stage=None,
            table=table,
            stages=aggregate.stages if len(tables) == 1 else tuple(at),
        )
        for table, at in tables.items()
    ]


def _ask(function: Callable[..., float], given: tuple[Any, ...], path: Path) -> float:
    words = f"the sum {found(given[-1])}" + (f" at stage {given[0]}" if len(given) > 1 else "")
    try:
        value = function(*given)
    except Exception as error:
        raise ModelError(
            [Diagnostic(path, f"the function failed for {words}: {type(error).__name__}: {error}")]
        ) from error
    if not is_number(value):
        raise ModelError(
            [
                Diagnostic(
                    path, f"the function returned {found(value)} for {words}; expected a number"
                )
            ]
        )
    return float(value)


def conditions_of_amounts(aggregates: Iterable[Aggregate]) -> Iterable[tuple[Path, str, object]]:
    """The conditions of amounts, with their places and agents."""
    for k, aggregate in enumerate(aggregates):
        for number, each in enumerate(aggregate.amounts):
            for name, condition in each.when.items():
                yield ("aggregates", k, "amounts", number, "when", name), name, condition
