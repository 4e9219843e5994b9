"""Options of algorithms: as keywords, as one object, for type checkers, on the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click
import pytest

import coreplan.solving.options as options_module
from coreplan import (
    Contractor,
    CoreOptions,
    MaintenanceProblem,
    Result,
    SolverError,
    Task,
    compare,
    evaluate_plan,
    read_problem,
    register_algorithm,
    solve,
    write_problem,
)
from coreplan.bench.config import Solver
from coreplan.bench.variants import Variant, make_variant
from coreplan.cli import cli, example_path
from coreplan.cli.compare import compare_algorithms
from coreplan.cli.options import offered_options, shown_default
from coreplan.domains.maintenance import sensitivity
from coreplan.solving import (
    Core2016Options,
    CrgPsOptions,
    DecMdpOptions,
    DpOptions,
    SolverOptions,
    SpuddOptions,
)
from coreplan.solving.option_fields import Choice, Flag, option, options_in
from coreplan.solving.options import OWN_OPTIONS, OwnAlgorithm, SolveKeywords
from coreplan.solving.registry import ALGORITHMS, AlgorithmName, algorithm_for, forget_algorithm
from coreplan.solving.task import SolverTask
from coreplan.solving.tuning import Tuning
from coreplan.support.processors import usable_processors
from helpers import from_file, random_mpp

ROOT = Path(__file__).parents[1]
PROBLEM = read_problem(example_path("two_works.yaml"))
OWN = sorted(OWN_OPTIONS)

UNUSUAL: dict[str, list[tuple[dict[str, Any], SolverOptions]]] = {
    "core": [
        ({"threads": 2, "prefer": "late"}, CoreOptions(threads=2, prefer="late")),
        ({"exact": False, "seed": 7}, CoreOptions(exact=False, seed=7)),
        ({"tuning": Tuning(bases=2)}, CoreOptions(tuning=Tuning(bases=2))),
        ({"work_limit": 1, "shape": False}, CoreOptions(work_limit=1, shape=False)),
    ],
    "dp": [({"merge": False}, DpOptions(merge=False))],
    "spudd": [
        ({"order": "interleaved"}, SpuddOptions(order="interleaved")),
        ({"actions": "enumerate", "merge": False}, SpuddOptions(actions="enumerate", merge=False)),
        ({"encoding": "reference"}, SpuddOptions(encoding="reference")),
    ],
    "crg-ps": [
        ({"memo": True}, CrgPsOptions(memo=True)),
        (
            {"decouple": "search", "rewards": "checked"},
            CrgPsOptions(decouple="search", rewards="checked"),
        ),
    ],
    "core-2016": [
        (
            {"assignment": "highest-degree", "absolute_gap": 1},
            Core2016Options(assignment="highest-degree", absolute_gap=1),
        ),
        (
            {"bounds": "expected", "action_order": "listed", "independent_actions": True},
            Core2016Options(bounds="expected", action_order="listed", independent_actions=True),
        ),
    ],
    "dec-mdp": [({"seed": 3, "merge": False}, DecMdpOptions(seed=3, merge=False))],
}


def told(result: Result) -> tuple[object, ...]:
    """What a result says, but for time and memory."""
    assert result.policy is not None
    return (
        result.algorithm,
        result.status,
        result.value,
        result.upper_bound,
        result.message,
        result.statistics.joint_states_expanded,
        result.statistics.joint_actions_evaluated,
        result.statistics.others,
        result.policy.act(0),
    )


# -- both spellings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "loose", "options"),
    [(name, *both) for name, pairs in UNUSUAL.items() for both in pairs],
)
def test_both_spellings_are_the_same(
    algorithm: str, loose: dict[str, Any], options: SolverOptions
) -> None:
    """Keywords and an object, with and without the algorithm's name, do the same work."""
    one_by_one = solve(PROBLEM, algorithm=algorithm, **loose)
    assert told(one_by_one) == told(solve(PROBLEM, options=options))
    assert told(one_by_one) == told(solve(PROBLEM, algorithm=algorithm, options=options))


def test_the_default_is_the_engine() -> None:
    """Without any option it is `core`, as with its options at their defaults."""
    assert solve(PROBLEM).algorithm == "core"
    assert told(solve(PROBLEM)) == told(solve(PROBLEM, options=CoreOptions()))


