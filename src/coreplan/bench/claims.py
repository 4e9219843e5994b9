"""Comparison of the paper's claims with measurements: agree or differ, by stated rules, and why."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from coreplan.bench.figures.decentralised import EQUAL, SetRatios, decentralised_data
from coreplan.bench.figures.numbers import listing, part, percent
from coreplan.bench.figures.runtime import RuntimeData, runtime_data
from coreplan.bench.figures.solved import SolvedData, solved_data
from coreplan.bench.figures.work import PLAIN, WorkData, work_data
from coreplan.bench.store import Row
from coreplan.bench.variants import Solves, Variant

PAPERS_LIMIT = 1800.0
"""Time limit of a solver in the paper, in seconds."""


class Verdict(StrEnum):
    """The outcome of the check of a claim."""

    AGREE = "agree"
    DIFFER = "differ"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper's evaluation, with the measurement.

    Attributes
    ----------
    statement
        The paper's statement.
    rule
        The measurement that counts as agreement.
    measured
        The measurement, with the number of instances; empty if nothing was measured.
    verdict
        Whether the measurement agrees, by the rule.
    why
        A possible reason for a difference, or a remark on an agreement.
    """

    statement: str
    rule: str
    measured: str
    verdict: Verdict
    why: str = ""

    def to_dict(self) -> dict[str, str]:
        """All attributes by name."""
        return {
            "statement": self.statement,
            "rule": self.rule,
            "measured": self.measured,
            "verdict": str(self.verdict),
            "why": self.why,
        }


def check_claims(rows: Iterable[Row]) -> list[Claim]:
    """Check every quantitative claim of the paper's evaluation, in the paper's order."""
    rows = list(rows)
    ratios = {each.set: each for each in decentralised_data(rows).sets}
    work = work_data(rows)
    mpp, pyra = solved_data(rows, "mpp"), solved_data(rows, "pyra")
    solves = Solves(rows, "mpp")
    return [
        _half_equal([ratios[name] for name in ("rand3", "rand4", "rand5") if name in ratios]),
        _mean_loss(ratios.get("coordint")),
        _worst_loss(ratios.get("coordint")),
        _decimated(work),
        _reduced_further(work),
        _orders_of_magnitude(work),
        _all_pairs_solved(mpp),
        _more_than(
            solves,
            "CoRe solves more instances than SPUDD of the 3 agent problems",
            "spudd",
            3,
        ),
        _only_crgs(mpp),
        _more_than(
            solves,
            "The use of branch-and-bound enables CoRe to solve more instances than CRG-PS",
            "crg-ps",
            None,
        ),
        *_runtimes(runtime_data(rows)),
        _quarter(pyra),
        _previous_art(pyra),
        _beyond(pyra),
    ]


def _judge(
    statement: str, rule: str, measured: str, agrees: bool, differs: str = "", agreed: str = ""
) -> Claim:
    verdict = Verdict.AGREE if agrees else Verdict.DIFFER
    return Claim(statement, rule, measured, verdict, agreed if agrees else differs)


def _missing(statement: str, rule: str, what: str) -> Claim:
    return Claim(statement, rule, "", Verdict.NOT_MEASURED, f"Needs {what}.")


def _limit_note(limits: Sequence[float]) -> str:
    if not limits or limits[0] >= PAPERS_LIMIT:
        return ""
    shown = " or ".join(f"{limit:,g} s" for limit in limits)
    return f"The time limit was {shown} here, 30 minutes in the paper."


# -- decentralised plans -----------------------------------------------------------------------

_UNKNOWN_INSTANCES = "The paper leaves parameters of its instances open; ours are another draw."
_CHOSEN = (
    "The parameters that the paper leaves open in this set were chosen to come near this "
    "(docs/test-sets.md); an agreement is no independent evidence."
)


