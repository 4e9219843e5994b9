"""Hypothesis strategies that draw raw problem dictionaries of ``ti-mmdp/1``, ``/2`` and ``mpp/1``.

Every dictionary is valid by its format (``infeasible_mpp_dicts`` apart) and small enough for the
judge: ``max_work`` bounds the number of joint transitions it has to look at.  A draw that is too
big is cut down rather than rejected.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import judge
from judge import Problem

MAX_WORK = 2000

# Names are strings whatever they look like.  The plain ones come first: draws shrink to them.
NAMES = [
    *("a", "b", "c", "d", "e", "f", "g", "h"),
    *("1", "1.0", "01", "-1", "1e3", "0x1", ".5", ".nan", ".inf", "true", "false", "null", "~"),
    *("yes", "no", "on", "Null", "None", "NaN", "2024-01-01", "wait", "continue", "start a"),
    *("a b", " lead", "trail ", " ", "it's", 'say "hi"', "- a", "-", "a: b", "a:", "#x", "a #b"),
    *("[x]", "{y}", "*r", "&r", "!t", "%", "@at", "`", "|", ">", "?", ",", "---", "...", "<<", "="),
    *("\\", "\\n", "line\nbreak", "tab\there", "é", "e\u0301", "日本", "Ω", "😀", "A", "name"),
    *("state", "action", "next", "format"),
]
NAMES_WITH_SLASH = [*NAMES, "a/b", "/", "//"]

FEATURE_VALUES = [True, False, 1, 1.0, 0, 0.0, "x", "", "1", "true", "null", 2, -1, 0.5, 1e6, "é"]
VALUES = [1, 2, 3, 5, 10, 0, -1, -2, -3, -10, 0.0, 0.1, -0.1, 0.3, 2.5, -7.5, 1e6, -1e6, -1e-6]
PROBABILITIES = [0.5, 0.25, 0.1, 0.3, 1 / 3, 0.9, 0, 0.0, 1, 1.0, 1e-6, 1e-12, 1 - 1e-12, 1e-300]


def values() -> SearchStrategy[float]:
    """Draw rewards, costs and revenues: small integers and floats of mixed sizes, of both signs."""
    return st.sampled_from(VALUES) | st.floats(-100, 100, allow_nan=False)


def probabilities() -> SearchStrategy[float]:
    """Draw probabilities, among them 0, 1 and tiny ones."""
    return st.sampled_from(PROBABILITIES) | st.floats(0, 1)


def written(number: int) -> SearchStrategy[float]:
    """Draw an integer as it may be written: now and then with a zero fraction."""
    return st.sampled_from([number, number, number, float(number)])


def unique_names(count: int, pool: list[str]) -> SearchStrategy[list[str]]:
    """Draw a list of different names."""
    return st.lists(st.sampled_from(pool), min_size=count, max_size=count, unique=True)


def sizes(low: int, high: int) -> SearchStrategy[int]:
    """Draw a number from low to high: more often a high one, yet it shrinks to the low one."""
    return st.sampled_from([size for size in range(low, high + 1) for _ in range(size - low + 1)])


@st.composite
def subsets(draw: DrawFn, items: list[Any], most: int) -> list[Any]:
    """Draw a non-empty list of different items, in any order."""
    size = draw(sizes(1, min(most, len(items))))
    # By position: the items may be dictionaries, which a list of unique elements cannot hold.
    positions = st.sampled_from(range(len(items)))
    return [items[i] for i in draw(st.lists(positions, min_size=size, max_size=size, unique=True))]


# ------------------------------------------------------------------------------ ti-mmdp/1


@st.composite
def _distributions(draw: DrawFn, size: int) -> list[float]:
    """Draw probabilities that sum to 1 up to rounding; some may be 0 or tiny."""
    if size == 1:
        return [draw(st.sampled_from([1, 1.0]))]
    first = draw(probabilities())
    rest = draw(_distributions(size - 1))
    return [first, *((1 - first) * part for part in rest)]


@st.composite
def _local_mdps(
    draw: DrawFn, max_states: int, actions: list[str], max_outcomes: int
) -> dict[str, Any]:
    """Draw an agent's initial state and transitions; each state has at least one action."""
    count = draw(sizes(1, max_states))
    states = draw(unique_names(count, NAMES_WITH_SLASH))
    # "forward" makes an acyclic graph whose later states are reached late or not at all.
    forward = draw(st.sampled_from([False, True, False]))
    transitions: dict[str, Any] = {}
    for position, state in enumerate(states):
        targets = states[position + 1 :] if forward else states
        if not targets or draw(st.integers(0, 7)) == 5:
            targets = [state]  # absorbing
        transitions[state] = {}
        for action in draw(subsets(actions, len(actions))):
            most = draw(st.sampled_from([1, max_outcomes, max_outcomes]))
            nexts = draw(subsets(targets, most))
            chances = draw(_distributions(len(nexts)))
            transitions[state][action] = dict(zip(nexts, chances, strict=True))
    initial = states[0] if forward else draw(st.sampled_from(states))
    return {"initial": initial, "transitions": transitions}


