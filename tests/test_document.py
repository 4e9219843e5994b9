"""Tests of reading JSON and YAML into nodes with positions."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from coreplan.errors import Diagnostic
from coreplan.files import yaml_text
from coreplan.files.document import Node, locate, locate_key
from coreplan.files.parsing import parse_document
from counting import count_calls

SUFFIXES = ("", ".json", ".yaml")
LOADERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])]

JARGON = ("while parsing", "while scanning", "token", "block end", "node content", "scalar")

EXAMPLE = """\
format: mpp/1
agents:
  - name: Alpha
    tasks:
      - {name: a1, cost: [1, 2.5, -3e2], 'window': [0, 6]}
      - &b
        name: "b\\u00e9"
        note: |
          two
          lines
again: *b
empty:
"""


@pytest.fixture(params=LOADERS, ids=lambda loader: str(loader.__name__))
def either_loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with the parser in C, if there is one, and the one in Python."""
    monkeypatch.setattr(yaml_text, "_LOADER", request.param)


def plain(node: Node | None) -> Any:
    """Turn a tree into plain Python values."""
    assert node is not None
    if isinstance(node.value, dict):
        return {key: plain(below) for key, below in node.value.items()}
    if isinstance(node.value, list):
        return [plain(below) for below in node.value]
    return node.value


def good(text: str | bytes, suffix: str = ".yaml") -> Any:
    """Read a text that must have no problems."""
    root, problems = parse_document(text, suffix=suffix)
    assert problems == []
    return plain(root)


def only_problem(text: str | bytes, suffix: str = ".yaml") -> Diagnostic:
    """Read a text that must have exactly one problem."""
    _, problems = parse_document(text, suffix=suffix)
    assert len(problems) == 1, problems
    return problems[0]


def check_result(result: object) -> None:
    """Check what holds for the result of reading anything at all."""
    assert isinstance(result, tuple)
    root, problems = result
    assert root is not None or problems
    assert len(problems) <= 20
    for problem in problems:
        assert isinstance(problem, Diagnostic)
        assert problem.line >= 1
        assert problem.column >= 1
        assert problem.message
        assert len(problem.message) < 400
        assert not any(word in problem.message for word in JARGON)
    if root is not None:
        for node in walk(root):
            assert isinstance(node, Node)
            assert node.line >= 1
            assert node.column >= 1
            assert len(node.text) <= 200
            assert node.kind
            if isinstance(node.value, dict):
                assert node.keys.keys() == node.value.keys()


def walk(root: Node) -> Iterator[Node]:
    """Visit every node of a tree; a shared one only once."""
    seen: set[int] = set()
    rest = [root]
    while rest:
        node = rest.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node.value, dict):
            rest.extend(node.value.values())
        elif isinstance(node.value, list):
            rest.extend(node.value)


# Trees and positions


@pytest.mark.usefixtures("either_loader")
def test_positions_of_values_and_keys_in_yaml() -> None:
    """Values and keys are found at the line and column where they begin."""
    root, problems = parse_document("a: 1\nb:\n  - x\n  - {c: 'd', e: [2]}\n", suffix=".yml")
    assert problems == []
    assert root is not None
    assert locate(root, ["a"]) == (1, 4)
    assert locate_key(root, ["a"]) == (1, 1)
    assert locate(root, ["b"]) == (3, 3)
    assert locate(root, ["b", 1, "c"]) == (4, 9)
    assert locate_key(root, ["b", 1, "c"]) == (4, 6)
    assert locate(root, ["b", 1, "e", 0]) == (4, 18)
    assert locate_key(root, ["b", 1, "e", 0]) == (4, 18)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_positions_do_not_depend_on_the_line_ends(newline: str, suffix: str) -> None:
    """All three kinds of line ends count as one line."""
    text = newline.join(['{"a": 1,', ' "é": [', "", "  true, null]", "}", ""])
    root, problems = parse_document(text, suffix=suffix)
    assert problems == []
    assert root is not None
    assert locate_key(root, ["é"]) == (2, 2)
    assert locate(root, ["é"]) == (2, 7)
    assert locate(root, ["é", 1]) == (4, 9)


