"""Output for the terminal: the solver's log, summaries, errors, tables."""

from __future__ import annotations

import codecs
import itertools
import logging
import math
import os
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.text import Text

from coreplan.errors import Diagnostic
from coreplan.solving.compile import CompiledProblem, count_in_words
from coreplan.solving.limits import Progress
from coreplan.solving.result import Result, Status
from coreplan.support.clock import now
from coreplan.support.language import in_english, marked, number_text, say_marked
from coreplan.view.words import Worth, count, result_in_words

INTERVAL = 0.5
"""The least number of seconds between two lines of the log."""

SAME_AFTER = 10.0
"""Seconds after which a planner's log repeats amounts that have not changed."""

HEADER_EVERY = 20
LEAST_WIDTH = 16
"""The fewest characters of a line of folded text."""
_LONGEST = 160
MIDDLE = 6
"""Narrower names are never cut in the middle."""
CTRL_C = marked("Searching for the best plan. Ctrl-C stops and keeps the best plan so far.")


READABLE = "coreplan-readable"
"""A way to write letters that a terminal lacks, for the errors of a stream: as similar ones."""
_SIMILAR = {
    "\N{NO-BREAK SPACE}": " ",
    "–": "-",
    "…": "...",
    "€": "EUR",
    "£": "GBP",
    "ä": "ae",
    "ö": "oe",
    "ü": "ue",
    "Ä": "Ae",
    "Ö": "Oe",
    "Ü": "Ue",
    "ß": "ss",
    "é": "e",
    "ë": "e",
    "ï": "i",
}
"""What is written for letters of the known languages, and for signs in amounts and dates."""


def _write_similar(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write similar letters, or else the codes of letters."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if letter in _SIMILAR:
        return _SIMILAR[letter], error.start + 1
    one = UnicodeEncodeError(
        error.encoding, error.object, error.start, error.start + 1, error.reason
    )
    return codecs.backslashreplace_errors(one)


codecs.register_error(READABLE, _write_similar)


class WordConsole(Console):
    """A console that breaks long lines between words on a terminal, and nowhere else."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a text that is wider than the terminal becomes several lines."""
        if self.is_terminal and len(objects) == 1 and isinstance(objects[0], str | Text):
            text = objects[0]
            if isinstance(text, str):
                text = Text.from_markup(text) if options.get("markup", True) else Text(text)
            objects = (Text("\n").join(break_lines(text, self.width)),)
        super().print(*objects, **options)


def break_lines(text: Text, width: int, *, fold: bool = False) -> list[Text]:
    """Break a text between words; further lines of an item of a list are indented.

    A word that is wider than a line stays whole, unless `fold` is set.

    Examples
    --------
    >>> [line.plain for line in break_lines(Text("  - Alpha waits 2 weeks"), 14)]
    ['  - Alpha', '    waits 2', '    weeks']
    """
    lines: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        start = re.match(r" *(?:(?:[-–]|[0-9]+\.) )?", line.plain)
        indent = 0 if start is None or start.end() > width // 2 else start.end()
        ends: list[int] = []
        begin, room = 0, width
        # Each word with the spaces before it; the indentation belongs to the first word. Spaces
        # that do not break lines, as in amounts, are part of words.
        for word in re.finditer(r"(?<=[^ ]) +[^ ]+", line.plain):
            if cell_len(line.plain[begin : word.end()]) > room:
                gap = len(word.group()) - len(word.group().lstrip())
                begin = word.start() + gap
                ends.append(begin)
                room = width - indent
        pieces = list(line.divide(ends))
        for piece in pieces:
            piece.rstrip()
        if fold:
            pieces = [part for piece in pieces for part in _folded(piece, width - indent)]
        for piece in pieces[1:]:
            piece.pad_left(indent)
        lines += pieces
    return lines


def _folded(piece: Text, width: int) -> Iterable[Text]:
    """A line in parts of at most a width."""
    ends = itertools.accumulate(len(part) for part in chop_cells(piece.plain, width))
    return piece.divide(list(ends)[:-1])


class PatientConsole(WordConsole):
    """A console that becomes silent if its output cannot be written, instead of ending the program.

    Attributes
    ----------
    failure
        The error of writing; None if the reader has closed the pipe.
    """

    failure: OSError | None = None

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, unless writing has failed before."""
        try:
            super().print(*objects, **options)
        except OSError as error:
            self.failure = error
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Become silent."""
        self.quiet = True
        drop_output()


def make_console(*, stderr: bool = False, patient: bool = False) -> Console:
    """Make a console that uses colours, and breaks lines between words, only on a terminal."""
    kind = PatientConsole if patient else WordConsole
    return kind(stderr=stderr, highlight=False, soft_wrap=True, emoji=False)


def check_printed(console: Console) -> None:
    """Raise the error of a patient console whose output could not be written."""
    if isinstance(console, PatientConsole) and console.failure is not None:
        raise console.failure


def drop_output() -> None:
    """Discard everything written to the standard output from now on, also at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class ConsoleLog(logging.Handler):
    """Prints log messages of the library that are at least as important as `level`."""

    def __init__(self, console: Console, level: int, prefix: str = "") -> None:
        super().__init__(level)
        self._console = console
        self._prefix = prefix

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message; cut a very long one."""
        message = self._prefix + record.getMessage()
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST - 4]} ..."
        _print_or_drop(self._console, message)