def _existing_states(agent: dict[str, Any]) -> list[str]:
    """List the states that exist: keys of transitions, the initial state and all outcomes."""
    found = {agent["initial"]: None}
    for state, by_action in agent["transitions"].items():
        found[state] = None
        for outcomes in by_action.values():
            found.update(dict.fromkeys(outcomes))
    return list(found)


def _existing_actions(agent: dict[str, Any]) -> list[str]:
    """List the actions that exist in some state."""
    return list(dict.fromkeys(a for by_action in agent["transitions"].values() for a in by_action))


@st.composite
def _features(draw: DrawFn, states: list[str], names: list[str]) -> dict[str, dict[str, Any]]:
    """Draw features of some of the states."""
    return {
        state: {
            name: draw(st.sampled_from(FEATURE_VALUES)) for name in names if draw(st.booleans())
        }
        for state in draw(subsets(states, len(states)))
    }


@st.composite
def _state_conditions(draw: DrawFn, agent: dict[str, Any]) -> Any:
    """Draw a condition on a state: a name, a list of names, or features that exist."""
    states = _existing_states(agent)
    by_state = agent.get("features", {}).values()
    names = list(dict.fromkeys(name for own in by_state for name in own))
    kind = draw(st.sampled_from(["name", "list", "features"] if names else ["name", "list"]))
    if kind == "name":
        return draw(st.sampled_from(states))
    if kind == "list":
        return draw(subsets(states, 3))
    # A feature that some state has, with one of its values; two features may exclude each other.
    present = {name: [own[name] for own in by_state if name in own] for name in names}
    return {name: draw(st.sampled_from(present[name])) for name in draw(subsets(names, 2))}


@st.composite
def _conditions(draw: DrawFn, agent: dict[str, Any]) -> dict[str, Any]:
    """Draw what ``when`` says about one agent; perhaps nothing."""
    parts: dict[str, Any] = {}
    if draw(st.booleans()):
        actions = _existing_actions(agent)
        parts["action"] = draw(st.sampled_from(actions) | subsets(actions, 3))
    if draw(st.integers(0, 2)) == 2:
        parts["state"] = draw(_state_conditions(agent))
    if draw(st.integers(0, 2)) == 2:
        parts["next"] = draw(_state_conditions(agent))
    return parts


@st.composite
def _entries(draw: DrawFn, scope: list[dict[str, Any]], horizon: int) -> dict[str, Any]:
    """Draw an entry of a reward function of the agents in scope."""
    entry: dict[str, Any] = {}
    kind = draw(st.sampled_from(["all", "all", "all", "all", "some", "empty", "absent"]))
    named = scope
    if kind == "some":
        named = [agent for agent in scope if draw(st.booleans())]
    if kind != "absent":
        when = {agent["name"]: draw(_conditions(agent)) for agent in named}
        entry["when"] = {} if kind == "empty" else when
    entry["value"] = draw(values())
    if draw(st.integers(0, 3)) == 3:
        stages = draw(subsets(list(range(horizon)), horizon))
        entry["stages"] = [draw(written(stage)) for stage in stages]
    return entry


