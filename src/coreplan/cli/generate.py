"""``coreplan generate``: write the problems of a test set into files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import click

from coreplan.bench.sets import TEST_SETS, Instance, TestSet, count_instances
from coreplan.bench.sets import generate as generate_instances
from coreplan.bench.sets.folder import InstanceFolder
from coreplan.bench.sets.parameters import EACH, IN_TURN, ONE, Value
from coreplan.cli.shared import INTERRUPTED, OK, Command, json_option, print_json
from coreplan.files.reading import STANDARD_INPUT
from coreplan.support.checks import unknown_name
from coreplan.view.terminal import make_console, print_error
from coreplan.view.words import count as in_words

_USES = {
    ONE: "",
    EACH: "one group of problems per value",
    IN_TURN: "problems use the values in turn",
}


class SetName(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """The name of a test set."""

    name = "SET"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> TestSet:
        """Look it up."""
        if isinstance(value, TestSet):
            return value
        if value not in TEST_SETS:
            self.fail(unknown_name(value, "test set", list(TEST_SETS), "coreplan"), param, ctx)
        return TEST_SETS[value]


class Assignment(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A parameter with one value or several: agents=2,3."""

    name = "NAME=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Value | tuple[Value, ...]]:
        """Take a text apart."""
        if isinstance(value, tuple):
            return value
        name, sign, text = str(value).partition("=")
        if not (name and sign and text):
            self.fail(f"{value!r} is not NAME=VALUE; try agents=2,3", param, ctx)
        values = tuple(_read_value(part.strip()) for part in text.split(","))
        return name.strip(), values if len(values) > 1 else values[0]


def _read_value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


@click.command(
    cls=Command,
    epilog="""
    coreplan generate --list
    coreplan generate mpp -o problems
    coreplan generate mpp --count 10 --seed 7 -o problems --parameter agents=2,3
    coreplan generate pyra --count 1 -o pyramids --parameter agents=10 --yaml
    """,
    short_help="Write the problems of a test set into files.",
)
@click.argument("test_set", metavar="SET", type=SetName(), required=False)
@click.option("--list", "listing", is_flag=True, help="Show all test sets with their parameters.")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Problems per group, for instance per number of agents in mpp.  [default: the set's "
    "own number]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The same seed gives the same files, byte for byte.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="DIR",
    help="Folder for the files; created if it does not exist.",
)
@click.option(
    "--parameter",
    "assignments",
    type=Assignment(),
    multiple=True,
    help="Another value of a parameter, or several separated by commas; may be repeated.",
)
@click.option("--yaml", is_flag=True, help="Write YAML instead of JSON.")
@click.option("--force", is_flag=True, help="Overwrite existing files whose content differs.")
@json_option
def generate(
    test_set: TestSet | None,
    listing: bool,
    count: int | None,
    seed: int,
    output: str | None,
    assignments: tuple[tuple[str, Value | tuple[Value, ...]], ...],
    yaml: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Write the problems of the test set SET, one file per problem.

    Existing files with the same content are kept: the same command continues an interrupted run.
    docs/test-sets.md describes how the problems are made.
    """
    if listing:
        _show([test_set] if test_set else list(TEST_SETS.values()), as_json)
        return OK
    if test_set is None:
        raise click.UsageError("no test set is given; --list shows all test sets")
    if not output:
        raise click.UsageError("no folder for the files is given; add -o DIR")
    if output == STANDARD_INPUT:
        raise click.UsageError(
            "problems cannot be written to the standard output; name a folder with -o DIR"
        )
    parameters: dict[str, Any] = {}
    for name, value in assignments:
        if name in parameters:
            raise click.UsageError(f"the parameter {name!r} is given twice")
        parameters[name] = value
    test_set.settle(parameters)  # also rejects names that are not parameters, for instance "seed"
    total = count_instances(test_set.name, count, **parameters)
    folder = InstanceFolder(output, yaml=yaml)

    def instances(doing: str) -> Iterator[Instance]:
        made = generate_instances(test_set.name, count, seed, **parameters)
        return _with_progress(made, total, doing)

    if not force and not folder.is_empty:
        folder.check(instances("comparing"))
    files: list[dict[str, object]] = []
    interrupted = False
    try:
        for instance in instances("writing"):
            files.append(
                {
                    "name": instance.name,
                    "file": str(folder.file_of(instance)),
                    "written": folder.write(instance),
                    "digest": instance.digest(),
                    "parameters": dict(instance.parameters),
                }
            )
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        print_json(
            {"set": test_set.name, "seed": seed, "complete": not interrupted, "files": files}
        )
    else:
        written = sum(bool(file["written"]) for file in files)
        were_there = f" ({written:,} written, the others existed)" if written < len(files) else ""
        make_console().print(
            f"{in_words(len(files), 'problem')} of {test_set.name} in {output}{were_there}",
            markup=False,
        )
    if interrupted:
        print_error(
            f"interrupted: {len(files):,} of {total:,} files written; the same command continues"
        )
    return INTERRUPTED if interrupted else OK


def _with_progress(instances: Iterable[Instance], total: int, doing: str) -> Iterator[Instance]:
    """Show the progress on a terminal."""
    from rich.progress import Progress

    console = make_console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        yield from progress.track(instances, total=total, description=doing)


def _show(sets: Iterable[TestSet], as_json: bool) -> None:
    """Print test sets with their parameters."""
    if as_json:
        print_json(
            {
                each.name: {
                    "summary": each.summary,
                    "count": each.count,
                    "instances": count_instances(each.name),
                    "parameters": {
                        name: {
                            "default": parameter.default,
                            "meaning": parameter.meaning,
                            "use": parameter.use,
                        }
                        for name, parameter in each.parameters.items()
                    },
                }
                for each in sets
            }
        )
        return
    console = make_console()
    for each in sets:
        instances = count_instances(each.name)
        groups = "" if instances == each.count else f", {each.count:,} of each group"
        console.print(f"{each.name}: {in_words(instances, 'problem')}{groups}", style="bold")
        console.print(f"  {each.summary}", markup=False)
        for name, parameter in each.parameters.items():
            use = f" ({_USES[parameter.use]})" if _USES[parameter.use] else ""
            line = f"    {name} = {parameter.in_words}: {parameter.meaning}{use}"
            console.print(line, markup=False)
