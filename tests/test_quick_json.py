"""Tests of reading JSON fast: the same document as with positions, or none at all."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coreplan.errors import FormatError
from coreplan.files import quick_json, reading
from coreplan.files.document import UnreadableError, clean_text
from coreplan.files.parsing import parse_document
from coreplan.files.quick_json import DoubtError, read_quickly
from coreplan.files.reading import plain
from coreplan.formats import parse_problem
from strategies import problem_dicts

NUMBERS = st.sampled_from(
    [
        "0",
        "-0",
        "1.0",
        "-0.0",
        "1e2",
        "1E-400",
        "1e400",
        "-1e400",
        "01",
        "1.",
        ".5",
        "+1",
        "NaN",
        "Infinity",
        "-Infinity",
        "9007199254740993",
        "1e308",
        "1e309",
        "true",
        "false",
        "null",
        "True",
    ]
) | st.sampled_from(["9" * 400, "9" * 401, "0." + "1" * 398, "0." + "1" * 399, "1" * 5000])
STRINGS = st.sampled_from(
    [
        r'"\ud83d\ude00"',
        r'"\ud83d"',
        r'"\ude00"',
        r'"\\ud83d\ude00"',
        r'"\\\ud83d\ude00"',
        r'"\ud83d\ud83d\ude00"',
        r'"\ude00\ud83d"',
        r'"\uD83D\uDE00\uDE00"',
        r'"\\ud800"',
        '"\t"',
        '"\x7f"',
        r'"\u0000"',
        r'"\x"',
        r'"\u00e"',
        *('"', '"é"', '"a"', '"b"', '""'),
    ]
)
TEXTS = st.recursive(
    NUMBERS | STRINGS,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda parts: f"[{', '.join(parts)}]")
        | st.lists(st.tuples(STRINGS, inner), max_size=4).map(
            lambda pairs: "{" + ",".join(f"{key}:\n{value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=12,
)


def slowly(text: str) -> tuple[Any, bool]:
    """What the reader with positions makes of a text, and whether it finds problems."""
    root, problems = parse_document(text, suffix=".json")
    return (None if root is None else plain(root)), bool(problems)


def same(left: Any, right: Any) -> bool:
    """Whether two documents are equal, with numbers of the same type and sign."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        pairs = zip(left.values(), right.values(), strict=True)
        return list(left) == list(right) and all(same(a, b) for a, b in pairs)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return bool(left == right)


def check_agreement(text: str) -> None:
    """Both readers give the same document, or both find problems."""
    try:
        text = clean_text(text)
    except UnreadableError:
        return
    value, wrong = slowly(text)
    try:
        quick = read_quickly(text)
    except DoubtError:
        # Escaped backslashes before halves of characters are doubtful, though nothing is wrong.
        assert wrong or "\\\\u" in text
    else:
        assert not wrong
        assert same(quick, value)


@settings(max_examples=1000, deadline=None)
@given(text=TEXTS)
def test_both_readers_agree_on_values(text: str) -> None:
    """Numbers and texts of all kinds, sound or not, mean the same to both readers."""
    check_agreement(text)


@settings(max_examples=500, deadline=None)
@given(raw=problem_dicts(), data=st.data())
def test_both_readers_agree_on_damaged_problems(raw: dict[str, Any], data: st.DataObject) -> None:
    """A problem's file with parts cut out or put in means the same to both readers."""
    text = json.dumps(raw, indent=data.draw(st.sampled_from([None, 1])))
    for _ in range(data.draw(st.integers(0, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 6)))
        pieces = st.sampled_from([*'{}[]:,"\\ \n0', '"a": 1, ', "NaN", "[", "1e999", "\\ud800"])
        text = text[:start] + data.draw(st.just("") | pieces) + text[end:]
    check_agreement(text)


def outcome(text: str) -> object:
    """The problem that a text describes, or what is wrong with it, where."""
    try:
        return parse_problem(text, "a.json")
    except FormatError as error:
        return error.problems


@settings(max_examples=200, deadline=None)
@given(raw=problem_dicts(), data=st.data())
def test_problems_do_not_depend_on_the_reader(raw: dict[str, Any], data: st.DataObject) -> None:
    """A file gives the same problem or the same errors with and without the fast reader."""
    text = json.dumps(raw, indent=1)
    words = ["horizon", '"name"', "1", "0.5", "true", "agents", '"s0"', "]"]
    old = data.draw(st.sampled_from(words))
    text = text.replace(old, data.draw(st.sampled_from(["2", '"x"', "-1", "[]", "{}", old])), 1)
    quickly = outcome(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "is_json", lambda *_: False)
        assert outcome(text) == quickly


@pytest.mark.parametrize("depth", [1, 63, 64, 65, 66, 10_000, 300_000])
@pytest.mark.parametrize("parts", [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_nesting(depth: int, parts: tuple[str, str]) -> None:
    """Both readers allow the same depth, and neither fails at any."""
    count = -(-depth // (len(parts[1])))
    check_agreement(parts[0] * count + "1" + parts[1] * count)
    check_agreement(parts[0] * count + parts[1] * count)


def test_zeros_keep_their_sign() -> None:
    """0.0 and -0.0 are equal, but a mapping with one is not read as the other."""
    both = read_quickly('[{"a": 0.0}, {"a": -0.0}]')
    assert [math.copysign(1, each["a"]) for each in both] == [1, -1]


def test_equal_mappings_are_one_object() -> None:
    """Small mappings are kept once; equal numbers of other types make another mapping."""
    items = read_quickly('[{"a": 1, "b": "x"}, {"a": 1, "b": "x"}, {"a": 1.0, "b": "x"}]')
    assert items[0] is items[1]
    assert items[0] is not items[2]
    assert type(items[2]["a"]) is float
    truths = read_quickly('[{"a": 1}, {"a": true}, {"a": [1]}, {"a": [1]}]')
    assert [type(each["a"]) for each in truths[:2]] == [int, bool]
    assert truths[2] is not truths[3]  # the owner of a list may change it


def test_what_is_remembered_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit, values are still right."""
    monkeypatch.setattr(quick_json, "MOST_KEPT", 3)
    tree = [{"a": k, "b": k / 7} for k in range(20)] * 2
    assert same(read_quickly(json.dumps(tree)), tree)


def test_sound_files_are_read_without_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions, which take most of the time and memory, are made only where something is wrong."""
    text = json.dumps(
        {
            "format": "ti-mmdp/1",
            "horizon": 2,
            "agents": [{"name": "A", "initial": "s", "transitions": {"s": {"x": {"s": 1}}}}],
            "rewards": [
                {"scope": ["A"], "entries": [{"when": {"A": {"action": "x"}}, "value": 1}] * 3}
            ],
        }
    )
    calls = []

    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        return parse_document(*arguments, **named)

    monkeypatch.setattr(reading, "parse_document", counted)
    problem = parse_problem(text)
    assert not calls
    conditions = [entry.when["A"] for entry in problem.rewards[0].entries]  # type: ignore[union-attr]
    assert conditions[0] is conditions[2]
    with pytest.raises(FormatError, match="1:50: agents"):
        parse_problem(text.replace('"name": "A"', '"nam": "A"'))
    assert len(calls) == 1
