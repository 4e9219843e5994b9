"""Which plan a command shows, and from which stage and state on: the same options everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from coreplan.cli.inputs import Given
from coreplan.cli.shared import (
    check_one_input,
    plan_options,
    read_own_plan,
    standing_options,
)
from coreplan.model.indexed import JointState
from coreplan.policies.policy import Policy
from coreplan.view.words import remark_on_plan

_ONE_PLAN = "give one plan: --policy FILE or --schedule FILE"


@dataclass(frozen=True)
class WhichPlan:
    """The answers to the options of :func:`which_plan_options`.

    Attributes
    ----------
    policy_file, schedule_file
        The file of a finished plan; at most one of them.
    stage, state_file
        The situation from which the plan is shown; both None for the start of the plan.
    required
        Whether there must be a plan: without a file, it is the planned starts of a works list.
    """

    policy_file: str | None
    schedule_file: str | None
    stage: int | None
    state_file: str | None
    required: bool = False

    @property
    def is_given(self) -> bool:
        """Whether a finished plan is given; otherwise the best one is to be found."""
        return self.policy_file is not None or self.schedule_file is not None

    @property
    def option(self) -> str:
        """The option that gave the plan, for messages."""
        return "--schedule" if self.schedule_file is not None else "--policy"

    def sources(
        self, file: str, hindrance: str | None = None, keep: str | None = None
    ) -> list[str]:
        """All input files; raises a usage error if two are the standard input."""
        files = {
            "FILE": file,
            "--hindrance": hindrance,
            "--keep": keep,
            "--policy": self.policy_file,
            "--schedule": self.schedule_file,
            "--state": self.state_file,
        }
        check_one_input(files)
        return [each for each in files.values() if each is not None]

    def read(self, given: Given) -> PlanFrom:
        """Read the files; with a calendar, they may give steps by their dates.

        A works list may give the situation (``--today``) and, if a plan is required, the plan.
        """
        problem, calendar = given.problem, given.calendar
        if self.required and not self.is_given and given.works is None:
            raise click.UsageError(f"{_ONE_PLAN}, or a works list with planned starts")
        at, state = given.situation(self.stage, self.state_file)
        stage = at or 0
        policy, remark = None, ""
        if self.policy_file is not None:
            policy = Policy.load(self.policy_file, problem)
            if at is not None:
                policy = policy.starting_from(stage, state)
        elif self.schedule_file is not None:
            plan = read_own_plan(self.schedule_file, problem, calendar, stage=stage, state=state)
            policy = problem.read_plan(plan, stage=stage, state=state)
            remark = remark_on_plan(problem, plan)
        elif self.required and given.works is not None:
            policy = problem.read_plan(given.works.schedule(), stage=stage, state=state)
        return PlanFrom(policy, stage, state, remark)


@dataclass(frozen=True)
class PlanFrom:
    """A finished plan, or the situation from which to solve.

    Attributes
    ----------
    policy
        The plan, which starts in the given situation; None if it is to be found.
    stage, state
        The situation from which to solve.
    remark
        A remark on a given plan, for instance on works that it leaves out; or empty.
    """

    policy: Policy | None
    stage: int
    state: JointState | None
    remark: str

    @property
    def beginning(self) -> Mapping[str, Any]:
        """The stage and state as options of a solver."""
        return {"stage": self.stage, "state": self.state}


def which_plan_options(
    verb: str, *, required: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a command take a plan and a situation; it gets them as ``which``.

    Parameters
    ----------
    verb
        What the command does from the situation on, for the help: ``Show the plan``.
    required
        Whether a finished plan must be given, by a file or a works list; otherwise the problem is
        solved without one.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def collect(**parameters: Any) -> Any:
            names = ("policy_file", "schedule_file", "stage", "state_file")
            which = WhichPlan(**{name: parameters.pop(name) for name in names}, required=required)
            both = which.policy_file is not None and which.schedule_file is not None
            if both:
                raise click.UsageError(_ONE_PLAN)
            return command(which=which, **parameters)

        instead = "" if required else ", instead of the best one"
        return plan_options(standing_options(verb, default=None)(collect), instead)

    return add
