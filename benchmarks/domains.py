"""The families of the example domains, size by size: time, and the gap that is left.

Run: .venv/bin/python benchmarks/domains.py, with --only batteries for one family. The tables are
those of docs/examples.md. Times and limits are processor seconds, which hardly depend on the load.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from coreplan import solve
from coreplan.bench.figures.numbers import percent
from coreplan.bench.markdown import table
from coreplan.bench.sets import Instance, TestSet, generate
from coreplan.bench.sets.parameters import EACH
from coreplan.support.clock import replace_clock

EXAMPLES = Path(__file__).parents[1] / "examples"
HEADS = ("agents", "local states", "time", "largest gap", "proven optimal")


def load_families() -> tuple[TestSet, ...]:
    """The families of examples/families.py; loading registers them."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    import families

    found: tuple[TestSet, ...] = families.FAMILIES
    return found


def local_states(instance: Instance) -> int:
    """The most local states of an agent."""
    return max(len(agent.states) for agent in instance.problem.index().agents)


def lines(
    family: TestSet, count: int, seed: int, time_limit: float, most: float
) -> Iterator[list[str]]:
    """A line of the table for each size of a family: medians, and the largest gap."""
    size = next(name for name, each in family.parameters.items() if each.use == EACH)
    default = family.parameters[size].default
    for value in default if isinstance(default, tuple) else (default,):
        if isinstance(value, int) and value > most:
            continue
        made = list(generate(family.name, count, seed, **{size: value}))
        with replace_clock(time.process_time):
            # Processor time adds up all threads.
            found = [solve(each.problem, time_limit=time_limit, threads=1) for each in made]
        proven = sum(each.status == "optimal" for each in found)
        gap = max(0.0 if each.status == "optimal" else each.relative_gap for each in found)
        yield [
            str(value),
            str(made[0].parameters["agents"]),
            str(max(map(local_states, made))),
            f"{statistics.median(each.seconds for each in found):.2g} s",
            percent(gap),
            f"{proven} of {len(found)}",
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each family."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help="one family")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each solve")
    parser.add_argument("--count", type=int, default=3, help="instances of each size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=float("inf"), help="the largest size")
    asked = parser.parse_args(arguments)
    for family in load_families():
        if asked.only in (None, family.name):
            size = next(name for name, each in family.parameters.items() if each.use == EACH)
            size = family.parameters[size].meaning.partition(";")[0]
            heads = (size, *HEADS)
            how = (asked.count, asked.seed, asked.time_limit, asked.most)
            print(f"\n{family.name}: {family.summary}\n")
            for line in table(heads, lines(family, *how)):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
