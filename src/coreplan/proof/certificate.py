"""Certificates: the evidence from which anyone can check the bounds of a solver.

The format is ``certificate/1``; see docs/certificate.md. :mod:`coreplan.proof.verify` checks
certificates.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from coreplan.errors import FormatError, ModelError
from coreplan.files.reading import Document, Place, read_text, take_document
from coreplan.files.writing import gzipped, to_json, write_bytes, write_document
from coreplan.model.indexed import IndexedAgent, IndexedProblem
from coreplan.model.problem import PlanningProblem, index_problem, problem_hash
from coreplan.model.values import plain_state
from coreplan.policies.policy import Policy, policy_of
from coreplan.policies.rules import GONE, LocalMap, Reduced
from coreplan.policies.saved_arrays import Indices, pack, unpack
from coreplan.policies.saving import policy_to_dict
from coreplan.proof.local import agents_looked_at
from coreplan.support.checks import check_number, found

FORMAT = "certificate/1"
MOST_COMBINATIONS = 2_000_000
"""The most joint actions of one record, and the most joint classes that they lead to."""

Numbers = NDArray[np.float64]
T = TypeVar("T")
_BROKEN = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, ModelError)
_KEYS = ("problem", "problem_sha256", "stage", "horizon", "history", "start", "lower", "upper")
_AGENT = ("name", "states", "actions")
_ARRAYS = ("layer_begin", "state", "class_of", "class_count", "action_begin", "after", "action_of")


@dataclass(frozen=True, eq=False)
class AgentClasses:
    """One agent's local states merged into classes, and the actions behind class actions.

    Layers are the stages before the horizon, from the first. Nodes are pairs of a layer and a local
    state that some actions can reach, sorted by layer, then by the number of the state.
    """

    layer_begin: Indices
    """For each layer: its first node; at the end, the number of nodes."""
    state: Indices
    """For each node: the number of the local state, see :mod:`coreplan.model.indexed`."""
    class_of: Indices
    """For each node: the number of its class within the layer, or GONE if an optimal plan does not
    need it."""
    class_count: Indices
    """For each layer: the number of classes."""
    action_begin: Indices
    """For each class, through all layers: its first class action; at the end, their number."""
    after: Indices
    """For each class action: the number of its after-state, to which shares of pairs refer."""
    action_of: Indices
    """For each node that is not GONE and each action of its class: the number of the action's name
    that the class action stands for."""

    @property
    def class_begin(self) -> NDArray[np.int64]:
        """For each layer: the number of its first class, through all layers; and the end."""
        return np.concatenate([[0], np.cumsum(self.class_count, dtype=np.int64)])


@dataclass(frozen=True, eq=False)
class PairShare:
    """A cluster's share of the expected cost of two agents' interactions.

    A share that is not listed is 0; shares that are listed twice are added up.
    """

    agents: tuple[int, int]
    """Ascending."""
    layer: Indices
    after_first: Indices
    after_second: Indices
    value: Numbers


@dataclass(frozen=True, eq=False)
class Cluster:
    """A few agents that are solved together, with their shares of the costs."""

    agents: tuple[int, ...]
    """Ascending."""
    shares: tuple[Numbers | None, ...]
    """For each agent of the cluster and each class action: the share of the action's loss; None
    stands for zeros. The last cluster with the agent gets the rest instead."""
    pairs: tuple[PairShare, ...] = ()
    """Shares of pairs. The last cluster with both agents gets the rest."""
    wide: tuple[int, ...] = ()
    """Positions in `IndexedProblem.entries` of the interactions of three or more agents that the
    cluster counts."""


@dataclass(frozen=True, eq=False)
class GroupRecords:
    """Joint classes of some agents for which the bound is improved by one step of search."""

    agents: tuple[int, ...]
    """Ascending."""
    layer: Indices
    """The layer of each record."""
    classes: Indices
    """For each record and agent: the number of the class within the layer."""
    least: Numbers
    """For each record: the claimed lower bound on what the agents pay from there on."""


@dataclass(frozen=True, eq=False)
class Search:
    """The records by which a search improves the bound of the clusters."""

    groups: tuple[GroupRecords, ...]
    solved: tuple[tuple[int, ...], ...] = ()
    """Sets of agents, ascending, whose least costs the verifier computes exactly."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Both bounds of a solution, with the evidence to compute them again."""

    problem: PlanningProblem
    indexed: IndexedProblem
    """The indexed problem, from the stage and state for which the bounds hold."""
    lower: float
    upper: float
    agents: tuple[AgentClasses, ...]
    clusters: tuple[Cluster, ...]
    policy: Policy | None
    """The policy with the value `lower`."""
    history: bool = False
    """Whether local states of an MPP include start and end times."""
    search: Search | None = None
    """The records of the search behind the upper bound, if any."""
    prices: tuple[Numbers | None, ...] = ()
    """For each aggregate of the problem: the price of a unit at each layer; None stands for zeros.
    Empty if no aggregate has any."""