def test_other_functions_take_the_object_too() -> None:
    """Comparisons, evaluations and sensitivities give the same for both spellings."""
    loose, given = {"merge": False}, DpOptions(merge=False)
    runs = [compare(PROBLEM, ["dp"], options={"dp": each}).runs[0] for each in (loose, given)]
    assert told(runs[0].result) == told(runs[1].result)  # type: ignore[arg-type]
    policy = solve(PROBLEM, prefer="late").policy
    assert policy is not None
    one_by_one = evaluate_plan(PROBLEM, policy, merge=False)
    as_an_object = evaluate_plan(PROBLEM, policy, options=CoreOptions(merge=False))
    assert one_by_one.upper_bound == as_an_object.upper_bound
    reports = [sensitivity(PROBLEM, **each) for each in ({"options": given}, {"algorithm": "dp"})]
    assert reports[0].influences == reports[1].influences
    assert {report.result.algorithm for report in reports} == {"dp"}


def test_options_are_frozen() -> None:
    """An object of options can be kept and shared; another one is made by `replace`."""
    options = CoreOptions(threads=1)
    with pytest.raises(FrozenInstanceError):
        options.threads = 2  # type: ignore[misc]
    assert replace(options, threads=2) == CoreOptions(threads=2)
    with pytest.raises(TypeError):
        CoreOptions(2)  # type: ignore[misc]


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"options": CoreOptions(), "threads": 2},
            "options are given in two ways: as CoreOptions and as threads; put all of them into",
        ),
        (
            {"options": CoreOptions(), "algorithm": "dp"},
            "options is a CoreOptions, but algorithm 'dp' takes DpOptions",
        ),
        (
            {"options": Core2016Options(), "algorithm": "crg-ps"},
            "options is a Core2016Options, but algorithm 'crg-ps' takes CrgPsOptions",
        ),
        ({"options": CoreOptions(), "algorithm": "cor"}, "no algorithm 'cor'; did you mean 'core'"),
        (
            {"options": {"threads": 2}},
            r"options is \{'threads': 2\}; expected an object, for instance CoreOptions",
        ),
        ({"options": CoreOptions}, "expected an object, for instance CoreOptions"),
        ({"options": SolverOptions()}, "no algorithm takes SolverOptions; register the algorithm"),
        ({"algorithm": "dp", "threads": 2}, "algorithm 'dp' has no option 'threads'"),
    ],
)
def test_options_that_do_not_fit(given: dict[str, Any], message: str) -> None:
    """Options in two ways, for another algorithm, or of no algorithm are refused in words."""
    with pytest.raises(SolverError, match=message):
        solve(PROBLEM, **given)


@pytest.mark.parametrize(
    ("algorithm", "name", "value", "message"),
    [
        *(
            (algorithm, "merge", value, rf"merge is {value!r}; expected True or False")
            for algorithm in OWN
            for value in (1, "no", None)
        ),
        ("core", "threads", 0, "threads is 0; expected at least 1"),
        ("core", "threads", 2.5, "threads is 2.5; expected a whole number or None"),
        ("core", "threads", True, "threads is true; expected a whole number or None"),
        ("core", "seed", -1, r"seed is -1; expected a whole number from 0 to 2\*\*64 - 1"),
        ("dec-mdp", "seed", 2**64, r"expected a whole number from 0 to 2\*\*64 - 1"),
        ("core", "relative_gap", -1, "relative_gap is -1; expected a number of at least 0"),
        ("core-2016", "absolute_gap", "1", "absolute_gap is '1'; expected a number of at least 0"),
        ("core", "absolute_gap", float("nan"), "absolute_gap is nan; expected a number"),
        ("core", "relative_gap", None, "relative_gap is None; expected a number of at least 0"),
        ("core", "work_limit", 0, "work_limit is 0; expected a number above 0, or None"),
        ("core", "work_limit", True, "work_limit is True; expected a number above 0, or None"),
        ("core", "deterministic", 0, "deterministic is 0; expected True or False"),
        ("core", "prefer", "soon", "prefer is 'soon'; expected one of 'early', 'late', 'any'"),
        ("core", "tuning", {}, r"tuning is \{\}; expected a Tuning, or None"),
        ("core", "certificate", 3, "certificate is 3; expected a file's name, or True"),
        ("core", "floors", "yes", "floors is 'yes'; expected True or False"),
        ("spudd", "order", "sifted", "order is 'sifted'; expected one of 'grouped', 'interleaved'"),
        ("spudd", "actions", ["diagram"], "expected one of 'diagram', 'enumerate'"),
        ("crg-ps", "memo", 1, "memo is 1; expected True or False"),
        ("crg-ps", "assignment", "balanecd", "no assignment 'balanecd'; did you mean 'balanced'"),
        ("core-2016", "assignment", 3, "assignment is 3; expected 'balanced' or 'highest-degree'"),
    ],
)
def test_values_that_make_no_sense(algorithm: str, name: str, value: Any, message: str) -> None:
    """Both spellings refuse a value in the same words, the object where it is made."""
    with pytest.raises(SolverError, match=message):
        solve(PROBLEM, algorithm=algorithm, **{name: value})
    with pytest.raises(SolverError, match=message):
        ALGORITHMS[algorithm].options(**{name: value})


