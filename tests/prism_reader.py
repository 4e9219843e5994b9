"""A reader of the PRISM files that coreplan writes: their value, by plain recursion.

It knows no more of the language than the files use: modules with commands that synchronise by their
labels, and rewards of labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

State = tuple[int, ...]


class Command(NamedTuple):
    """A command of a module: a guard, and updates with their probabilities."""

    guard: Any
    updates: list[tuple[float, list[tuple[str, Any]]]]


class PrismReader:
    """The variables, modules and rewards of a file."""

    def __init__(self, text: str) -> None:
        lines = [line.partition("//")[0].strip() for line in text.splitlines()]
        self.start: dict[str, int] = {}
        self.limits: dict[str, tuple[int, int]] = {}
        self.modules: list[dict[str, list[Command]]] = []
        self.rewards: dict[str, list[tuple[Any, Any]]] = {}
        inside = ""
        for line in filter(None, lines):
            kind = line.split()[0]
            if kind in ("module", "rewards"):
                inside = kind
                if kind == "module":
                    self.modules.append({})
            elif kind in ("endmodule", "endrewards"):
                inside = ""
            elif variable := re.fullmatch(r"(\w+) : \[(\d+)\.\.(\d+)\] init (\d+);", line):
                name, low, high, first = variable.groups()
                self.start[name] = int(first)
                self.limits[name] = (int(low), int(high))
            elif inside == "module":
                self._read_command(line)
            elif inside == "rewards":
                label, guard, value = re.fullmatch(r"\[(\w+)\] (.*?) : (.*);", line).groups()  # type: ignore[union-attr]
                self.rewards.setdefault(label, []).append((expression(guard), expression(value)))
        self.names = list(self.start)

    def _read_command(self, line: str) -> None:
        label, guard, updates = re.fullmatch(r"\[(\w+)\] (.*?) -> (.*);", line).groups()  # type: ignore[union-attr]
        read = []
        for update in updates.split(" + "):
            chance, _, what = update.rpartition(":")
            pairs = re.findall(r"\((\w+)'=([^()]*)\)", what)
            assert pairs or what == "true", line
            read.append((float(chance or 1), [(name, expression(to)) for name, to in pairs]))
        self.modules[-1].setdefault(label, []).append(Command(expression(guard), read))

    def value(self, steps: int) -> float:
        """The largest expected reward of so many steps."""
        labels = sorted({label for module in self.modules for label in module})

        @cache
        def best(left: int, state: State) -> float:
            if left == 0:
                return 0.0
            known = dict(zip(self.names, state, strict=True))
            worth = []
            for label in labels:
                earned = sum(
                    evaluate(value, known)
                    for guard, value in self.rewards.get(label, [])
                    if evaluate(guard, known)
                )
                for law in self._moves(label, known):
                    worth.append(
                        earned
                        + sum(chance * best(left - 1, after) for after, chance in law.items())
                    )
            assert worth, f"no command is enabled in {known}"
            return max(worth)

        return best(steps, tuple(self.start.values()))

    def _moves(self, label: str, known: dict[str, int]) -> Iterator[dict[State, float]]:
        """The laws of the next states, one for each way in which the modules can take a label."""
        laws: list[dict[State, float]] = [{tuple(known.values()): 1.0}]
        for module in self.modules:
            if label not in module:
                continue
            enabled = [each for each in module[label] if evaluate(each.guard, known)]
            laws = [self._after(law, each, known) for law in laws for each in enabled]
        yield from laws

    def _after(
        self, law: dict[State, float], command: Command, known: dict[str, int]
    ) -> dict[State, float]:
        """Add the updates of one module."""
        made: dict[State, float] = {}
        for state, chance in law.items():
            for share, pairs in command.updates:
                after = dict(zip(self.names, state, strict=True))
                for name, to in pairs:
                    after[name] = int(evaluate(to, known))
                    low, high = self.limits[name]
                    assert low <= after[name] <= high, (name, after[name])
                key = tuple(after.values())
                made[key] = made.get(key, 0.0) + chance * share
        return made


def expression(text: str) -> Any:
    """Compile an expression: Python, apart from `?`, `=`, `&` and `|`."""
    text = re.sub(r"(?<![<>])=", "==", text).replace("&", " and ").replace("|", " or ")
    return compile(_cases(text).replace("true", "True"), "prism", "eval")


def _cases(text: str) -> str:
    """Write `(a ? b : c)` as Python has it, the innermost first."""
    pattern = re.compile(r"\((?P<a>[^()?:]+) \? (?P<b>[^()?:]+) : (?P<c>[^()?:]+)\)")
    inner = re.compile(r"\(([^()?]*)\)")
    held: list[str] = []

    def hold(made: str) -> str:
        held.append(made)
        return f"§{len(held) - 1}§"

    while True:
        match = pattern.search(text) or inner.search(text)
        if match is None:
            break
        parts = match.groupdict()
        made = f"({parts['b']} if {parts['a']} else {parts['c']})" if parts else match.group()
        text = text[: match.start()] + hold(made) + text[match.end() :]
    while "§" in text:
        text = re.sub(r"§(\d+)§", lambda each: held[int(each.group(1))], text)
    return text


def evaluate(code: Any, known: dict[str, int]) -> float:
    """The value of a compiled expression."""
    return eval(code, {}, known)
