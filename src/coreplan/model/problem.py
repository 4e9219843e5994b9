"""The interface of problems: what a domain provides to use all of coreplan."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from coreplan.errors import ModelError, SolverError
from coreplan.model.indexed import IndexedProblem, JointState, StageValue
from coreplan.support.checks import found
from coreplan.support.language import marked
from coreplan.support.late import late

if TYPE_CHECKING:
    import numpy as np

    from coreplan.analysis.dynamics import Dynamics
    from coreplan.analysis.sequences import ExecutionSequence, Returns
    from coreplan.policies.policy import Policy
    from coreplan.solving.limits import Limits

Guard = Callable[[int], None]
"""Called with the number of states made so far; raises an error when a limit is reached."""


def no_limits(_: int) -> None:
    """A guard without limits."""


class Words(NamedTuple):
    """The terms of a domain in texts for people."""

    kind: str = "problem"
    """The term for the problem."""
    agent: str = marked("agent")
    stage: str = "stage"
    """The term for a step in time."""
    money: bool = False
    """Whether values are amounts of money; texts then speak of costs and earnings."""


class RewardKind(NamedTuple):
    """What people say of rewards of one kind (:class:`~coreplan.model.indexed.IndexedEntry`)."""

    verb: str = ""
    """How people say that it takes something from the value, such as ``costs``; empty where they
    speak of more or less of it."""
    event: str = ""
    """Where a reward is earned at most once: what has happened then, such as ``completed``."""
    more: str = ""
    """The sentence where it is more, or costs more, with ``{subject}`` and ``{amount}``, marked for
    the catalogues of translations; if empty, made from the other words, in English."""
    less: str = ""
    """The same where it is less."""
    chances: str = ""
    """The remark on the chances of the event, with ``{now}`` and ``{then}``."""


class StateVariable(NamedTuple):
    """A variable that describes one part of an agent's local state."""

    name: str
    """Its name, such as the name of a task."""
    size: int
    """The number of its values, which are 0, 1, ... size - 1."""


class FactoredStates(NamedTuple):
    """The local states of one agent, each as one value per variable."""

    variables: tuple[StateVariable, ...]
    values: Sequence[Sequence[int]]
    """For each local state: the value of each variable. No two states have the same values."""