def test_options_that_exclude_each_other() -> None:
    """A certificate needs losses; without any certificate, they may be left out."""
    said = "a certificate needs shape=True: it proves bounds on losses"
    with pytest.raises(SolverError, match=said):
        CoreOptions(certificate=True, shape=False)
    assert not CoreOptions(certificate=False, shape=False).wants_certificate


def test_a_plan_has_one_beginning() -> None:
    """What a function gives by itself cannot be given by an object of options either."""
    policy = solve(PROBLEM).policy
    assert policy is not None
    for given in ({"start": policy}, {"options": CoreOptions(start=policy)}):
        with pytest.raises(SolverError, match="start is not an option here: the search starts"):
            evaluate_plan(PROBLEM, policy, **given)
        with pytest.raises(SolverError, match="the sensitivity analysis has no option start"):
            sensitivity(PROBLEM, **given)


# -- one place says each thing ---------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", OWN)
def test_keywords_are_the_fields(algorithm: OwnAlgorithm) -> None:
    """What type checkers take as keywords has the names and types of the fields."""
    options = OWN_OPTIONS[algorithm]
    keywords = getattr(options_module, options.__name__.replace("Options", "Keywords"))
    typed = get_type_hints(keywords)
    for name in get_type_hints(SolveKeywords).keys() - get_type_hints(SolverOptions).keys():
        del typed[name]
    known = get_type_hints(options)
    assert typed == {each.name: known[each.name] for each in fields(options)}


def test_names_of_algorithms_are_known() -> None:
    """The literal names, the dataclasses and the registered functions go together."""
    assert set(get_args(OwnAlgorithm)) == set(OWN_OPTIONS)
    for name in OWN_OPTIONS:
        assert ALGORITHMS[name].options is OWN_OPTIONS[name]
        assert algorithm_for(OWN_OPTIONS[name]()).name == name


@pytest.mark.parametrize("algorithm", OWN)
def test_every_option_is_described(algorithm: OwnAlgorithm) -> None:
    """Each has help in sentences, values in words, and a default that is a valid value."""
    for each in options_in(OWN_OPTIONS[algorithm]).values():
        assert re.fullmatch(r"[A-Z].*\.", each.about.help), each
        assert each.about.kind.accepts
        each.about.kind.check(each.name, each.default)


def test_options_of_one_name_are_one_option() -> None:
    """Algorithms that have an option of the same name have the same default and help."""
    known: dict[str, object] = {}
    for options in OWN_OPTIONS.values():
        for each in options_in(options).values():
            assert known.setdefault(each.name, each) == each


@pytest.mark.parametrize("algorithm", OWN)
def test_benchmarks_use_the_same_defaults(algorithm: OwnAlgorithm) -> None:
    """An option at its default makes no other variant; another value does, if it matters."""
    for each in options_in(OWN_OPTIONS[algorithm]).values():
        assert make_variant(algorithm, {each.name: each.default}) == Variant(algorithm)
        other = make_variant(algorithm, {each.name: "another"})
        assert other.options == (() if each.about.same_answer else ((each.name, "another"),))
    threads = 1 if algorithm != "core" else usable_processors()
    assert Solver("s", algorithm, {}).threads == threads


def test_a_variant_of_unknown_options() -> None:
    """Results of other versions and packages keep all their options."""
    assert make_variant("core", {"fast": 1}).options == (("fast", 1),)
    assert make_variant("theirs", {"merge": True, "x": None}).options == (("merge", True),)


