"""The classes of a certificate: local states that it merges, checked and stored in arrays.

A *group* is the behaviour of class actions apart from their losses: a distribution over the classes
of the next layer, and a probability for each condition. Class actions of one group behave alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coreplan.policies.rules import GONE
from coreplan.proof.certificate import AgentClasses
from coreplan.proof.elimination import Needed
from coreplan.proof.local import UNIT, Flags, Integers, LocalModel, Numbers, expand

TOLERANCE = 1e-11
"""The largest difference of equal probabilities; the difference is added to the error."""
GRID = 1e-12
"""The precision up to which equal behaviour is examined once."""
CHUNK = 4_000_000


class RefusalError(Exception):
    """The certificate does not prove an upper bound."""


@dataclass(eq=False)
class ClassLayer:
    """One agent's classes that can be reached at one stage, those with most actions first."""

    classes: int
    numbers: Integers
    """For each class: its number in the certificate."""
    first_action: int
    """Position of the layer's first class action among those of all layers."""
    choices: list[tuple[Integers, Integers]]
    """For k = 0, 1, ...: the group and the number (from `first_action`) of action k, for the first
    n classes, which have more than k actions."""
    loss: Numbers
    """The loss of each class action of the layer, reached or not."""
    group_of: Integers
    """The group of each class action of the layer; -1 if it cannot be reached."""
    laws: list[tuple[Integers, Numbers]]
    """For k = 0, 1, ...: the class and the probability of outcome k, for the first n groups, which
    have more than k outcomes. Empty at the last stage."""
    factors: Numbers
    """The probability of each condition in each group."""
    after: Integers
    """For each group: the certificate's number of the after-state."""

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.factors)


@dataclass(eq=False)
class ClassModel:
    """One agent's classes.

    Attributes
    ----------
    layers
        One layer for each stage before the horizon.
    law_error, factor_error
        For each layer: the largest difference of distributions (sum of absolute differences) and of
        probabilities within a class.
    loss_spread
        The largest difference of losses within a class action; the smallest loss counts, so the
        bound stays valid.
    """

    layers: list[ClassLayer]
    law_error: Numbers
    factor_error: Numbers
    loss_spread: float

    def alone(self) -> Numbers:
        """For each layer (and one more): the largest least sum of losses over the classes."""
        value = np.zeros(0)
        most = np.zeros(len(self.layers) + 1)
        for t in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[t]
            after = np.zeros(layer.groups)
            for into, chance in layer.laws:
                after[: len(into)] += chance * value[into]
            groups, actions = layer.choices[0]
            value = after[groups] + layer.loss[actions]
            for groups, actions in layer.choices[1:]:
                n = len(groups)
                np.minimum(value[:n], after[groups] + layer.loss[actions], out=value[:n])
            most[t] = float(np.abs(value).max())
        return most


class Listing:
    """Where a certificate's nodes and class actions stand in an agent's unrolled layers."""

    def __init__(self, model: LocalModel, classes: AgentClasses) -> None:
        self.model = model
        self.classes = classes
        self.class_begin = classes.class_begin
        self.action_begin = classes.action_begin.astype(np.int64)
        self.node_class: list[Integers] = []
        """For each layer and state: its class within the layer, or -1."""
        self.rows: list[Integers] = []
        """For each layer and listed action, state by state: its row."""
        self.actions: list[Integers] = []
        """For the same actions: the class action, counted from the first one of the layer."""
        self.listed: list[Flags] = []
        position = 0
        for t in range(len(model.layers)):
            position = self._add_layer(t, position)

    def _add_layer(self, t: int, position: int) -> int:
        layer, classes, model = self.model.layers[t], self.classes, self.model
        nodes = slice(int(classes.layer_begin[t]), int(classes.layer_begin[t + 1]))
        if not np.array_equal(classes.state[nodes], layer.states):
            raise RefusalError(
                f"agent {model.agent.name!r}, stage {model.first_stage + t}: the local states of "
                "the certificate are not those that can be reached"
            )
        own = classes.class_of[nodes].astype(np.int64)
        own[own == GONE] = -1
        number = self.class_begin[t] + np.maximum(own, 0)
        widths = np.zeros(len(own), np.int64)
        known = own >= 0
        widths[known] = self.action_begin[number[known] + 1] - self.action_begin[number[known]]
        begin = np.zeros(len(own), np.int64)
        begin[known] = self.action_begin[number[known]]
        state, actions = expand(begin, begin + widths)
        end = position + len(state)
        names = classes.action_of[position:end].astype(np.int64)
        # Rows by state and action.
        count = len(model.agent.actions)
        keys = layer.row_state * count + model.action_of_choice[layer.row_choice]
        order = np.argsort(keys)
        wanted = state * count + names
        at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
        rows = order[at]
        wrong = np.flatnonzero(keys[rows] != wanted)
        if len(wrong):
            raise RefusalError(
                f"{model.name_state(t, int(state[wrong[0]]))}: the certificate lists the action "
                f"{model.agent.actions[names[wrong[0]]]!r}, which is not available"
            )
        listed = np.zeros(len(keys), dtype=bool)
        listed[rows] = True
        self.node_class.append(own)
        self.rows.append(rows)
        self.actions.append(actions - self.first_action(t))
        self.listed.append(listed)
        return end

    def first_action(self, t: int) -> int:
        """The number of a layer's first class action."""
        return int(self.action_begin[self.class_begin[t]])

    def action_count(self, t: int) -> int:
        """The number of a layer's class actions."""
        return int(self.action_begin[self.class_begin[t + 1]]) - self.first_action(t)


