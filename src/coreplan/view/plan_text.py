"""Plan trees and courses of plans as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from coreplan.analysis.tree import PlanNode, PlanTree
from coreplan.policies.graph import Fact
from coreplan.support.language import marked, say
from coreplan.support.late import provides
from coreplan.view.words import count, when, when_range


def percent(chance: float) -> str:
    """A chance in per cent, with enough digits that rounding never gives 0 or 100.

    Examples
    --------
    >>> percent(0.7), percent(0.1234), percent(0.00012), percent(0.99996), percent(1.0)
    ('70 %', '12.3 %', '0.012 %', '99.996 %', '100 %')
    """
    if 0.995 < chance < 1:
        share = 100 - float(f"{100 * (1 - chance):.1g}")
    else:
        share = float(f"{100 * chance:.3g}")
    return say("{share:.10g} %", share=share)


def facts_in_words(facts: Iterable[Fact]) -> str:
    """The facts that become known, each with its agent."""
    return ", ".join(map(_fact, facts))


def _fact(fact: Fact) -> str:
    if fact.task is None:
        return say("{agent} gets to {state}", agent=fact.agent, state=fact.text)
    text = fact.text
    if fact.delayed is not None:
        text = (
            say("{work} is delayed", work=fact.task)
            if fact.delayed
            else say("{work} is not delayed", work=fact.task)
        )
    return f"{text} ({fact.agent})"


def steps_in_words(
    first: int,
    actions: Sequence[Mapping[str, str]],
    tasks: Mapping[str, Mapping[str, str]] | None = None,
) -> list[str]:
    """The actions step by step; if agents have tasks, only the starts of tasks."""
    lines = []
    if tasks:
        for step, joint in enumerate(actions, first):
            starts = [
                say("{name} starts {work}", name=name, work=tasks[name][action])
                for name, action in joint.items()
                if action in tasks.get(name, {})
            ]
            if starts:
                lines.append(f"{when(step)}: {', '.join(starts)}")
        return lines
    begin = 0
    for k in range(1, len(actions) + 1):
        if k < len(actions) and actions[k] == actions[begin]:
            continue
        said = ", ".join(f"{name}: {action}" for name, action in actions[begin].items())
        lines.append(f"{when_range(first + begin, first + k - 1)}: {said}")
        begin = k
    return lines


CUT = marked("only the likeliest branches are shown, and some are cut: see 'left out'")
"""The remark for a tree that is not complete; :func:`say_marked` writes it."""


@provides("PlanTree.text")
def tree_in_words(tree: PlanTree) -> list[str]:
    """A plan tree as lines, indented below each branch."""
    lines: list[str] = []
    # The nodes and lines that are still to be written, with their indentation.
    stack: list[tuple[str, PlanNode | str]] = [("", tree.root)]
    while stack:
        indent, item = stack.pop()
        if isinstance(item, str):
            lines.append(indent + item)
            continue
        said = steps_in_words(item.stage, item.actions, tree.tasks)
        lines += [indent + line for line in said or _nothing(tree, item)]
        following: list[tuple[str, PlanNode | str]] = []
        rows = [
            (
                f"{percent(branch.probability)}: "
                f"{facts_in_words(branch.known) or say('anything', context='outcome')}",
                branch.node,
            )
            for branch in item.branches
        ]
        left_out = ""
        if item.left_out:
            left_out = f"{percent(item.left_out)}: {say('left out', context='outcome')}"
        for k, (text, node) in enumerate(rows):
            is_last = k + 1 == len(rows) and not left_out
            following.append((indent, ("└─ " if is_last else "├─ ") + text))
            following.append((indent + ("   " if is_last else "│  "), tree.nodes[node]))
        if left_out:
            following.append((indent, f"└─ {left_out}"))
        stack += reversed(following)
    return lines


def _nothing(tree: PlanTree, node: PlanNode) -> list[str]:
    """The line of a node in which no task starts."""
    if not node.actions:
        return [say("end of the plan")]
    if node.branches or node.left_out:
        last = node.stage + len(node.actions) - 1
        return [say("step {step}: no start", step=last)]
    left = count(tree.horizon - node.stage, "step")
    return [say("no more starts ({steps} left)", steps=left)]