@st.composite
def _rewards(draw: DrawFn, agents: list[dict[str, Any]], horizon: int) -> list[dict[str, Any]]:
    """Draw reward functions of one agent, of several, and of the same agents more than once."""
    functions: list[dict[str, Any]] = []
    scopes: list[list[dict[str, Any]]] = []
    for _ in range(draw(sizes(1, 4))):
        if scopes and draw(st.integers(0, 3)) == 3:
            scope = draw(st.permutations(draw(st.sampled_from(scopes))))
        else:
            scope = draw(subsets(agents, len(agents)))
        scopes.append(scope)
        entries = [
            draw(_entries(scope, horizon)) for _ in range(draw(st.sampled_from([1, 2, 3, 2, 3, 0])))
        ]
        functions.append({"scope": [agent["name"] for agent in scope], "entries": entries})
    return functions


@st.composite
def timmdp_dicts(
    draw: DrawFn,
    max_agents: int = 4,
    max_states: int = 4,
    max_actions: int = 3,
    max_horizon: int = 4,
    max_work: int = MAX_WORK,
) -> Problem:
    """Draw problems of format ``ti-mmdp/1`` of all kinds."""
    count = draw(st.integers(1, max_agents))
    names = draw(unique_names(count, NAMES_WITH_SLASH))
    # The more agents, the smaller each of them.
    most_actions = min(max_actions, 3 if count <= 2 else 2)
    most_states = min(max_states, {1: 4, 2: 4, 3: 3}.get(count, 2))
    actions = draw(unique_names(most_actions, NAMES_WITH_SLASH))
    agents: list[dict[str, Any]] = [
        {"name": name, **draw(_local_mdps(most_states, actions, 3 if count <= 2 else 2))}
        for name in names
    ]
    horizon = draw(sizes(1, max_horizon))
    problem: Problem = {"format": "ti-mmdp/1", "horizon": horizon, "agents": agents}
    while horizon > 1 and judge.count_joint_transitions(problem) > max_work:
        horizon -= 1
        problem["horizon"] = horizon

    # A state that cannot be reached before the horizon needs no action.
    by_stage = judge.local_states(problem)
    for position, agent in enumerate(agents):
        needed = {state for stage in by_stage for state in stage[position]}
        for state in [state for state in agent["transitions"] if state not in needed]:
            kind = draw(st.sampled_from(["kept", "absent", "no actions"]))
            if kind == "absent":
                del agent["transitions"][state]
            elif kind == "no actions":
                agent["transitions"][state] = {}

    feature_names = draw(unique_names(draw(st.integers(1, 2)), NAMES))
    for agent in agents:
        if draw(st.booleans()):
            agent["features"] = draw(_features(_existing_states(agent), feature_names))
    kind = draw(st.sampled_from(["some"] * 14 + ["empty", "absent"]))
    if kind != "absent":
        problem["rewards"] = draw(_rewards(agents, horizon)) if kind == "some" else []
    problem["horizon"] = draw(written(horizon))
    if draw(st.booleans()):
        problem["name"] = draw(st.sampled_from(NAMES_WITH_SLASH))
    return problem


# ------------------------------------------------------------------------------ ti-mmdp/2