def agent_classes(
    own: LocalMap, reduced: Reduced, action_begin: Indices, after: Indices
) -> AgentClasses:
    """Combine two maps of an agent: from states to classes, and from these to fewer classes.

    Parameters
    ----------
    own
        The map from local states to the classes of the compiled model.
    reduced
        The map from these classes to those of the reduced model.
    action_begin, after
        Of the reduced model: for each class before the horizon, its first action; for each action,
        the number of its after-state.
    """
    layers = len(reduced.class_count)
    nodes = int(own.layer_begin[layers])
    offset = np.concatenate([[0], np.cumsum(own.class_count, dtype=np.int64)])
    begins = own.layer_begin[: layers + 1].astype(np.int64)
    sizes: NDArray[np.int64] = begins[1:] - begins[:-1]
    middle = np.repeat(offset[:layers], sizes) + own.node_class[:nodes]
    class_of = reduced.class_of[middle]
    begin = reduced.action_begin.astype(np.int64)
    widths = np.where(class_of == GONE, 0, begin[middle + 1] - begin[middle])
    ends = np.cumsum(widths)
    within = np.arange(int(ends[-1]) if nodes else 0) - np.repeat(ends - widths, widths)
    position = reduced.action_of[np.repeat(begin[middle], widths) + within]
    action_of = own.node_action[
        np.repeat(own.action_begin[:nodes].astype(np.int64), widths) + position
    ]
    classes = int(np.sum(reduced.class_count, dtype=np.int64))
    return AgentClasses(
        own.layer_begin[: layers + 1],
        own.node_state[:nodes],
        class_of,
        reduced.class_count,
        action_begin[: classes + 1],
        after[: int(action_begin[classes])],
        action_of,
    )


# -- writing --------------------------------------------------------------------------------------


def write_certificate(certificate: Certificate, path: str | Path) -> None:
    """Write a certificate as ``certificate/1``, compressed if the name ends in .gz."""
    document = certificate_to_dict(certificate)
    if Path(path).suffix.lower() == ".gz":
        write_bytes(gzipped(to_json(document).encode()), path)
    else:
        write_document(document, path)


def certificate_to_dict(certificate: Certificate) -> dict[str, Any]:
    """Turn a certificate into plain dicts, lists, texts and numbers."""
    indexed = certificate.indexed
    named = indexed.name_state([agent.start for agent in indexed.agents])
    document = {
        "format": FORMAT,
        "problem": certificate.problem.name,
        "problem_sha256": problem_hash(certificate.problem),
        "stage": indexed.stage,
        "horizon": indexed.horizon,
        "history": certificate.history,
        "start": plain_state(named),
        "lower": certificate.lower,
        "upper": certificate.upper,
        "agents": [
            _write_agent(agent, classes)
            for agent, classes in zip(indexed.agents, certificate.agents, strict=True)
        ],
        "clusters": [_write_cluster(cluster) for cluster in certificate.clusters],
        "policy": None if certificate.policy is None else policy_to_dict(certificate.policy),
    }
    if certificate.prices:
        document["prices"] = [
            None if each is None else _pack_numbers(each) for each in certificate.prices
        ]
    if certificate.search is not None:
        document["search"] = _write_search(certificate.search)
    return document