def test_locate_falls_back_to_the_deepest_existing_part() -> None:
    """A path that leads nowhere is located where it leaves the tree."""
    root, _ = parse_document('{"a":\n {"b": [1,\n 2]}}', suffix=".json")
    assert root is not None
    assert locate(root, []) == (1, 1)
    assert locate(root, ["a", "zz", 3]) == (2, 2)
    assert locate(root, ["a", "b", 7]) == (2, 8)
    assert locate(root, ["a", "b", -1]) == (2, 8)
    assert locate(root, ["a", "b", "x"]) == (2, 8)
    assert locate(root, ["a", "b", 1, "x"]) == (3, 2)
    assert locate_key(root, []) == (1, 1)
    assert locate_key(root, ["a", "zz"]) == (2, 2)
    assert locate_key(root, ["q", "zz"]) == (1, 1)
    assert locate_key(root, ["a", "b", 9]) == (2, 8)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{a: 1}", "a mapping"),
        ("[a]", "a list"),
        ("abc", "the text 'abc'"),
        ("3", "the number 3"),
        ("0x10", "the number 0x10"),
        ("true", "true"),
        ("False", "false"),
        ("~", "null"),
        ("x" * 500, f"the text '{'x' * 59}…'"),
    ],
)
def test_kind_names_a_node_in_words(text: str, kind: str) -> None:
    """The kind of a node is fit for a message."""
    root, _ = parse_document(text, suffix=".yaml")
    assert root is not None
    assert root.kind == kind


@pytest.mark.usefixtures("either_loader")
def test_text_is_the_spelling_in_the_file() -> None:
    """A scalar keeps its spelling, without its anchor, and cut at 200 characters."""
    root, _ = parse_document(f"- &x 'q'\n- 1.50\n- |\n  a\n- {'y' * 999}\n- [1]\n- &z\n- ~")
    assert root is not None
    assert isinstance(root.value, list)
    assert [node.text for node in root.value] == [
        "'q'",
        "1.50",
        "|\n  a",
        "y" * 199 + "…",
        "",
        "",
        "~",
    ]
    root, _ = parse_document(r'{"a": "\n", "b": 1e2}')
    assert root is not None
    assert isinstance(root.value, dict)
    assert [node.text for node in root.value.values()] == [r'"\n"', "1e2"]


@pytest.mark.parametrize("suffix", [".json", ".JSON"])
def test_suffix_json_means_json(suffix: str) -> None:
    """A file with the suffix of JSON is not read as YAML."""
    assert only_problem("{a: 1}", suffix).column == 2


@pytest.mark.parametrize("suffix", ["", ".txt"])
def test_other_suffixes_are_decided_by_content(suffix: str) -> None:
    """Without a known suffix, brackets are tried as JSON, then YAML; all else is YAML."""
    assert good(' {"a": "\\ud83d\\ude00"}', suffix) == {"a": "😀"}
    assert good("{a: no,}", suffix) == {"a": "no"}
    assert good("a: 1", suffix) == {"a": 1}
    assert "double quotes" in only_problem('{"a": 1,, }', suffix).message
    assert "expected a value" in only_problem("{a: 1,, }", suffix).message


# Bytes and characters


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_byte_order_mark_is_skipped(suffix: str) -> None:
    """A byte order mark at the start has no effect, on columns neither."""
    for text in ('\ufeff{"a": 1}', b'\xef\xbb\xbf{"a": 1}'):
        root, problems = parse_document(text, suffix=suffix)
        assert problems == []
        assert root is not None
        assert locate(root, ["a"]) == (1, 7)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"\xef\xbb\xbfa: 1\n\xc3\xa9b: \xff", 2, 5),
        (b"\x80", 1, 1),
        (b"a: \xed\xa0\x80", 1, 4),
        (b"a\r\n\xe2\x82", 2, 1),
    ],
)
def test_bad_utf8_is_located(data: bytes, line: int, column: int, suffix: str) -> None:
    """The first byte that is not UTF-8 is named with its place."""
    problem = only_problem(data, suffix)
    assert "UTF-8" in problem.message
    assert (problem.line, problem.column) == (line, column)


def test_utf16_is_recognised() -> None:
    """A file in UTF-16 gets a message that says so."""
    assert "UTF-16" in only_problem("a: 1".encode("utf-16")).message


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("bad", ["\x00", "\x07", "\x1f", "\x0c", "\ud800"])
def test_control_characters_are_located(bad: str, suffix: str) -> None:
    """Control characters and lone surrogates are a problem at their place."""
    problem = only_problem(f'["a",\n "{bad}"]', suffix)
    assert f"U+{ord(bad):04X}" in problem.message
    assert (problem.line, problem.column) == (2, 3)


