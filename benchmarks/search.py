"""The share of growing problems that `core` proves in time: a table, and a plot as SVG.

Run: .venv/bin/python benchmarks/search.py [--only mpp pyra ...] [--quick] [--seeds 5]
     [--time-limit S] [--data DIR] [--json runs.json] [--plot proven.svg]

Families of problems, each with its own time limit unless one is given:

- mpp: random maintenance problems, all works to be completed, 3 each: 6 agents, horizon 10 (10 s);
  8 agents, horizon 8 and 10 (60 s).
- pyra: pyramids, 3 works each, which fit into every horizon used here: 10 agents (10 s), 31 and 63
  agents (60 s).
- real: the files of a folder (60 s), which may contain known optima in a file values.json.
- realistic: contractors of a road network, 26 and 52 weeks: 6 (30 s), 8 and 10 of them (60 s).
- ablation: some problems that take seconds, with one option of `core` switched off at a time
  (30 s), the best of up to five runs; a second table has time and work relative to runs with all
  options.
- compare: small problems, by `core`, `dp`, `spudd`, `core-2016` without and with memory and, if
  stormpy is installed, Storm's sparse engine, all on merged states (10 s). Storm's seconds are for
  reading, building and computing.

Runs follow each other in one process, with as many threads as the machine has processors; a run
that takes longer than its limit still counts as proven if it is. Counts are medians; a dash means
that an algorithm does not report this count. If bounds contradict each other, or a known optimum,
the last lines say this, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coreplan import FormatError, LimitError, Result, Status, read_problem, solve
from coreplan.interop.storm import storm_value
from coreplan.solving import CoreOptions
from coreplan.solving.compile import AnyProblem
from coreplan.solving.option_fields import options_in
from coreplan.view.svg import FONTS, decimal, safe
from instances import pyramid, random_mpp, realistic

OPTIONS: dict[str, object] = {
    "shape": False,
    "drop": False,
    "settle": False,
    "eliminate": False,
    "merge": False,
    "exact": False,
    "search": False,
    "split": False,
    "skip": False,
    "floors": False,
    "tables": False,
}
"""Options of `core` and their values when switched off; unknown ones are left out."""

COUNTS = {
    "states": "joint_states_expanded",
    "actions": "joint_actions_evaluated",
    "cells": "kernel_cells",
    "reachable": "policy_states",
    "overhead": "search_overhead",
}
"""Columns and their counts in `Result.statistics` and its `others`.

`reachable` is the number of joint states that the policy can reach, `overhead` the expanded states
divided by it.
"""

ALL_OPTIONS = "all options"
STORM = "storm"
QUICK_LIMIT = 2.0
REPEAT_WITHIN = 0.5
"""Seconds of runs on one instance after which no run is repeated."""
AGREEMENT = 1e-6
"""Bounds may miss each other by this part of the value."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
DASHES = ("none", "7 3", "2 2", "9 2 2 2")
PANEL_WIDTH, PANEL_HEIGHT = 580, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 210, 34, 48


@dataclass(frozen=True)
class Instance:
    """A problem that is made when it is needed, with its optimum if known."""

    name: str
    make: Callable[[], AnyProblem]
    known: float | None = None


@dataclass(frozen=True)
class Case:
    """A line of the table: problems of one kind, solved in one way."""

    family: str
    name: str
    line: str
    """The line of the plot that it counts for."""
    instances: Sequence[Instance]
    limit: float
    algorithm: str = "core"
    options: Mapping[str, Any] = field(default_factory=dict)
    how: str = "core"
    """The name of the algorithm with these options."""
    repeat: int = 1
    """Most repetitions of a short run."""


