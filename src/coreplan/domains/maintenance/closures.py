"""Closed steps: the starts that they leave to each task, and works that they leave no room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coreplan.support.language import say, say_count

if TYPE_CHECKING:
    from coreplan.domains.maintenance.parts import Closure, Task


def count_periods(closed: Sequence[Closure]) -> str:
    """The number of closed periods in words."""
    return say_count(len(closed), "{number:,} closed period", "{number:,} closed periods")


def closure_in_words(closure: Closure) -> str:
    """The name of a closure or, without one, its steps."""
    if closure.name:
        return closure.name
    if closure.first == closure.last:
        return say("step {step}", step=closure.first)
    return say("steps {first} to {last}", first=closure.first, last=closure.last)


def forbidden_starts(closure: Closure, task: Task) -> tuple[int, int]:
    """The first and last stage in which a closure forbids a task to start."""
    if closure.no == "start":
        return closure.first, closure.last
    longest = max(steps for _, steps in task.durations)
    return closure.first - longest + 1, closure.last


def start_ranges(
    task: Task, horizon: int, closed: Sequence[Closure]
) -> tuple[tuple[int, int], ...]:
    """The ranges of stages in which a task may start: its window without the forbidden starts.

    Examples
    --------
    >>> from coreplan.domains.maintenance.parts import Closure, Task
    >>> start_ranges(Task("a1", 2, cost=1), 10, [Closure(4, 5)])
    ((0, 2), (6, 9))
    >>> start_ranges(Task("a1", 2, cost=1, window=(3, 8)), 10, [Closure(4, 5, "start")])
    ((3, 3), (6, 8))
    """
    ranges = []
    first, end = task.window or (0, horizon - 1)
    for begin, last in sorted(forbidden_starts(each, task) for each in closed):
        if begin > end:
            break
        if first < begin:
            ranges.append((first, begin - 1))
        first = max(first, last + 1)
    if first <= end:
        ranges.append((first, end))
    return tuple(ranges)


def closures_against(task: Task, stage: int, closed: Sequence[Closure]) -> list[Closure]:
    """The closures that forbid a task to start in a stage."""
    against = []
    for closure in closed:
        first, last = forbidden_starts(closure, task)
        if first <= stage <= last:
            against.append(closure)
    return against
