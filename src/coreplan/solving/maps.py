"""The parts of policies that come from a compiled problem."""

from __future__ import annotations

import numpy as np

from coreplan.policies.rules import LocalMap
from coreplan.solving.compile import CompiledProblem


def make_maps(compiled: CompiledProblem) -> list[LocalMap]:
    """The map from local states to the classes of a compiled problem."""
    maps = []
    for i, agent in enumerate(compiled.indexed.agents):
        classes_begin = compiled.model.layer_begin(i)
        layer_begin = compiled.graphs.layer_begin(i)
        per_layer = np.diff(layer_begin)
        node_class = compiled.model.node_class(i) - np.repeat(classes_begin[:-1], per_layer)
        action_of_choice = np.array(agent.choice_action or [0], dtype=np.uint32)
        maps.append(
            LocalMap(
                layer_begin,
                compiled.graphs.node_state(i),
                node_class.astype(np.uint32),
                np.diff(classes_begin).astype(np.uint32),
                compiled.model.node_choice_begin(i),
                action_of_choice[compiled.model.node_choice(i)],
            )
        )
    return maps