@pytest.mark.parametrize("bad", ["\x7f", "\x85", "\x9f", "\u2028", "\u2029", "\ufeff", "\uffff"])
def test_characters_that_only_json_allows(bad: str) -> None:
    """Unseen characters that JSON allows in a text are refused in YAML."""
    text = f'["a{bad}"]'
    assert good(text, ".json") == [f"a{bad}"]
    problem = only_problem(text, ".yaml")
    assert (problem.line, problem.column) == (1, 4)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("text", ["", b"", " \n\t\r\n", "\ufeff"])
def test_empty_files_are_a_problem(text: str | bytes, suffix: str) -> None:
    """A file without content is a problem and has no root."""
    root, problems = parse_document(text, suffix=suffix)
    assert root is None
    assert "empty" in problems[0].message


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize("text", ["# only this\n", "---\n", "---\n...\n", "--- &a\n"])
def test_empty_yaml_documents_are_a_problem(text: str) -> None:
    """A document of comments and marks only is empty."""
    root, problems = parse_document(text, suffix=".yaml")
    assert root is None
    assert "empty" in problems[0].message


# JSON


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ('{"a": 1,}', 1, 9, "no comma before '}'"),
        ("[1,\n]", 2, 1, "no comma before ']'"),
        ("[1 2]", 1, 4, "expected ',' or ']'"),
        ('{"a" 1}', 1, 6, "expected ':'"),
        ('{"a": ]', 1, 7, "expected a value"),
        ("{'a': 1}", 1, 2, "double quotes"),
        ("{a: 1}", 1, 2, "double quotes"),
        ("[1] // x", 1, 5, "comments"),
        ("# x\n[1]", 1, 1, "comments"),
        ("[/* x */ 1]", 1, 2, "comments"),
        ("[NaN]", 1, 2, "finite"),
        ("[-Infinity]", 1, 2, "finite"),
        ("[01]", 1, 2, "needless 0"),
        ("[-01.5]", 1, 2, "needless 0"),
        ("[+1]", 1, 2, "'+1'"),
        ("[1.]", 1, 2, "'1.'"),
        ("[.5]", 1, 2, "'.5'"),
        ("[1e]", 1, 2, "'1e'"),
        ("[0x10]", 1, 2, "'0x10'"),
        ("[1_000]", 1, 2, "'1_000'"),
        ("[\u0661]", 1, 2, "'\u0661'"),
        ("[True]", 1, 2, "true, false and null"),
        ("[\xa01]", 1, 2, "expected a value"),
        ('{"a": 1} x', 1, 10, "expected the end of the file"),
        ('{"a":\n', 2, 1, "end of the file"),
        ("[1", 1, 3, "end of the file"),
        ('["abc', 1, 2, "not closed"),
        ('["a\nb"]', 1, 2, "not closed"),
        ('["a\tb"]', 1, 4, "a tab"),
        (r'["\q"]', 1, 3, r"escape \q"),
        (r'["\u12"]', 1, 3, r"escape \u12"),
        (r'["\u+123"]', 1, 3, r"escape \u+123"),
        ('"\\', 1, 2, "escape"),
        ("}", 1, 1, "expected a value"),
    ],
)
def test_breaks_of_json_syntax(text: str, line: int, column: int, part: str) -> None:
    """Each break of the syntax of JSON is refused at its place, in plain words."""
    root, problems = parse_document(text, suffix=".json")
    assert root is None
    assert len(problems) == 1
    assert part in problems[0].message
    assert (problems[0].line, problems[0].column) == (line, column)
    assert problems[0].path == ()


def test_lone_surrogate_escapes_are_a_problem() -> None:
    """Half of a surrogate pair is a problem, a whole pair is a character."""
    root, problems = parse_document(r'["\ud83d\ude00", "\ud800x", {"\udc00": 1}]', suffix=".json")
    assert plain(root) == ["😀", "\ufffdx", {"\ufffd": 1}]
    assert [problem.path for problem in problems] == [(1,), (2,)]
    assert "\\ud800" in problems[0].message


