"""The states and actions of contractors in words, for explanations of decisions."""

from __future__ import annotations

from coreplan.domains.maintenance.states import ContractorState, start_action
from coreplan.support.language import say
from coreplan.view.explanation_text import action_in_words, state_in_words
from coreplan.view.words import steps

_START = start_action("")


@state_in_words.register
def _state(state: ContractorState) -> str:
    now = say("idle", context="contractor")
    if state.doing is not None:
        now = say("works on {work}, {steps} left", work=state.doing, steps=steps(state.remaining))
    elif state.starting is not None:
        now = say("starts {work}", work=state.starting)
    if not state.done:
        return now
    return say("{state}; done: {works}", state=now, works=", ".join(state.done))


@action_in_words.register
def _action(state: ContractorState, action: str) -> str:
    if action.startswith(_START):
        return say("start {work}", work=action.removeprefix(_START))
    if state.doing is None:
        return say("wait", context="action")
    return say("continue", context="action")