def _write_agent(agent: IndexedAgent, classes: AgentClasses) -> dict[str, Any]:
    used, numbers = np.unique(classes.state, return_inverse=True)
    described: dict[str, Any] = {
        "name": agent.name,
        "states": [agent.states.label(int(state)) for state in used],
        "actions": list(agent.actions),
    }
    for key in _ARRAYS:
        described[key] = pack(numbers if key == "state" else getattr(classes, key))
    return described


def _write_cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "agents": list(cluster.agents),
        "shares": [None if each is None else _pack_numbers(each) for each in cluster.shares],
        "pairs": [
            {
                "agents": list(pair.agents),
                "count": len(pair.value),
                "layer": pack(pair.layer),
                "after_first": pack(pair.after_first),
                "after_second": pack(pair.after_second),
                "value": _pack_numbers(pair.value),
            }
            for pair in cluster.pairs
        ],
        "wide": list(cluster.wide),
    }


def _write_search(search: Search) -> dict[str, Any]:
    return {
        "groups": [
            {
                "agents": list(group.agents),
                "count": len(group.layer),
                "layer": pack(group.layer),
                "classes": pack(group.classes.reshape(-1)),
                "least": _pack_numbers(group.least),
            }
            for group in search.groups
        ],
        "solved": [list(each) for each in search.solved],
    }


def _pack_numbers(values: Numbers) -> str:
    return pack(np.ascontiguousarray(values, dtype="<f8").view("<u4"))


def _unpack_numbers(text: object, length: int, what: str) -> Numbers:
    words = np.ascontiguousarray(unpack(text, 2 * length, what), dtype="<u4")
    numbers = words.view("<f8").astype(np.float64, copy=False)
    if not np.all(np.isfinite(numbers)):
        raise ValueError(f"{what}: expected finite numbers")
    return numbers


# -- reading --------------------------------------------------------------------------------------


def read_certificate(path: str | Path, problem: PlanningProblem) -> Certificate:
    """Read a certificate that was made for this problem.

    This checks only the shape of the file. :func:`coreplan.proof.verify.verify` checks the proof.

    Raises
    ------
    FormatError
        If the file is not a certificate, or belongs to another problem.
    """
    file, text = read_text(path)
    return take_document(file, text, lambda document: _take_certificate(document, problem))


def _take_certificate(document: Document, problem: PlanningProblem) -> Certificate:
    document.check_format(FORMAT)
    content = document.fields(
        document.root,
        (),
        "the certificate",
        ("format", *_KEYS, "agents", "clusters", "policy"),
        ("prices", "search"),
    )
    if document.problems:
        raise document.error()
    if content["problem_sha256"] != problem_hash(problem):
        document.fail(
            ("problem_sha256",),
            f"this certificate belongs to another problem ({found(content['problem'])}), or "
            f"problem {found(problem.name)} has changed since it was made",
        )
        raise document.error()
    for key in ("lower", "upper"):
        for each in check_number(content[key], (key,), "a bound"):
            document.fail((key,), each.message)
    indexed = _attempt(document, (), partial(_read_indexed, content, problem))
    agents = _attempt(document, ("agents",), partial(_of_length, content["agents"], indexed))
    classes = []
    for i, (described, agent) in enumerate(zip(agents, indexed.agents, strict=True)):
        make = partial(_read_agent, described, agent, indexed)
        classes.append(_attempt(document, ("agents", i), make))
    clusters = []
    looked_at = agents_looked_at(indexed)
    for k, each in enumerate(document.items(content["clusters"], ("clusters",), "clusters")):
        make_cluster = partial(_read_cluster, each, classes, indexed, looked_at)
        clusters.append(_attempt(document, ("clusters", k), make_cluster))
    if document.problems:
        raise document.error()
    _check_owners(document, clusters)
    search = _read_search(document, content["search"], classes) if "search" in content else None
    prices = _attempt(
        document, ("prices",), partial(_read_prices, content.get("prices", []), indexed)
    )
    certificate = Certificate(
        problem,
        indexed,
        float(content["lower"]),
        float(content["upper"]),
        tuple(classes),
        tuple(clusters),
        None,
        history=content["history"],
        search=search,
        prices=prices,
    )
    if content["policy"] is None:
        return certificate
    return replace(certificate, policy=_read_policy(document, content["policy"], certificate))