# YAML


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, None) for text in ("~", "null", "Null", "NULL")),
        *((text, True) for text in ("true", "True", "TRUE")),
        *((text, False) for text in ("false", "False", "FALSE")),
        ("012", 12),
        ("+7", 7),
        ("-0", 0),
        ("0o17", 15),
        ("0xfF", 255),
        ("1e9", 1e9),
        ("1E-2", 0.01),
        (".5", 0.5),
        ("-5.", -5.0),
        ("+1.5e+3", 1500.0),
        ("9" * 400, int("9" * 400)),
    ],
)
def test_plain_scalars_of_the_core_rules(text: str, value: object) -> None:
    """Scalars without quotes follow the core rules of YAML 1.2."""
    [found] = good(f"- {text}")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    "text",
    [
        *("no", "yes", "on", "off", "y", "NO", "tRue", "nULL", "inf", "-.nan", ".Inf1", "<<", "="),
        *("1_000", "2001-01-01", "1:30", "0b1", "0O7", "0x", "-0x1", "+0o7", "1e", ".", ".e1"),
        "\u0661",
    ],
)
def test_everything_else_is_a_text(text: str) -> None:
    """What the core rules do not name is a text."""
    assert good(f"- {text}") == [text]


@pytest.mark.usefixtures("either_loader")
def test_quoted_scalars_are_texts() -> None:
    """Quotes and block styles always give a text."""
    assert good("- '1'\n- \"true\"\n- |-\n  2\n- >-\n  3\n- ''") == ["1", "true", "2", "3", ""]


@pytest.mark.usefixtures("either_loader")
def test_aliases_share_the_node() -> None:
    """An alias gives the node of its anchor, and the last anchor of a name counts."""
    root, problems = parse_document(EXAMPLE, suffix=".yaml")
    assert problems == []
    assert root is not None
    assert isinstance(root.value, dict)
    assert locate(root, ["again"]) == locate(root, ["agents", 0, "tasks", 1]) == (6, 9)
    assert plain(root.value["again"]) == {"name": "bé", "note": "two\nlines\n"}
    assert good("[&a 1, *a, &a 2, *a]") == [1, 1, 2, 2]
    assert good("&a k: &b v\n*b : *a\n") == {"k": "v", "v": "k"}


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("text", "path", "column", "part"),
    [
        ("a: *x", ("a",), 4, "no anchor"),
        ("[*x, &x 1]", (0,), 2, "no anchor"),
        ("*x : 1", (), 1, "no anchor"),
        ("a: &x [1, *x]", ("a", 1), 11, "refers to a value that contains it"),
        ("&x {a: {b: *x}}", ("a", "b"), 12, "refers to a value that contains it"),
    ],
)
def test_aliases_to_nothing(text: str, path: tuple[str | int, ...], column: int, part: str) -> None:
    """An alias to an anchor that is unknown or still open is refused."""
    root, problems = parse_document(text, suffix=".yaml")
    assert root is None
    assert part in problems[0].message
    assert (problems[0].path, problems[0].column) == (path, column)


@pytest.mark.usefixtures("either_loader")
def test_aliases_must_not_expand_too_far() -> None:
    """Aliases may expand to 20,000 values, or to as many as the file has characters."""
    laughs = "- &a0 [x]\n" + "".join(
        f"- &a{i + 1} [{','.join([f'*a{i}'] * 9)}]\n" for i in range(30)
    )
    root, problems = parse_document(laughs, suffix=".yaml")
    assert root is None
    assert "expand to more than" in problems[0].message

    def nodes(uses: int, comment: int) -> str:
        values = ",".join("x" * 99)
        return f"- &a [{values}]\n" + "- *a\n" * uses + "#" * comment

    # The root, the anchored list of 100 values, and 100 more for each use.
    assert len(good(nodes(198, 0))) == 199
    assert "expand to more than" in only_problem(nodes(199, 0)).message
    assert len(good(nodes(199, 30_000))) == 200