@dataclass(frozen=True)
class Run:
    """The outcome of one instance; no result if a limit was reached before any plan was found."""

    case: Case
    instance: Instance
    seconds: float
    result: Result | None
    error: str = ""

    @property
    def proven(self) -> bool:
        """Whether the optimum was found and proven."""
        return self.result is not None and self.result.status is Status.OPTIMAL

    @property
    def gap(self) -> float:
        """The relative gap; infinite without a plan."""
        return math.inf if self.result is None else self.result.relative_gap

    def count(self, name: str) -> float | None:
        """A count of the statistics, if there is one of this name."""
        return None if self.result is None else self.result.statistics.to_dict().get(name)

    def to_dict(self) -> dict[str, object]:
        """All data of the run, for a file."""
        return {
            "family": self.case.family,
            "case": self.case.name,
            "instance": self.instance.name,
            "algorithm": self.case.algorithm,
            "options": dict(self.case.options),
            "time_limit": self.case.limit,
            "known_value": self.instance.known,
            "seconds": self.seconds,
            "error": self.error,
            "result": None if self.result is None else self.result.to_dict(),
        }


# -- families ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """The settings from the command line."""

    seeds: int
    quick: bool
    time_limit: float | None
    data: Path | None

    def limit(self, usual: float) -> float:
        """The time limit of a case that usually has another one."""
        return self.time_limit or (QUICK_LIMIT if self.quick else usual)

    def seeded(self, make: Callable[..., AnyProblem], **fixed: object) -> list[Instance]:
        """An instance for every seed."""
        return [
            Instance(f"seed {seed}", partial(make, seed=seed, **fixed))
            for seed in range(self.seeds)
        ]


def mpp_cases(asked: Asked) -> Iterator[Case]:
    """Random maintenance problems beyond the sizes of the literature."""
    tenths = (0.1, 0.2, 0.3, 0.4, 0.5)
    sizes = [(6, 10, density, 10.0) for density in tenths]
    sizes += [(8, horizon, density, 60.0) for horizon in (8, 10) for density in (0.1, 0.2)]
    if asked.quick:
        sizes = [(4, 6, 0.1, 10.0), (6, 6, 0.3, 10.0)]
    for agents, horizon, density, limit in sizes:
        instances = asked.seeded(
            random_mpp,
            agents=agents,
            tasks=3,
            horizon=horizon,
            density=density,
            must_complete=True,
        )
        name = f"{agents} agents, horizon {horizon}, density {density}"
        yield Case("mpp", name, f"{agents} agents", instances, asked.limit(limit))


def pyra_cases(asked: Asked) -> Iterator[Case]:
    """Pyramids: many agents that interact little."""
    sizes = [(10, horizon, 10.0) for horizon in range(4, 11)]
    sizes += [(31, horizon, 60.0) for horizon in range(4, 11)]
    sizes += [(63, horizon, 60.0) for horizon in range(4, 9)]
    if asked.quick:
        sizes = [(5, 4, 10.0), (10, 4, 10.0)]
    for agents, horizon, limit in sizes:
        instances = asked.seeded(pyramid, agents=agents, tasks=3, horizon=horizon)
        name = f"{agents} agents, horizon {horizon}"
        yield Case("pyra", name, f"{agents} agents", instances, asked.limit(limit))


def real_cases(asked: Asked) -> Iterator[Case]:
    """The files of a folder; a quick run takes the three smallest."""
    if asked.data is None:
        say("real is left out: give its folder with --data")
        return
    paths = []
    for path in sorted(asked.data.iterdir()):
        with suppress(FormatError):  # a folder may also contain other files
            if path.is_file():
                read_problem(path)
                paths.append(path)
    if asked.quick:
        paths = sorted(sorted(paths, key=lambda path: path.stat().st_size)[:3])
    known = known_values(asked.data / "values.json")
    for path in paths:
        instance = Instance(path.stem, partial(read_problem, path), known.get(path.name))
        yield Case("real", path.stem, "files", [instance], asked.limit(60.0))


def known_values(path: Path) -> dict[str, float]:
    """Optima by the name of the problem's file, from a list of {"file", "own_value"}."""
    if not path.exists():
        return {}
    entries = json.loads(path.read_text(encoding="utf-8"))
    return {entry["file"]: float(entry["own_value"]) for entry in entries}