def _attempt(document: Document, path: Place, make: Callable[[], T]) -> T:
    """Make a part, or report that it is inconsistent, with its place."""
    try:
        return make()
    except _BROKEN as error:
        document.fail(path, f"this part is inconsistent: {_say(error)}")
        raise document.error() from None


def _say(error: BaseException) -> str:
    return f"the key {error} is missing" if isinstance(error, KeyError) else str(error)


def _read_indexed(content: dict[str, Any], problem: PlanningProblem) -> IndexedProblem:
    stage, horizon, history = content["stage"], content["horizon"], content["history"]
    if isinstance(horizon, bool) or horizon != problem.horizon:
        raise ValueError(f"horizon is {found(horizon)}; the problem has {problem.horizon}")
    if not isinstance(history, bool):
        raise ValueError(f"history is {found(history)}; expected true or false")
    return index_problem(problem, stage=stage, state=content["start"], history=history)


def _read_prices(given: Any, indexed: IndexedProblem) -> tuple[Numbers | None, ...]:
    count = len(indexed.aggregates)
    if not isinstance(given, list) or len(given) not in (0, count):
        raise ValueError(f"expected a list with one item for each of {count} aggregates")
    layers = indexed.horizon - indexed.stage
    return tuple(
        None if each is None else _unpack_numbers(each, layers, "prices") for each in given
    )


def _of_length(given: Any, indexed: IndexedProblem) -> list[Any]:
    if not isinstance(given, list) or len(given) != len(indexed.agents):
        raise ValueError(f"expected a list with one item for each of {len(indexed.agents)} agents")
    return given


def _read_agent(
    described: dict[str, Any], agent: IndexedAgent, indexed: IndexedProblem
) -> AgentClasses:
    layers = indexed.horizon - indexed.stage
    if described["name"] != agent.name or tuple(described["actions"]) != agent.actions:
        raise ValueError(f"agent {found(agent.name)} has another name or other actions in the file")
    unknown = [key for key in described if key not in (*_AGENT, *_ARRAYS)]
    if unknown:
        raise ValueError(f"found the unknown key {found(unknown[0])} of an agent")

    def array(key: str, length: int) -> Indices:
        return unpack(described[key], length, key)

    def begins(key: str, length: int, most: int) -> Indices:
        begin = array(key, length)
        if begin[0] != 0 or begin[-1] > most or np.any(begin[1:] < begin[:-1]):
            raise ValueError(f"{key} is not an ascending list of positions from 0")
        return begin

    layer_begin = begins("layer_begin", layers + 1, layers * len(agent.states))
    sizes = np.diff(layer_begin)
    nodes = int(layer_begin[-1])
    labels = {agent.states.label(k): k for k in range(len(agent.states))}
    numbers = np.array([labels[label] for label in described["states"]], dtype=np.uint32)
    state = numbers[array("state", nodes)]
    class_count = array("class_count", layers)
    if np.any(class_count > sizes):
        raise ValueError("class_count: found more classes than states")
    class_of = array("class_of", nodes)
    if np.any((class_of >= np.repeat(class_count, sizes)) & (class_of != GONE)):
        raise ValueError("class_of names an unknown class")
    classes = int(class_count.sum(dtype=np.int64))
    action_begin = begins("action_begin", classes + 1, classes * len(agent.actions))
    widths = np.diff(action_begin.astype(np.int64))
    if np.any(widths == 0):
        raise ValueError("action_begin: a class has no actions")
    first = np.concatenate([[0], np.cumsum(class_count, dtype=np.int64)])[:-1]
    own = np.repeat(first, sizes) + np.where(class_of == GONE, 0, class_of)
    counts = np.zeros(nodes, np.int64)
    known = class_of != GONE
    counts[known] = widths[own[known]]
    action_of = array("action_of", int(counts.sum()))
    if np.any(action_of >= len(agent.actions)):
        raise ValueError("action_of names an unknown action")
    # The numbers of states may have changed since the file was written: sort each layer again.
    order = np.lexsort((state, np.repeat(np.arange(layers), sizes)))
    begin = np.cumsum(counts) - counts
    sorted_counts = counts[order]
    moved = np.repeat(begin[order] - (np.cumsum(sorted_counts) - sorted_counts), sorted_counts)
    return AgentClasses(
        layer_begin,
        state[order],
        class_of[order],
        class_count,
        action_begin,
        array("after", int(action_begin[-1])),
        action_of[moved + np.arange(len(action_of))],
    )