@pytest.mark.usefixtures("either_loader")
def test_aliases_count_towards_the_depth() -> None:
    """Nesting that comes about only through aliases is limited as well."""
    text = f"- &a {'[' * 40}{']' * 40}\n- {'[' * 23}*a{']' * 23}\n"
    good(text)
    deeper = text.replace("*a", "[*a]")
    assert "deeper than 64" in only_problem(deeper).message
    chain = "- &a0 []\n" + "".join(f"- &a{i + 1} [*a{i}]\n" for i in range(70))
    assert "deeper than 64" in only_problem(chain).message


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    "text", ["! x", "!!str 1", "!x [1]", "&a !x {b: 1}", "!<tag:a> x", "! 'x'", "!!str x: 1"]
)
def test_tags_are_a_problem(text: str) -> None:
    """Every explicit tag is refused, and reading goes on."""
    root, problems = parse_document(f"a:\n  - {text}", suffix=".yaml")
    assert root is not None
    assert len(problems) == 1
    assert "tag" in problems[0].message
    assert (problems[0].path, problems[0].line) == (("a", 0), 2)
    assert good("- &a\n  # no tag!\n  x") == ["x"]


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize("text", ["%TAG ! a:\n--- x", "%YAML 1.1\n--- x", "#\n%FOO\n--- x"])
def test_directives_are_a_problem(text: str) -> None:
    """Only the directive for YAML 1.2 is allowed."""
    assert "'%YAML 1.2'" in only_problem(text).message
    assert good("# x\n%YAML 1.2 # y\n---\nx") == "x"


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize("text", ["a: 1\n---\nb: 2\n", "a: 1\n...\n# x\n---\n", "a: 1\n--- ]"])
def test_second_document_is_a_problem(text: str) -> None:
    """A second document is a problem at its first line; the first one is still read."""
    root, problems = parse_document(text, suffix=".yaml")
    assert plain(root) == {"a": 1}
    assert "second document" in problems[0].message
    assert problems[0].line == text[: text.index("---")].count("\n") + 1
    assert good("---\na: 1\n...\n# end\n") == {"a": 1}


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("key", "part"),
    [
        ("1", "a number"),
        ("1e5", "a number"),
        (".inf", "a number"),
        ("9" * 500, "a number"),
        ("true", "a boolean"),
        ("~", "null"),
        ("[x, 1]", "a list"),
        ("{x: 1}", "a mapping"),
        ("&k 5", "a number"),
    ],
)
def test_names_that_are_no_texts(key: str, part: str) -> None:
    """A key that is not a text is a problem, and its spelling is used instead."""
    root, problems = parse_document(f"a:\n  ? {key}\n  : x\n", suffix=".yaml")
    name = key.removeprefix("&k ")
    assert [problem.path[:2] for problem in problems] == [("a", name[:199] + "…")] or [
        problem.path for problem in problems
    ] == [("a", name)]
    assert part in problems[0].message
    assert "quotes" in problems[0].message
    assert (problems[0].line, problems[0].column) == (2, 5)
    assert list(plain(root)["a"].values()) == ["x"]


@pytest.mark.usefixtures("either_loader")
def test_aliases_as_names() -> None:
    """An alias to a text may be a key, an alias to anything else may not."""
    root, problems = parse_document("a: &a 1\nb: &b [2]\n*a : 3\n*b : 4\n", suffix=".yaml")
    assert plain(root) == {"a": 1, "b": [2], "1": 3, "*b": 4}
    assert [problem.path for problem in problems] == [("1",), ("*b",)]


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("a: b: c", 1, 5, "':'"),
        ("a: [1, 2", 1, 9, "expected ',' or ']'"),
        ("a: {x: 1\n", 2, 1, "expected ',' or '}'"),
        ("a: 1\nb: 'x", 2, 4, "not closed"),
        ('a: "x\n---\n"', 1, 4, "not closed before line 2"),
        ('a: "\\xzz"', 1, 7, "hexadecimal"),
        ("a:\n\t- b", 2, 1, "a tab"),
        ("a:\n  b: 1\n c: 2", 3, 2, "line 1"),
        ("- a\n- b\nc", 3, 1, "expected ':'"),
        ("a: @x", 1, 4, "'@'"),
        ("a: - b", 1, 4, "'-'"),
        ("a: &  b", 1, 5, "anchor"),
        ("a: |0\n x", 1, 5, "end of the line"),
        ("a: ]", 1, 4, "expected a value"),
        ("'a' 'b'", 1, 5, "after the end of the document"),
        ("%YAML 1.2\nx", 2, 1, "'---'"),
    ],
)
def test_breaks_of_yaml_syntax(text: str, line: int, column: int, part: str) -> None:
    """Each break of the syntax of YAML is refused at its place, in plain words."""
    result = parse_document(text, suffix=".yaml")
    check_result(result)
    root, problems = result
    assert root is None
    assert part in problems[0].message
    assert (problems[0].line, problems[0].column) == (line, column)


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize("escape", [r"\ud800", r"\Uffffffff", r"\U00110000", r"\q"])
def test_escapes_of_no_character(escape: str) -> None:
    """An escape that names no character is refused in YAML."""
    root, problems = parse_document(f'a: "{escape}"', suffix=".yaml")
    assert root is None
    assert "escape" in problems[0].message