def _half_equal(sets: Sequence[SetRatios]) -> Claim:
    statement = (
        "Random instances: the values of decentralised and centralised plans are equal in "
        "approximately half of the instances"
    )
    rule = "40 to 60 % of the instances of rand3, rand4 and rand5 together"
    if not sets:
        return _missing(statement, rule, "solves of rand3, rand4 or rand5 by dec-mdp and core")
    all_ratios = [ratio for each in sets for ratio in each.ratios]
    equal = sum(ratio >= 1 - EQUAL for ratio in all_ratios)
    single = listing(f"{each.set} {percent(each.equal)}" for each in sets)
    measured = f"{part(equal, len(all_ratios))}; {single}"
    agrees = 0.4 <= equal / len(all_ratios) <= 0.6
    return _judge(statement, rule, measured, agrees, _UNKNOWN_INSTANCES, _CHOSEN)


def _mean_loss(ratios: SetRatios | None) -> Claim:
    statement = "coordint: on average the loss is about 33 %"
    rule = "a mean loss of 28 to 38 %"
    if ratios is None:
        return _missing(statement, rule, "solves of coordint by dec-mdp and core")
    measured = f"{percent(ratios.mean_loss)} (n = {len(ratios.ratios):,}); {ratios.quotient}"
    agrees = 0.28 <= ratios.mean_loss <= 0.38
    return _judge(statement, rule, measured, agrees, _UNKNOWN_INSTANCES, _CHOSEN)


def _worst_loss(ratios: SetRatios | None) -> Claim:
    statement = "coordint: the loss can be 75 %"
    rule = "a worst loss of 65 % or more"
    if ratios is None:
        return _missing(statement, rule, "solves of coordint by dec-mdp and core")
    measured = f"{percent(ratios.worst_loss)} (n = {len(ratios.ratios):,})"
    few = (
        f" The worst of {len(ratios.ratios):,} instances is not that of 1,000."
        if len(ratios.ratios) < 1000
        else ""
    )
    agrees = ratios.worst_loss >= 0.65
    return _judge(statement, rule, measured, agrees, _UNKNOWN_INSTANCES + few, _CHOSEN)


# -- joint actions -----------------------------------------------------------------------------

_DP, _CRG_PS, _CORE_2016 = (Variant(name, PLAIN) for name in ("dp", "crg-ps", "core-2016"))
_NEEDS_WORK = "solves of mpp by dp, crg-ps and core-2016 with merge: false and without memo"


def _decimated(work: WorkData) -> Claim:
    statement = "CRG-PS approximately decimates the number of evaluated joint actions against DP"
    rule = "5 to 20 times fewer (geometric mean over instances that both solved)"
    found = work.reduction(_CRG_PS, _DP)
    if found is None:
        return _missing(statement, rule, _NEEDS_WORK)
    differs = (
        "Ours saves more than the paper's."
        if found.ratio > 20
        else "DP solves each joint state once; a search without memory solves many of them "
        "repeatedly, more often for longer horizons."
    )
    memo = Variant("crg-ps", (("memo", True), ("merge", False)))
    remembered = work.reduction(memo, _DP)
    if remembered is not None:
        differs += f" With memory it is {remembered.amount} (n = {remembered.n:,})."
    measured = f"{found.amount} (n = {found.n:,})"
    return _judge(statement, rule, measured, 5 <= found.ratio <= 20, differs, _CHOSEN)


def _reduced_further(work: WorkData) -> Claim:
    statement = "With value bounds (CoRe) this number is reduced even more; it varies per instance"
    rule = "fewer than CRG-PS, by 10 % or more (geometric mean over instances that both solved)"
    found = work.reduction(_CORE_2016, _CRG_PS)
    if found is None:
        return _missing(statement, rule, _NEEDS_WORK)
    measured = (
        f"{found.amount} than CRG-PS, fewer on {percent(found.share)} of the "
        f"instances (n = {found.n:,})"
    )
    return _judge(statement, rule, measured, found.ratio >= 1.1)


def _orders_of_magnitude(work: WorkData) -> Claim:
    statement = "CoRe reduces the search space size by orders of magnitude"
    rule = "100 or more times fewer joint actions than DP (geometric mean over what both solved)"
    found = work.reduction(_CORE_2016, _DP)
    if found is None:
        return _missing(statement, rule, _NEEDS_WORK)
    measured = f"{found.amount} than DP (n = {found.n:,})"
    differs = "Only instances that both solved within the limit count; they are the easier ones."
    return _judge(statement, rule, measured, found.ratio >= 100, differs)