def test_the_page_is_made_from_the_fields(tmp_path: Path) -> None:
    """docs/options.md is what tools/write_options.py writes."""
    made = tmp_path / "options.md"
    subprocess.run([sys.executable, ROOT / "tools" / "write_options.py", made], check=True)
    committed = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert made.read_text(encoding="utf-8") == committed


# -- on the command line ---------------------------------------------------------------------------

SPELLINGS = {
    *("--threads", "--relative-gap", "--absolute-gap", "--work-limit", "--prefer", "--seed"),
    *("--deterministic", "--no-deterministic", "--merge", "--no-merge", "--memo", "--no-memo"),
    *("--assign", "--assignment", "--order", "--actions", "--encoding", "--bounds", "--decouple"),
    *("--action-order", "--rewards", "--independent-actions", "--no-independent-actions"),
    *("--update-bounds", "--no-update-bounds"),
}


@pytest.mark.parametrize("command", [cli.commands["solve"], compare_algorithms])
def test_commands_offer_the_options(command: click.Command) -> None:
    """`solve` and `compare algorithms` have every option meant for people, without a default."""
    parameters = {each.name: each for each in command.params}
    spelled = {text for each in parameters.values() for text in (*each.opts, *each.secondary_opts)}
    assert spelled >= SPELLINGS
    for name, (known, _) in offered_options().items():
        shown = parameters[name]
        assert isinstance(shown, click.Option)
        assert shown.get_default(click.Context(command)) in (None, ())
        assert shown.help is not None
        assert shown.help.startswith(known.about.help)
        assert shown.help.endswith(shown_default(known))
        if isinstance(known.about.kind, Choice):
            assert isinstance(shown.type, click.Choice)
            assert tuple(shown.type.choices) == known.about.kind.words


def test_help_names_the_algorithms() -> None:
    """The help says whose option it is, unless all have it, and its default."""
    shown = {each.name: getattr(each, "help", "") for each in cli.commands["solve"].params}
    assert shown["prefer"].endswith("the quickest. Only for `core`.  [default: early]")
    assert shown["memo"].endswith("Only for `crg-ps` and `core-2016`.  [default: no-memo]")
    assert shown["merge"].endswith("as in the literature.  [default: merge]")
    assert shown["relative_gap"].endswith("Only for `core` and `core-2016`.  [default: 0]")
    assert shown["threads"].endswith("or 4 per processor if that is more. Only for `core`.")
    assert shown["actions"].endswith("Only for `spudd`.  [default: diagram]")
    planned = {each.name: getattr(each, "help", "") for each in cli.commands["plan"].params}
    assert planned["threads"].endswith("or 4 per processor if that is more.")


