"""``coreplan infinite``: bounds for a discounted problem without an end."""

from __future__ import annotations

import click

from coreplan.cli.shared import (
    Command,
    file_argument,
    json_option,
    memory_limit_option,
    print_json,
    time_limit_option,
)
from coreplan.formats import read_problem, read_state
from coreplan.solving.infinite import InfiniteResult, solve_infinite
from coreplan.view.terminal import make_console


@click.command(
    cls=Command,
    epilog="""
    coreplan infinite machines.yaml
    coreplan infinite machines.yaml --discount 0.99 --accuracy 0.01 --json
    """,
    short_help="Bound a discounted problem without an end.",
)
@file_argument
@click.option(
    "--discount",
    type=float,
    metavar="D",
    help="What a reward counts a stage later, above 0 and below 1.  [default: that of the problem]",
)
@click.option(
    "--accuracy",
    type=click.FloatRange(min=0, min_open=True),
    default=1e-3,
    show_default=True,
    metavar="X",
    help="Stop when the bounds are as close as this amount of reward.",
)
@click.option(
    "--stages",
    type=click.IntRange(min=1),
    metavar="N",
    help="Solve this number of stages and bound the rest.  [default: if the joint problem is too "
    "large, as many as the accuracy needs]",
)
@click.option(
    "--state",
    "state_file",
    type=click.Path(),
    metavar="FILE",
    help="Start from this state: a file with the state of each agent.",
)
@time_limit_option
@memory_limit_option
@json_option
def infinite(
    file: str,
    discount: float | None,
    accuracy: float,
    stages: int | None,
    state_file: str | None,
    time_limit: float | None,
    memory_limit: float | None,
    as_json: bool,
) -> None:
    """Bound the optimal value of the ti-mmdp problem in FILE if it never ends.

    Nothing in the problem may depend on the stage; its horizon does not matter.
    """
    problem = read_problem(file)
    result = solve_infinite(
        problem,  # type: ignore[arg-type]
        discount=discount,
        accuracy=accuracy,
        state=None if state_file is None else read_state(state_file, problem),
        horizon=stages,
        time_limit=time_limit,
        memory_limit=memory_limit,
    )
    if as_json:
        print_json(
            {
                "problem": problem.name,
                "discount": result.discount,
                "method": result.method,
                "lower_bound": result.lower_bound,
                "upper_bound": result.upper_bound,
                "gap": result.gap,
                "reached": result.reached,
                "horizon": result.horizon,
                "tail": list(result.tail),
                "sweeps": result.sweeps,
                "first_action": result.first_action,
                "seconds": result.seconds,
            }
        )
        return
    console = make_console()
    for line in _lines(problem.name, result):
        console.print(line, markup=False)


def _lines(name: str, result: InfiniteResult) -> list[str]:
    if result.horizon is None:
        how = f"best stationary policy, {result.sweeps:,} sweeps over the joint states"
    else:
        low, high = result.tail
        how = f"{result.horizon:,} stages solved, later ones are worth {low:.6g} to {high:.6g}"
    first = ", ".join(f"{agent}: {action}" for agent, action in result.first_action.items())
    close = "" if result.reached else "; not as close as asked"
    return [
        f"{name}: discount {result.discount:g}, without an end",
        f"optimal value: {result.lower_bound:.10g} to {result.upper_bound:.10g} "
        f"(gap {result.gap:.3g}{close})",
        f"method: {how}",
        f"first action: {first}",
        f"time: {result.seconds:.3g} s",
    ]
