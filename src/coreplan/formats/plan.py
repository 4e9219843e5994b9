"""Files of plans: ``policy/1``, and the notation of a domain, for instance ``schedule/1``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from pathlib import Path
from typing import Any, NamedTuple

from coreplan.files.reading import Document, read_document
from coreplan.model.dated_steps import DatedSteps
from coreplan.model.indexed import JointState
from coreplan.model.problem import PlanningProblem
from coreplan.policies.policy import Policy, policy_of
from coreplan.policies.saving import FORMAT as POLICY


class PlanNotation(NamedTuple):
    """How a domain writes plans: files that are easier for people than a policy."""

    format: str
    """The value of ``format`` in the file, for instance ``schedule/1``. Files may leave it out."""
    read: Callable[[Document, int, JointState | None, DatedSteps], Mapping[str, Any]]
    """Makes a plan from a document, a stage, a joint state and the dates of steps, or raises a
    FormatError. The problem's ``read_plan`` turns the plan into a policy."""


@singledispatch
def plan_notation(problem: PlanningProblem) -> PlanNotation | None:
    """The notation for plans of a problem; None without one. A domain may register its own."""
    return None


def read_plan(
    path: str | Path,
    problem: PlanningProblem,
    *,
    stage: int = 0,
    state: JointState | None = None,
    steps: DatedSteps | None = None,
) -> Policy | Mapping[str, Any]:
    """Read a plan from a ``policy/1`` file or a file in the notation of the problem's domain.

    Parameters
    ----------
    path
        The file; ``-`` for the standard input.
    problem
        The problem of the plan.
    stage, state
        The stage and joint state to start from.
    steps
        Reads steps that are given as dates; by default dates are errors.
    """
    dated = DatedSteps(None) if steps is None else steps

    def make(document: Document) -> Policy | Mapping[str, Any]:
        name = document.root.get("format") if isinstance(document.root, dict) else None
        if name == POLICY:
            return policy_of(document, problem)
        notation = plan_notation(problem)
        if notation is None:
            document.check_format(POLICY)
        elif isinstance(name, str):
            document.check_format(POLICY, notation.format)
        assert notation is not None  # check_format has refused the document
        return notation.read(document, stage, state, dated)

    return read_document(path, make)
