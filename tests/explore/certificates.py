"""Campaign: certificates as the engine writes them, and the same with damage.

Honest ones are confirmed and prove what the result claims. Damaged ones are refused, or prove
bounds that hold: never less than the optimum, whatever was changed.
"""

from __future__ import annotations

import base64
import copy
import json
import random
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from coreplan import FormatError, solve
from coreplan.policies.saved_arrays import pack
from coreplan.proof.verify import verify
from explore.campaign import Campaign, Case
from explore.checks import check_proof, check_result, check_soundness
from explore.configurations import draw_options
from explore.drawing import draw_problem
from explore.mutations import mutate_structure
from explore.shrinking import shorter, smaller_problems
from helpers import EAGER, from_file
from judge import optimal_value

WORK_LIMIT = 2.0


def draw(seed: int) -> Case:
    """Draw a problem, a configuration, and what damage is done to the certificate."""
    drawn = random.Random(f"certificates {seed}")
    problem = draw_problem(drawn, seed)
    options = draw_options(drawn)
    options.pop("shape", None)  # a certificate needs it
    damages = [
        [drawn.randrange(2**32) for _ in range(drawn.choice([1, 1, 2, 4]))]
        for _ in range(drawn.choice([0, 3, 6]))
    ]
    return {
        "problem": problem,
        "options": options,
        "eager": drawn.random() < 0.5,
        "damages": damages,
    }


