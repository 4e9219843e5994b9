"""The states of contractors: finished tasks, the current task, and its remaining steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from coreplan.domains.maintenance.parts import Contractor
from coreplan.errors import ModelError
from coreplan.model.indexed import Known
from coreplan.model.problem import FactoredStates, StateVariable
from coreplan.model.values import Cell, plain_value, value_columns
from coreplan.support.checks import found, is_integer, unknown_name
from coreplan.support.frozen import FrozenMapping

IDLE = -1
WAIT, CONTINUE, START = 0, 1, 2
"""The numbers of a contractor's actions; START + k starts task k."""


@dataclass(frozen=True)
class ContractorState:
    """The state of a contractor at the beginning of a stage.

    Parameters
    ----------
    done
        The completed tasks.
    doing
        The current task; None if the contractor is idle.
    remaining
        The remaining steps of the current task, at least 1 (0 if idle).
    times
        The first and last stage of each task started so far; None if they are not recorded.
    starting
        The task that an idle contractor has to start in this stage, because its start is decided
        already; whether it is delayed becomes known one step later. Only for the beginning of a
        plan.

    Examples
    --------
    >>> ContractorState(done=("a2",), doing="a1", remaining=2)
    ContractorState(done=('a2',), doing='a1', remaining=2)
    """

    done: tuple[str, ...] = ()
    doing: str | None = None
    remaining: int = 0
    times: Mapping[str, tuple[int, int]] | None = None
    starting: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.done, str) or not isinstance(self.done, Iterable):
            raise ModelError(f"found done = {found(self.done)}; expected a list of works")
        object.__setattr__(self, "done", tuple(self.done))
        if self.times is not None:
            object.__setattr__(self, "times", _freeze_times(self.times))

    def __repr__(self) -> str:
        parts = [f"done={self.done!r}"]
        if self.doing is not None:
            parts += [f"doing={self.doing!r}", f"remaining={self.remaining!r}"]
        if self.times is not None:
            parts.append(f"times={self.times!r}")
        if self.starting is not None:
            parts.append(f"starting={self.starting!r}")
        return f"ContractorState({', '.join(parts)})"

    def __str__(self) -> str:
        now = "idle" if self.starting is None else f"starts {self.starting}"
        if self.doing is not None:
            left = "1 step" if self.remaining == 1 else f"{self.remaining:,} steps"
            now = f"works on {self.doing}, {left} left"
        return f"{now}; done: {', '.join(self.done)}" if self.done else now


@plain_value.register
def _plain_state(state: ContractorState) -> dict[str, Any]:
    """The state as a mapping, with the keys of state files."""
    written: dict[str, Any] = {"done": list(state.done)}
    if state.doing is not None:
        written |= {"doing": state.doing, "remaining": state.remaining}
    if state.times:
        written["times"] = {name: list(each) for name, each in state.times.items()}
    if state.starting is not None:
        written["starting"] = state.starting
    return written


@value_columns.register
def _state_columns(state: ContractorState) -> dict[str, Cell]:
    """The state as columns of a table."""
    return {"done": ", ".join(state.done), "doing": state.doing, "remaining": state.remaining}


def _freeze_times(times: object) -> FrozenMapping[str, tuple[int, int]]:
    if isinstance(times, Mapping):
        ends = [tuple(each) if isinstance(each, Sequence) else () for each in times.values()]
        if all(len(each) == 2 and all(is_integer(end) for end in each) for each in ends):
            pairs = [(int(first), int(last)) for first, last in ends]
            return FrozenMapping(dict(zip(times, pairs, strict=True)))
    raise ModelError(f"found times = {found(times)}; expected work: [first step, last step]")


def start_action(task: str) -> str:
    """The name of the action that starts a task."""
    return f"start {task}"


class LocalState(NamedTuple):
    """A local state in numbers: a set of tasks to do, the current task or IDLE, steps remaining."""

    todo: int
    current: int
    remaining: int


class History(NamedTuple):
    """A local state with its stage and the first and last stage of each started task."""

    stage: int
    state: LocalState
    times: tuple[tuple[int, int] | None, ...]


