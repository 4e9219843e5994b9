"""The parts of a maintenance problem: contractors, tasks, delays, hindrance, closed steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coreplan.support.checks import is_integer, is_number
from coreplan.support.frozen import freeze_sequence

Cost = float | tuple[float, ...]
"""A cost per step: one number, or one number for each stage."""


def _freeze_cost(cost: object) -> object:
    if isinstance(cost, Sequence) and not isinstance(cost, str):
        return tuple(float(each) if is_number(each) else each for each in cost)
    return float(cost) if is_number(cost) else cost  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Delay:
    """The probability of a delay, and its length in steps."""

    probability: float
    duration: int

    def __post_init__(self) -> None:
        if is_number(self.probability):
            object.__setattr__(self, "probability", float(self.probability))
        if is_integer(self.duration):
            object.__setattr__(self, "duration", int(self.duration))


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work of a contractor, with its duration and cost.

    Parameters
    ----------
    name
        The name, without ``/``.
    duration
        The number of steps without a delay, at least 1.
    cost
        Cost per step of work: a number, or one number for each stage.
    delay
        The possible delay; None if the task is never delayed. It becomes known one step after the
        start.
    revenue
        The money earned when the task is completed.
    window
        The first and last stage at which the task may start; None for any stage.
    """

    name: str
    duration: int
    cost: Cost
    delay: Delay | None = None
    revenue: float = 0.0
    window: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if is_integer(self.duration):
            object.__setattr__(self, "duration", int(self.duration))
        object.__setattr__(self, "cost", _freeze_cost(self.cost))
        if is_number(self.revenue):
            object.__setattr__(self, "revenue", float(self.revenue))
        if isinstance(self.window, Sequence) and not isinstance(self.window, str):
            window = tuple(int(t) if is_integer(t) else t for t in self.window)
            object.__setattr__(self, "window", window)

    @property
    def durations(self) -> tuple[tuple[float, int], ...]:
        """The possible durations, each as (probability > 0, steps)."""
        if self.delay is None or self.delay.probability == 0:
            return ((1.0, self.duration),)
        longer = (self.delay.probability, self.duration + self.delay.duration)
        if self.delay.probability == 1:
            return (longer,)
        return ((1 - self.delay.probability, self.duration), longer)


@dataclass(frozen=True)
class Contractor:
    """Who does some tasks, one at a time: an agent of the problem."""

    name: str
    tasks: Sequence[Task] = ()

    def __post_init__(self) -> None:
        tasks = freeze_sequence(self.tasks, ("tasks",), "a list of works", Task)
        object.__setattr__(self, "tasks", tasks)


@dataclass(frozen=True, slots=True)
class Closure:
    """Consecutive steps in which no work may start, or no work may run.

    Parameters
    ----------
    first, last
        The first and the last closed stage; the last one may be beyond the horizon.
    no
        ``work``: a task may start only if it never runs in these stages, delayed or not, because
        works are not interrupted; ``start``: it may not start in them.
    name
        Words for people; they do not change the problem.
    """

    first: int
    last: int
    no: str = "work"
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for key in ("first", "last"):
            if is_integer(getattr(self, key)):
                object.__setattr__(self, key, int(getattr(self, key)))


@dataclass(frozen=True, slots=True)
class Hindrance:
    """The extra cost of each step in which all these tasks are worked on.

    Parameters
    ----------
    tasks
        Two or more tasks of different contractors: ``("Alpha/a1", "Beta/b1")``.
    cost
        Cost per step: a number, or one number for each stage.
    """

    tasks: Sequence[str]
    cost: Cost

    def __post_init__(self) -> None:
        tasks = freeze_sequence(self.tasks, ("tasks",), "a list of works, each 'contractor/work'")
        object.__setattr__(self, "tasks", tasks)
        object.__setattr__(self, "cost", _freeze_cost(self.cost))
