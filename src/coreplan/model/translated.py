"""Problems of a domain that are translated into a TI-MMDP: the easiest way to a domain."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

from coreplan.model.indexed import IndexedProblem, JointState
from coreplan.model.problem import Guard, PlanningProblem, no_limits
from coreplan.model.timmdp import TIMMDP


class TranslatedProblem(PlanningProblem):
    """A problem that says what it is as a TI-MMDP.

    A domain only has to give its `name`, its `horizon` and :meth:`to_timmdp`; its files are those
    of the TI-MMDP.
    """

    @abstractmethod
    def to_timmdp(self) -> TIMMDP:
        """The problem as agents with named states, and rewards."""

    @cached_property
    def translated(self) -> TIMMDP:
        """The same, made once."""
        return self.to_timmdp()

    @property
    def agent_names(self) -> tuple[str, ...]:
        """The agents' names."""
        return self.translated.agent_names

    def index(
        self,
        *,
        history: bool = False,
        stage: int = 0,
        state: JointState | None = None,
        guard: Guard = no_limits,
    ) -> IndexedProblem:
        """The problem in numbers."""
        return self.translated.index(history=history, stage=stage, state=state, guard=guard)

    @property
    def file_format(self) -> str:
        """The format of what it is translated into."""
        return self.translated.file_format

    def to_dict(self) -> dict[str, Any]:
        """The problem as ``ti-mmdp/1`` files have it."""
        return self.translated.to_dict()

    def read_state(self, agent: str, given: Any) -> Any:
        """The name of a state, checked."""
        return self.translated.read_state(agent, given)