def realistic_cases(asked: Asked) -> Iterator[Case]:
    """Contractors of a road network."""
    sizes = [
        (agents, weeks, limit)
        for agents, limit in ((6, 30.0), (8, 60.0), (10, 60.0))
        for weeks in (26, 52)
    ]
    if asked.quick:
        sizes = [(3, 26, 30.0), (4, 26, 30.0)]
    for agents, weeks, limit in sizes:
        instances = asked.seeded(realistic, agents=agents, horizon=weeks)
        name = f"{agents} contractors, {weeks} weeks"
        yield Case("realistic", name, f"{agents} contractors", instances, asked.limit(limit))


def ablation_cases(asked: Asked) -> Iterator[Case]:
    """Options of `core` switched off one at a time; always the same instances."""
    must = {"must_complete": True}
    makers: dict[str, Callable[[], AnyProblem]] = {
        "mpp 4x3x10, density 0.1": partial(random_mpp, 4, 3, 10, 0, density=0.1, **must),
        "mpp 3x3x10, density 0.1, with revenue": partial(random_mpp, 3, 3, 10, 2, density=0.1),
        "mpp 6x3x8, density 0.2": partial(random_mpp, 6, 3, 8, 0, density=0.2, **must),
        "pyra 7x3x7": partial(pyramid, 7, 3, 7, 0),
        "pyra 10x3x6": partial(pyramid, 10, 3, 6, 0),
        "realistic 3x26": partial(realistic, 3, 26, 2),
    }
    if asked.quick:
        makers = dict(itertools.islice(makers.items(), 2))
    instances = [Instance(name, make) for name, make in makers.items()]
    known = options_in(CoreOptions)
    for name in (name for name in OPTIONS if name not in known):
        say(f"core has no option {name!r}: left out")
    ways: dict[str, dict[str, object]] = {ALL_OPTIONS: {}} | {
        f"without {name}": {name: off} for name, off in OPTIONS.items() if name in known
    }
    for how, options in ways.items():
        yield Case(
            "ablation",
            "problems solved in seconds",
            how,
            instances,
            asked.limit(30.0),
            options=options,
            how=how,
            repeat=5,
        )


def compare_cases(asked: Asked) -> Iterator[Case]:
    """Small problems by several algorithms."""
    groups = {
        f"mpp, {agents} agents, horizon {horizon}": asked.seeded(
            random_mpp, agents=agents, tasks=3, horizon=horizon, density=0.3, must_complete=True
        )
        for agents in (2, 3, 4)
        for horizon in ((5,) if asked.quick else (6, 8))
    }
    for agents in (4, 5):
        groups[f"pyra, {agents} agents, horizon 4"] = asked.seeded(
            pyramid, agents=agents, tasks=3, horizon=4
        )
    ways: list[tuple[str, str, dict[str, object]]] = [
        ("core", "core", {}),
        ("dp", "dp", {}),
        ("core-2016", "core-2016", {}),
        ("core-2016, memo", "core-2016", {"memo": True}),
        ("spudd", "spudd", {}),
    ]
    if find_spec("stormpy") is not None:
        ways.append(("Storm, sparse", STORM, {}))
    for name, instances in groups.items():
        for how, algorithm, options in ways:
            yield Case("compare", name, how, instances, asked.limit(10.0), algorithm, options, how)


FAMILIES: dict[str, Callable[[Asked], Iterator[Case]]] = {
    "mpp": mpp_cases,
    "pyra": pyra_cases,
    "real": real_cases,
    "realistic": realistic_cases,
    "ablation": ablation_cases,
    "compare": compare_cases,
}


# -- measuring ---------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print progress, separate from the table."""
    print(text, file=sys.stderr, flush=True)


def measure(case: Case, instance: Instance) -> Run:
    """Solve one instance, a short one several times if asked to; the fastest run counts."""
    problem = instance.make()
    best = solve_once(case, instance, problem)
    spent = best.seconds
    for _ in range(1, case.repeat):
        if spent > REPEAT_WITHIN or not best.proven:
            break
        again = solve_once(case, instance, problem)
        spent += again.seconds
        if again.proven and again.seconds < best.seconds:
            best = again
    return best