# -- instances solved --------------------------------------------------------------------------


def _all_pairs_solved(mpp: SolvedData) -> Claim:
    statement = "All two-agent instances of mpp were solved, by every algorithm"
    rule = "every algorithm, as published, solves all of them"
    names = ("dp", "spudd", "crg-ps", "core-2016")
    shares = {
        variant: mpp.share(variant, 2)
        for variant in map(mpp.published, names)
        if variant is not None and mpp.share(variant, 2).run
    }
    if not shares:
        return _missing(statement, rule, "solves of mpp with 2 agents")
    measured = ", ".join(f"{variant} {share}" for variant, share in shares.items())
    agrees = all(share.solved == share.run for share in shares.values())
    return _judge(statement, rule, measured, agrees, _limit_note(mpp.limits))


def _more_than(solves: Solves, statement: str, rival: str, agents: int | None) -> Claim:
    """The claim that CoRe solves more instances than another algorithm."""
    rule = "more of the instances that both were run on"
    own, other = solves.published("core-2016"), solves.published(rival)
    both = []
    if own is not None and other is not None:
        both = [
            (row, solves[other][digest])
            for digest, row in solves[own].items()
            if digest in solves[other] and agents in (None, row.parameters["agents"])
        ]
    if not both:
        size = f" with {agents} agents" if agents else ""
        return _missing(statement, rule, f"solves of mpp{size} by core-2016 and {rival}")
    mine, theirs = sum(row.solved for row, _ in both), sum(row.solved for _, row in both)
    measured = f"{own} {part(mine, len(both))}, {other} {part(theirs, len(both))}"
    note = _limit_note(sorted({row.time_limit for pair in both for row in pair}))
    if mine == theirs == len(both):
        differs = "Both solve all of them: these instances show no difference."
    elif mine == theirs:
        differs = f"They solve equally many. {note}"
    elif rival == "spudd":
        differs = (
            "Published CoRe solves the same joint states repeatedly; SPUDD goes through each "
            f"stage once. {note}"
        )
    else:
        differs = f"The bounds take more time here than their pruning saves. {note}"
    return _judge(statement, rule, measured, mine > theirs, differs.strip())


def _only_crgs(mpp: SolvedData) -> Claim:
    statement = "Only CRG-PS and CoRe solve 4-agent instances"
    rule = "these two solve some, SPUDD and DP none"
    shares = {
        name: mpp.share(mpp.published(name), 4) for name in ("dp", "spudd", "crg-ps", "core-2016")
    }
    if not all(share.run for share in shares.values()):
        return _missing(statement, rule, "solves of mpp with 4 agents by all four algorithms")
    measured = ", ".join(f"{mpp.published(name)} {share}" for name, share in shares.items())
    agrees = (
        min(shares["crg-ps"].solved, shares["core-2016"].solved)
        > 0
        == max(shares["dp"].solved, shares["spudd"].solved)
    )
    differs = []
    if shares["dp"].solved or shares["spudd"].solved:
        differs.append(
            "Our implementations of DP and SPUDD use only reachable joint states, and run on a "
            f"newer machine. {_UNKNOWN_INSTANCES}"
        )
    if not (shares["crg-ps"].solved and shares["core-2016"].solved):
        differs.append(_limit_note(mpp.limits))
    return _judge(statement, rule, measured, agrees, " ".join(differs))


# -- runtimes ----------------------------------------------------------------------------------


