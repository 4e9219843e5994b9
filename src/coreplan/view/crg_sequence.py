"""The arcs of conditional return graphs that an execution sequence takes."""

from __future__ import annotations

from coreplan.analysis.sequences import ExecutionSequence, returns
from coreplan.errors import SolverError
from coreplan.solving.crg import ConditionalReturnGraphs
from coreplan.view.crg_labels import Labels, Moves

TakenArcs = dict[int, list[int]]
"""For each layer that a sequence passes: the arc of every agent."""


def taken_arcs(
    crgs: ConditionalReturnGraphs, labels: Labels, sequence: ExecutionSequence
) -> TakenArcs:
    """Find the arc of every agent for each transition of a sequence.

    Raises
    ------
    ModelError
        If the sequence is impossible.
    SolverError
        If it begins before the graphs do.
    """
    returns(crgs.problem, sequence)  # checks states, actions and transitions
    start = crgs.indexed.stage
    if sequence.stage < start:
        raise SolverError(
            f"the sequence begins at stage {sequence.stage}; the graphs begin at stage {start}"
        )
    found: TakenArcs = {}
    for step, actions in enumerate(sequence.actions):
        stage = sequence.stage + step
        found[stage - start] = [
            _taken_arc(
                crgs,
                labels,
                agent,
                stage,
                sequence.states[step][name],
                actions[name],
                sequence.states[step + 1][name],
            )
            for agent, name in enumerate(crgs.indexed.agent_names)
        ]
    return found


def _taken_arc(
    crgs: ConditionalReturnGraphs,
    labels: Labels,
    agent: int,
    stage: int,
    state: object,
    action: str,
    following: object,
) -> int:
    """Find the arc of one agent's transition."""
    who = crgs.indexed.agents[agent]
    layer = stage - crgs.indexed.stage
    first, last = who.states.find(stage, state), who.states.find(stage + 1, following)
    choice = who.choices(stage, first)[action]
    transition = next(o for o, after, _ in who.outcomes(choice) if after == last)
    unmerged = Moves(crgs.full, agent, who.choice_action)
    own = next(arc for arc in unmerged.layer(layer) if unmerged.base(arc) == transition)
    reward = unmerged.outcome(own)[1]
    moves = labels.moves[agent]
    pair = (crgs.node(agent, stage, state), crgs.node(agent, stage + 1, following))
    seen = labels.seen(agent, transition)

    def differences(arc: int) -> int:
        return len(labels.seen(agent, moves.base(arc)) ^ seen)

    # An arc of merged states stands for all transitions that earn the same and look the same to the
    # conditions of interactions. Conditions that cannot matter may still differ.
    return min(
        (
            arc
            for arc in moves.layer(layer)
            if moves.pair(arc) == pair
            and who.actions[moves.action(arc)] == action
            and moves.outcome(arc)[1] == reward
        ),
        key=differences,
    )
