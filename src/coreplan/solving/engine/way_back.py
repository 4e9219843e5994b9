"""Reduction of a compiled model, and the map back to its own states and actions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from coreplan import _core
from coreplan.policies.rules import GONE, Reduced
from coreplan.solving.compile import CompiledProblem
from coreplan.solving.limits import Limits


def reduce_model(
    compiled: CompiledProblem, steps: Mapping[str, bool], limits: Limits
) -> _core.Reduction:
    """Make the model smaller; keep it unchanged if a limit is reached meanwhile."""
    try:
        return _core.reduce(compiled.model, **steps, monitor=limits.monitor)
    except (_core.LimitReached, MemoryError):
        nothing = dict.fromkeys(steps, False)
        return _core.reduce(compiled.model, **nothing, monitor=limits.unlimited_monitor())


def make_reduced(compiled: CompiledProblem, reduction: _core.Reduction, agent: int) -> Reduced:
    """One agent's map from the classes of the compiled model to those of the reduced one."""
    layers = compiled.indexed.horizon - compiled.indexed.stage
    begin = reduction.model.layer_begin(agent).astype(np.int64)
    sizes = np.diff(compiled.model.layer_begin(agent))
    class_of = reduction.class_of(agent).astype(np.int64)
    gone = class_of == GONE
    class_of -= np.repeat(begin[:-1], sizes)
    class_of[gone] = GONE
    twin = _kept_twins(compiled, agent, gone)
    row_begin = reduction.action_begin(agent).astype(np.int64)
    lengths = np.diff(row_begin)[twin]
    action_begin = np.concatenate([[0], np.cumsum(lengths)])
    shifts = np.repeat(row_begin[twin] - action_begin[:-1], lengths)
    return Reduced(
        class_of[twin].astype(np.uint32),
        np.diff(begin)[:layers].astype(np.uint32),
        action_begin.astype(np.uint32),
        reduction.action_of(agent)[np.arange(len(shifts)) + shifts],
    )


def _kept_twins(
    compiled: CompiledProblem, agent: int, gone: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Per class: itself or, if it was removed, a kept one that differs only in the past.

    Users ask for actions without the past that states remember; then any past must do.
    """
    states = compiled.indexed.agents[agent].states
    itself = np.arange(len(gone))
    if compiled.merged or not states.remembers:
        return itself
    number: dict[tuple[int, Hashable], int] = {}
    asked = np.zeros(len(gone), np.int64)
    layers = pairwise(compiled.graphs.layer_begin(agent).tolist())
    node_state = compiled.graphs.node_state(agent).tolist()
    node_class = compiled.model.node_class(agent).tolist()
    for layer, (begin, end) in enumerate(layers):
        for node in range(begin, end):
            key = (layer, states.situation(node_state[node]))
            asked[node_class[node]] = number.setdefault(key, len(number))
    kept_for = np.full(len(number), -1)
    kept_for[asked[~gone]] = itself[~gone]
    return np.where(gone & (kept_for[asked] >= 0), kept_for[asked], itself)


def map_local(
    compiled: CompiledProblem,
    reduction: _core.Reduction,
    reduced: Reduced,
    agent: int,
    chosen: NDArray[np.uint32],
    otherwise: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """One agent's own policy, from the classes of the reduced model to those of the compiled one.

    The last layer's classes have no actions.
    """
    begin = reduction.model.layer_begin(agent).astype(np.int64)
    layer_of = np.repeat(np.arange(len(begin) - 1), np.diff(compiled.model.layer_begin(agent)))
    known = (reduced.class_of != GONE) & (np.diff(reduced.action_begin.astype(np.int64)) > 0)
    numbers = begin[layer_of[known]] + reduced.class_of[known]
    mapped = otherwise.copy()
    mapped[known] = reduced.action_of[reduced.action_begin[:-1][known] + chosen[numbers]]
    return mapped
