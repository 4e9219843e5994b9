"""The rules of the paper's claims, written down before the run that they judge.

A rule is one-sided where the paper claims an ability. Where it says that an algorithm solves what
others do not, the rule ranks them: another machine and another limit move the numbers of all.
Pyramids count up to 10 agents, the most that the paper speaks of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from coreplan.bench.claims.evidence import PAPERS_LIMIT, PLAIN, Evidence, Reading
from coreplan.bench.claims.verdicts import Finding, Rule, judge
from coreplan.bench.figures.decentralised import EQUAL, SetRatios, decentralised_data
from coreplan.bench.figures.numbers import geometric_mean, listing, part, percent
from coreplan.bench.figures.work import ACTIONS, Reduction
from coreplan.bench.store import Row
from coreplan.bench.variants import Variant

RANDOM = ("rand3", "rand4", "rand5")
LARGEST_PYRAMID = 10
"""Agents of the largest pyramids that the paper speaks of."""
LARGEST_BEFORE = 5
"""Agents of the largest pyramids that were solved before the paper, as it says."""

Measure = Callable[[Evidence, Reading], Finding | None]


def _limits(rows: Iterable[Row]) -> str:
    limits = sorted({row.time_limit for row in rows})
    return "within " + " or ".join(f"{limit:,g} s" for limit in limits)


def _share(rows: Sequence[Row]) -> str:
    return part(sum(row.solved for row in rows), len(rows))


# -- decentralised plans -----------------------------------------------------------------------


def _ratios(evidence: Evidence, names: Sequence[str]) -> list[SetRatios]:
    return [each for each in decentralised_data(evidence.rows).sets if each.set in names]


def _half_equal(*names: str) -> Measure:
    def measure(evidence: Evidence, reading: Reading) -> Finding | None:
        sets = _ratios(evidence, names)
        ratios = [ratio for each in sets for ratio in each.ratios]
        if not ratios:
            return None
        equal = sum(ratio >= 1 - EQUAL for ratio in ratios)
        measured = part(equal, len(ratios))
        if len(names) > 1:
            measured += f"; {listing(f'{each.set} {percent(each.equal)}' for each in sets)}"
        share = equal / len(ratios)
        return judge(0.4 <= share <= 0.6, measured, percent(share))

    return measure


def _loss(agrees: Callable[[float], bool], *, worst: bool) -> Measure:
    def measure(evidence: Evidence, reading: Reading) -> Finding | None:
        for each in _ratios(evidence, ["coordint"]):
            loss = each.worst_loss if worst else each.mean_loss
            measured = f"{percent(loss)} (n = {len(each.ratios):,}); {each.quotient}"
            return judge(agrees(loss), measured, percent(loss))
        return None

    return measure


# -- joint actions -----------------------------------------------------------------------------


def _fewer(fewer: str, more: str, least: float, *, per_instance: bool = False) -> Measure:
    """Joint actions that one algorithm evaluates, against those of another."""

    def measure(evidence: Evidence, reading: Reading) -> Finding | None:
        few, many = (Variant(each, reading.options.get(each, PLAIN)) for each in (fewer, more))
        found = _reduce(evidence, few, many)
        if found is None:
            return None
        measured = str(found)
        if per_instance:
            measured += f", fewer on {percent(found.share)} of the instances"
        return judge(found.ratio >= least, measured, found.amount)

    return measure


def _reduce(evidence: Evidence, fewer: Variant, more: Variant) -> Reduction | None:
    counts = [
        tuple(float((row.result or {}).get("statistics", {}).get(ACTIONS, 0)) for row in rows)
        for rows in evidence.shared("mpp", [fewer, more])
        if all(row.solved for row in rows)
    ]
    counts = [pair for pair in counts if min(pair) > 0]
    ratio = geometric_mean(many / few for few, many in counts)
    if ratio is None:
        return None
    share = sum(few < many for few, many in counts) / len(counts)
    return Reduction(fewer, more, ratio, share, len(counts))


# -- instances solved --------------------------------------------------------------------------


def _pairs_solved(evidence: Evidence, reading: Reading) -> Finding | None:
    solves = {
        variant: [rows[0] for rows in evidence.shared("mpp", [variant], agents=2)]
        for name in ("dp", "spudd", "crg-ps", "core-2016")
        if (variant := evidence.variant("mpp", name, reading)) is not None
    }
    solves = {variant: rows for variant, rows in solves.items() if rows}
    asked = set(reading.options) & {"spudd", "core-2016"}
    if not solves or not asked <= {variant.algorithm for variant in solves}:
        return None
    every = [row for rows in solves.values() for row in rows]
    measured = ", ".join(f"{variant} {_share(rows)}" for variant, rows in solves.items())
    return judge(all(row.solved for row in every), f"{measured}, {_limits(every)}", _share(every))


def _more_than(rival: str, agents: int | None = None) -> Measure:
    """CoRe solves more instances than another algorithm, of those that both were run on."""

    def measure(evidence: Evidence, reading: Reading) -> Finding | None:
        variants = [evidence.variant("mpp", name, reading) for name in ("core-2016", rival)]
        size = {} if agents is None else {"agents": agents}
        both = evidence.shared("mpp", variants, **size)
        if not both:
            return None
        mine, theirs = (sum(rows[k].solved for rows in both) for k in range(2))
        measured = ", ".join(
            f"{variant} {part(number, len(both))}"
            for variant, number in zip(variants, (mine, theirs), strict=True)
        )
        measured += f", {_limits(row for rows in both for row in rows)}"
        if mine == theirs == len(both):
            measured += "; both solve all"
        return judge(mine > theirs, measured, f"{mine:,} : {theirs:,}")

    return measure


def _four_agents(evidence: Evidence, reading: Reading) -> Finding | None:
    names = ("dp", "spudd", "crg-ps", "core-2016")
    variants = [evidence.variant("mpp", name, reading) for name in names]
    shared = evidence.shared("mpp", variants, agents=4)
    if not shared:
        return None
    columns = [list(rows) for rows in zip(*shared, strict=True)]
    measured = ", ".join(f"{v} {_share(rows)}" for v, rows in zip(variants, columns, strict=True))
    measured += f", {_limits(row for rows in shared for row in rows)}"
    dp, spudd, crg_ps, core = (sum(row.solved for row in rows) for rows in columns)
    short = f"{min(crg_ps, core):,} : {max(dp, spudd):,}"
    return judge(min(crg_ps, core) > max(dp, spudd), measured, short)


# -- runtimes ----------------------------------------------------------------------------------


def _beside_spudd(evidence: Evidence, reading: Reading) -> tuple[str, list[tuple[Row, ...]]]:
    """The names of CoRe and SPUDD, and their solves of the instances that both were run on."""
    variants = [evidence.variant("mpp", name, reading) for name in ("core-2016", "spudd")]
    return f"{variants[0]} against {variants[1]}", evidence.shared("mpp", variants)


def _faster(evidence: Evidence, reading: Reading) -> Finding | None:
    pair, shared = _beside_spudd(evidence, reading)
    wins: dict[int, list[bool]] = {}
    for core, spudd in shared:
        if core.solved and spudd.solved:
            wins.setdefault(int(core.parameters["agents"]), []).append(core.seconds < spudd.seconds)
    wins = {agents: wins[agents] for agents in (2, 3) if agents in wins}
    if not wins:
        return None
    sizes = [f"{agents} agents {part(sum(each), len(each))}" for agents, each in wins.items()]
    worst = min(sum(each) / len(each) for each in wins.values())
    return judge(worst >= 0.9, f"{', '.join(sizes)} ({pair})", percent(worst))


def _failed(evidence: Evidence, reading: Reading) -> Finding | None:
    pair, shared = _beside_spudd(evidence, reading)
    lost = [not core.solved for core, spudd in shared if spudd.solved]
    if not lost:
        return None
    share = sum(lost) / len(lost)
    return judge(share <= 0.1, f"{part(sum(lost), len(lost))} ({pair})", percent(share))


def _spudd_failed(evidence: Evidence, reading: Reading) -> Finding | None:
    pair, shared = _beside_spudd(evidence, reading)
    lost = [not spudd.solved for core, spudd in shared if core.solved]
    if not lost:
        return None
    share = sum(lost) / len(lost)
    return judge(share >= 0.49, f"{part(sum(lost), len(lost))} ({pair})", percent(share))


# -- pyramids ----------------------------------------------------------------------------------


def _quarter(evidence: Evidence, reading: Reading) -> Finding | None:
    own = evidence.variant("pyra", "core-2016", reading)
    rows = [rows[0] for rows in evidence.shared("pyra", [own], agents=10, horizon=4)]
    # With the paper's own limit, other limits do not count.
    rows = [row for row in rows if row.time_limit >= PAPERS_LIMIT] or rows
    if not rows:
        return None
    share = sum(row.solved for row in rows) / len(rows)
    return judge(share >= 0.1, f"{own} {_share(rows)}, {_limits(rows)}", percent(share))


def _larger_teams(evidence: Evidence, reading: Reading) -> Finding | None:
    variants = [evidence.variant("pyra", name, reading) for name in ("core-2016", "spudd")]
    shared = [
        rows
        for rows in evidence.shared("pyra", variants)
        if rows[0].parameters["agents"] <= LARGEST_PYRAMID
    ]
    if all(rows[0].parameters["agents"] <= LARGEST_BEFORE for rows in shared):
        return None
    sizes = [
        max((int(rows[k].parameters["agents"]) for rows in shared if rows[k].solved), default=0)
        for k in range(2)
    ]
    measured = ", ".join(
        f"{variant} up to {size} agents" for variant, size in zip(variants, sizes, strict=True)
    )
    measured += f" (n = {len(shared):,}, {_limits(row for rows in shared for row in rows)})"
    return judge(sizes[0] > sizes[1], measured, f"{sizes[0]} : {sizes[1]}")


def _beyond(evidence: Evidence, reading: Reading) -> Finding | None:
    own = evidence.variant("pyra", "core-2016", reading)
    rows = [
        rows[0]
        for rows in evidence.shared("pyra", [own])
        if LARGEST_BEFORE < rows[0].parameters["agents"] <= LARGEST_PYRAMID
    ]
    if not rows:
        return None
    share = sum(row.solved for row in rows) / len(rows)
    return judge(share >= 0.1, f"{own} {_share(rows)}, {_limits(rows)}", percent(share))


# -- all rules, in the paper's order -----------------------------------------------------------

_A, _B, _C, _D, _E = (f"Evaluation, figure ({letter})" for letter in "abcde")
_BOTH_SOLVED = "geometric mean over instances that both solved"
_PLAIN_SOLVES = "with merge: false and without memory"

RULES: tuple[Rule, ...] = (
    Rule(
        "half-equal",
        "Random instances: the values of decentralised and centralised plans are equal in "
        "approximately half of the instances",
        _A,
        "40 to 60 % of the instances of rand3, rand4 and rand5 together",
        "solves of rand3, rand4 or rand5 by dec-mdp and core",
        _half_equal(*RANDOM),
    ),
    *(
        Rule(
            f"half-equal-{name}",
            f"The same for {name} alone",
            _A,
            f"40 to 60 % of the instances of {name}",
            f"solves of {name} by dec-mdp and core",
            _half_equal(name),
        )
        for name in RANDOM
    ),
    Rule(
        "mean-loss",
        "coordint: on average the loss is about 33 %",
        _A,
        "a mean loss of 28 to 38 %",
        "solves of coordint by dec-mdp and core",
        _loss(lambda loss: 0.28 <= loss <= 0.38, worst=False),
    ),
    Rule(
        "worst-loss",
        "coordint: the loss can be 75 %",
        _A,
        "a worst loss of 65 % or more",
        "solves of coordint by dec-mdp and core",
        _loss(lambda loss: loss >= 0.65, worst=True),
    ),
    Rule(
        "decimated",
        "CRG-PS approximately decimates the number of evaluated joint actions against DP",
        _B,
        f"5 or more times fewer ({_BOTH_SOLVED})",
        f"solves of mpp by dp and crg-ps {_PLAIN_SOLVES}",
        _fewer("crg-ps", "dp", 5),
    ),
    Rule(
        "reduced-further",
        "With value bounds (CoRe) this number is reduced even more; it varies per instance",
        _B,
        f"1.1 or more times fewer than CRG-PS ({_BOTH_SOLVED})",
        f"solves of mpp by crg-ps and core-2016 {_PLAIN_SOLVES}",
        _fewer("core-2016", "crg-ps", 1.1, per_instance=True),
        ("core-2016",),
    ),
    Rule(
        "orders-of-magnitude",
        "CoRe reduces the search space size by orders of magnitude",
        "Conclusions",
        f"100 or more times fewer joint actions than DP ({_BOTH_SOLVED})",
        f"solves of mpp by dp and core-2016 {_PLAIN_SOLVES}",
        _fewer("core-2016", "dp", 100),
        ("core-2016",),
    ),
    Rule(
        "pairs-solved",
        "All two-agent instances of mpp were solved, by every algorithm",
        _C,
        "every algorithm solves all of them",
        "solves of mpp with 2 agents",
        _pairs_solved,
        ("core-2016", "spudd"),
    ),
    Rule(
        "more-than-spudd",
        "CoRe solves more instances than SPUDD of the 3 agent problems",
        _C,
        "more of the instances that both were run on",
        "solves of mpp with 3 agents by core-2016 and spudd",
        _more_than("spudd", 3),
        ("core-2016", "spudd"),
    ),
    Rule(
        "four-agents",
        "Only CRG-PS and CoRe solve 4-agent instances",
        _C,
        "each of these two solves more than SPUDD and more than DP, of the instances that all "
        "four were run on",
        "solves of mpp with 4 agents by all four algorithms",
        _four_agents,
        ("core-2016", "spudd"),
    ),
    Rule(
        "more-than-crg-ps",
        "The use of branch-and-bound enables CoRe to solve more instances than CRG-PS",
        _C,
        "more of the instances that both were run on",
        "solves of mpp by core-2016 and crg-ps",
        _more_than("crg-ps"),
        ("core-2016",),
    ),
    Rule(
        "faster",
        "CoRe solves almost all instances faster than SPUDD, both with 2 and 3 agents",
        _D,
        "faster on 90 % or more of the instances that both solved, with 2 and with 3 agents",
        "instances of mpp with 2 or 3 agents that core-2016 and spudd both solve",
        _faster,
        ("core-2016", "spudd"),
    ),
    Rule(
        "coverage",
        "CoRe has a greater solving coverage than SPUDD",
        _D,
        "more of the instances of mpp that both were run on",
        "solves of mpp by core-2016 and spudd",
        _more_than("spudd"),
        ("core-2016", "spudd"),
    ),
    Rule(
        "failed",
        "CoRe failed to solve 3.4 % of the instances solved by SPUDD",
        _D,
        "10 % or less",
        "instances of mpp that spudd solves, and core-2016 was run on",
        _failed,
        ("core-2016", "spudd"),
    ),
    Rule(
        "spudd-failed",
        "SPUDD failed on 63.9 % of the instances that CoRe solved",
        _D,
        "49 % or more",
        "instances of mpp that core-2016 solves, and spudd was run on",
        _spudd_failed,
        ("core-2016", "spudd"),
    ),
    Rule(
        "quarter",
        "pyra: CoRe solved about a quarter of the 10 agent problems of horizon 4",
        _E,
        "10 % or more of them, within the paper's 1,800 s where this was run",
        "solves of pyra with 10 agents and horizon 4 by core-2016",
        _quarter,
        ("core-2016",),
    ),
    Rule(
        "larger-teams",
        "Previous state of the art (SPUDD) solved instances up to only 5 agents; CoRe solves "
        "larger ones",
        _E,
        "the largest pyramid of up to 10 agents that CoRe solves has more agents than the largest "
        "of SPUDD, of the instances that both were run on",
        "solves of pyra with 6 to 10 agents by core-2016 and spudd",
        _larger_teams,
        ("core-2016", "spudd"),
    ),
    Rule(
        "beyond",
        "CoRe solves many of the previously unsolvable instances (more than 5 agents)",
        _E,
        "10 % or more of the instances of pyra with 6 to 10 agents",
        "solves of pyra with 6 to 10 agents by core-2016",
        _beyond,
        ("core-2016",),
    ),
)
"""The rules of all claims, in the paper's order."""