def _runtimes(data: RuntimeData) -> list[Claim]:
    statements = (
        "CoRe solves almost all instances faster than SPUDD",
        "CoRe failed to solve 3.4 % of the instances solved by SPUDD",
        "SPUDD failed on 63.9 % of the instances that CoRe solved",
    )
    rules = (
        "faster on 90 % or more of the instances that both solved",
        "10 % or less",
        "49 to 79 %",
    )
    own = next((each for each in data.rivals if each.variant.algorithm == "core-2016"), None)
    if own is None:
        needs = "solves of mpp by spudd and core-2016"
        return [_missing(s, r, needs) for s, r in zip(statements, rules, strict=True)]
    pair = f"{own.variant} against {data.spudd}"
    note = _limit_note(data.limits)
    if not own.spudd_failed.run:
        reverse = _missing(statements[2], rules[2], "instances that core-2016 solves")
    else:
        reverse = _judge(
            statements[2],
            rules[2],
            f"{part(own.spudd_failed.solved, own.spudd_failed.run)} ({pair})",
            0.49 <= own.spudd_failed.value <= 0.79,
            f"Our implementation of SPUDD has no discount and uses only the reachable states of "
            f"each stage. {note}".strip(),
        )
    if not own.failed.run:
        needs = "instances that spudd solves"
        return [*(_missing(statements[k], rules[k], needs) for k in range(2)), reverse]
    core = next((each for each in data.rivals if each.variant == Variant("core")), None)
    ours = ""
    if core is not None and core.faster.run:
        ours = f"core is faster than {data.spudd} on {core.faster}."
    slow = (
        f"SPUDD's median is {statistics.median(p.seconds for p in data.points):.2g} s here. "
        "Published CoRe expands a joint state each time it reaches it."
    )
    faster = _judge(
        statements[0],
        rules[0],
        f"{own.faster} ({pair})" if own.faster.run else f"none solved by both ({pair})",
        own.faster.value >= 0.9,
        f"{slow} {ours}".strip(),
        ours,
    )
    failed = _judge(
        statements[1],
        rules[1],
        f"{part(own.failed.solved, own.failed.run)} ({pair})",
        own.failed.value <= 0.1,
        f"Published CoRe expands a joint state each time it reaches it. {note}".strip(),
    )
    return [faster, failed, reverse]


# -- pyramids ----------------------------------------------------------------------------------


def _quarter(pyra: SolvedData) -> Claim:
    statement = "pyra: CoRe solved about a quarter of the 10 agent problems of horizon 4"
    rule = "10 to 40 % of them"
    own = pyra.published("core-2016")
    share = pyra.share(own, 10, 4)
    if not share.run:
        return _missing(statement, rule, "solves of pyra with 10 agents and horizon 4 by core-2016")
    other = [
        f"{variant} {pyra.share(variant, 10, 4)}"
        for variant in pyra.variants
        if variant != own and pyra.share(variant, 10, 4).run
    ]
    note = _limit_note(pyra.limits)
    differs = (
        "The number of tasks and their durations in the paper's pyramids are not known. "
        f"{note} Others: {listing(other)}."
    )
    return _judge(statement, rule, f"{own} {share}", 0.1 <= share.value <= 0.4, differs)


def _previous_art(pyra: SolvedData) -> Claim:
    statement = "Previous state of the art (SPUDD) solved instances up to only 5 agents"
    rule = "of pyra, SPUDD solves none with more than 5 agents"
    spudd = pyra.published("spudd")
    sizes = {agents for variant, agents, _ in pyra.shares if variant == spudd}
    if not sizes or max(sizes) <= 5:
        return _missing(statement, rule, "solves of pyra with more than 5 agents by spudd")
    most = pyra.most_agents(spudd)
    measured = f"{spudd} up to {most} agents; {pyra.share(spudd)} solved in all"
    return _judge(
        statement,
        rule,
        measured,
        most <= 5,
        "Pyramids are sparse: diagrams over the reachable states of each stage stay small on them.",
    )


def _beyond(pyra: SolvedData) -> Claim:
    statement = "CoRe solves many of the previously unsolvable instances (more than 5 agents)"
    rule = "10 % or more of the instances of pyra with more than 5 agents"
    own = pyra.published("core-2016")
    shares = [pyra.share(own, agents) for agents in pyra.agents if agents > 5]
    solved, run = sum(each.solved for each in shares), sum(each.run for each in shares)
    if not run:
        return _missing(statement, rule, "solves of pyra with more than 5 agents by core-2016")
    measured = f"{own} {part(solved, run)}, up to {pyra.most_agents(own)} agents"
    core = Variant("core")
    if pyra.share(core).run:
        measured += f"; core up to {pyra.most_agents(core)} agents"
    return _judge(statement, rule, measured, solved / run >= 0.1, _limit_note(pyra.limits))
