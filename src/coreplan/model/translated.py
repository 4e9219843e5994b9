"""Problems that are translated into a TI-MMDP: the easiest way to a new domain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from coreplan.model.indexed import IndexedProblem, JointState, StageValue
from coreplan.model.problem import Guard, PlanningProblem, no_limits
from coreplan.model.timmdp import TIMMDP


class TranslatedProblem(PlanningProblem):
    """A problem that describes itself as a TI-MMDP.

    A domain only needs `name`, `horizon` and :meth:`to_timmdp`. Its files are those of the TI-MMDP.
    """

    @abstractmethod
    def to_timmdp(self) -> TIMMDP:
        """Describe the problem by agents with named states, and rewards."""

    @cached_property
    def translated(self) -> TIMMDP:
        """The TI-MMDP of the problem, made on first use."""
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
        """Number states and actions, by way of the TI-MMDP."""
        return self.translated.index(history=history, stage=stage, state=state, guard=guard)

    @property
    def file_format(self) -> str:
        """The format of what it is translated into."""
        return self.translated.file_format

    def to_dict(self) -> dict[str, Any]:
        """The content of the problem's file, in the format ``ti-mmdp/1``."""
        return self.translated.to_dict()

    def with_values(self, values: Sequence[Sequence[StageValue]]) -> TIMMDP:
        """The TI-MMDP of the problem with other values of rewards for several agents."""
        return self.translated.with_values(values)

    def read_state(self, agent: str, given: Any) -> Any:
        """Check that an agent has a state of this name, and return the name."""
        return self.translated.read_state(agent, given)
