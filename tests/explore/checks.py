"""What holds of every answer, whatever was solved and how.

Each check raises a Complaint with a name of its own. `rounding` is what floating-point sums may
be off by, as a part of all that the problem can pay and earn.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from coreplan import Progress, Result, Status
from coreplan.proof.verify import Verification
from coreplan.solving.result import OPTIMAL_TOLERANCE
from explore.complaint import demand
from explore.drawing import laws_of
from helpers import judged_policy_value, rewards_in
from judge import Problem

ROUNDING = 1e-12


def rounding(raw: Problem) -> float:
    """What sums of the problem's rewards may be off by."""
    return ROUNDING * math.fsum(map(abs, rewards_in(raw))) * int(raw["horizon"])


def check_result(raw: Problem, optimum: float, result: Result) -> None:
    """Bounds bracket the optimum, and the policy is worth what is claimed.

    A Result refuses bounds that cross, and `optimal` with a gap; so `optimal` is right if the
    bounds are.
    """
    off = rounding(raw)
    demand(
        result.value <= optimum + off,
        "lower bound",
        f"value {result.value!r} exceeds the optimum {optimum!r} by {result.value - optimum:.3g}",
    )
    if result.objective == "centralised":
        demand(
            result.upper_bound >= optimum - off,
            "upper bound",
            f"{result.upper_bound!r} is below the optimum {optimum!r} by "
            f"{optimum - result.upper_bound:.3g}",
        )
    demand(result.policy is not None, "policy", "a result without a policy")
    worth = judged_policy_value(raw, result.policy)
    demand(
        worth >= result.value - off,
        "policy value",
        f"the policy is worth {worth!r}, {result.value - worth:.3g} less than {result.value!r}",
    )
    assert result.policy is not None
    said = result.policy.evaluate()
    demand(abs(said - worth) <= off, "evaluation", f"evaluated {said!r}; judged {worth!r}")


def check_solved(raw: Problem, result: Result) -> None:
    """A solver that nothing stopped leaves no gap but what rounding and masses explain."""
    gap = result.upper_bound - result.value
    explained = OPTIMAL_TOLERANCE * max(1.0, abs(result.value)) + explained_gap(raw)
    demand(
        result.status is Status.OPTIMAL or gap <= explained,
        "not solved",
        f"nothing stopped it, yet it says {result.status} with a gap of {gap:.3g}; rounding and "
        f"probabilities that do not add up to 1 explain {explained:.3g}",
    )


def explained_gap(raw: Problem) -> float:
    """A gap that may stay open: sums are rounded, and probabilities may not add up to 1."""
    off = max((abs(math.fsum(law.values()) - 1) for law in laws_of(raw)), default=0.0)
    histories = 4 * off * len(raw["agents"]) * int(raw["horizon"])
    return (10 + histories / ROUNDING) * rounding(raw)


def check_progress(raw: Problem, optimum: float, seen: list[Progress]) -> None:
    """Every bound reported on the way brackets the optimum, and bounds only improve."""
    off = rounding(raw)
    for number, each in enumerate(seen):
        where = f"report {number} ({each.phase})"
        demand(
            each.lower_bound <= optimum + off,
            "lower bound on the way",
            f"{where}: {each.lower_bound!r} exceeds {optimum!r}",
        )
        demand(
            each.upper_bound >= optimum - off,
            "upper bound on the way",
            f"{where}: {each.upper_bound!r} is below {optimum!r}",
        )
        if number:
            before = seen[number - 1]
            better = (
                each.lower_bound >= before.lower_bound and each.upper_bound <= before.upper_bound
            )
            demand(better, "bounds get worse", f"{where}: {before} before, then {each}")


def check_soundness(raw: Problem, optimum: float, found: Verification) -> None:
    """What is proven holds, whatever the certificate says."""
    off = rounding(raw)
    if found.upper is not None:
        demand(
            found.upper >= optimum - off,
            "unsound upper",
            f"proves at most {found.upper!r}; the optimum is {optimum!r}",
        )
    if found.lower is not None:
        demand(
            found.lower <= optimum + off,
            "unsound lower",
            f"proves at least {found.lower!r}; the optimum is {optimum!r}",
        )
    if found.upper_proven:
        demand(
            found.upper_claimed >= optimum - found.tolerance - off,
            "unsound claim",
            f"confirms at most {found.upper_claimed!r}; the optimum is {optimum!r}",
        )


def check_proof(raw: Problem, result: Result, found: Verification) -> None:
    """A certificate of the engine is confirmed and proves what the result claims.

    What probabilities that do not add up to 1 can be worth is bounded more coarsely there.
    """
    demand(found.confirmed, "not confirmed", str(found).replace("\n", "; "))
    # The result may rest on bounds that nobody else can check; then the certificate claims more.
    demand(
        found.lower_claimed == result.lower_bound and found.upper_claimed >= result.upper_bound,
        "other claims",
        f"the certificate claims {found.lower_claimed!r} to {found.upper_claimed!r}, the result "
        f"{result.lower_bound!r} to {result.upper_bound!r}",
    )
    assert found.upper is not None and found.lower is not None
    demand(
        found.upper <= result.upper_bound + found.tolerance + explained_gap(raw),
        "weaker upper",
        f"the result claims at most {result.upper_bound!r}; proven is {found.upper!r}",
    )
    demand(
        found.lower >= result.value - found.tolerance,
        "weaker lower",
        f"the result claims at least {result.value!r}; proven is {found.lower!r}",
    )


CODES = (0, 2, 3, 4, 130)
"""Exit codes of the command line that are not mistakes of coreplan."""


def check_ended(code: int, out: str, err: str, codes: tuple[int, ...] = CODES) -> None:
    """A command ended as documented, without a traceback."""
    demand("Traceback" not in err, "traceback", traceback_in_words(err))
    demand("internal error" not in err, "internal error", err[-500:])
    demand(code in codes, "exit code", f"{code}: {(err or out)[-300:]}")


def traceback_in_words(err: str) -> str:
    """The last line of a traceback and where it comes from, without folders of this machine."""
    places = re.findall(r'File "([^"]*)", line (\d+)', err)
    where = ", ".join(f"{Path(file).name}:{line}" for file, line in places[-3:])
    return f"{(err.strip().splitlines() or [''])[-1][:200]} ({where})"
