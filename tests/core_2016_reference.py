"""The paper's search in plain Python, for small TI-MMDPs: what it finds, and what it counts.

It reads a raw problem of format ``ti-mmdp/1`` and shares no code with the package: rewards, bounds,
independence and the search are written down here once more, as the text and the readings of
docs/paper-to-code.md have them, by enumeration.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from judge import action_matches, state_matches

Move = tuple[str, str, str]
"""(state, action, next state) of one agent."""
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Piece:
    """An entry of a reward function: what it needs of whom, at which stages, and its value."""

    value: float
    members: dict[int, dict[str, Any]]
    stages: list[int] | None
    function: int


@dataclass
class Counts:
    """What the search did."""

    expanded: int = 0
    evaluated: int = 0
    pruned: int = 0


@dataclass(eq=False)
class CoreReference:
    """Algorithm 1 (or, without `prune`, CRG-PS) with one of the readings."""

    raw: dict[str, Any]
    prune: bool = True
    bounds: str = "returns"
    decouple: str = "table"
    action_order: str = "promising"
    update_bounds: bool = True
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self.agents = self.raw["agents"]
        self.n = len(self.agents)
        self.horizon = self.raw["horizon"]
        names = [agent["name"] for agent in self.agents]
        pieces = [
            Piece(
                entry["value"],
                {names.index(name): parts for name, parts in entry.get("when", {}).items()},
                entry.get("stages"),
                number,
            )
            for number, function in enumerate(self.raw.get("rewards", []))
            for entry in function["entries"]
        ]
        # What all transitions of an agent match does not look at it; what none matches is nothing.
        self.pieces = []
        for piece in pieces:
            matching = {
                i: [self.meets(i, parts, move) for move in self.every_move(i)]
                for i, parts in piece.members.items()
            }
            if all(any(each) for each in matching.values()):
                members = {i: p for i, p in piece.members.items() if not all(matching[i])}
                self.pieces.append(Piece(piece.value, members, piece.stages, piece.function))
        self.owner = self._balance()

    def every_move(self, i: int) -> list[Move]:
        """All transitions of an agent's description."""
        return [
            (state, action, following)
            for state, actions in self.agents[i]["transitions"].items()
            for action, outcomes in actions.items()
            for following, p in outcomes.items()
            if p > 0
        ]

    def meets(self, i: int, parts: dict[str, Any], move: Move) -> bool:
        """Whether a transition of an agent meets a condition."""
        features = self.agents[i].get("features", {})
        return (
            ("state" not in parts or state_matches(parts["state"], move[0], features))
            and ("action" not in parts or action_matches(parts["action"], move[1]))
            and ("next" not in parts or state_matches(parts["next"], move[2], features))
        )

    def _balance(self) -> dict[int, int]:
        """The agent of each piece of several agents: in turn, the one with the fewest pieces."""
        load = [0] * self.n
        chosen: dict[tuple[int, tuple[int, ...]], int] = {}
        for piece in self.pieces:
            key = (piece.function, tuple(sorted(piece.members)))
            if len(piece.members) > 1 and key not in chosen:
                chosen[key] = min(key[1], key=lambda i: (load[i], i))
                load[chosen[key]] += 1
        return {
            id(piece): chosen[piece.function, tuple(sorted(piece.members))]
            for piece in self.pieces
            if len(piece.members) > 1
        }

    # -- local states, and what can still happen from them

    def actions(self, i: int, state: str) -> list[str]:
        """The actions of a local state."""
        return list(self.agents[i]["transitions"].get(state, {}))

    def outcomes(self, i: int, state: str, action: str) -> list[tuple[str, float]]:
        """What an action can lead to."""
        return [(s, p) for s, p in self.agents[i]["transitions"][state][action].items() if p > 0]

    @cache  # noqa: B019
    def moves_from(self, i: int, stage: int, state: str) -> dict[int, frozenset[Move]]:
        """Per later stage: the transitions that the agent can still make."""
        here = frozenset(
            (state, action, following)
            for action in self.actions(i, state)
            for following, _ in self.outcomes(i, state, action)
        )
        found: dict[int, frozenset[Move]] = {stage: here} if stage < self.horizon else {}
        if stage + 1 < self.horizon:
            for _, _, following in here:
                for t, moves in self.moves_from(i, stage + 1, following).items():
                    found[t] = found.get(t, frozenset()) | moves
        return found

    def moves_at(self, i: int, stage: int) -> frozenset[Move]:
        """The transitions that are possible for an agent at a stage at all."""
        return self.moves_from(i, 0, self.agents[i]["initial"])[stage]

    def counts_at(self, piece: Piece, stage: int) -> bool:
        """Whether a piece can be earned at a stage."""
        return piece.stages is None or stage in piece.stages

    def locally_independent(self, i: int, stage: int, state: str) -> bool:
        """Whether nothing that the agent can still do interacts, wherever the others are."""
        future = self.moves_from(i, stage, state)
        return not any(
            self.counts_at(piece, t)
            and any(self.meets(i, piece.members[i], move) for move in moves)
            and all(
                any(self.meets(j, parts, move) for move in self.moves_at(j, t))
                for j, parts in piece.members.items()
                if j != i
            )
            for piece in self.pieces
            if i in piece.members and len(piece.members) > 1
            for t, moves in future.items()
        )

    def groups(self, stage: int, team: dict[int, str]) -> list[tuple[int, ...]]:
        """The agents that can still interact with each other."""
        groups = [{i} for i in team]
        for piece in self.pieces:
            if len(piece.members) < 2 or not set(piece.members) <= set(team):
                continue
            futures = {i: self.moves_from(i, stage, team[i]) for i in piece.members}
            alive = any(
                self.counts_at(piece, t)
                and all(
                    any(self.meets(i, parts, move) for move in futures[i].get(t, ()))
                    for i, parts in piece.members.items()
                )
                for t in range(stage, self.horizon)
            )
            if alive:
                joined = [group for group in groups if group & set(piece.members)]
                groups = [group for group in groups if group not in joined]
                groups.append(set().union(*joined))
        return sorted(tuple(sorted(group)) for group in groups)

    # -- rewards and bounds

    def own_reward(self, i: int, stage: int, move: Move) -> float:
        """What an agent earns by itself."""
        return sum(
            piece.value
            for piece in self.pieces
            if list(piece.members) == [i]
            and self.counts_at(piece, stage)
            and self.meets(i, piece.members[i], move)
        )

    def share(self, i: int, stage: int, moves: dict[int, Move]) -> float:
        """What the functions that agent i answers for earn, given everybody's transitions."""
        return sum(
            piece.value
            for piece in self.pieces
            if self.owner.get(id(piece)) == i
            and self.counts_at(piece, stage)
            and set(piece.members) <= set(moves)
            and all(self.meets(j, parts, moves[j]) for j, parts in piece.members.items())
        )

    @cache  # noqa: B019
    def extremes(self, i: int, stage: int, move: Move) -> tuple[float, float]:
        """The least and the most of it over all that the others can do at that stage."""
        others = sorted(
            {j for p in self.pieces if self.owner.get(id(p)) == i for j in p.members} - {i}
        )
        earned = [
            self.share(i, stage, {i: move, **dict(zip(others, combination, strict=True))})
            for combination in itertools.product(*(self.moves_at(j, stage) for j in others))
        ]
        return min(earned), max(earned)

    @cache  # noqa: B019
    def local(self, i: int, stage: int, state: str) -> tuple[float, str]:
        """The best expected own reward from a local state on, and the action to begin with."""
        if stage == self.horizon:
            return 0.0, ""
        worth = {
            action: sum(
                p
                * (
                    self.own_reward(i, stage, (state, action, following))
                    + self.local(i, stage + 1, following)[0]
                )
                for following, p in self.outcomes(i, state, action)
            )
            for action in self.actions(i, state)
        }
        best = max(worth, key=lambda action: worth[action])
        return worth[best], best

    @cache  # noqa: B019
    def bound(self, i: int, stage: int, state: str) -> tuple[float, float]:
        """(L, U) of a local state, by the CRG of the agent."""
        if stage == self.horizon:
            return 0.0, 0.0
        kept = self.actions(i, state)
        if self.locally_independent(i, stage, state):
            kept = [self.local(i, stage, state)[1]]
        lowest, highest = [], []
        for action in kept:
            rows = []
            for following, p in self.outcomes(i, state, action):
                move = (state, action, following)
                least, most = self.extremes(i, stage, move)
                lower, upper = self.bound(i, stage + 1, following)
                own = self.own_reward(i, stage, move)
                rows.append((p, own + least + lower, own + most + upper))
            if self.bounds == "expected":
                lowest.append(sum(p * low for p, low, _ in rows))
                highest.append(sum(p * high for p, _, high in rows))
            else:
                lowest += [low for _, low, _ in rows]
                highest += [high for _, _, high in rows]
        return min(lowest), max(highest)

    # -- the search

    def solve(self) -> float:
        """The optimal value. Counts what was done."""
        constant = sum(
            piece.value
            for t in range(self.horizon)
            for piece in self.pieces
            if not piece.members and self.counts_at(piece, t)
        )
        start = {i: agent["initial"] for i, agent in enumerate(self.agents)}
        return constant + self.core(0, start)

    def core(self, stage: int, team: dict[int, str]) -> float:
        """CoRe(Φ, θ, h, N): what a set of agents earns from a stage on."""
        if stage == self.horizon:
            return 0.0
        total = 0.0
        for group in self.groups(stage, team):
            total += self.solve_group(stage, {i: team[i] for i in group})
        return total

    def solve_group(self, stage: int, team: dict[int, str]) -> float:
        """Lines 4 to 11."""
        if len(team) == 1:
            ((i, state),) = team.items()
            if self.decouple == "table" or self.locally_independent(i, stage, state):
                return self.local(i, stage, state)[0]
        self.counts.expanded += 1
        joint = list(itertools.product(*(self.actions(i, state) for i, state in team.items())))
        bounds = [self.action_bounds(stage, team, action) for action in joint]
        certain = max(lower for lower, _ in bounds) if self.prune else -math.inf
        turns = list(range(len(joint)))
        if self.prune and self.action_order == "promising":
            turns.sort(key=lambda k: -bounds[k][1])
        best = -math.inf
        for k in turns:
            if self.prune and bounds[k][1] < certain - TOLERANCE * max(1.0, abs(certain)):
                self.counts.pruned += 1
                continue
            self.counts.evaluated += 1
            value = self.evaluate(stage, team, joint[k], best)
            if value is not None:
                best = max(best, value)
                certain = max(certain, value)
        return best

    def evaluate(
        self, stage: int, team: dict[int, str], action: tuple[str, ...], best: float
    ) -> float | None:
        """Lines 7 to 9; None if the outcomes so far show that another action is better."""
        value = 0.0
        rest = self.transitions(team, action)
        while rest:
            p, moves = rest.pop(0)
            following = {i: move[2] for i, move in moves.items()}
            value += p * (self.reward(stage, moves) + self.core(stage + 1, following))
            if rest and self.prune and self.update_bounds and best > -math.inf:
                upper = value + self.bound_of(stage, rest)[1]
                if upper < best - TOLERANCE * max(1.0, abs(best)):
                    return None
        return value

    def transitions(
        self, team: dict[int, str], action: tuple[str, ...]
    ) -> list[tuple[float, dict[int, Move]]]:
        """The joint transitions of a joint action, with their chances."""
        rows = [
            [(p, (state, chosen, following)) for following, p in self.outcomes(i, state, chosen)]
            for (i, state), chosen in zip(team.items(), action, strict=True)
        ]
        return [
            (
                math.prod(p for p, _ in combination),
                dict(zip(team, (move for _, move in combination), strict=True)),
            )
            for combination in itertools.product(*rows)
        ]

    def reward(self, stage: int, moves: dict[int, Move]) -> float:
        """What a group earns in a joint transition."""
        return sum(
            self.own_reward(i, stage, move) + self.share(i, stage, moves)
            for i, move in moves.items()
        )

    def action_bounds(
        self, stage: int, team: dict[int, str], action: tuple[str, ...]
    ) -> tuple[float, float]:
        """Lines 4 and 5: the weighted sums of the bounds of all joint transitions."""
        return self.bound_of(stage, self.transitions(team, action))

    def bound_of(
        self, stage: int, transitions: list[tuple[float, dict[int, Move]]]
    ) -> tuple[float, float]:
        """The weighted sums over some joint transitions."""
        lower = upper = 0.0
        for p, moves in transitions:
            now = self.reward(stage, moves)
            after = [self.bound(i, stage + 1, move[2]) for i, move in moves.items()]
            lower += p * (now + sum(low for low, _ in after))
            upper += p * (now + sum(high for _, high in after))
        return lower, upper