def _most_units(aggregate: dict[str, Any], agents: list[dict[str, Any]]) -> int:
    """The largest sum that agents can add up to in any of their states, in steps."""
    most = 0
    for agent in agents:
        features = agent.get("features", {})
        sums = [0]
        tables = [each["transitions"] for each in [agent, *agent.get("transitions_at", [])]]
        pairs = {(state, action) for table in tables for state in table for action in table[state]}
        for state, action in pairs:
            units = 0
            for each in aggregate["amounts"]:
                parts = each["when"].get(agent["name"], {"state": []})  # else it matches nothing
                wanted = parts.get("state", state)
                if judge.state_matches(wanted, state, features) and judge.action_matches(
                    parts.get("action", action), action
                ):
                    units += round(each["amount"] / aggregate.get("step", 1))
            sums.append(units)
        most += max(sums)
    return most


@st.composite
def _aggregates(draw: DrawFn, agents: list[dict[str, Any]], horizon: int) -> dict[str, Any]:
    """Draw an aggregate: amounts of some agents, several of the same one, and any function."""
    aggregate: dict[str, Any] = {"name": draw(st.sampled_from(NAMES_WITH_SLASH))}
    step = draw(st.sampled_from([None, 1, 1.0, 2, 0.5, 0.1, 1e6]))
    if step is not None:
        aggregate["step"] = step
    acting = [agent for agent in agents if _existing_actions(agent)]
    amounts = []
    for agent in draw(st.lists(st.sampled_from(range(len(acting))), max_size=6)) if acting else []:
        parts = draw(_conditions(acting[agent]))
        parts.pop("next", None)
        units = draw(st.sampled_from([1, 1, 1, 2, 3, 0]))
        amounts.append({"when": {acting[agent]["name"]: parts}, "amount": units * (step or 1)})
    aggregate["amounts"] = amounts
    most = _most_units(aggregate, agents)
    if draw(st.booleans()):
        extra = draw(st.sampled_from([0, 0, 1]))
        size = most + 1 + extra
        aggregate["value"] = {"table": draw(st.lists(values(), min_size=size, max_size=size))}
    else:
        units = st.sampled_from([-1, 0, 0.5, 1, 1.5, 2, 3, 4, 10])
        at = sorted(draw(st.lists(units, min_size=1, max_size=4, unique=True)))
        aggregate["value"] = {"points": [[x * (step or 1), draw(values())] for x in at]}
    if draw(st.integers(0, 2)) == 2:
        stages = draw(subsets(list(range(horizon)), horizon))
        aggregate["stages"] = [draw(written(stage)) for stage in stages]
    return aggregate


@st.composite
def _changes(
    draw: DrawFn, agent: dict[str, Any], horizon: int, actions: list[str]
) -> list[dict[str, Any]]:
    """Draw other actions of some states at some stages."""
    able = [state for state, row in agent["transitions"].items() if row]
    stages = draw(st.permutations(range(horizon)))
    cuts = sorted(draw(st.lists(st.integers(1, horizon), min_size=1, max_size=2)))
    changes = []
    for begin, end in zip([0, *cuts], cuts, strict=False):
        if begin == end or not able:
            continue
        table: dict[str, Any] = {}
        for state in draw(subsets(able, 2)):
            own = list(agent["transitions"][state])
            if draw(st.booleans()):  # only the choice of actions changes
                kept = draw(subsets(own, len(own)))
                table[state] = {action: agent["transitions"][state][action] for action in kept}
                continue
            table[state] = {}
            for action in draw(subsets(actions, 2)):
                nexts = draw(subsets(able, 2))
                chances = draw(_distributions(len(nexts)))
                table[state][action] = dict(zip(nexts, chances, strict=True))
        at = [draw(written(stage)) for stage in stages[begin:end]]
        changes.append({"stages": at, "transitions": table})
    return changes


def _gets_stuck(problem: Problem, agent: int) -> bool:
    """Whether an agent can reach a state without actions before the horizon."""
    model = judge.model_of(problem)
    reached = {model.initial(agent)}
    for stage in range(model.horizon):
        following = set()
        for state in reached:
            actions = model.actions(agent, stage, state)
            if not actions:
                return True
            for action in actions:
                following |= {after for after, _ in model.outcomes(agent, state, action, stage)}
        reached = following
    return False