def _numbers_of(given: Any, what: str, count: int) -> tuple[int, ...]:
    if not isinstance(given, list) or any(
        isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < count for i in given
    ):
        raise ValueError(f"{what}: expected a list of numbers from 0 to {count - 1}")
    if any(a >= b for a, b in pairwise(given)):
        raise ValueError(f"{what}: expected ascending numbers")
    return tuple(given)


def _read_cluster(
    described: dict[str, Any],
    classes: list[AgentClasses],
    indexed: IndexedProblem,
    looked_at: list[frozenset[int]],
) -> Cluster:
    unknown = [key for key in described if key not in ("agents", "shares", "pairs", "wide")]
    if unknown:
        raise ValueError(f"found the unknown key {found(unknown[0])} of a cluster")
    agents = _numbers_of(described["agents"], "agents", len(indexed.agents))
    if not agents:
        raise ValueError("agents: a cluster needs at least one agent")
    shares = described["shares"]
    if not isinstance(shares, list) or len(shares) != len(agents):
        raise ValueError("shares: expected a list with one item for each agent of the cluster")
    unpacked = tuple(
        None
        if text is None
        else _unpack_numbers(text, int(classes[i].action_begin[-1]), f"shares of agent {i}")
        for i, text in zip(agents, shares, strict=True)
    )
    pairs = tuple(_read_pair(each, agents, classes) for each in described["pairs"])
    if len({pair.agents for pair in pairs}) != len(pairs):
        raise ValueError("pairs: a pair is listed twice")
    wide = _numbers_of(described["wide"], "wide", len(indexed.entries))
    for e in wide:
        if len({i for i, _ in indexed.entries[e].members}) < 3:
            raise ValueError(f"wide: entry {e} looks at fewer than three agents")
        if not looked_at[e] <= set(agents):
            raise ValueError(f"wide: the cluster lacks an agent that entry {e} looks at")
    return Cluster(agents, unpacked, pairs, wide)


def _read_pair(
    described: dict[str, Any], agents: tuple[int, ...], classes: list[AgentClasses]
) -> PairShare:
    first, second = _numbers_of(described["agents"], "agents of a pair", len(classes))
    if first not in agents or second not in agents:
        raise ValueError("pairs: the cluster lacks an agent of a pair")
    count = _read_count(described)
    layer = unpack(described["layer"], count, "layer")
    after_first = unpack(described["after_first"], count, "after_first")
    after_second = unpack(described["after_second"], count, "after_second")
    if np.any(layer >= len(classes[first].class_count)):
        raise ValueError("layer: found an unknown layer")
    for i, each in ((first, after_first), (second, after_second)):
        own = classes[i]
        begin = own.action_begin[own.class_begin].astype(np.int64)
        layers = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        known = np.unique(layers << 32 | own.after.astype(np.int64))
        if not np.all(np.isin(layer.astype(np.int64) << 32 | each.astype(np.int64), known)):
            raise ValueError("pairs: no action of the layer has this after-state")
    value = _unpack_numbers(described["value"], count, "value")
    return PairShare((first, second), layer, after_first, after_second, value)