class ContractorStates:
    """The local states of one contractor, with or without start and end times.

    Parameters
    ----------
    contractor
        The contractor.
    states
        Its states.
    starting
        The number of the task whose start is decided already, if any.
    """

    def __init__(
        self,
        contractor: Contractor,
        states: Iterable[LocalState | History],
        starting: int | None = None,
    ) -> None:
        self._contractor = contractor
        self._starting = starting
        self._names = [task.name for task in contractor.tasks]
        self.states = list(states)
        self.index = {state: k for k, state in enumerate(self.states)}
        # A state given without times may stand for any history that leads to it.
        self._any_history = {
            (state.stage, state.state): k
            for k, state in enumerate(self.states)
            if isinstance(state, History)
        }
        self.remembers = bool(self._any_history)

    def __len__(self) -> int:
        return len(self.states)

    def find(self, stage: int, given: Any) -> int:
        """Find the number of a state, given as a ContractorState, a mapping or a label."""
        if isinstance(given, str):
            for k, state in enumerate(self.states):
                if self.label(k) == given and (
                    isinstance(state, LocalState) or state.stage == stage
                ):
                    return k
            raise self._unreachable(stage, given)
        wanted = read_state(self._contractor, given)
        local = to_local(self._contractor, wanted)
        if self.remembers:
            if wanted.times is not None:
                times = tuple(wanted.times.get(name) for name in self._names)
                found_at = self.index.get(History(stage, local, times))
            else:
                found_at = self._any_history.get((stage, local))
        else:
            found_at = self.index.get(local)
        if found_at is None:
            raise self._unreachable(stage, wanted)
        return found_at

    def lines(self, index: int) -> list[str]:
        """The parts of a state's label, without the stage: pictures show it elsewhere."""
        parts = self.label(index).split("/")
        return parts[1:] if isinstance(self.states[index], History) else parts

    def local(self, index: int) -> LocalState:
        """The state of a number, without start and end times."""
        state = self.states[index]
        return state.state if isinstance(state, History) else state

    situation = local

    def without_past(self, value: Any) -> Any:
        """Remove start and end times from a state."""
        return dataclasses.replace(value, times=None)

    def gives_past(self, value: Any) -> bool:
        """Whether a state has start and end times; labels always have them."""
        if isinstance(value, ContractorState):
            return value.times is not None
        return not isinstance(value, Mapping) or value.get("times") is not None

    def outcome(self, action: int, after: int) -> Known:
        """The fact that becomes known after a start: whether the task is delayed."""
        task = self._contractor.tasks[action - START]
        # The state after the start has one step of work less.
        delayed = self.local(after).remaining + 1 > task.duration
        text = f"{task.name} is delayed" if delayed else f"{task.name} is not delayed"
        return Known(text, task.name, delayed)

    def achieved(self, index: int) -> frozenset[str]:
        """The completed tasks of a state."""
        return frozenset(self.value(index).done)

    def _unreachable(self, stage: int, given: object) -> ModelError:
        shown = repr(given) if isinstance(given, str) else f"'{given}'"
        return ModelError(
            f"contractor {found(self._contractor.name)} cannot be in this state in step {stage}: "
            f"found {shown}; check `done`, `doing` and `remaining`"
        )

    def original(self, index: int) -> ContractorState:
        """The same as :meth:`value`."""
        return self.value(index)

    def value(self, index: int) -> ContractorState:
        """The state of a number, with names."""
        state, local = self.states[index], self.local(index)
        done = tuple(
            name
            for k, name in enumerate(self._names)
            if not local.todo >> k & 1 and k != local.current
        )
        times = None
        if isinstance(state, History):
            times = FrozenMapping(
                {
                    name: each
                    for name, each in zip(self._names, state.times, strict=True)
                    if each is not None
                }
            )
        doing = None if local.current == IDLE else self._names[local.current]
        starting = None
        if self._starting is not None and local.todo >> self._starting & 1:
            starting = self._names[self._starting]
        return ContractorState(done, doing, local.remaining, times, starting)

    def by_task(self) -> FactoredStates:
        """One variable per task: 0 for to do, the number of steps left, or a last value: done."""
        locals_ = [self.local(k) for k in range(len(self.states))]
        longest = [
            max((each.remaining for each in locals_ if each.current == k), default=0)
            for k in range(len(self._names))
        ]

        def value(state: LocalState, k: int) -> int:
            if state.todo >> k & 1:
                return 0
            return state.remaining if state.current == k else longest[k] + 1

        return FactoredStates(
            tuple(
                StateVariable(name, most + 2)
                for name, most in zip(self._names, longest, strict=True)
            ),
            [tuple(value(each, k) for k in range(len(self._names))) for each in locals_],
        )

    def label(self, index: int) -> str:
        """Write a state as one unique line; names contain no slash, which separates its parts."""
        state = self.states[index]
        return label_of(
            self._names, self.local(index), state if isinstance(state, History) else None
        )