class PlanningProblem(ABC):
    """A problem of any domain: agents that move independently, and rewards for their moves.

    A domain describes a problem in its own terms and numbers its states and actions in
    :meth:`index`. coreplan can then solve, evaluate, simulate, explain, draw, export and save it.
    The easiest way to a new domain is a :class:`TranslatedProblem`.

    Attributes
    ----------
    name
        The name of the problem, for people.
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
        """Number states, actions and conditions, for planning from a stage and joint state on.

        Parameters
        ----------
        history
            Whether states remember as much as in the literature, even if less is enough.
        stage, state
            Where planning starts; by default at the beginning.
        guard
            Called regularly with the number of states made so far.
        """

    def __repr__(self) -> str:
        """The name and the size: the whole content may be very large."""
        agents = f"{len(self.agent_names):,} {self.words.agent}"
        agents += "" if len(self.agent_names) == 1 else "s"
        name = self.name if len(self.name) <= 60 else f"{self.name[:59]}…"
        return f"<{type(self).__name__} {name!r}: {agents}, horizon {self.horizon:,}>"

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The content of the problem's file, with its ``format``."""

    def content(self) -> dict[str, Any]:
        """All that identifies the problem: saved plans and proofs belong to this content.

        By default the content of its file; a problem with parts that its file does not have adds
        them.
        """
        return self.to_dict()

    @property
    def dynamics(self) -> Dynamics:
        """The problem as an environment: actions, outcomes, rewards and random steps."""
        made: Dynamics = late("PlanningProblem.dynamics")(self)
        return made

    def reward(
        self, stage: int, state: JointState, action: Mapping[str, str], after: JointState
    ) -> float:
        """The reward for a joint transition: :meth:`coreplan.analysis.Dynamics.reward`."""
        return self.dynamics.reward(stage, state, action, after)

    def sample(
        self,
        stage: int,
        state: JointState,
        action: Mapping[str, str],
        random: np.random.Generator,
    ) -> dict[str, Any]:
        """A random next joint state: :meth:`coreplan.analysis.Dynamics.sample`."""
        return self.dynamics.sample(stage, state, action, random)

    def step(
        self,
        stage: int,
        state: JointState,
        action: Mapping[str, str],
        random: np.random.Generator,
    ) -> tuple[dict[str, Any], float, bool]:
        """A random next joint state, the reward, and whether that was the last decision.

        See :meth:`coreplan.analysis.Dynamics.step`.
        """
        return self.dynamics.step(stage, state, action, random)

    @property
    def file_format(self) -> str:
        """The name of the format that its files are in, such as ``ti-mmdp/1``."""
        return str(self.to_dict()["format"])

    @property
    @abstractmethod
    def agent_names(self) -> tuple[str, ...]:
        """The agents' names."""

    @property
    def words(self) -> Words:
        """The terms of the domain in texts for people."""
        return Words()

    @property
    def reward_kinds(self) -> Mapping[str, RewardKind]:
        """What is said of rewards, by their kind; of others, how much more or less they add."""
        return {}

    def read_state(self, agent: str, given: Any) -> Any:
        """Check a local state from a user; raises a ModelError if the agent does not have it."""
        return given

    def read_plan(
        self,
        plan: Mapping[str, Any],
        *,
        stage: int = 0,
        state: JointState | None = None,
        limits: Limits | None = None,
    ) -> Policy:
        """Turn a plan in the notation of the domain, for instance a schedule, into a policy."""
        raise SolverError(
            f"found {found(plan)}; plans of this kind of problem are policies: expected a Policy"
        )

    def state_variables(self, indexed: IndexedProblem, agent: int) -> FactoredStates:
        """The local states of an agent as values of variables.

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

    def with_values(self, values: Sequence[Sequence[StageValue]]) -> PlanningProblem:
        """Make the same problem with other values of rewards for several agents.

        :func:`coreplan.solving.simplify` uses it. States and actions must stay the same.

        Parameters
        ----------
        values
            For each entry of the indexed problem: its values by stage, 0 where it is dropped.
            Entries that name one agent have their own value.
        """
        raise SolverError(
            f"{type(self).__name__} has no method with_values, so its problems cannot be "
            "simplified; add the method, or translate the problem into a TIMMDP"
        )

    def money(self, indexed: IndexedProblem, value: float, amounts: Sequence[float]) -> Any:
        """Divide a value into parts, given the amount of each entry; None without parts."""
        return None

    def remarks(
        self,
        indexed: IndexedProblem,
        stage: int,
        state: Sequence[int],
        choices: Sequence[int],
        usual: Sequence[int] | None,
    ) -> list[str]:
        """Remarks for people on choices in a joint state; by default none.

        Parameters
        ----------
        indexed, stage, state, choices
            The situation, by numbers.
        usual
            Other choices to compare with; the remarks then cover only the differences.
        """
        return []

    def returns(self, sequence: ExecutionSequence) -> Returns:
        """The return of an execution sequence (paper, Eq. 3), in total and per reward function."""
        made: Returns = late("PlanningProblem.returns")(self, sequence)
        return made

    def _repr_html_(self) -> str:
        return str(late("PlanningProblem.html")(self))


def problem_hash(problem: PlanningProblem) -> str:
    """The SHA-256 of the content of a problem."""
    text = json.dumps(problem.content(), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def index_problem(
    problem: PlanningProblem,
    *,
    history: bool = False,
    stage: int = 0,
    state: JointState | None = None,
    guard: Guard = no_limits,
) -> IndexedProblem:
    """Check the stage, then let the problem number its states and actions."""
    if isinstance(stage, bool) or not isinstance(stage, int) or not 0 <= stage < problem.horizon:
        raise ModelError(
            f"stage is {found(stage)}; expected a whole number from 0 to {problem.horizon - 1}"
        )
    return problem.index(history=history, stage=stage, state=state, guard=guard)