@pytest.mark.parametrize(
    ("algorithm", "arguments", "options"),
    [
        ("core", ["--prefer", "late", "--seed", 5, "--threads", 1], {"prefer": "late", "seed": 5}),
        ("core", ["--no-deterministic", "--work-limit", 3, "--relative-gap", 0.1], {}),
        ("core", ["--deterministic", "--merge", "--absolute-gap", 0.5], {"absolute_gap": 0.5}),
        ("dp", ["--no-merge"], {"merge": False}),
        (
            "spudd",
            ["--order", "interleaved", "--actions", "enumerate"],
            {"order": "interleaved", "actions": "enumerate"},
        ),
        ("spudd", ["--encoding", "reference"], {"encoding": "reference"}),
        ("crg-ps", ["--memo", "--assignment", "highest-degree"], {"memo": True}),
        (
            "core-2016",
            [*("--assignment", "0=Alpha", "--assignment", "1=Beta", "--assignment", "2=Beta")],
            {"assignment": {0: "Alpha", 1: "Beta", 2: "Beta"}},
        ),
        (
            "core-2016",
            ["--assign", "smallest", "--bounds", "expected", "--action-order", "listed"],
            {"assignment": "smallest", "bounds": "expected", "action_order": "listed"},
        ),
        (
            "core-2016",
            ["--independent-actions", "--decouple", "search", "--rewards", "entries"],
            {"independent_actions": True, "decouple": "search", "rewards": "entries"},
        ),
        ("dec-mdp", ["--seed", 9], {"seed": 9}),
    ],
)
def test_the_command_line_solves_the_same(
    run: Any, algorithm: str, arguments: list[object], options: dict[str, Any]
) -> None:
    """What is asked for by the command line is what Python does."""
    given = ("solve", example_path("two_works.yaml"), "--algorithm", algorithm, "--json")
    code, out, err = run(*given, *arguments)
    assert (code, err) == (0, "")
    expected = solve(PROBLEM, algorithm=algorithm, **options)
    assert f'"value": {expected.value!r}' in out
    assert f'"joint_states_expanded": {expected.statistics.joint_states_expanded}' in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithm", "dp", "--threads", 1], "algorithm 'dp' has no option 'threads'"),
        (["--algorithm", "core", "--memo"], "algorithm 'core' has no option 'memo'"),
        (["--algorithm", "spudd", "--seed", 1], "algorithm 'spudd' has no option 'seed'"),
        (["--algorithm", "crg-ps", "--relative-gap", 1], "has no option 'relative_gap'"),
        (["--prefer", "soon"], "'soon' is not one of 'early', 'late', 'any'"),
        (["--threads", 0], "--threads"),
        (["--seed", 2**64], "--seed"),
        (["--relative-gap", -1], "--relative-gap"),
        (["--work-limit", 0], "--work-limit"),
        (["--algorithm", "core-2016", "--assignment", "x="], "FUNCTION=AGENT"),
        (["--algorithm", "core-2016", "--assign", "x=Beta"], "unknown reward function, 'x'"),
        (["--algorithm", "core-2016", "--assignment", "balanecd"], "did you mean 'balanced'"),
    ],
)
def test_the_command_line_refuses(run: Any, arguments: list[object], message: str) -> None:
    """An option of another algorithm, or a value that makes no sense, ends with code 2."""
    code, out, err = run("solve", example_path("two_works.yaml"), *arguments, "--json")
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())


def test_compare_shares_options_out(run: Any) -> None:
    """Each algorithm gets the options that it has; one that none has is refused."""
    example = example_path("two_works.yaml")
    names = ("--algorithms", "core,dp")
    code, out, _ = run(
        "compare", "algorithms", example, *names, "--threads", 1, "--no-merge", "--json"
    )
    assert code == 0
    expected = solve(PROBLEM, algorithm="dp", merge=False).statistics.joint_states_expanded
    assert f'"joint_states_expanded": {expected}' in out
    code, out, err = run("compare", "algorithms", example, *names, "--memo")
    assert (code, out) == (2, "")
    assert "--memo is not an option of core or dp" in err


@pytest.mark.parametrize("command", ["plan", "report"])
def test_plans_by_the_options_of_the_engine(run: Any, command: str, tmp_path: Path) -> None:
    """Commands that solve by the engine take its options, and refuse those of others."""
    task = Task("a", 1, cost=1, revenue=2)
    problem = tmp_path / "works.yaml"
    write_problem(MaintenanceProblem((Contractor("A", (task,)),), horizon=5), problem)
    page = tmp_path / "plan.html"
    output = ("-o", page, "--force") if command == "report" else ()
    for prefer, step in (("early", 0), ("late", 4)):
        given = ("--prefer", prefer, "--threads", 1)
        assert run(command, problem, *output, *given).code == 0
        code, out, _ = run(command, problem, *output, *given, "--json")
        assert code == 0
        if command == "report":
            # The start and the end of the only work, which takes one step.
            cells = f'{{"text":"step {step}"}},{{"text":"step {step}"}}'
            assert cells in page.read_text(encoding="utf-8")
        else:
            assert f'"likely_start": {step}' in out
    code, _, err = run(command, problem, *output, "--memo")
    assert code == 2
    assert "--memo" in err


# -- algorithms of others --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TheirOptions(SolverOptions):
    """Options of an algorithm that is written elsewhere."""

    merge: bool = option(True, "Merge equivalent local states.", Flag())
    sweeps: int = 3


def theirs(task: SolverTask, options: TheirOptions) -> Result:
    """An algorithm with a dataclass of options."""
    assert isinstance(options, TheirOptions)
    found = solve(task.problem, algorithm="dp", merge=options.merge)
    return replace(found, algorithm=f"theirs {options.sweeps}")


