"""What a problem of any domain has to give; everything else is done for it."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from coreplan.errors import ModelError, SolverError
from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.support.checks import found
from coreplan.support.late import late

if TYPE_CHECKING:
    from coreplan.analysis.sequences import ExecutionSequence, Returns
    from coreplan.policies.policy import Policy
    from coreplan.solving.limits import Limits

Guard = Callable[[int], None]
"""Called with the number of states made so far; raises an error when a limit strikes."""


def no_limits(_: int) -> None:
    """The guard that never objects."""


class Words(NamedTuple):
    """What things are called in a domain, for people."""

    kind: str = "problem"
    """The problem itself."""
    agent: str = "agent"
    stage: str = "stage"
    """A step in time."""
    money: bool = False
    """Whether values are amounts of money: then people speak of costs and earnings."""


class StateVariable(NamedTuple):
    """A variable that describes one aspect of an agent's local state."""

    name: str
    """A name for people, such as a task's."""
    size: int
    """The number of its values, which are 0, 1, ... size - 1."""


class FactoredStates(NamedTuple):
    """The local states of one agent, each written as one value per variable."""

    variables: tuple[StateVariable, ...]
    values: Sequence[Sequence[int]]
    """Per local state: the value of each variable. No two states have the same values."""


class PlanningProblem(ABC):
    """A problem of some domain: agents that move on their own, and rewards for what they do.

    A domain describes a problem in its own words and gives it in numbers, see :meth:`index`. Then
    it can be solved, evaluated, simulated, explained, drawn, exported and saved like any other. The
    easiest way is a :class:`TranslatedProblem`.

    Attributes
    ----------
    name
        What to call it.
    horizon
        The number of stages.
    """

    name: str
    horizon: int

    @abstractmethod
    def index(
        self,
        *,
        history: bool = False,
        stage: int = 0,
        state: JointState | None = None,
        guard: Guard = no_limits,
    ) -> IndexedProblem:
        """The problem in numbers, to be planned from a stage and joint state on.

        Parameters
        ----------
        history
            Whether states remember all that the literature has them remember, if that is more than
            is needed.
        stage, state
            Where planning starts; by default at the beginning.
        guard
            Called once in a while with the number of states made so far.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The problem as files have it, with its ``format``."""

    @property
    @abstractmethod
    def agent_names(self) -> tuple[str, ...]:
        """The agents' names."""

    @property
    def words(self) -> Words:
        """What things are called."""
        return Words()

    def read_state(self, agent: str, given: Any) -> Any:
        """A local state as people give it, checked; a ModelError if the agent has no such state."""
        return given

    def read_plan(
        self,
        plan: Mapping[str, Any],
        *,
        stage: int = 0,
        state: JointState | None = None,
        limits: Limits | None = None,
    ) -> Policy:
        """A plan that is no policy, as people of the domain write it, made into one."""
        raise SolverError(
            "a schedule is for a maintenance problem; expected a Policy for this problem"
        )

    def state_variables(self, indexed: IndexedProblem, agent: int) -> FactoredStates:
        """The variables that people would describe an agent's local states with.

        By default one variable, whose values are the states themselves. Solvers that work on
        variables use it, see docs/spudd.md.

        Parameters
        ----------
        indexed
            The problem in numbers, without history.
        agent
            The number of the agent.
        """
        described = indexed.agents[agent]
        count = len(described.states)
        return FactoredStates(
            (StateVariable(described.name, count),), [(state,) for state in range(count)]
        )

    def money(self, indexed: IndexedProblem, value: float, amounts: Sequence[float]) -> Any:
        """The parts of a value, given what each entry of the rewards adds; None: no such parts."""
        return None

    def remarks(
        self,
        indexed: IndexedProblem,
        stage: int,
        state: Sequence[int],
        choices: Sequence[int],
        usual: Sequence[int] | None,
    ) -> list[str]:
        """What is to be said of choices in a joint state, in words; nothing, by default.

        Parameters
        ----------
        indexed, stage, state, choices
            The situation, all in numbers.
        usual
            Other choices; then only what is new against them.
        """
        return []

    def returns(self, sequence: ExecutionSequence) -> Returns:
        """The return of an execution sequence (paper, Eq. 3), in total and per reward function."""
        made: Returns = late("PlanningProblem.returns")(self, sequence)
        return made

    def _repr_html_(self) -> str:
        return str(late("PlanningProblem.html")(self))


def problem_hash(problem: PlanningProblem) -> str:
    """A fingerprint of everything that a problem's file says."""
    text = json.dumps(problem.to_dict(), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def index_problem(
    problem: PlanningProblem,
    *,
    history: bool = False,
    stage: int = 0,
    state: JointState | None = None,
    guard: Guard = no_limits,
) -> IndexedProblem:
    """Turn any kind of problem into numbers, from a stage that is checked."""
    if isinstance(stage, bool) or not isinstance(stage, int) or not 0 <= stage < problem.horizon:
        raise ModelError(
            f"stage is {found(stage)}; expected a whole number from 0 to {problem.horizon - 1}"
        )
    return problem.index(history=history, stage=stage, state=state, guard=guard)
