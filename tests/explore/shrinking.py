"""Smaller cases that still fail in the same way."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from explore.campaign import Campaign, Case, failure_of
from explore.complaint import Complaint
from explore.drawing import drop_agent, entries_of, set_horizon
from judge import Problem

MOST_TRIES = 3000
MOST_SECONDS = 90.0


def shrink(
    campaign: Campaign,
    case: Case,
    complaint: Complaint,
    *,
    tries: int = MOST_TRIES,
    seconds: float = MOST_SECONDS,
) -> tuple[Case, Complaint]:
    """Make a failing case smaller, step by step, as long as the same check fails."""
    until = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for smaller in campaign.smaller(case):
            tries -= 1
            if tries < 0 or time.monotonic() > until:
                return case, complaint
            found = failure_of(campaign, smaller)
            if found is not None and found.check == complaint.check:
                case, complaint, progress = smaller, found, True
                break
    return case, complaint


# -- bytes and lists ------------------------------------------------------------------------------


def shorter(items: Any) -> Iterator[Any]:
    """A list, text or bytes without a part: halves first, then smaller parts."""
    size = len(items) // 2
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2
    if len(items) == 1:
        yield items[:0]


# -- problems -------------------------------------------------------------------------------------


def smaller_problems(raw: Problem) -> Iterator[Problem]:
    """Problems with something left out, shortened or rounded; some of them are not sound."""
    for change in _changes(raw):
        made = copy.deepcopy(raw)
        change(made)
        if made != raw:
            yield made


Change = Callable[[Problem], object]


def _changes(raw: Problem) -> Iterator[Change]:
    """Functions that change a copy in place, large steps first."""
    if len(raw["agents"]) > 1:
        for i in range(len(raw["agents"])):
            yield lambda made, i=i: drop_agent(made, i)
    horizon = int(raw["horizon"])
    for shorter_horizon in dict.fromkeys((1, horizon // 2, horizon - 1, horizon)):
        if shorter_horizon >= 1:
            yield lambda made, to=shorter_horizon: set_horizon(made, to)
    for key in ("name", "must_complete", "network", "rewards", "aggregates", "discount"):
        yield lambda made, key=key: made.pop(key, None)
    yield from _mpp_changes(raw) if raw["format"] == "mpp/1" else _timmdp_changes(raw)
    yield from _rounded(raw)


def _mpp_changes(raw: Problem) -> Iterator[Change]:
    for k in range(len(raw.get("network", []))):
        yield lambda made, k=k: made["network"].pop(k)
        for m in range(len(raw["network"][k]["tasks"])):
            if len(raw["network"][k]["tasks"]) > 2:
                yield lambda made, k=k, m=m: made["network"][k]["tasks"].pop(m)
    for i, agent in enumerate(raw["agents"]):
        for k, task in enumerate(agent["tasks"]):
            yield lambda made, i=i, k=k: _drop_task(made, i, k)
            for key in ("delay", "window", "revenue"):
                yield lambda made, i=i, k=k, key=key: made["agents"][i]["tasks"][k].pop(key, None)
            if task["duration"] > 1:
                yield lambda made, i=i, k=k: made["agents"][i]["tasks"][k].update(duration=1)
            if isinstance(task["cost"], list):
                first = task["cost"][0]
                yield lambda made, i=i, k=k, c=first: made["agents"][i]["tasks"][k].update(cost=c)


def _drop_task(raw: Problem, agent: int, task: int) -> None:
    name = f"{raw['agents'][agent]['name']}/{raw['agents'][agent]['tasks'].pop(task)['name']}"
    for entry in raw.get("network", []):
        entry["tasks"] = [each for each in entry["tasks"] if each != name]
    raw["network"] = [each for each in raw.get("network", []) if len(each["tasks"]) > 1]


def _timmdp_changes(raw: Problem) -> Iterator[Change]:
    for f, function in enumerate(raw.get("rewards", [])):
        yield lambda made, f=f: made["rewards"].pop(f)
        for e in range(len(function["entries"])):
            yield lambda made, f=f, e=e: made["rewards"][f]["entries"].pop(e)
    yield from _aggregate_changes(raw)
    for i, agent in enumerate(raw["agents"]):
        yield lambda made, i=i: made["agents"][i].pop("features", None)
        yield lambda made, i=i: made["agents"][i].pop("transitions_at", None)
        for c in range(len(agent.get("transitions_at", []))):
            yield lambda made, i=i, c=c: made["agents"][i]["transitions_at"].pop(c)
        for state in agent["transitions"]:
            if state != agent["initial"]:
                yield lambda made, i=i, s=state: _drop_state(made, i, s)
            for action, law in agent["transitions"][state].items():
                if len(agent["transitions"][state]) > 1:
                    yield lambda made, i=i, s=state, a=action: made["agents"][i]["transitions"][
                        s
                    ].pop(a)
                if len(law) > 1:
                    for only in law:
                        yield lambda made, i=i, s=state, a=action, to=only: made["agents"][i][
                            "transitions"
                        ][s].update({a: {to: 1}})
    for e, entry in enumerate(entries_of(raw)):
        yield lambda made, e=e: entries_of(made)[e].pop("stages", None)
        for name, parts in entry.get("when", {}).items():
            yield lambda made, e=e, name=name: entries_of(made)[e]["when"].pop(name)
            for key, named in parts.items():
                yield lambda made, e=e, n=name, k=key: entries_of(made)[e]["when"][n].pop(k)
                if isinstance(named, list) and len(named) > 1:
                    for k in range(len(named)):
                        yield lambda made, e=e, n=name, key=key, k=k: entries_of(made)[e]["when"][
                            n
                        ][key].pop(k)


def _aggregate_changes(raw: Problem) -> Iterator[Change]:
    for g, aggregate in enumerate(raw.get("aggregates", [])):
        yield lambda made, g=g: made["aggregates"].pop(g)
        yield lambda made, g=g: made["aggregates"][g].pop("stages", None)
        for m in range(len(aggregate["amounts"])):
            yield lambda made, g=g, m=m: made["aggregates"][g]["amounts"].pop(m)


def _drop_state(raw: Problem, position: int, state: str) -> None:
    """Leave a state out; what led to it leads to another outcome, or to the initial state."""
    agent = raw["agents"][position]
    agent["transitions"].pop(state)
    agent.get("features", {}).pop(state, None)
    for actions in agent["transitions"].values():
        for law in actions.values():
            chance = law.pop(state, 0)
            to = next(iter(law), agent["initial"])
            law[to] = law.get(to, 0) + chance
    for entry in entries_of(raw):
        parts = entry.get("when", {}).get(agent["name"], {})
        for key in ("state", "next"):
            if parts.get(key) == state:
                parts[key] = agent["initial"]
            elif isinstance(parts.get(key), list):
                parts[key] = [each for each in parts[key] if each != state] or [agent["initial"]]


def _rounded(raw: Problem) -> Iterator[Change]:
    """Replace numbers by rounder ones."""
    for place in _number_places(raw):
        inside: Any = raw
        for step in place[:-1]:
            inside = inside[step]
        value = inside[place[-1]]
        for rounder in _rounder(value, place[-1] in ("value", "cost", "revenue")):
            yield lambda made, place=place, to=rounder: _put(made, place, to)


def _put(raw: Problem, place: tuple[Any, ...], value: float) -> None:
    inside: Any = raw
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value


def _number_places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members: Any = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for key, each in members:
        if isinstance(each, float) and key != "horizon":
            yield (*place, key)
        else:
            yield from _number_places(each, (*place, key))


def _rounder(value: float, reward: bool) -> list[float]:
    if not math.isfinite(value) or value == 0:
        return []
    size = 10.0 ** math.floor(math.log10(abs(value)))
    digits = [round(value / size * 10**k) / 10**k * size for k in (0, 1, 2)]
    whole = [float(int(math.copysign(1, value)))] if reward else [0.5]
    return [
        each
        for each in dict.fromkeys([*whole, *digits, round(value, 3)])
        if each != value and len(repr(each)) < len(repr(value))
    ]
