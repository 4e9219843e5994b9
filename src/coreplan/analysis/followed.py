"""Execution sequences in words: the steps that a person wants to follow through a search."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coreplan.analysis.sequences import ExecutionSequence
from coreplan.errors import ModelError
from coreplan.model.indexed import IndexedProblem
from coreplan.model.rewards import TransitionRewards
from coreplan.support.checks import found

MOST_NAMED = 4
"""The most choices that an error message names."""


@dataclass(frozen=True)
class FollowedStep:
    """A joint action with one of its outcomes.

    Attributes
    ----------
    actions
        The action of each agent.
    labels
        The local state of each agent afterwards, as text.
    probability
        The probability of this outcome.
    reward
        The reward of this joint transition, without rewards that do not depend on any agent.
    """

    actions: tuple[str, ...]
    labels: tuple[str, ...]
    probability: float
    reward: float


@dataclass(frozen=True)
class FollowedSequence:
    """An execution sequence to follow through a search; made by :func:`follow`.

    Attributes
    ----------
    sequence
        The sequence.
    steps
        Its steps.
    last_outcomes
        All outcomes of its last joint action; one of them is its last step.
    """

    sequence: ExecutionSequence
    steps: tuple[FollowedStep, ...]
    last_outcomes: tuple[FollowedStep, ...]

    @property
    def probability(self) -> float:
        """The probability of the sequence, given its actions."""
        return math.prod(step.probability for step in self.steps)

    @property
    def reward(self) -> float:
        """The sum of the rewards of all steps."""
        return sum(step.reward for step in self.steps)


def follow(
    indexed: IndexedProblem, words: Sequence[str], constants: Sequence[float]
) -> FollowedSequence:
    """Read the steps of a sequence from the state in which planning starts.

    Parameters
    ----------
    indexed
        The problem.
    words
        For each step, a joint action: ``(b, b)``; if it has several outcomes, one of them:
        ``(a, a) -> (ba not f, ba)``.
    constants
        For each stage from the first: the reward that does not depend on the agents.

    Raises
    ------
    ModelError
        If a step is impossible or names no outcome where several are possible.
    """
    if isinstance(words, str) or not words:
        raise ModelError("a sequence to follow has at least one step")
    rewards = TransitionRewards(indexed)
    state = tuple(agent.start for agent in indexed.agents)
    states = [state]
    steps: list[FollowedStep] = []
    outcomes: list[tuple[FollowedStep, tuple[int, ...]]] = []
    for stage, text in enumerate(words, indexed.stage):
        if stage == indexed.horizon:
            raise ModelError(
                f"the sequence to follow has {len(words)} steps; from stage {indexed.stage} on "
                f"only {stage - indexed.stage} are possible"
            )
        actions, wanted = _read_step(indexed, stage, state, text)
        constant = constants[stage - indexed.stage]
        outcomes = list(_outcomes(indexed, rewards, stage, state, actions, constant))
        named = [each for each in outcomes if wanted is None or each[0].labels == wanted]
        if len(named) != 1:
            problem = "has several outcomes" if wanted is None else "has no such outcome"
            raise ModelError(
                f"step {found(text)} {problem} at stage {stage}; expected one of "
                f"{_few([_words(each) for each, _ in outcomes])}"
            )
        step, state = named[0]
        steps.append(step)
        states.append(state)
    sequence = ExecutionSequence(
        tuple(indexed.name_state(each) for each in states),
        tuple(dict(zip(indexed.agent_names, step.actions, strict=True)) for step in steps),
        indexed.stage,
    )
    return FollowedSequence(sequence, tuple(steps), tuple(step for step, _ in outcomes))


def _read_step(
    indexed: IndexedProblem, stage: int, state: Sequence[int], text: str
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Read a joint action and, if given, the labels of the next states."""
    agents = list(zip(indexed.agents, state, strict=True))
    available = [list(agent.choices(stage, now)) for agent, now in agents]
    readings: list[tuple[tuple[str, ...], tuple[str, ...] | None]]
    readings = [(actions, None) for actions in _read(text, available)]
    # Names may contain arrows; every arrow can be the one between action and outcome.
    for arrow in re.finditer("->|→", text):
        for actions in _read(text[: arrow.start()], available):
            following = [
                [
                    agent.states.label(after)
                    for _, after, _ in agent.outcomes(agent.choices(stage, now)[action])
                ]
                for (agent, now), action in zip(agents, actions, strict=True)
            ]
            after = text[arrow.end() :]
            readings += [(actions, labels) for labels in _read(after, following, usual=1)]
    if not readings:
        possible = (in_brackets(names) for names in itertools.product(*available))
        examples = _few(list(itertools.islice(possible, MOST_NAMED + 1)))
        raise ModelError(
            f"step {found(text)} is not possible at stage {stage}; expected a joint action, for "
            f"instance {examples}, and for one of its outcomes '-> (…)'"
        )
    return readings[0]


def _read(text: str, options: Sequence[Sequence[str]], usual: int = 0) -> Iterator[tuple[str, ...]]:
    """All ways to read a text as one option of each agent, with commas between them."""
    inside = text.strip()
    if inside.startswith("(") and inside.endswith(")"):
        yield from _read_list(inside[1:-1], 0, options)
    yield from _read_list(text, usual, options)


def _read_list(
    text: str, usual: int, options: Sequence[Sequence[str]]
) -> Iterator[tuple[str, ...]]:
    """Read a list; the `usual` number of spaces before a name is tried first."""
    first, *others = options
    # Spaces may belong to a name or stand before it.
    spaces = range(len(text) - len(text.lstrip()) + 1)
    for skipped in sorted(spaces, key=lambda count: count != usual):
        for name in dict.fromkeys(first):
            rest = text[skipped:].removeprefix(name)
            if not text[skipped:].startswith(name):
                continue
            if not others and not rest.strip():
                yield (name,)
            elif others and rest.lstrip().startswith(","):
                following = _read_list(rest.lstrip()[1:], 1, others)
                yield from ((name, *more) for more in following)


def _outcomes(
    indexed: IndexedProblem,
    rewards: TransitionRewards,
    stage: int,
    state: Sequence[int],
    actions: tuple[str, ...],
    constant: float,
) -> Iterator[tuple[FollowedStep, tuple[int, ...]]]:
    """The outcomes of a joint action, each with the next joint state."""
    moves = [
        agent.outcomes(agent.choices(stage, now)[action])
        for agent, now, action in zip(indexed.agents, state, actions, strict=True)
    ]
    for joint in itertools.product(*moves):
        following = tuple(after for _, after, _ in joint)
        labels = tuple(
            agent.states.label(after)
            for agent, after in zip(indexed.agents, following, strict=True)
        )
        reward = rewards.total(stage, [transition for transition, _, _ in joint]) - constant
        chance = math.prod(chance for _, _, chance in joint)
        yield FollowedStep(actions, labels, chance, reward), following


def _words(step: FollowedStep) -> str:
    return f"{in_brackets(step.actions)} -> {in_brackets(step.labels)}"


def in_brackets(names: Sequence[str]) -> str:
    """Write several names in brackets, or one name without."""
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _few(choices: Sequence[str]) -> str:
    """The first choices, for an error message."""
    more = ", …" if len(choices) > MOST_NAMED else ""
    return ", ".join(map(found, choices[:MOST_NAMED])) + more
