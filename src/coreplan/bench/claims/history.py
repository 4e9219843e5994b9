"""How the rules of the claims changed, with the verdicts of the rules before.

The rules before judged the page of version 0.1.0: 60 instances of mpp per team size, 10 s for most
solves, test sets with parameters chosen by some of the claims, and weaker searches than today's.
"""

from __future__ import annotations

from dataclasses import dataclass

from coreplan.bench.claims.verdicts import Verdict

_ABILITY = "The paper claims an ability; more of it is no disagreement."
_RANKING = "A ranking does not depend on the machine and the limit; “none” does."
_SAME = "The same rule."
_INSTANCES = "The same rule, on instances whose parameters no longer depend on the claim."
_TEN_AGENTS = "The paper speaks of pyramids up to 10 agents."
_ENCODING = "The same rule. SPUDD is given the model that its users write."


@dataclass(frozen=True)
class Past:
    """The rule of a claim on the page before, with its result.

    Attributes
    ----------
    key
        The present rule.
    rule, measured, verdict
        The rule before, the measurement and the verdict.
    change
        The change of the rule, and its reason.
    """

    key: str
    rule: str
    measured: str
    verdict: Verdict
    change: str


PAST: tuple[Past, ...] = (
    Past(
        "half-equal",
        "40 to 60 % of the instances of rand3, rand4 and rand5 together",
        "45 % (1,363 of 3,000); rand3 75 %, rand4 37 % and rand5 25 %",
        Verdict.AGREE,
        "The same rule, and each set alone: a mean can hide that no set agrees. The parameters "
        "no longer depend on the claim.",
    ),
    Past(
        "mean-loss",
        "a mean loss of 28 to 38 %",
        "35 % (n = 1,000)",
        Verdict.AGREE,
        _INSTANCES,
    ),
    Past(
        "worst-loss",
        "a worst loss of 65 % or more",
        "76 % (n = 1,000)",
        Verdict.AGREE,
        _INSTANCES,
    ),
    Past(
        "decimated",
        "5 to 20 times fewer (geometric mean over instances that both solved)",
        "9.9 times fewer (n = 108)",
        Verdict.AGREE,
        f"Without an upper end. {_ABILITY}",
    ),
    Past(
        "reduced-further",
        "fewer than CRG-PS, by 10 % or more (geometric mean over instances that both solved)",
        "2.3 times fewer than CRG-PS, fewer on 100 % of the instances (n = 137)",
        Verdict.AGREE,
        _SAME,
    ),
    Past(
        "orders-of-magnitude",
        "100 or more times fewer joint actions than DP (geometric mean over what both solved)",
        "25 times fewer than DP (n = 108)",
        Verdict.DIFFER,
        _SAME,
    ),
    Past(
        "pairs-solved",
        "every algorithm, as published, solves all of them",
        "DP 100 % (60 of 60), SPUDD 100 % (60 of 60), CRG-PS 100 % (60 of 60), CoRe 2016 100 % "
        "(60 of 60)",
        Verdict.AGREE,
        _ENCODING,
    ),
    Past(
        "more-than-spudd",
        "more of the instances that both were run on",
        "CoRe 2016 98 % (59 of 60), SPUDD 100 % (60 of 60)",
        Verdict.DIFFER,
        _ENCODING,
    ),
    Past(
        "four-agents",
        "these two solve some, SPUDD and DP none",
        "DP 20 % (12 of 60), SPUDD 67 % (40 of 60), CRG-PS 30 % (18 of 60), CoRe 2016 38 % "
        "(23 of 60)",
        Verdict.DIFFER,
        _RANKING,
    ),
    Past(
        "more-than-crg-ps",
        "more of the instances that both were run on",
        "CoRe 2016 79 % (142 of 180), CRG-PS 76 % (137 of 180)",
        Verdict.AGREE,
        _SAME,
    ),
    Past(
        "faster",
        "faster on 90 % or more of the instances that both solved",
        "67 % (95 of 142) (CoRe 2016 against SPUDD)",
        Verdict.DIFFER,
        "With 2 and with 3 agents alone, as the paper says; instances with 4 agents do not count. "
        "SPUDD is given the model that its users write.",
    ),
    Past(
        "failed",
        "10 % or less",
        "11 % (18 of 160) (CoRe 2016 against SPUDD)",
        Verdict.DIFFER,
        _ENCODING,
    ),
    Past(
        "spudd-failed",
        "49 to 79 %",
        "0 % (0 of 142) (CoRe 2016 against SPUDD)",
        Verdict.DIFFER,
        f"Without an upper end. {_ABILITY} SPUDD is given the model that its users write.",
    ),
    Past(
        "quarter",
        "10 to 40 % of them",
        "CoRe 2016 0 % (0 of 12), within 10 s",
        Verdict.DIFFER,
        f"Without an upper end, and within the paper's 1,800 s. {_ABILITY}",
    ),
    Past(
        "larger-teams",
        "of pyra, SPUDD solves none with more than 5 agents",
        "SPUDD up to 6 agents; 35 % (38 of 108) solved in all",
        Verdict.DIFFER,
        f"{_RANKING} {_TEN_AGENTS}",
    ),
    Past(
        "beyond",
        "10 % or more of the instances of pyra with more than 5 agents",
        "CoRe 2016 7.4 % (6 of 81), up to 7 agents",
        Verdict.DIFFER,
        _TEN_AGENTS,
    ),
)
"""The rules of the page before, in the paper's order."""
