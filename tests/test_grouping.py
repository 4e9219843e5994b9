"""Grouping of similar interactions: which values become one, and which stay."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from coreplan import TIMMDP, Agent, Condition, Entry, RewardFunction
from coreplan.model.grouping import group_numbers, group_values
from coreplan.model.indexed import StageValue
from coreplan.model.rewards import TransitionRewards
from helpers import from_file
from strategies import problem_dicts

NUMBERS = st.lists(st.integers(-30, 30).map(float) | st.floats(-1e6, 1e6), max_size=12)
TOLERANCES = st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0]) | st.floats(0, 1e3)


@given(numbers=NUMBERS, tolerance=TOLERANCES)
def test_numbers_move_little(numbers: list[float], tolerance: float) -> None:
    """Small numbers become 0, others move by at most half the tolerance; the order stays."""
    grouped = group_numbers(numbers, tolerance)
    assert set(grouped) == set(numbers)
    for number, group in grouped.items():
        if abs(number) <= tolerance:
            assert group == 0
        else:
            assert (group > 0) == (number > 0)
            assert group != 0
            assert abs(group - number) <= tolerance / 2 + 1e-9
    assert list(grouped) == sorted(grouped)
    assert list(grouped.values()) == sorted(grouped.values())
    assert group_numbers(reversed(numbers), tolerance) == grouped


def test_groups_are_as_large_as_the_tolerance_allows() -> None:
    """A group begins at the smallest number that is left and ends at most a tolerance later."""
    assert group_numbers([4.0, 5.0, 6.5, 7.0, 9.5], 3.0) == {
        4.0: 5.5,
        5.0: 5.5,
        6.5: 5.5,
        7.0: 5.5,
        9.5: 9.5,
    }
    assert group_numbers([3.0, -3.0, 3.5, -4.0], 3.0) == {-4.0: -4.0, -3.0: 0, 3.0: 0, 3.5: 3.5}
    assert group_numbers([7.0, 1e300], float("inf")) == {7.0: 0.0, 1e300: 0.0}


def worker(name: str) -> Agent:
    """Has one state and does nothing, or one of three jobs."""
    return Agent(name, "s", {"s": {each: {"s": 1.0} for each in ("no", "a", "b", "c")}})


def pair(*entries: tuple[str, str, float, tuple[int, ...] | None]) -> TIMMDP:
    """Two workers, with a reward for each given pair of jobs."""
    made = tuple(
        Entry({"one": Condition(action=left), "two": Condition(action=right)}, value, stages)
        for left, right, value, stages in entries
    )
    return TIMMDP((worker("one"), worker("two")), (RewardFunction(("one", "two"), made),), 4)


def test_only_entries_that_can_meet_are_grouped() -> None:
    """Similar values stay apart if no transition of an agent can match both entries."""
    problem = pair(("a", "a", -50, None), ("a", "b", -52, None), ("c", "c", -52, None))
    assert group_values(problem.index(), 2.0) == [
        (StageValue(-51.0, None),),
        (StageValue(-51.0, None),),
        (StageValue(-52.0, None),),
    ]


def test_stages_are_grouped_one_by_one() -> None:
    """An entry has several values if others that are similar to it count at some stages only."""
    problem = pair(("a", "a", -50, None), ("a", "b", -52, (1, 3)), ("a", "c", -1, (0,)))
    assert group_values(problem.index(), 2.0) == [
        (StageValue(-50.0, (0, 2)), StageValue(-51.0, (1, 3))),
        (StageValue(-51.0, (1, 3)),),
        (StageValue(0.0, (0,)),),
    ]
    # Without the stages of the entry that is dropped: the same value at all stages.
    problem = pair(("a", "a", -50, None), ("a", "b", -1, (1, 3)))
    assert group_values(problem.index(), 2.0)[0] == (StageValue(-50.0, None),)


def test_rewards_of_one_agent_stay() -> None:
    """Entries that look at one agent keep their values, also if they name several."""
    own = Entry({"one": Condition(action="a"), "two": Condition()}, 1.0)
    problem = TIMMDP(
        (worker("one"), worker("two")), (RewardFunction(("one", "two"), (own,)),), horizon=2
    )
    assert group_values(problem.index(), 5.0) == [(StageValue(1.0, None),)]


@given(raw=problem_dicts(), tolerance=TOLERANCES)
def test_problems_take_the_new_values(raw: dict[str, Any], tolerance: float) -> None:
    """Every joint transition earns in the changed problem what its entries' new values say."""
    problem = from_file(raw)
    indexed = problem.index()
    values = group_values(indexed, tolerance)
    for entry, given_values in zip(indexed.entries, values, strict=True):
        listed = [stage for each in given_values for stage in each.stages or ()]
        assert len(listed) == len(set(listed))
        if any(each.stages is None for each in given_values):
            assert len(given_values) == 1
            assert entry.stages is None
        else:
            assert set(listed) == set(
                range(indexed.horizon) if entry.stages is None else entry.stages
            )
    expected = [
        entry._replace(value=each.value, stages=each.stages)
        for entry, given_values in zip(indexed.entries, values, strict=True)
        for each in given_values
    ]
    changed = problem.with_values(values).index()
    indexed.entries = expected
    before, after = TransitionRewards(indexed), TransitionRewards(changed)
    for stage in range(indexed.horizon):
        for shift in range(6):
            moves = [shift % len(agent.outcome_next) for agent in indexed.agents]
            assert abs(before.total(stage, moves) - after.total(stage, moves)) <= 1e-9 * max(
                1.0, sum(abs(entry.value) for entry in expected)
            )


@given(raw=problem_dicts())
def test_tolerance_zero_changes_nothing(raw: dict[str, Any]) -> None:
    """With tolerance 0 every entry keeps its value and stages."""
    indexed = from_file(raw).index()
    assert group_values(indexed, 0.0) == [
        (StageValue(entry.value, entry.stages),) for entry in indexed.entries
    ]