def make_classes(listing: Listing, needed: Needed, position: int, *, by_after: bool) -> ClassModel:
    """Check that merged states and actions behave alike, and make the arrays of classes.

    Parameters
    ----------
    listing
        The classes of the agent in the certificate.
    needed
        The remaining actions of all agents.
    position
        The agent.
    by_after
        Whether groups must distinguish the certificate's after-states.

    Raises
    ------
    RefusalError
        If a state or action is missing, or does not behave like its class.
    """
    model = listing.model
    count = len(model.layers)
    layers: list[ClassLayer] = []
    errors, spread = np.zeros((count, 2)), 0.0
    following = np.zeros(0, np.int64)  # new class numbers of the next layer's states
    next_classes = 0
    for t in range(count - 1, -1, -1):
        made = _LayerMaker(listing, needed, position, t, following, next_classes, by_after)
        layers.append(made.layer)
        errors[t] = made.law_error, made.factor_error
        spread = max(spread, made.spread)
        following, next_classes = made.number, made.layer.classes
    return ClassModel(layers[::-1], errors[:, 0], errors[:, 1], spread)


class _LayerMaker:
    """Makes one layer of classes; the next layer must be complete."""

    def __init__(
        self,
        listing: Listing,
        needed: Needed,
        position: int,
        t: int,
        following: Integers,
        next_classes: int,
        by_after: bool,
    ) -> None:
        self.model, self.t = listing.model, t
        self.source = listing.model.layers[t]
        self.following, self.next_classes = following, next_classes
        self.live = self._live(needed, position)
        self.outcome_begin = np.searchsorted(
            self.source.outcome_row, np.arange(len(self.source.row_state) + 1)
        )
        own = listing.node_class[t]
        reached = needed.reached[position][t]
        self._refuse_gone(reached, own)
        kept = needed.keep[position][t] & reached[self.source.row_state]
        # The listed actions of states that can be reached.
        states = self.source.row_state[listing.rows[t]]
        use = reached[states]
        rows, actions = listing.rows[t][use], listing.actions[t][use]
        class_begin = int(listing.class_begin[t])
        begin = listing.action_begin[class_begin : int(listing.class_begin[t + 1]) + 1]
        self.begin = begin - begin[0] if len(begin) else begin
        afters = listing.classes.after[begin[0] : begin[-1]].astype(np.int64)
        self._number_classes(own, reached)
        group_of = self._make_groups(rows, actions, afters if by_after else np.zeros_like(afters))
        rows, actions = self._cover(rows, actions, kept, listing.listed[t], own, group_of)
        loss = np.full(len(afters), np.inf)
        np.minimum.at(loss, actions, self.source.loss[rows])
        most = np.full(len(afters), -np.inf)
        np.maximum.at(most, actions, self.source.loss[rows])
        used = np.isfinite(loss)
        self.spread = float((most - loss)[used].max(initial=0.0))
        loss[~used] = 0.0
        self.layer = ClassLayer(
            len(self.classes),
            self.classes,
            listing.first_action(t),
            self._choices(group_of),
            loss,
            group_of,
            self.laws,
            self.factors,
            afters[self.representatives],
        )

    def _live(self, needed: Needed, position: int) -> Integers:
        """The conditions that interactions can still look at."""
        mask = np.zeros(self.model.factors.shape[1], dtype=bool)
        for (i, j), each in needed.live[self.t].pairs.items():
            if position == i:
                mask[each.first] = True
            if position == j:
                mask[each.second] = True
        for e in needed.live[self.t].wide:
            for i, k in e.members:
                if i == position:
                    mask[k] = True
        for total in needed.live[self.t].sums:
            for k, _ in total.amounts_of(position):
                mask[k] = True
        return np.flatnonzero(mask)

    def _refuse_gone(self, reached: Flags, own: Integers) -> None:
        gone = np.flatnonzero(reached & (own < 0))
        if len(gone):
            raise RefusalError(
                f"{self.model.name_state(self.t, int(gone[0]))}: the certificate has no class for "
                "this state, but an optimal plan may reach it"
            )

    def _number_classes(self, own: Integers, reached: Flags) -> None:
        """Renumber the classes that can be reached, those with most actions first."""
        used = np.unique(own[reached])
        widths = (self.begin[1:] - self.begin[:-1])[used]
        self.classes = used[np.argsort(-widths, kind="stable")]
        new = np.full(len(self.begin) - 1, -1, np.int64)
        new[self.classes] = np.arange(len(self.classes))
        self.number = np.where(reached, new[np.maximum(own, 0)], -1)

    def _laws(self, rows: Integers) -> Numbers:
        """For each row: the probabilities of the next layer's classes."""
        owner, outcome = expand(self.outcome_begin[rows], self.outcome_begin[rows + 1])
        into = self.following[self.source.outcome_next[outcome]]
        flat: Numbers = np.bincount(
            owner * self.next_classes + into,
            weights=self.source.outcome_chance[outcome],
            minlength=len(rows) * self.next_classes,
        ).astype(np.float64)
        return flat.reshape(len(rows), self.next_classes)

    def _signals(self, rows: Integers) -> Numbers:
        """For each row: the probabilities of conditions that still matter."""
        return self.model.factors[np.ix_(self.source.row_choice[rows], self.live)]

    def _chunks(self, count: int) -> Sequence[slice]:
        step = max(1, CHUNK // max(1, self.next_classes + len(self.live)))
        return [slice(k, k + step) for k in range(0, count, step)]

    def _make_groups(self, rows: Integers, actions: Integers, afters: Integers) -> Integers:
        """Group class actions by the behaviour of their first states."""
        shown, first = np.unique(actions, return_index=True)
        known: dict[bytes, int] = {}
        group = np.zeros(len(shown), np.int64)
        for part in self._chunks(len(shown)):
            here = rows[first[part]]
            if self.next_classes:
                at, into = np.nonzero(laws := self._laws(here))
                chances = np.rint(laws[at, into] / GRID).astype(np.int64)
                cut = np.searchsorted(at, np.arange(len(here) + 1))
            else:
                into = chances = np.zeros(0, np.int64)
                cut = np.zeros(len(here) + 1, np.int64)
            signals = np.rint(self._signals(here) / GRID).astype(np.int64)
            for k, action in enumerate(shown[part]):
                law = slice(cut[k], cut[k + 1])
                key = b"".join(
                    (
                        afters[action].tobytes(),
                        signals[k].tobytes(),
                        into[law].tobytes(),
                        chances[law].tobytes(),
                    )
                )
                group[part.start + k] = known.setdefault(key, len(known))
        representative = np.unique(group, return_index=True)[1]
        self._keep_laws(rows[first[representative]])
        # Groups with most outcomes come first.
        group_of = np.full(len(afters), -1, np.int64)
        group_of[shown] = self._new_number[group]
        self.representatives: Integers = shown[representative][self._order]
        return group_of

    def _keep_laws(self, rows: Integers) -> None:
        """Store the behaviour of each group, taken from a given row."""
        parts = []
        for part in self._chunks(len(rows)):
            if self.next_classes:
                at, into = np.nonzero(laws := self._laws(rows[part]))
                parts.append((at + part.start, into, laws[at, into]))
        empty = np.zeros(0, np.int64)
        at = np.concatenate([each[0] for each in parts]) if parts else empty
        into = np.concatenate([each[1] for each in parts]) if parts else empty
        chance = np.concatenate([each[2] for each in parts]) if parts else np.zeros(0)
        counts = np.bincount(at, minlength=len(rows))
        self._order = np.argsort(-counts, kind="stable")
        self._new_number = np.empty(len(rows), np.int64)
        self._new_number[self._order] = np.arange(len(rows))
        begin = (np.cumsum(counts) - counts)[self._order]
        widths = counts[self._order]
        self.laws = []
        for k in range(int(widths.max(initial=0))):
            here = begin[: int(np.sum(widths > k))] + k
            self.laws.append((into[here], chance[here]))
        self.factors = self.model.factors[self.source.row_choice[rows[self._order]]]

    def _group_laws(self, groups: Integers) -> Numbers:
        dense = np.zeros((len(groups), self.next_classes))
        for into, chance in self.laws:
            has = np.flatnonzero(groups < len(into))
            dense[has, into[groups[has]]] += chance[groups[has]]
        return dense

    def _compare(self, rows: Integers, groups: Integers) -> tuple[Numbers, Numbers]:
        """The distances of rows from groups: of next classes (sum) and of conditions (largest)."""
        laws, chances = np.zeros(len(rows)), np.zeros(len(rows))
        for part in self._chunks(len(rows)):
            if self.next_classes:
                gap = self._laws(rows[part]) - self._group_laws(groups[part])
                laws[part] = np.abs(gap).sum(axis=1)
            theirs = self.factors[np.ix_(groups[part], self.live)]
            chances[part] = np.abs(self._signals(rows[part]) - theirs).max(axis=1, initial=0.0)
        return laws, chances

    def _cover(
        self,
        rows: Integers,
        actions: Integers,
        kept: Flags,
        listed: Flags,
        own: Integers,
        group_of: Integers,
    ) -> tuple[Integers, Integers]:
        """Find a class action for each remaining row."""
        laws, chances = self._compare(rows, group_of[actions])
        wrong = np.flatnonzero(np.maximum(laws, chances) > TOLERANCE)
        if len(wrong):
            at = wrong[0]
            what = "next states" if laws[at] > TOLERANCE else "interactions"
            raise RefusalError(
                f"{self.model.name_row(self.t, int(rows[at]))}: its {what} differ from those of "
                "the class in the certificate"
            )
        more = np.flatnonzero(kept & ~listed)
        if len(more):
            classes = own[self.source.row_state[more]]
            which, candidates = expand(self.begin[classes], self.begin[classes + 1])
            more_laws, more_chances = self._compare(more[which], group_of[candidates])
            distance = np.maximum(more_laws, more_chances)
            # Every class has an action, so each row has a candidate.
            begin = np.searchsorted(which, np.arange(len(more)))
            nearest = np.minimum.reduceat(distance, begin)
            missing = np.flatnonzero(nearest > TOLERANCE)
            if len(missing):
                raise RefusalError(
                    f"{self.model.name_row(self.t, int(more[missing[0]]))}: the certificate leaves "
                    "out this action, but an optimal plan may need it"
                )
            order = np.where(distance == nearest[which], np.arange(len(which)), len(which))
            chosen = np.minimum.reduceat(order, begin)
            rows = np.concatenate([rows, more])
            actions = np.concatenate([actions, candidates[chosen]])
            laws = np.concatenate([laws, more_laws[chosen]])
            chances = np.concatenate([chances, more_chances[chosen]])
        operations = (self.model.most_outcomes + 4) * UNIT
        self.law_error = float(laws.max(initial=0.0)) + operations
        self.factor_error = float(chances.max(initial=0.0)) + operations
        return rows, actions

    def _choices(self, group_of: Integers) -> list[tuple[Integers, Integers]]:
        begin, end = self.begin[self.classes], self.begin[self.classes + 1]
        widths = end - begin
        choices = []
        for k in range(int(widths.max())):
            actions = begin[: int(np.sum(widths > k))] + k
            choices.append((group_of[actions], actions))
        return choices