def _print_or_drop(console: Console, line: str, style: str | None = None) -> None:
    """Print a line of the log; if that fails, the solver goes on without it."""
    with suppress(OSError):
        console.print(line, style=style, markup=False)


class PlannerLog:
    """A callback for `solve` that prints the bounds as amounts, at most every half second."""

    def __init__(self, console: Console, speak: Worth) -> None:
        self._console = console
        self._speak = speak
        self._next = now() + INTERVAL
        self._repeat = 0.0
        self._said = ""

    def __call__(self, progress: Progress) -> None:
        """Print a line if the bounds have changed, or if nothing has been printed for a while."""
        time = now()
        if time < self._next or progress.phase == "compile":
            return
        said = self._speak.between(progress.lower_bound, progress.upper_bound)
        if said == self._said and time < self._repeat:
            return
        if not self._said:
            _print_or_drop(self._console, say_marked(CTRL_C), style="dim")
        self._said, self._next, self._repeat = said, time + INTERVAL, time + SAME_AFTER
        seconds = number_text(progress.seconds, ">7.1f")
        _print_or_drop(self._console, f"{seconds} s  {said}")


class LiveLog:
    """A callback for `solve` that prints bounds and work, at most every half second.

    The columns of work are left out as long as the algorithm does not count it.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = now() + INTERVAL
        self._lines = 0
        self._counted = [False, False]

    def __call__(self, progress: Progress) -> None:
        """Print a line if the last one is long enough ago."""
        if now() < self._next or progress.phase == "compile":
            return
        self._next = now() + INTERVAL
        counts = (progress.joint_states_expanded, progress.joint_actions_evaluated)
        counted = [each > 0 or before for each, before in zip(counts, self._counted, strict=True)]
        if counted != self._counted or self._lines % HEADER_EVERY == 0:
            titles = ("joint states", "joint actions")
            if not self._lines:
                _print_or_drop(self._console, CTRL_C, style="dim")
            shown = [each for each, count in zip(titles, counted, strict=True) if count]
            _print_or_drop(
                self._console, _log_line("time", shown, "lower bound", "upper bound", "gap"), "dim"
            )
            self._counted, self._lines = counted, 0
        self._lines += 1
        shown = [f"{each:,}" for each, count in zip(counts, counted, strict=True) if count]
        # Some algorithms have no bounds until they end.
        lower, upper = (
            f"{bound:.8g}" if math.isfinite(bound) else "-"
            for bound in (progress.lower_bound, progress.upper_bound)
        )
        gap = progress.upper_bound - progress.lower_bound
        relative = gap / abs(progress.lower_bound) if progress.lower_bound else math.inf
        said = f"{100 * relative:.2f} %" if relative < 10 else f"{gap:.3g}"
        if not math.isfinite(gap):
            said = "-"
        line = _log_line(f"{progress.seconds:.1f} s", shown, lower, upper, said)
        _print_or_drop(self._console, line)


def _log_line(time: str, counts: Iterable[str], lower: str, upper: str, gap: str) -> str:
    """A line of the log of bounds, of at most 80 characters."""
    work = "".join(f" {each:>14}" for each in counts)
    return f"{time:>8}{work} {lower:>15} {upper:>15} {gap:>8}"


def print_summary(console: Console, result: Result, *, technical: bool = True) -> None:
    """Print the summary of a result: its first line in bold; work only if `technical`."""
    style = "green" if result.status is Status.OPTIMAL else "yellow"
    first, *rest = result_in_words(result, technical=technical)
    console.print(first, style=f"bold {style}", markup=False)
    for line in rest:
        console.print(line, style="dim", markup=False)


def print_error(message: str) -> None:
    """Print an error message to the standard error."""
    console = make_console(stderr=True)
    for line in message.splitlines() or [""]:
        console.print(Text.assemble(("error:", "bold red"), " ", line))


@in_english
def print_sizes(console: Console, compiled: CompiledProblem) -> None:
    """Print the number of states of each agent, before and after merging."""
    width = max(cell_len(name) for name in ("agent", *(size.name for size in compiled.sizes)))
    titles = ("local states", "unrolled", "transitions", "merged")
    console.print(_row("agent", titles, width), style="bold", markup=False)
    for size in compiled.sizes:
        numbers = [f"{each:,}" for each in (size.states, size.unrolled, size.transitions)]
        numbers.append(f"{size.merged:,}" if compiled.merged else "-")
        console.print(_row(size.name, numbers, width), markup=False)
    parts = [
        f"{count_in_words(compiled.joint_states)} joint states before the horizon",
        count(compiled.interactions, "possible interaction"),
    ]
    if compiled.aggregates:
        parts.append(count(compiled.aggregates, "reward for sums", "rewards for sums"))
    console.print(", ".join(parts))


def _row(name: str, cells: Iterable[str], width: int) -> str:
    padded = name + " " * (width - cell_len(name))
    return "  ".join([padded, *(f"{cell:>12}" for cell in cells)])


def fit(text: str, width: int, ellipsis: str = "…") -> str:
    """Cut or fill a text to a width in terminal cells; a cut is marked.

    Examples
    --------
    >>> fit("bridge", 8), fit("bridge", 4)
    ('bridge  ', 'bri…')
    """
    if cell_len(text) > width:
        text = set_cell_size(text, max(0, width - 1)).rstrip() + ellipsis
    return set_cell_size(text, width)


def fold(text: str, width: int, first: str = "", then: str = "") -> list[str]:
    """Break a text into lines between words; only a word that is too long is broken.

    Parameters
    ----------
    text
        The text.
    width
        The most characters of a line.
    first, then
        What the first line and the others begin with.

    Examples
    --------
    >>> fold("the bridge starts on 4 May", 20, "- ", "  ")
    ['- the bridge starts', '  on 4 May']
    """
    return textwrap.wrap(
        text.strip(),
        max(LEAST_WIDTH, width),
        initial_indent=first,
        subsequent_indent=then,
        break_on_hyphens=False,
    )


def fit_apart(names: Sequence[str], width: int, ellipsis: str = "…") -> list[str]:
    """Cut or fill names to a width so that different names look different where possible.

    A name is cut at its end or, if that would make it the same as another one, in the middle.

    Examples
    --------
    >>> fit_apart(["bridge north", "bridge south", "road"], 7)
    ['br…orth', 'br…outh', 'road   ']
    """
    fitted = [fit(name, width, ellipsis) for name in names]
    shown = Counter(zip(fitted, names, strict=True))
    same = Counter(each for each, _ in shown)
    made = []
    for name, each in zip(names, fitted, strict=True):
        if same[each] > 1 and cell_len(name) > width > MIDDLE:
            head = (width - 2) // 2
            tail = name[len(name) - (width - 1 - head) :]
            while cell_len(tail) > width - 1 - head:
                tail = tail[1:]
            each = set_cell_size(fit(name, head + 1, ellipsis).rstrip() + tail, width)
        made.append(each)
    return made


def problem_dicts(problems: Iterable[Diagnostic]) -> list[dict[str, object]]:
    """The mistakes of a file as plain values, for JSON."""
    return [
        {
            "line": problem.line,
            "column": problem.column,
            "place": problem.place,
            "message": problem.message,
        }
        for problem in problems
    ]