def label_of(names: list[str], local: LocalState, history: History | None = None) -> str:
    """The name of a local state in a TI-MMDP, for instance ``a1, 2 left/to do a2``."""
    todo = [f"to do {name}" for k, name in enumerate(names) if local.todo >> k & 1]
    if local.current == IDLE:
        head = "idle" if todo else "finished"
    else:
        head = f"{names[local.current]}, {local.remaining} left"
    parts = [head, *todo]
    if history is not None:
        parts = [f"stage {history.stage}", *parts] + [
            f"{name} from {each[0]} to {each[1]}"
            for name, each in zip(names, history.times, strict=True)
            if each is not None
        ]
    return "/".join(parts)


def read_state(contractor: Contractor, given: Any) -> ContractorState:
    """Read a state given as a ContractorState or as a mapping with its parts."""
    if isinstance(given, ContractorState):
        return given
    whose = f"contractor {found(contractor.name)}"
    if not isinstance(given, Mapping):
        raise ModelError(
            f"{whose}: found {found(given)}; expected what it has done and is doing, for instance "
            "{done: [a2], doing: a1, remaining: 2}"
        )
    parts = [each.name for each in dataclasses.fields(ContractorState)]
    for key in given:
        if key not in parts:
            raise ModelError(unknown_name(key, "part", parts, f"the state of {whose}"))
    try:
        return ContractorState(**given)
    except ModelError as error:
        raise ModelError(f"{whose}: {error}") from None


def known_times(
    contractor: Contractor, given: ContractorState, stage: int
) -> tuple[tuple[int, int] | None, ...]:
    """The times of the tasks started so far; None for a task whose times are not known.

    A current task without times counts as started at this stage.
    """
    times = dict(given.times or {})
    whose = f"contractor {found(contractor.name)}"
    if given.doing is not None:
        last = stage + int(given.remaining) - 1
        times.setdefault(given.doing, (stage, last))
        if times[given.doing][1] != last:
            raise ModelError(
                f"{whose}: found {times[given.doing][1]} as the last step of work "
                f"{found(given.doing)}; expected {last}, since {given.remaining} steps remain "
                f"in step {stage}"
            )
    return tuple(times.get(task.name) for task in contractor.tasks)


def to_local(contractor: Contractor, given: ContractorState) -> LocalState:
    """Translate a state into numbers; a ModelError if this contractor cannot have it."""
    names = [task.name for task in contractor.tasks]
    whose = f"contractor {found(contractor.name)}"
    todo = (1 << len(names)) - 1
    for name in given.done:
        if name not in names:
            raise ModelError(unknown_name(name, "work", names, whose))
        todo &= ~(1 << names.index(name))
    for name in given.times or ():
        if name not in names:
            raise ModelError(unknown_name(name, "work", names, whose))
        if name not in given.done and name != given.doing:
            raise ModelError(
                f"{whose}: work {found(name)} has times but is neither done nor being done; add "
                "it to `done`, or remove its times"
            )
    if given.starting is not None:
        if given.starting not in names:
            raise ModelError(unknown_name(given.starting, "work", names, whose))
        if given.doing is not None or not todo >> names.index(given.starting) & 1:
            raise ModelError(
                f"{whose}: work {found(given.starting)} cannot be started: it is done, or another "
                "work is under way; remove `starting`, or correct `done` and `doing`"
            )
    if given.doing is None:
        if given.remaining:
            raise ModelError(
                f"{whose}: found `remaining` {found(given.remaining)} but no work; give the work "
                "under `doing`"
            )
        return LocalState(todo, IDLE, 0)
    if given.doing not in names:
        raise ModelError(unknown_name(given.doing, "work", names, whose))
    current = names.index(given.doing)
    if not todo >> current & 1:
        raise ModelError(
            f"{whose}: work {found(given.doing)} is both done and being done; remove one of them"
        )
    if not is_integer(given.remaining) or given.remaining < 1:
        raise ModelError(
            f"{whose}: found `remaining` {found(given.remaining)} for work {found(given.doing)}; "
            "expected the remaining steps, a whole number of at least 1"
        )
    return LocalState(todo & ~(1 << current), current, int(given.remaining))