# Both formats


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_repeated_keys_are_a_problem(suffix: str) -> None:
    """A repeated key is reported with the line of the first; the first value stays."""
    text = '{"a": [{"k": 1,\n "b": 2, "\\u006b": {"k": 3}}],\n "a": 4}'
    root, problems = parse_document(text, suffix=suffix)
    assert plain(root) == {"a": [{"k": 1, "b": 2}]}
    assert [(problem.path, problem.line, problem.column) for problem in problems] == [
        (("a", 0, "k"), 2, 10),
        (("a",), 3, 2),
    ]
    assert "line 1" in problems[0].message


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("text", ["1" * 401, "-0." + "1" * 400, "1e400", "-1E999999999999"])
def test_numbers_that_cannot_be_used(text: str, suffix: str) -> None:
    """A number that is too long or not finite is a problem, and NaN in the tree."""
    root, problems = parse_document(f'{{"a": [0, {text}]}}', suffix=suffix)
    assert math.isnan(plain(root)["a"][1])
    assert [problem.path for problem in problems] == [("a", 1)]
    assert ("finite" in problems[0].message) == ("e" in text.lower())


@pytest.mark.parametrize("text", [".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN"])
def test_infinity_and_nan_of_yaml(text: str) -> None:
    """The names that YAML has for infinity and NaN are not finite numbers."""
    root, problems = parse_document(f"- {text}", suffix=".yaml")
    assert math.isnan(plain(root)[0])
    assert "not a finite number" in problems[0].message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_depth_limit(suffix: str) -> None:
    """Nesting of 64 is allowed and 65 is not."""
    good("[" * 64 + "]" * 64, suffix)
    problem = only_problem("\n" + "[" * 65 + "]" * 65, suffix)
    assert "deeper than 64" in problem.message
    assert (problem.line, problem.column) == (2, 65)


def test_at_most_twenty_problems() -> None:
    """No more than 20 problems are collected."""
    for text in ("[" + "1e999, " * 50 + "]", "1: x\n" * 50):
        _, problems = parse_document(text, suffix=".yaml")
        assert len(problems) == 20


# Hostile inputs