def _read_search(document: Document, described: Any, classes: list[AgentClasses]) -> Search:
    top = _attempt(document, ("search",), partial(_read_parts_of_search, described, len(classes)))
    groups = []
    for g, group in enumerate(top[0]):
        place = ("search", "groups", g)
        groups.append(_attempt(document, place, partial(_read_group, group, classes)))
    return Search(tuple(groups), top[1])


def _read_parts_of_search(
    described: Any, agents: int
) -> tuple[list[Any], tuple[tuple[int, ...], ...]]:
    if not isinstance(described, dict) or described.keys() != {"groups", "solved"}:
        raise ValueError("expected the keys 'groups' and 'solved'")
    groups, solved = described["groups"], described["solved"]
    if not isinstance(groups, list) or not isinstance(solved, list):
        raise ValueError("groups and solved: expected lists")
    return groups, tuple(_numbers_of(each, "solved", agents) for each in solved)


def _read_group(described: Any, classes: list[AgentClasses]) -> GroupRecords:
    agents = _numbers_of(described["agents"], "agents", len(classes))
    if not agents:
        raise ValueError("agents: a group needs at least one agent")
    unknown = [k for k in described if k not in ("agents", "count", "layer", "classes", "least")]
    if unknown:
        raise ValueError(f"found the unknown key {found(unknown[0])} of a group")
    count = _read_count(described)
    layer = unpack(described["layer"], count, "layer")
    if np.any(layer >= len(classes[0].class_count)):
        raise ValueError("layer: found an unknown layer")
    rows = unpack(described["classes"], count * len(agents), "classes").reshape(count, len(agents))
    for place, i in enumerate(agents):
        if np.any(rows[:, place] >= classes[i].class_count[layer]):
            raise ValueError("classes: the layer lacks a class that is listed")
    return GroupRecords(agents, layer, rows, _unpack_numbers(described["least"], count, "least"))


def _read_count(described: dict[str, Any]) -> int:
    count = described["count"]
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 2**31:
        raise ValueError(f"count is {found(count)}; expected a number of entries")
    return count


def _check_owners(document: Document, clusters: list[Cluster]) -> None:
    owner: dict[int, int] = {}
    for k, cluster in enumerate(clusters):
        for e in cluster.wide:
            if e in owner:
                document.fail(
                    ("clusters", k, "wide"),
                    f"entry {e} is counted twice, first by the cluster at position {owner[e]}",
                )
            owner[e] = k
    if document.problems:
        raise document.error()


def _read_policy(document: Document, content: Any, certificate: Certificate) -> Policy:
    """Read the policy inside a certificate, with the reader of policies."""
    if isinstance(content, dict) and content.get("lookahead"):
        # Its decisions need the compiled core, which proofs do without.
        document.fail(("policy", "lookahead"), "the policy of a certificate must not look ahead")
        raise document.error()
    try:
        policy = take_document(
            "policy.json",
            json.dumps(content),
            lambda document: policy_of(document, certificate.problem),
        )
    except FormatError as error:
        for problem in error.problems:
            document.fail(("policy", *problem.path), problem.message)
        raise document.error() from None
    starts = [
        (indexed.stage, [agent.states.label(agent.start) for agent in indexed.agents])
        for indexed in (policy.indexed, certificate.indexed)
    ]
    if starts[0] != starts[1] or policy.history != certificate.history:
        document.fail(
            ("policy", "start"), "the policy starts in another state than the certificate"
        )
        raise document.error()
    return policy
