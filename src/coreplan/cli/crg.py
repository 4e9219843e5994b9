"""``coreplan crg``: measure or draw the conditional return graphs."""

from __future__ import annotations

from typing import Any

import click

from coreplan.cli.options import solver_options
from coreplan.cli.outputs import Outputs
from coreplan.cli.shared import (
    Command,
    StageRange,
    check_writable,
    file_argument,
    json_option,
    memory_limit_option,
    print_json,
    read_dated_problem,
)
from coreplan.solving.crg import ConditionalReturnGraphs, build_crgs
from coreplan.solving.limits import Limits
from coreplan.solving.options import Core2016Options
from coreplan.solving.simplification import simplify
from coreplan.view.crg_svg import stage_range
from coreplan.view.crg_table import all_dict, crg_dict, print_all, print_crg
from coreplan.view.terminal import make_console
from coreplan.view.words import describe_problem


@click.command(
    cls=Command,
    epilog="""
    coreplan crg works.yaml
    coreplan crg works.yaml --merge --json
    coreplan crg works.yaml --agent Alpha --stages 0:2 --merge --rewards -o alpha.svg
    coreplan crg works.yaml --agent Alpha --stages 0:1 --naive -o grouping.svg
    coreplan crg examples/paper_example.yaml --assign 2="agent 2" --merge -o figure-2.svg
    coreplan crg examples/paper_figure_1.yaml --assign 2="agent 1" --rewards --naive -o figure-1.svg
    coreplan crg works.yaml --merge --group 5
    """,
    short_help="Measure or draw the conditional return graphs.",
)
@file_argument
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    help="Only this agent's graph; may be given several times.",
)
@click.option(
    "--stages",
    type=StageRange(),
    help="Only from the states of one stage to those of another: 0:2.",
)
@solver_options("core-2016", only=("assignment", "group"))
@click.option(
    "--definition",
    type=click.Choice(["lossless", "literal"]),
    default="lossless",
    show_default=True,
    help="The reading that keeps all rewards, or the printed definitions.",
)
@click.option(
    "--influence",
    type=click.Choice(["pairs", "features"]),
    help="Tell apart pairs of states (default), or what conditions see of them (default with "
    "--merge).",
)
@click.option("--merge", is_flag=True, help="Merge local states with the same future transitions.")
@click.option("--rewards", is_flag=True, help="In the picture: show rewards.")
@click.option("--bounds", is_flag=True, help="In the picture: show bounds [L, U] on returns.")
@click.option(
    "--expected-bounds",
    is_flag=True,
    help="In the picture: show bounds [L, U] on the expected return over own outcomes.",
)
@click.option(
    "--naive", is_flag=True, help="In the picture: beside it the graph that groups nothing."
)
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="Draw the graphs as SVG, to a file."
)
@memory_limit_option
@json_option
def crg(
    file: str,
    agents: tuple[str, ...],
    stages: tuple[int, int] | None,
    asked: dict[str, Any],
    definition: str,
    influence: str | None,
    merge: bool,
    rewards: bool,
    bounds: bool,
    expected_bounds: bool,
    naive: bool,
    output: str | None,
    memory_limit: float | None,
    as_json: bool,
) -> int:
    """Measure or draw the conditional return graphs (CRGs) of the problem in FILE.

    Without -o: numbers of nodes and arcs by kind, beside those of the graph by the printed
    definitions and of the naive graph.
    """
    if bounds and expected_bounds:
        raise click.UsageError("use either --bounds or --expected-bounds")
    if output is not None:
        check_writable(output, [file], "the picture", "--output")
    elif rewards or bounds or expected_bounds or naive:
        raise click.UsageError(
            "--rewards, --bounds, --expected-bounds and --naive are for pictures; add -o FILE"
        )
    problem, _ = read_dated_problem(file)
    options = Core2016Options(**asked)
    assignment = options.assignment
    if options.group:
        problem = simplify(problem, options.group, limits=Limits(memory_limit=memory_limit)).problem

    def build(reading: str) -> ConditionalReturnGraphs:
        return build_crgs(
            problem,
            assignment=assignment,
            definition=reading,
            influence=influence or ("features" if merge else "pairs"),
            bounds="expected" if expected_bounds else "returns",
            merge=merge,
            share=options.group > 0 and reading == "lossless",
            limits=Limits(memory_limit=memory_limit),
        )

    crgs = build(definition)
    # Whether it can be drawn or not, names and stages have to exist.
    shown = [crgs[name] for name in dict.fromkeys(agents or crgs.indexed.agent_names)]
    first, last = stage_range(crgs, stages)
    outputs = Outputs()
    if as_json or output is None:
        with outputs.one("the sizes"):
            printed = build("literal")
            if as_json:
                print_json(
                    {
                        "problem": problem.name,
                        "stages": [first, last],
                        "assignment": assignment
                        if isinstance(assignment, str)
                        else {part.name: part.owner for part in crgs.parts},
                        "definition": definition,
                        "influence": crgs.influence,
                        "merged": merge,
                        "group": options.group,
                        "agents": [
                            crg_dict(crgs, each, first, last, printed[each.agent]) for each in shown
                        ],
                        "all": all_dict(crgs),
                    }
                )
            else:
                console = make_console()
                console.print(f"{problem.name}: {describe_problem(problem)}", markup=False)
                for each in shown:
                    print_crg(console, crgs, each, first, last, printed[each.agent])
                print_all(console, crgs)
    if output is not None:
        with outputs.one(f"the picture in {output}"):
            names = [each.agent for each in shown]
            drawing = crgs.draw(
                names, (first, last), rewards=rewards, bounds=bounds or expected_bounds, naive=naive
            )
            drawing.save(output)
            if not as_json:
                make_console().print(f"the picture is in {output}", markup=False)
    return outputs.code
