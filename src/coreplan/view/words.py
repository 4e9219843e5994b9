"""Plans in words."""

from __future__ import annotations

from collections.abc import Sequence

from coreplan.compile import AnyProblem
from coreplan.maintenance.problem import MaintenanceProblem
from coreplan.maintenance.states import ContractorState
from coreplan.policy import Policy


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> count(1, "agent"), count(1200, "agent"), count(2, "entry", "entries")
    ('1 agent', '1,200 agents', '2 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def describe_problem(problem: AnyProblem) -> str:
    """One line that says how large a problem is."""
    if isinstance(problem, MaintenanceProblem):
        tasks = sum(len(contractor.tasks) for contractor in problem.contractors)
        parts = [
            count(len(problem.contractors), "contractor"),
            count(tasks, "task"),
            f"horizon {problem.horizon}",
            count(len(problem.network), "hindrance rule"),
        ]
        if problem.must_complete:
            parts.append("every task must be completed")
        return ", ".join(parts)
    shared = sum(len(function.scope) > 1 for function in problem.rewards)
    return ", ".join(
        [
            count(len(problem.agents), "agent"),
            f"horizon {problem.horizon}",
            count(shared, "interaction reward"),
        ]
    )


def expected_money(value: float) -> str:
    """What a maintenance plan costs or earns, in words.

    Examples
    --------
    >>> expected_money(-508.7574)
    'expected to cost 508.76 in all: works and hindrance, less revenue'
    """
    if value < 0:
        return f"expected to cost {-value:,.2f} in all: works and hindrance, less revenue"
    return f"expected to earn {value:,.2f} in all: revenue, less works and hindrance"


def first_steps(policy: Policy) -> list[str]:
    """What each agent does first, in words.

    In a maintenance problem: when each contractor first starts a task, if everything goes as is
    most likely until then.
    """
    if not isinstance(policy.problem, MaintenanceProblem):
        actions = policy.act(policy.stage)
        return [f"{name}: {action} at stage {policy.stage}" for name, action in actions.items()]
    lines: dict[str, str] = {}
    indexed = policy.indexed
    state = indexed.find_state(policy.stage, None)
    for name, at in indexed.name_state(state).items():
        if isinstance(at, ContractorState) and at.doing is not None:
            left = count(at.remaining, "more step")
            lines[name] = f"{name} goes on with {at.doing} for {left}"
    surprises = False  # whether the way so far was one of several
    for stage in range(policy.stage, policy.horizon):
        choices = policy.choose(stage, state)
        following = []
        certain = True
        for agent, choice in zip(indexed.agents, choices, strict=True):
            action = agent.actions[agent.choice_action[choice]]
            if action.startswith("start ") and agent.name not in lines:
                lines[agent.name] = _first_start(
                    agent.name, action.removeprefix("start "), stage, policy.stage, surprises
                )
            outcomes = agent.outcomes(choice)
            certain = certain and len(outcomes) == 1
            following.append(max(outcomes, key=lambda outcome: outcome[2])[1])
        surprises = surprises or not certain
        state = tuple(following)
        if len(lines) == len(indexed.agents):
            break
    return [lines.get(name, f"{name} starts nothing") for name in indexed.agent_names]


def _first_start(name: str, task: str, stage: int, first: int, surprises: bool) -> str:
    if stage == first:
        return f"{name} starts {task} at once (stage {stage})"
    waits = count(stage - first, "step")
    caveat = ", if nothing unlikely happens before" if surprises else ""
    return f"{name} waits {waits}, then starts {task} (stage {stage}{caveat})"


def numbered(values: Sequence[str]) -> str:
    """Lines with a bullet each."""
    return "\n".join(f"  - {value}" for value in values)