@st.composite
def staged_dicts(draw: DrawFn, max_work: int = MAX_WORK, discounted: bool = False) -> Problem:
    """Draw problems of format ``ti-mmdp/2`` with a discount, or actions that depend on the stage.

    With `discounted`, they always have a discount.
    """
    problem = draw(timmdp_dicts(max_work=max_work))
    problem["format"] = "ti-mmdp/2"
    horizon = int(problem["horizon"])
    every = [action for agent in problem["agents"] for action in _existing_actions(agent)]
    for i, agent in enumerate(problem["agents"]):
        if draw(st.booleans()):
            agent["transitions_at"] = draw(_changes(agent, horizon, list(dict.fromkeys(every))))
            stuck = _gets_stuck(problem, i)  # in a state that could not be reached before
            if stuck or judge.count_joint_transitions(problem) > 2 * max_work:
                del agent["transitions_at"]
    if discounted or draw(st.booleans()):
        problem["discount"] = draw(st.sampled_from([0.5, 0.9, 0.99, 0.3, 1e-3, 1, 1.0]))
    return problem


@st.composite
def aggregate_dicts(draw: DrawFn, max_work: int = MAX_WORK) -> Problem:
    """Draw problems of format ``ti-mmdp/2`` with aggregates, and perhaps more of the format."""
    problem = draw(timmdp_dicts(max_work=max_work) | staged_dicts(max_work=max_work))
    problem["format"] = "ti-mmdp/2"
    horizon = int(problem["horizon"])
    problem["aggregates"] = draw(
        st.lists(_aggregates(problem["agents"], horizon), min_size=1, max_size=3)
    )
    return problem


# ----------------------------------------------------------------------------------- mpp/1


def _revenues() -> SearchStrategy[float]:
    """Draw revenues of both signs, mostly such that the work pays."""
    return st.sampled_from([10, 20, 15, 8, 12.5, 30.0]) | values()


def _costs(horizon: int) -> SearchStrategy[Any]:
    """Draw a cost per step: a number, or a list of as many numbers as there are stages."""
    number = st.sampled_from([1, 2, 3, 0.5, 4]) | values()
    return number | st.lists(number, min_size=horizon, max_size=horizon)