def loosely(task: SolverTask, merge: bool = True, sweeps: int = 3, names: Any = ()) -> Result:
    """The same with options one by one."""
    return replace(theirs(task, TheirOptions(merge=merge, sweeps=sweeps)), message=repr(names))


@pytest.fixture
def registered() -> Iterator[dict[str, AlgorithmName]]:
    """Algorithms of others in all three ways, while a test runs."""
    names = {
        "annotated": register_algorithm("annotated", theirs),
        "explicit": register_algorithm(
            "explicit", lambda task, options: theirs(task, options), TheirOptions
        ),
        "loose": register_algorithm("loose", loosely),
    }
    yield names
    for each in names:
        forget_algorithm(each)


def test_algorithms_of_others_have_options(registered: dict[str, AlgorithmName]) -> None:
    """A dataclass, by annotation or by name, and keyword parameters work in both spellings."""
    for name in registered.values():
        assert solve(PROBLEM, algorithm=name, sweeps=5, merge=False).algorithm == "theirs 5"
        with pytest.raises(SolverError, match=f"algorithm '{name}' has no option 'sweep'; did you"):
            solve(PROBLEM, algorithm=name, sweep=5)
        made = ALGORITHMS[name].options(sweeps=4)
        assert solve(PROBLEM, algorithm=name, options=made).algorithm == "theirs 4"
        assert options_in(ALGORITHMS[name].options)["sweeps"].default == 3
        assert compare(PROBLEM, [name], options={name: made}).runs[0].result is not None
        assert make_variant(name, {"sweeps": 3, "merge": True}) == Variant(name)
    for name in ("annotated", "explicit"):
        with pytest.raises(SolverError, match="merge is 1; expected True or False"):
            solve(PROBLEM, algorithm=name, merge=1)  # type: ignore[call-overload]


def test_which_algorithm_is_meant(registered: dict[str, AlgorithmName]) -> None:
    """An object says which algorithm, unless several take such objects."""
    with pytest.raises(SolverError, match="'annotated' and 'explicit' all take TheirOptions; cho"):
        solve(PROBLEM, options=TheirOptions())
    made = ALGORITHMS["loose"].options(sweeps=1)
    assert solve(PROBLEM, options=made).algorithm == "theirs 1"
    assert type(made).__name__ == "LooseOptions"
    with pytest.raises(SolverError, match="is a TheirOptions, but algorithm 'loose' takes Loose"):
        solve(PROBLEM, algorithm="loose", options=TheirOptions())


def test_defaults_may_be_anything() -> None:
    """Also what a dataclass would not take: a list, or nothing at all."""

    def needy(task: SolverTask, sweeps: int, names: list[str] = ["x"]) -> Result:  # noqa: B006
        return loosely(task, sweeps=sweeps, names=names)

    name = register_algorithm("needy", needy)
    try:
        assert solve(PROBLEM, algorithm=name, sweeps=2).message == "['x']"
        with pytest.raises(TypeError, match="sweeps"):
            solve(PROBLEM, algorithm=name)
    finally:
        forget_algorithm(name)


def test_options_that_cannot_be_registered() -> None:
    """What is no class of options, or no function that takes them, is refused."""
    with pytest.raises(SolverError, match="are <class 'int'>; expected a dataclass derived from"):
        register_algorithm("x", theirs, int)  # type: ignore[arg-type]
    with pytest.raises(SolverError, match="is not a function of a task and options"):
        register_algorithm("x", lambda task: solve(task.problem), TheirOptions)
    with pytest.raises(SolverError, match="is not a function of a task"):
        register_algorithm("x", min)


# -- type checkers ---------------------------------------------------------------------------------