def solve_once(case: Case, instance: Instance, problem: AnyProblem) -> Run:
    """Solve one instance and drop its policy."""
    gc.collect()
    start = time.perf_counter()
    try:
        if case.algorithm == STORM:
            result = ask_storm(problem, case.limit)
        else:
            result = solve(problem, algorithm=case.algorithm, time_limit=case.limit, **case.options)
    except LimitError as error:
        return Run(case, instance, time.perf_counter() - start, None, str(error))
    return Run(case, instance, result.seconds, without_policy(result))


def ask_storm(problem: AnyProblem, limit: float) -> Result:
    """Storm's value, as a result; its bounds are not proven to the last digits."""
    answer = storm_value(problem, time_limit=limit)
    return Result(
        problem.name,
        STORM,
        Status.OPTIMAL,
        answer.value,
        answer.value,
        answer.value,
        answer.seconds,
    )


def without_policy(result: Result) -> Result:
    """A result without its policy: policies of many runs take memory."""
    return replace(result, policy=None)


def contradictions(runs: Iterable[Run]) -> list[str]:
    """Bounds on the same instance that exclude each other, or its known optimum."""
    found = []
    same: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        if run.result is not None:
            key = (run.case.family, run.case.name, run.instance.name)
            same.setdefault(key, []).append(run)
    for key, group in same.items():
        bounds = [
            (run.case.how, run.result.lower_bound, run.result.upper_bound)
            for run in group
            if run.result is not None
        ]
        known = group[0].instance.known
        if known is not None:
            bounds.append(("known", known, known))
        who_low, low, _ = max(bounds, key=lambda each: each[1])
        who_high, _, high = min(bounds, key=lambda each: each[2])
        if low - high > AGREEMENT * max(1.0, abs(low)):
            found.append(
                f"{', '.join(key)}: at least {low:.10g} ({who_low}), "
                f"but at most {high:.10g} ({who_high})"
            )
    return found


# -- tables ------------------------------------------------------------------------------------


def short(number: float | None) -> str:
    """A count in few characters; a dash for none."""
    if number is None:
        return "-"
    if abs(number) < 100 and number != round(number):
        return f"{number:.3g}"
    return f"{number:,.0f}" if abs(number) < 1e7 else f"{number:.2e}"


def median_of(counts: Iterable[float | None]) -> float | None:
    """The median of those that are known; None if there are none."""
    known = [count for count in counts if count is not None]
    return statistics.median(known) if known else None


def header() -> str:
    """Names of columns."""
    return (
        f"{'family':<11}{'instances':<38}{'run':<20}{'seeds':>6}{'proven':>11}{'median':>11}"
        f"{'worst':>11}{'worst gap':>11}" + "".join(f"{name:>12}" for name in COUNTS)
    )


def row(case: Case, runs: Sequence[Run]) -> str:
    """One line of the table."""
    seconds = [run.seconds for run in runs]
    gaps = [run.gap for run in runs if not run.proven]
    worst = "-" if not gaps else "no plan" if math.isinf(max(gaps)) else f"{100 * max(gaps):.3g} %"
    counts = (median_of(run.count(name) for run in runs) for name in COUNTS.values())
    return (
        f"{case.family:<11}{case.name:<38}{case.how:<20}{len(runs):>6}"
        f"{f'{sum(run.proven for run in runs)} of {len(runs)}':>11}"
        f"{statistics.median(seconds):>9.3f} s{max(seconds):>9.3f} s{worst:>11}"
        + "".join(f"{short(count):>12}" for count in counts)
    )