@st.composite
def _tasks(draw: DrawFn, name: str, horizon: int) -> dict[str, Any]:
    """Draw a task of an agent."""
    task: dict[str, Any] = {"name": name, "duration": draw(written(draw(st.integers(1, 3))))}
    if draw(st.booleans()):
        duration = draw(written(draw(st.integers(1, 2))))
        task["delay"] = {"probability": draw(probabilities()), "duration": duration}
    task["cost"] = draw(_costs(horizon))
    if draw(st.integers(0, 3)) > 0:
        task["revenue"] = draw(_revenues())
    if draw(st.integers(0, 2)) == 2:
        beyond = draw(st.integers(0, 9)) == 9
        first = draw(st.integers(0, horizon + 1 if beyond else horizon // 2))
        last = first + draw(st.integers(0, horizon))
        task["window"] = [draw(written(first)), draw(written(last))]
    return task


@st.composite
def _mpp_agents(
    draw: DrawFn, horizon: int, max_agents: int, max_tasks: int
) -> list[dict[str, Any]]:
    """Draw agents with their tasks; the more agents, the fewer tasks each."""
    count = min(draw(st.sampled_from([1, 2, 3, 2, 3, 2, 3, 4])), max_agents)
    most = min({1: 3, 2: 3, 3: 2}.get(count, 1), max_tasks)
    agents = []
    for name in draw(unique_names(count, NAMES)):
        names = draw(unique_names(draw(sizes(0, most)), NAMES))
        agents.append({"name": name, "tasks": [draw(_tasks(task, horizon)) for task in names]})
    return agents


@st.composite
def _networks(draw: DrawFn, agents: list[dict[str, Any]], horizon: int) -> list[dict[str, Any]]:
    """Draw network entries of two or more tasks of different agents, some of them twice."""
    busy = [agent for agent in agents if agent["tasks"]]
    entries: list[dict[str, Any]] = []
    if len(busy) < 2:
        return entries
    for _ in range(draw(sizes(0, 3))):
        if entries and draw(st.integers(0, 3)) == 3:
            tasks = draw(st.permutations(draw(st.sampled_from(entries))["tasks"]))
        else:
            size = draw(sizes(2, min(3, len(busy))))
            tasks = [
                f"{agent['name']}/{draw(st.sampled_from(agent['tasks']))['name']}"
                for agent in draw(st.permutations(busy))[:size]
            ]
        entries.append({"tasks": tasks, "cost": draw(_costs(horizon))})
    return entries


def _feasible(agent: dict[str, Any], horizon: int) -> bool:
    """Tell whether an agent can be sure to complete all its tasks."""
    return not judge.infeasible_agents({"horizon": horizon, "agents": [agent]})


@st.composite
def mpp_dicts(
    draw: DrawFn,
    max_agents: int = 4,
    max_tasks: int = 3,
    max_horizon: int = 7,
    max_work: int = MAX_WORK,
) -> Problem:
    """Draw problems of format ``mpp/1`` of all kinds; with ``must_complete`` only feasible ones."""
    horizon = draw(sizes(1, max_horizon))
    must_complete = draw(st.sampled_from([None, False, True]))
    problem: Problem = {"format": "mpp/1", "horizon": horizon}
    if must_complete is not None:
        problem["must_complete"] = must_complete
    agents = draw(_mpp_agents(horizon, max_agents, max_tasks))
    problem["agents"] = agents
    if must_complete:
        # Freeing or dropping the last task until the rest fits leaves many that fit only just.
        for agent in agents:
            while not _feasible(agent, horizon):
                if agent["tasks"][-1].pop("window", None) is None:
                    agent["tasks"].pop()
    # Fewer tasks never make a feasible problem infeasible.
    while judge.count_joint_transitions(problem) > max_work:
        max(agents, key=lambda agent: len(agent["tasks"]))["tasks"].pop()
    if draw(st.integers(0, 4)) < 4:
        problem["network"] = draw(_networks(agents, horizon))
    problem["horizon"] = draw(written(horizon))
    if draw(st.booleans()):
        problem["name"] = draw(st.sampled_from(NAMES_WITH_SLASH))
    return problem


@st.composite
def infeasible_mpp_dicts(draw: DrawFn, max_horizon: int = 7) -> Problem:
    """Draw problems with ``must_complete: true`` in which at least one agent's tasks do not fit.

    Many of them fail only just: one thing about one task is made worse until it does not fit.
    """
    problem = draw(mpp_dicts(max_horizon=max_horizon))
    problem["must_complete"] = True
    horizon = int(problem["horizon"])
    if judge.mpp_feasible(problem):
        agent = draw(st.sampled_from(problem["agents"]))
        if not agent["tasks"]:
            agent["tasks"].append(draw(_tasks(draw(st.sampled_from(NAMES)), horizon)))
        task = draw(st.sampled_from(agent["tasks"]))
        kind = draw(st.sampled_from(["duration", "delay", "window"]))
        if kind == "delay":
            chance = draw(probabilities().filter(lambda probability: probability > 0))
            task["delay"] = {"probability": chance, "duration": 1}
        elif kind == "window":
            task["window"] = [0, draw(st.integers(0, horizon))]
        while _feasible(agent, horizon):
            if kind == "duration":
                task["duration"] += 1
            elif kind == "delay":
                task["delay"]["duration"] += 1
            else:
                task["window"] = [bound + 1 for bound in task["window"]]
    return problem


def problem_dicts(max_work: int = MAX_WORK) -> SearchStrategy[Problem]:
    """Draw problems of either format."""
    return timmdp_dicts(max_work=max_work) | mpp_dicts(max_work=max_work)