RIGHT = """
from pathlib import Path
from typing import Any

from coreplan import _core
from coreplan import CoreOptions, read_problem, register_algorithm, solve
from coreplan.solving import Core2016Options, DpOptions, SolverOptions

stop: _core.Stop = _core.Stop.none  # from the stubs of the compiled core
problem = read_problem("works.yaml")
value: float = solve(problem).value
solve(problem, threads=2, prefer="late", certificate=Path("proof.json"), time_limit=5)
solve(problem, algorithm="core", start={"Alpha": {"a1": 3}}, work_limit=None)
solve(problem, algorithm="dp", merge=False, stage=2)
solve(problem, algorithm="spudd", order="interleaved", actions="enumerate")
solve(problem, algorithm="crg-ps", memo=True, assignment={0: "Alpha"})
solve(problem, algorithm="core-2016", relative_gap=0.1, assignment="highest-degree")
solve(problem, algorithm="dec-mdp", seed=3)
solve(problem, options=CoreOptions(threads=2), memory_limit=100)
solve(problem, algorithm="core-2016", options=Core2016Options(memo=True))

mine = register_algorithm("mine", lambda task, sweeps=3: solve(problem))
solve(problem, algorithm=mine, sweeps=4)


def run(name: str, options: SolverOptions, loose: dict[str, Any]) -> float:
    solve(problem, **loose)
    solve(problem, algorithm=name)
    solve(problem, algorithm=name, options=options)
    return solve(problem, algorithm=name, time_limit=1, **loose).value


run("dp", DpOptions(merge=False), {})
"""
WRONG = """
from coreplan import CoreOptions, read_problem, solve
from coreplan.solving import DecMdpOptions, SpuddOptions

problem = read_problem("works.yaml")
solve(problem, thread=2)
solve(problem, threads="two")
solve(problem, prefer="soon")
solve(problem, tuning={"bases": 2})
solve(problem, algorithm="core", memo=True)
solve(problem, algorithm="dp", threads=2)
solve(problem, algorithm="dp", merge="no")
solve(problem, algorithm="spudd", order="sifted")
solve(problem, algorithm="spudd", memo=True)
solve(problem, algorithm="crg-ps", relative_gap=0.1)
solve(problem, algorithm="crg-ps", memo="yes")
solve(problem, algorithm="core-2016", assignment=3)
solve(problem, algorithm="core-2016", gap=0.1)
solve(problem, algorithm="dec-mdp", seeds=3)
solve(problem, algorithm="dec-mdp", seed=None)
solve(problem, time_limit="soon")
solve(problem, options={"threads": 2})
solve(problem, options=CoreOptions(), threads=2)
solve(problem, options=CoreOptions(thread=2))
solve(problem, options=CoreOptions(threads="two"))
solve(problem, options=SpuddOptions(order="sifted"))
solve(problem, options=DecMdpOptions(memo=True))
"""


def complaints(program: str, text: str, folder: Path) -> set[int]:
    """The lines of a user's script that a type checker complains about."""
    script = folder / "script.py"
    script.write_text(text, encoding="utf-8")
    binaries, source = Path(sys.executable).parent, ROOT / "src"
    # Where an editable installation lies is known to Python only, so both are told.
    if program == "mypy":
        (folder / "mypy.ini").write_text(f"[mypy]\nmypy_path = {source}\n", encoding="utf-8")
        command = [binaries / "mypy", "--config-file", folder / "mypy.ini"]
        command += ["--cache-dir", folder / "cache", script]
    else:
        settings = folder / "pyrightconfig.json"
        settings.write_text(
            f'{{"include": ["script.py"], "extraPaths": ["{source}"], '
            '"typeCheckingMode": "standard"}',
            encoding="utf-8",
        )
        command = [binaries / "basedpyright", "--pythonpath", sys.executable, "-p", settings]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = re.findall(r"script\.py:(\d+)(?::\d+)?(?: -|:) error", done.stdout)
    # Nothing but the script is at fault, and the program has come to its end.
    assert done.returncode == (1 if found else 0), done.stdout + done.stderr
    assert len(found) == done.stdout.count(" error: "), done.stdout
    return {int(line) for line in found}


@pytest.mark.parametrize("program", ["mypy", "basedpyright"])
def test_type_checkers_know_the_options(program: str, tmp_path: Path) -> None:
    """A script with right options passes; every line with a wrong one is complained about."""
    assert complaints(program, RIGHT, tmp_path) == set()
    lines = WRONG.splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.startswith("solve(")}
    assert complaints(program, WRONG, tmp_path) == wrong


def test_wrong_scripts_are_refused_when_they_run() -> None:
    """Every line that type checkers complain about is an error at run time, too."""
    names = {"CoreOptions": CoreOptions, "SpuddOptions": SpuddOptions, "solve": solve}
    names |= {"DecMdpOptions": DecMdpOptions, "problem": from_file(random_mpp(2, 1, 3))}
    for line in WRONG.splitlines():
        if line.startswith("solve("):
            with pytest.raises((SolverError, TypeError)):
                eval(line, dict(names))
