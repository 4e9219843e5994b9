"""How the verdicts on the paper's claims move with the choices that the paper leaves open.

One choice at a time differs from the defaults of the test sets: a parameter, or the seed. Each is
judged by the rules of the claims, on small draws of instances. `benchmarks/choices.py` makes the
solves and keeps the verdicts in a file; the page shows them as tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from coreplan.bench.claims.check import check_claims
from coreplan.bench.claims.evidence import EXPECTED
from coreplan.bench.claims.rules import RULES
from coreplan.bench.claims.verdicts import Verdict
from coreplan.bench.config import BenchConfig, SetRun, Solver
from coreplan.bench.markdown import table
from coreplan.bench.store import Row
from coreplan.errors import Diagnostic, FormatError
from coreplan.files.writing import to_json

FORMAT = "choices/1"
SEED = 1
"""Seed of the test sets, unless the choice is another one."""
CLOCK = "processor"
"""The seconds that count for limits and results."""


@dataclass(frozen=True)
class Choice:
    """One choice that differs from the defaults.

    Attributes
    ----------
    name, value
        The parameter and its value, as text; both empty for the defaults.
    parameters
        Parameters of the sets.
    sets
        The sets that it is about; empty for all sets of the field.
    seed
        Seed of the sets.
    """

    name: str = ""
    value: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sets: tuple[str, ...] = ()
    seed: int = SEED

    @property
    def label(self) -> str:
        """Its name in tables."""
        return f"{self.name} {self.value}".strip() or "defaults"


def _choices(**values: Sequence[object]) -> Iterator[Choice]:
    for name, several in values.items():
        for value in several:
            yield Choice(name, str(value), {name: value})


_SEEDS = tuple(Choice("seed", str(seed), seed=seed) for seed in (2, 3))
_COMMON = tuple(_choices(durations=["shortest"], revenue=["drawn"]))


@dataclass(frozen=True)
class Field:
    """Claims that are judged by the same solves, with the choices that they may depend on.

    Attributes
    ----------
    name
        Its name in the file.
    title
        Its name on pages.
    claims
        Keys of the claims.
    sets
        Per test set: instances per group, and parameters that make it small.
    solvers
        The solvers.
    choices
        The choices, the defaults first.
    """

    name: str
    title: str
    claims: tuple[str, ...]
    sets: Mapping[str, tuple[int, Mapping[str, Any]]]
    solvers: tuple[Solver, ...]
    choices: tuple[Choice, ...]

    def config(self, choice: Choice, limit: float, memory: float) -> BenchConfig:
        """The run that judges a choice."""
        runs = []
        for name, (count, small) in self.sets.items():
            if not choice.sets or name in choice.sets:
                parameters = {**small, **choice.parameters}
                runs.append(SetRun(name, count, parameters, self.solvers, limit, memory, CLOCK))
        return BenchConfig(f"{self.name}, {choice.label}", choice.seed, tuple(runs))


_CORE = Solver("core", "core", {"threads": 1})
_DEC_MDP = Solver("dec-mdp", "dec-mdp", {})
_DP = Solver("dp", "dp", {"merge": False})
_SPUDD = Solver("spudd", "spudd", {"encoding": "reference"})
_CRG_PS = Solver("crg-ps", "crg-ps", {"merge": False})
_CORE_2016 = Solver("core-2016", "core-2016", {"merge": False})
_EXPECTED = Solver("core-2016 expected", "core-2016", dict(EXPECTED.options["core-2016"]))

_KEYS = tuple(rule.key for rule in RULES)
_LOSSES = _KEYS[: _KEYS.index("decimated")]
_PYRAMIDS = _KEYS[_KEYS.index("quarter") :]
_RANDOM_SETS = ("rand3", "rand4", "rand5")

FIELDS: tuple[Field, ...] = (
    Field(
        "decentralised",
        "Decentralised plans (rand and coordint)",
        _LOSSES,
        {name: (100, {}) for name in (*_RANDOM_SETS, "coordint")},
        (_CORE, _DEC_MDP),
        (
            Choice(),
            *(
                Choice(each.name, each.value, each.parameters, _RANDOM_SETS)
                for each in (*_choices(idle=[0, 2], density=[0.25, 0.5]), *_COMMON)
            ),
            *(
                Choice(each.name, each.value, each.parameters, ("coordint",))
                for each in _choices(cost=[0.1, 0.02, 0.0], probability=[0.5])
            ),
            *_SEEDS,
        ),
    ),
    Field(
        "mpp",
        "Searches and SPUDD (mpp)",
        tuple(key for key in _KEYS if key not in (*_LOSSES, *_PYRAMIDS)),
        {"mpp": (12, {})},
        (_DP, _SPUDD, _CRG_PS, _CORE_2016, _EXPECTED),
        (
            Choice(),
            *_choices(links=[1, 2, 3], idle=[0, 2]),
            *(
                Choice("pairs, density", str(value), {"network": "pairs", "density": value})
                for value in (0.25, 0.5)
            ),
            *_choices(tasks=[2, 4]),
            *_COMMON,
            *_SEEDS,
        ),
    ),
    Field(
        "pyra",
        "Pyramids (pyra)",
        _PYRAMIDS,
        {"pyra": (2, {"agents": [4, 5, 6, 7, 8, 10], "horizon": [4, 5]})},
        (_SPUDD, _CORE_2016, _EXPECTED),
        (Choice(), *_choices(idle=[0, 2], tasks=[2, 4]), *_COMMON, *_SEEDS),
    ),
)
"""All claims, with the choices that they may depend on."""


@dataclass(frozen=True)
class Mark:
    """The verdict on one claim for one choice.

    Attributes
    ----------
    verdict, short
        Of the reading as published, with its number.
    expected
        The verdict with expected bounds; empty if the claim does not name CoRe.
    """

    verdict: str
    short: str
    expected: str = ""

    def __str__(self) -> str:
        text = f"{self.verdict} ({self.short})" if self.short else self.verdict
        if self.expected not in ("", self.verdict):
            text += f"; {EXPECTED.label}: {self.expected}"
        return text


@dataclass(frozen=True)
class Moves:
    """The verdicts of all claims for all choices.

    Attributes
    ----------
    limit
        Time limit of each solve, in seconds.
    clock
        The seconds that count: ``wall`` or ``processor``.
    version
        Version of coreplan that made the solves.
    marks
        By field, label of the choice and key of the claim. A claim that a choice is not about has
        no mark.
    """

    limit: float
    clock: str
    version: str
    marks: Mapping[str, Mapping[str, Mapping[str, Mark]]]

    def to_dict(self) -> dict[str, Any]:
        """All attributes by name, for JSON."""
        return {"format": FORMAT, **asdict(self)}


def judge_choice(judged: Field, rows: Iterable[Row]) -> dict[str, Mark]:
    """The verdicts on the claims of a field, from the solves of one choice."""
    found = {}
    for claim in check_claims(rows):
        if claim.key in judged.claims and claim.verdict is not Verdict.NOT_MEASURED:
            expected = dict(claim.beside).get(EXPECTED.label)
            found[claim.key] = Mark(
                str(claim.verdict),
                claim.finding.short,
                "" if expected is None else str(expected.verdict),
            )
    return found


def write_moves(moves: Moves) -> str:
    """The text of a file with verdicts."""
    return to_json(moves.to_dict())


def read_moves(path: str | Path) -> Moves:
    """Read a file with verdicts.

    Raises
    ------
    FormatError
        If the file cannot be read, or is something else.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}; expected {FORMAT!r}")
        marks = {
            name: {
                label: {key: Mark(**mark) for key, mark in each.items()}
                for label, each in choices.items()
            }
            for name, choices in data["marks"].items()
        }
        return Moves(float(data["limit"]), str(data["clock"]), str(data["version"]), marks)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = Diagnostic((), f"cannot be read as a file of verdicts: {error}")
        raise FormatError(str(path), [problem]) from error


def moves_tables(moves: Moves) -> Iterator[str]:
    """The lines of the tables: how the verdicts move with each choice."""
    yield (
        f"Small draws, {moves.limit:g} s ({moves.clock} time) for each solve; one choice at a time "
        "differs from the defaults. Each cell has the verdict by the same rule, with the number "
        "that decides it (a : b are the instances that the two sides solve, or their largest "
        "teams)."
    )
    statements = {rule.key: rule.statement for rule in RULES}
    for each in FIELDS:
        known = moves.marks.get(each.name, {})
        labels = [choice.label for choice in each.choices if choice.label in known]
        if not labels:
            continue
        yield ""
        yield f"### {each.title}"
        yield ""
        rows = []
        for key in each.claims:
            marks = [known[label].get(key) for label in labels]
            cells = ["" if mark is None else str(mark) for mark in marks]
            rows.append([statements[key], _tally(marks), *cells])
        yield from table(["the paper", "agree", *labels], rows)


def _tally(marks: Sequence[Mark | None]) -> str:
    judged = [mark for mark in marks if mark is not None]
    agree = sum(mark.verdict == Verdict.AGREE for mark in judged)
    return f"{agree} of {len(judged)}" if judged else ""
