"""What rewards of maintenance problems ask, for pictures of conditional return graphs."""

from __future__ import annotations

from coreplan.domains.maintenance.problem import MaintenanceProblem
from coreplan.domains.maintenance.translate import completing, working
from coreplan.model.indexed import IndexedProblem
from coreplan.view.crg_labels import ConditionWords, condition_words


@condition_words.register
def _condition_words(problem: MaintenanceProblem, indexed: IndexedProblem) -> ConditionWords:
    tasks = [
        {
            number: task.name
            for k, task in enumerate(contractor.tasks)
            for number in (working(k), completing(k))
        }
        for contractor in problem.contractors
    ]

    def words(agent: int, condition: int, with_action: bool) -> tuple[str, str]:
        task = tasks[agent][condition]
        return (f"works on {task}" if with_action else f"may work on {task}"), ""

    return words