def known_table(runs: Sequence[Run]) -> list[str]:
    """The bounds found, compared with known optima."""
    lines = []
    for run in runs:
        known, result = run.instance.known, run.result
        if known is None:
            continue
        found = "no plan" if result is None else f"{result.value:.10g} to {result.upper_bound:.10g}"
        off = "-" if result is None else f"{result.value - known:.2g}"
        lines.append(f"{run.instance.name:<38}{known:>20.10g}{found:>34}{off:>12}")
    if not lines:
        return []
    return [f"{'known optima':<38}{'known':>20}{'bounds found':>34}{'off by':>12}", *lines]


def ratios(runs: Sequence[Run], base: Sequence[Run], of: Callable[[Run], float | None]) -> str:
    """The factor, over instances proven by both: the median, and the range."""
    found = []
    for run, usual in zip(runs, base, strict=True):
        one, other = of(run), of(usual)
        if run.proven and usual.proven and one is not None and other:
            found.append(one / other)
    if not found:
        return "-"
    return f"{statistics.median(found):.3g} ({min(found):.3g}-{max(found):.3g})"


def ablation_table(runs: Sequence[Run]) -> list[str]:
    """Time and work without an option, relative to that with all of them."""
    ways: dict[str, list[Run]] = {}
    for run in runs:
        if run.case.family == "ablation":
            ways.setdefault(run.case.how, []).append(run)
    base = ways.pop(ALL_OPTIONS, [])
    if not ways:
        return []
    lines = [
        "relative to all options, if both are proven: median (least-most)",
        f"{'':<20}{'proven':>11}{'seconds':>24}" + "".join(f"{name:>24}" for name in COUNTS),
    ]
    for how, group in ways.items():
        usual = base[: len(group)]
        cells = [ratios(group, usual, lambda run: run.seconds)]
        cells += [ratios(group, usual, partial(Run.count, name=name)) for name in COUNTS.values()]
        proven = f"{sum(run.proven for run in group)} of {len(group)}"
        lines.append(f"{how:<20}{proven:>11}" + "".join(f"{cell:>24}" for cell in cells))
    return lines


# -- the plot ----------------------------------------------------------------------------------