DEEP = {
    "lists": "[" * 200_000,
    "mappings": "{" * 200_000,
    "named mappings": '{"a":' * 200_000,
    "lists on lines": "[\n" * 200_000,
    "mappings on lines": "{\n" * 200_000,
    "mixed": "[{" * 100_000,
    "block lists": "- " * 200_000,
    "block keys": "? " * 200_000,
    "block and flow": "- [" * 100_000,
}
LONG = {
    "word": "x" * 10**6,
    "number": "1" * 10**6,
    "number and letter": "1" * 10**6 + "x",
    "spaces": " " * 10**6,
    "spaces and word": " " * 10**6 + "x",
    "double quotes": '"' * 10**6,
    "single quotes": "'" * 10**6,
    "anchors": "&a " * 333_333,
    "aliases": "*a " * 333_333,
    "tags": "! " * 500_000,
    "colons": ": " * 500_000,
    "empty lines": "\n" * 10**6 + "x",
    "returns": "\r" * 10**6 + "x",
    "comments": "#\n" * 500_000 + "x",
    "directives": "".join(f"%TAG !a{i}! b\n" for i in range(50_000)) + "--- a",
    "directives at the end": "a\n...\n" + "".join(f"%TAG !a{i}! b\n" for i in range(50_000)),
    "document starts": "---\n" * 250_000,
    "document ends": "a\n" + "...\n" * 250_000,
    "escapes": '["' + "\\n" * 500_000 + '"]',
    "escapes without an end": '["' + "\\n" * 500_000,
    "halves of pairs": '["' + "\\ud800" * 160_000 + '"]',
    "long name": "k" * 10**6 + ": 1",
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", DEEP)
@pytest.mark.usefixtures("either_loader")
def test_deep_nesting_is_answered_early(name: str, suffix: str) -> None:
    """Of very deep nesting of any style, only the beginning is looked at."""
    answers: list[Any] = []

    def work(text: str) -> int:
        return count_calls(lambda: answers.append(parse_document(text, suffix=suffix)))

    part, whole = work(DEEP[name][:2000]), work(DEEP[name])
    assert whole <= part + 1000
    root, problems = answers[-1]
    assert root is None
    assert len(problems) == 1


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", LONG)
def test_long_inputs_are_answered_with_little_work(name: str, suffix: str) -> None:
    """A megabyte of one thing takes little memory; work grows no faster than the text."""
    tracemalloc.start()
    check_result(parse_document(LONG[name], suffix=suffix))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000
    once, twice = (
        count_calls(lambda n=n: parse_document(LONG[name][:n], suffix=suffix))  # type: ignore[misc]
        for n in (10_000, 20_000)
    )
    assert twice <= 2.2 * once + 500


def test_json_is_read_with_little_work() -> None:
    """A file of a usual shape takes few calls of functions for each of its values."""
    task = {"name": "t", "duration": 3, "cost": [1.5, 2, 3], "note": "a text of some words"}
    agents = [{"name": f"agent {i}", "tasks": [task] * 8} for i in range(110)]
    text = json.dumps(agents, indent=1)
    values = 110 * (3 + 8 * 8)
    assert count_calls(lambda: parse_document(text, suffix=".json")) < 40 * values
    assert good(text, ".json") == agents


# Any input

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
PIECES = (
    st.sampled_from("{}[]:,'\"\\&*!|>%@#-?~\n\t 0aé\u2028\ufeff\x00")
    | st.sampled_from(["- ", ": ", "? ", "&a ", "*a ", "! ", "!!str ", "// ", "a: ", '"a": ', "  "])
    | st.sampled_from(["---\n", "...\n", "\r\n", "%YAML 1.2\n", "<<: ", "1e999", ".inf", "\\ud800"])
)


@given(tree=TREES, indent=st.sampled_from([None, 1]), escaped=st.booleans())
def test_json_means_the_same_as_to_the_standard_library(
    tree: object, indent: int | None, escaped: bool
) -> None:
    """A valid JSON text gives the values that were written."""
    text = json.dumps(tree, indent=indent, ensure_ascii=escaped)
    assert good(text, ".json") == tree
    assert good(f"[{text}]".encode(), "") == [tree]


@given(tree=TREES)
def test_yaml_means_the_same_as_was_dumped(tree: object) -> None:
    """What PyYAML writes with all texts in quotes is read back."""

    class Dumper(yaml.SafeDumper):
        """Puts all texts in quotes, since PyYAML writes by the rules of YAML 1.1."""

    Dumper.add_representer(
        str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
    )
    Dumper.ignore_aliases = lambda self, data: True  # type: ignore[method-assign]
    text = yaml.dump(tree, Dumper=Dumper, allow_unicode=True)
    if not yaml_text._FORBIDDEN.search(text):
        assert good(text, ".yaml") == tree


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=60) | st.text(max_size=60), suffix=st.sampled_from(SUFFIXES))
def test_random_input_never_raises(data: str | bytes, suffix: str) -> None:
    """Any text and any bytes give a result of the right shape."""
    check_result(parse_document(data, suffix=suffix))


@pytest.mark.parametrize("loader", LOADERS)
@settings(max_examples=500, deadline=None)
@given(pieces=st.lists(PIECES, max_size=25), suffix=st.sampled_from(SUFFIXES))
def test_random_syntax_never_raises(loader: type, pieces: list[str], suffix: str) -> None:
    """Random sequences of what the formats are made of give a result of the right shape."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_text, "_LOADER", loader)
        check_result(parse_document("".join(pieces), suffix=suffix))


@pytest.mark.parametrize("loader", LOADERS)
@settings(max_examples=500, deadline=None)
@given(data=st.data(), suffix=st.sampled_from(SUFFIXES))
def test_damaged_documents_never_raise(loader: type, data: st.DataObject, suffix: str) -> None:
    """A valid document with parts cut out or put in gives a result of the right shape."""
    text = data.draw(st.sampled_from([EXAMPLE, json.dumps(good(EXAMPLE), indent=2)]))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 5)))
        text = text[:start] + data.draw(st.just("") | PIECES) + text[end:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_text, "_LOADER", loader)
        check_result(parse_document(text, suffix=suffix))
