"""Writes docs/options.md, the options of all algorithms, from the dataclasses of options.

Usage: .venv/bin/python tools/write_options.py [FILE]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from coreplan.solving.option_fields import Flag, Option, options_in
from coreplan.solving.options import OWN_OPTIONS, OwnAlgorithm

PAGE = Path(__file__).parents[1] / "docs" / "options.md"
HEAD = """\
# Options of the algorithms

`tools/write_options.py` makes this page from `coreplan/solving/options.py`, where every option is
described once.

Options are keywords of `solve`, or one object, which also says which algorithm to use:

```python
from coreplan import CoreOptions, read_problem, solve
from coreplan.cli import example_path

problem = read_problem(example_path("two_works.yaml"))
one_by_one = solve(problem, algorithm="core", threads=2, prefer="late")
as_an_object = solve(problem, options=CoreOptions(threads=2, prefer="late"))
assert one_by_one.value == as_an_object.value
```

Type checkers (mypy, pyright) know the options of each algorithm in both ways. An option that an
algorithm does not have, or a value that makes no sense, is a `SolverError`. On the command line an
option that the chosen algorithm does not have ends with exit code 2:

```console
$ coreplan solve examples/two_works.yaml --prefer late --threads 1
$ coreplan solve examples/two_works.yaml --algorithm spudd --order interleaved --no-merge
```

`coreplan compare algorithms` takes the same options and gives each algorithm those that it has.
Configurations of [`coreplan bench`](bench.md) have them by name. Some options are not on the
command line: they take objects, or switch off one idea of an algorithm to measure what it gains.
For a plan to start from and a certificate, `coreplan solve` has `--start` and `--certificate`.

Time and memory limits, callbacks, and where to start from are the same for all algorithms; they are
parameters of `solve`.
"""


def write_page() -> str:
    """The whole page."""
    lines = [line for name in OWN_OPTIONS for line in write_section(name)]
    return "\n".join([HEAD, *lines[:-1], ""])


def write_section(algorithm: OwnAlgorithm) -> Iterator[str]:
    """The options of one algorithm, as a table."""
    options = OWN_OPTIONS[algorithm]
    words = (options.__doc__ or "").partition("\n")[0]
    yield f"## `{algorithm}`: `{options.__name__}`"
    yield ""
    yield re.sub(r"docs/(\S+\.md)", r"[\1](\1)", words)
    yield ""
    yield "| option | values | default | meaning | command line |"
    yield "| --- | --- | --- | --- | --- |"
    for option in options_in(options).values():
        cells = [
            f"`{option.name}`",
            option.about.kind.accepts,
            f"`{option.default!r}`".replace("'", '"'),
            option.about.help,
            write_command(option),
        ]
        yield f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"
    yield ""


def write_command(option: Option) -> str:
    """How the command line spells an option."""
    if not option.about.on_command_line:
        return ""
    name = option.name.replace("_", "-")
    return f"`--{name}`, `--no-{name}`" if isinstance(option.about.kind, Flag) else f"`--{name}`"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    target.write_text(write_page(), encoding="utf-8")
