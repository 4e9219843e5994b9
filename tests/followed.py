"""What happens if a maintenance plan is followed: step by step, by `act` and the format's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from coreplan import ContractorState, MaintenanceProblem, Policy
from coreplan.analysis import ExecutionSequence


class Run(NamedTuple):
    """A work that was done: whose, which, in steps begin to end - 1, and whether to its end."""

    contractor: str
    task: str
    begin: int
    end: int
    complete: bool


def follow(
    policy: Policy, delayed: Callable[[str, str], bool]
) -> tuple[list[Run], ExecutionSequence]:
    """Follow a plan from its start; `delayed` says of (contractor, task) whether it is delayed.

    It is asked only where both may happen.
    """
    problem = policy.problem
    assert isinstance(problem, MaintenanceProblem)
    runs: list[Run] = []

    def begin(contractor: str, task: str, stage: int, left: int) -> None:
        end = stage + left
        fits = end <= problem.horizon
        runs.append(Run(contractor, task, stage, min(end, problem.horizon), fits))

    state = policy.indexed.name_state(policy.indexed.find_state(policy.stage, None))
    state = {
        name: ContractorState(each.done, each.doing, each.remaining) for name, each in state.items()
    }
    for name, each in state.items():
        if each.doing is not None:
            begin(name, each.doing, policy.stage, each.remaining)
    states, actions = [state], []
    for stage in range(policy.stage, problem.horizon):
        action = policy.act(stage, state)
        following = {}
        for contractor in problem.contractors:
            at = state[contractor.name]
            done, doing, left = at.done, at.doing, at.remaining
            verb, _, name = action[contractor.name].partition(" ")
            if verb == "start":
                [task] = [each for each in contractor.tasks if each.name == name]
                ways = task.durations
                late = len(ways) == 2 and delayed(contractor.name, name)
                doing, left = name, ways[int(late)][1]
                begin(contractor.name, name, stage, left)
            if doing is not None:
                left -= 1
                if left == 0:
                    names = {*done, doing}
                    done = tuple(task.name for task in contractor.tasks if task.name in names)
                    doing = None
            following[contractor.name] = ContractorState(done, doing, left)
        actions.append(action)
        state = following
        states.append(state)
    return runs, ExecutionSequence(tuple(states), tuple(actions), policy.stage)