def check(case: Case) -> None:
    """Write a certificate, verify it, damage copies of it and verify those."""
    raw = case["problem"]
    problem = from_file(raw)
    optimum = optimal_value(raw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        options = {**case["options"], **(EAGER if case["eager"] else {})}
        result = solve(problem, work_limit=WORK_LIMIT, certificate=path, **options)
        check_result(raw, optimum, result)
        found = verify(problem, path)
        check_soundness(raw, optimum, found)
        check_proof(raw, result, found)
        text = path.read_text(encoding="utf-8")
        for seeds in case["damages"]:
            document = json.loads(text)
            for seed in seeds:
                damage(document, random.Random(seed))
            path.write_text(json.dumps(document), encoding="utf-8")
            try:
                found = verify(problem, path)
            except FormatError:
                continue
            check_soundness(raw, optimum, found)


def smaller(case: Case) -> Iterator[Case]:
    """Less damage, fewer options, then smaller problems."""
    for fewer in shorter(case["damages"]):
        yield {**case, "damages": fewer}
    for k, seeds in enumerate(case["damages"]):
        for fewer in shorter(seeds):
            if fewer:
                made = copy.deepcopy(case)
                made["damages"][k] = fewer
                yield made
    for name in case["options"]:
        made = copy.deepcopy(case)
        del made["options"][name]
        yield made
    if case["eager"]:
        yield {**case, "eager": False}
    for raw in smaller_problems(case["problem"]):
        yield {**case, "problem": raw}


# -- damage ---------------------------------------------------------------------------------------

Document = dict[str, Any]


def damage(document: Document, draw: random.Random) -> None:
    """Change a certificate in one place."""
    draw.choice(DAMAGES)(document, draw)


def _change_claim(document: Document, draw: random.Random) -> None:
    """Claim a better bound."""
    if isinstance(document.get("upper"), float | int):
        document["upper"] -= 10.0 ** draw.randint(-9, 9)


def _change_numbers(document: Document, draw: random.Random) -> None:
    """Change an array of floats: shares, pair costs, or what records claim."""
    places = [
        (cluster["shares"], k)
        for cluster in _items(document, "clusters")
        for k, share in enumerate(_items(cluster, "shares"))
        if share is not None
    ]
    places += [
        (pair, "value")
        for cluster in _items(document, "clusters")
        for pair in _items(cluster, "pairs")
        if "value" in pair
    ]
    places += [
        (group, "least")
        for group in _items(document.get("search", {}), "groups")
        if "least" in group
    ]
    if not places:
        return
    inside, key = draw.choice(places)
    values = _array(inside[key], "<f8")
    if values is None or not len(values):
        return
    size = draw.choice([1e-9, 1e-3, 1.0, 1e3, 1e9])
    for _ in range(draw.choice([1, 1, len(values)])):
        values[draw.randrange(len(values))] += draw.choice([-size, size, 0.3 * size])
    inside[key] = pack(values.view("<u4"))


def _array(text: Any, kind: str) -> Any:
    """An array of a certificate, to be changed; None where it is broken already."""
    try:
        return np.frombuffer(zlib.decompress(base64.b64decode(text)), kind).copy()
    except (ValueError, TypeError, zlib.error):
        return None


def _change_indices(document: Document, draw: random.Random) -> None:
    """Change an array of numbers: classes, actions, after-states, layers."""
    agents = _items(document, "agents")
    keys = ("state", "class_of", "class_count", "action_begin", "after", "action_of", "layer_begin")
    places = [(a, key) for a in agents for key in keys if isinstance(a, dict) and key in a]
    places += [
        (pair, key)
        for cluster in _items(document, "clusters")
        for pair in _items(cluster, "pairs")
        for key in ("layer", "after_first", "after_second")
        if key in pair
    ]
    places += [
        (group, key)
        for group in _items(document.get("search", {}), "groups")
        for key in ("layer", "classes")
        if key in group
    ]
    if not places:
        return
    inside, key = draw.choice(places)
    values = _array(inside[key], "<u4")
    if values is None or not len(values):
        return
    kind = draw.choice(["set", "swap", "copy"])
    one, other = draw.randrange(len(values)), draw.randrange(len(values))
    if kind == "set":
        most = int(values.max())
        values[one] = min(draw.choice([0, 1, 2, most, most + 1, 2**32 - 1]), 2**32 - 1)
    elif kind == "swap":
        values[one], values[other] = values[other], values[one]
    else:
        values[one] = values[other]
    inside[key] = pack(values)


def _drop_part(document: Document, draw: random.Random) -> None:
    """Drop a cluster, a pair, an entry, a group, or all records."""
    lists = [document.get("clusters"), *(c.get("wide") for c in _items(document, "clusters"))]
    lists += [cluster.get("pairs") for cluster in _items(document, "clusters")]
    search = document.get("search")
    if isinstance(search, dict):
        lists += [search.get("groups"), search.get("solved")]
    full = [each for each in lists if isinstance(each, list) and each]
    if full:
        chosen = draw.choice(full)
        chosen.pop(draw.randrange(len(chosen)))


def _move_entry(document: Document, draw: random.Random) -> None:
    """Let another cluster count an entry, or two count it, or take an agent out of a cluster."""
    clusters = _items(document, "clusters")
    if not clusters:
        return
    one, other = draw.choice(clusters), draw.choice(clusters)
    lists = isinstance(one.get("wide"), list) and isinstance(other.get("wide"), list)
    if one is not other and lists and one["wide"]:
        entry = draw.choice(one["wide"])
        if draw.random() < 0.5:
            one["wide"].remove(entry)
        if entry not in other["wide"]:
            other["wide"] = [*other["wide"], entry]
            other["wide"].sort(key=str)
    elif isinstance(one.get("agents"), list) and len(one["agents"]) > 1:
        place = draw.randrange(len(one["agents"]))
        for key in ("agents", "shares"):
            one[key] = [each for k, each in enumerate(_items(one, key)) if k != place]


def _solve_more(document: Document, draw: random.Random) -> None:
    """Say that a set of agents is solved."""
    agents = range(len(_items(document, "agents")))
    chosen = sorted(i for i in agents if draw.random() < 0.6)
    document.setdefault("search", {"groups": [], "solved": []})
    if isinstance(document["search"], dict) and isinstance(document["search"].get("solved"), list):
        document["search"]["solved"].append(chosen)


def _items(inside: Any, key: str) -> list[Any]:
    found = inside.get(key) if isinstance(inside, dict) else None
    if not isinstance(found, list):
        return []
    return found if key in ("shares", "agents") else [e for e in found if isinstance(e, dict)]


DAMAGES: list[Callable[[Document, random.Random], None]] = [
    *(_change_claim, _change_numbers, _change_numbers, _change_indices, _change_indices),
    *(_drop_part, _move_entry, _solve_more, mutate_structure),
]

CAMPAIGN = Campaign("certificates", draw, check, smaller, share=2.0)