def plot(runs: Sequence[Run]) -> str:
    """For every family, the part of its runs that were proven, over time."""
    families: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        families.setdefault(run.case.family, {}).setdefault(run.case.line, []).append(run)
    # One axis for all: from a power of ten to the last limit, or to the longest run.
    least = min((run.seconds for run in runs if run.proven), default=0.1)
    span = (
        10.0 ** math.floor(math.log10(max(least, 1e-6))),
        max((max(run.case.limit, run.seconds) for run in runs), default=1.0),
    )
    columns = min(2, max(1, len(families)))
    width = columns * PANEL_WIDTH
    height = max(1, math.ceil(len(families) / columns)) * PANEL_HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="{FONTS}" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for k, (family, lines) in enumerate(families.items()):
        shift = f"{k % columns * PANEL_WIDTH} {k // columns * PANEL_HEIGHT}"
        parts += [f'<g transform="translate({shift})">', *panel(family, lines, span), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def panel(
    family: str, lines: Mapping[str, Sequence[Run]], span: tuple[float, float]
) -> Iterator[str]:
    """One family: axes, a line for each kind of run, and their names."""
    right, bottom = PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM
    first, last = span[0], max(span[1], 10 * span[0])

    def x(seconds: float) -> float:
        part = math.log(max(seconds, first) / first) / math.log(last / first)
        return LEFT + min(part, 1.0) * (right - LEFT)

    def y(part: float) -> float:
        return bottom - part * (bottom - TOP)

    yield f'<text x="{LEFT}" y="{TOP - 14}" font-weight="bold">{safe(family)}</text>'
    for percent in (0, 25, 50, 75, 100):
        height = decimal(y(percent / 100))
        yield f'<path d="M{LEFT} {height}H{right}" stroke="#ddd"/>'
        yield (
            f'<text x="{LEFT - 6}" y="{decimal(y(percent / 100) + 4)}" text-anchor="end">'
            f"{percent} %</text>"
        )
    for power in range(round(math.log10(first)), math.floor(math.log10(last)) + 1):
        at = decimal(x(10.0**power))
        yield f'<path d="M{at} {TOP}V{bottom}" stroke="#ddd"/>'
        yield f'<text x="{at}" y="{bottom + 17}" text-anchor="middle">{10.0**power:g}</text>'
    yield (
        f'<text x="{(LEFT + right) / 2:g}" y="{bottom + 36}" text-anchor="middle">'
        "time in seconds</text>"
    )
    yield (
        f'<text transform="translate(16 {(TOP + bottom) / 2:g}) rotate(-90)" '
        'text-anchor="middle">proven optimal</text>'
    )
    for k, (name, runs) in enumerate(lines.items()):
        colour, dashes = COLOURS[k % len(COLOURS)], DASHES[k % len(DASHES)]
        style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        times = sorted(run.seconds for run in runs if run.proven)
        path = f"M{LEFT} {decimal(y(0))}"
        for count, seconds in enumerate(times, 1):
            path += f"H{decimal(x(seconds))}V{decimal(y(count / len(runs)))}"
        path += f"H{decimal(x(max([*times[-1:], *(run.case.limit for run in runs)])))}"
        yield f'<path d="{path}" fill="none" {style}/>'
        label = TOP + 8 + 18 * k
        yield f'<path d="M{right + 12} {label - 4}h24" {style}/>'
        yield (
            f'<text x="{right + 42}" y="{label}" font-size="11">'
            f"{safe(name)}: {len(times)} of {len(runs)}</text>"
        )


# -- the command -------------------------------------------------------------------------------


def save(runs: Sequence[Run], path: Path) -> None:
    """Write all runs so far to a file."""
    text = json.dumps({"runs": [run.to_dict() for run in runs]}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=FAMILIES, help="run only these families")
    parser.add_argument("--quick", action="store_true", help="small sizes, 2 seeds, 2 s")
    parser.add_argument("--seeds", type=int, help="instances of each kind (default: 5)")
    parser.add_argument(
        "--time-limit", type=float, metavar="S", help="time limit of every run, in seconds"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder with problems in files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for all runs (JSON)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="file for the plot (SVG)")
    asked = parser.parse_args(arguments)
    if asked.seeds is not None and asked.seeds < 1:
        parser.error(f"--seeds is {asked.seeds}; expected at least 1")
    if asked.time_limit is not None and not asked.time_limit > 0:
        parser.error(f"--time-limit is {asked.time_limit:g}; expected more than 0")
    if asked.data is not None and not asked.data.is_dir():
        parser.error(f"the folder {asked.data} does not exist")
    return asked


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the families asked for, by default all."""
    given = parse(arguments)
    seeds = given.seeds or (2 if given.quick else 5)
    asked = Asked(seeds, given.quick, given.time_limit, given.data)
    cases = [case for name in given.only or FAMILIES for case in FAMILIES[name](asked)]
    total = sum(len(case.instances) for case in cases)
    runs: list[Run] = []
    start = time.perf_counter()
    print(header())
    interrupted = False
    for case in cases:
        group: list[Run] = []
        for instance in case.instances:
            run = measure(case, instance)
            interrupted = run.result is not None and run.result.status is Status.INTERRUPTED
            if interrupted:
                break
            group.append(run)
            runs.append(run)
            status = run.result.status if run.result else "no plan"
            say(
                f"{len(runs)} of {total}, {time.perf_counter() - start:.0f} s: {case.family}, "
                f"{case.name}, {instance.name}, {case.how}: {status} after {run.seconds:.2f} s"
            )
        if group:
            print(row(case, group), flush=True)
        if given.json:
            save(runs, given.json)
        if interrupted:
            say("interrupted")
            break
    for line in (*known_table(runs), *ablation_table(runs)):
        print(line)
    if given.plot:
        given.plot.write_text(plot(runs), encoding="utf-8")
        say(f"the plot is in {given.plot}")
    wrong = contradictions(runs)
    for line in wrong:
        print(f"CONTRADICTION: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
