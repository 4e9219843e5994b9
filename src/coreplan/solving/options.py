"""Options of all algorithms: a dataclass for each, and its fields as keywords of ``solve``.

To add an option, add a field here and a line in the keywords below, and use it in the algorithm.
The command line, benchmarks and docs/options.md read the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Literal, TypedDict, get_args

from coreplan.errors import SolverError
from coreplan.model.indexed import JointState
from coreplan.solving.crg import ASSIGNMENTS, Assignment, Bounds
from coreplan.solving.limits import Callback
from coreplan.solving.option_fields import (
    Amount,
    Choice,
    Count,
    Flag,
    Gap,
    Instance,
    Kind,
    Seed,
    SolverOptions,
    Text,
    option,
)
from coreplan.solving.preference import OldStarts, Preference
from coreplan.solving.start import Start, StartPlan
from coreplan.solving.tuning import Tuning
from coreplan.support.checks import found, is_integer, unknown_name

VariableOrder = Literal["grouped", "interleaved"]
"""The order in which `spudd` tests the bits of the agents' states."""
JointActions = Literal["diagram", "enumerate"]
"""The way in which `spudd` searches for the best joint action."""
Encoding = Literal["stages", "reference"]
"""The model that `spudd` works on: one for each stage, or one with a clock."""
Decoupling = Literal["table", "search"]
"""How the paper's searches get the value of an agent on its own."""
ActionOrder = Literal["promising", "listed"]
"""The order in which `core-2016` tries joint actions."""
RewardsFrom = Literal["graph", "entries", "checked"]
"""Where the paper's searches get the reward of a joint transition from."""
Cluster = Literal["local", "ray"]
"""Where the processes of one solve are."""


class Assigning(Kind):
    """An assignment of reward functions to agents."""

    accepts = (
        '`"balanced"`, `"highest-degree"`, `"smallest"`, a mapping from positions or names of '
        "functions to agents, or a function of a function's name and its agents"
    )

    def check(self, name: str, value: object) -> None:
        """Refuse values that are not an assignment; whether it fits is checked with the problem."""
        if isinstance(value, str):
            if value not in ASSIGNMENTS:
                raise SolverError(unknown_name(value, name, ASSIGNMENTS, "coreplan"))
        elif not isinstance(value, Mapping) and not callable(value):
            raise SolverError(
                f"{name} is {found(value)}; expected {' or '.join(map(repr, ASSIGNMENTS))}, a "
                "mapping from reward functions to agents, or a function"
            )


class Starts(Kind):
    """The starts of an old plan."""

    def check(self, name: str, value: object) -> None:
        """Refuse values that are not starts; unknown agents and tasks are ignored."""
        if value is None:
            return
        expected = "expected starts, {contractor: {work: step}}, or None"
        if not isinstance(value, Mapping):
            raise SolverError(f"{name} is {found(value)}; {expected}")
        for agent, starts in value.items():
            if not isinstance(starts, Mapping):
                raise SolverError(f"{name} of {found(agent)} is {found(starts)}; {expected}")
            for task, step in starts.items():
                if not is_integer(step):
                    raise SolverError(
                        f"{name} has {found(step)} as the start of {found(task)}; expected a "
                        "step, a whole number"
                    )


# -- shared by several algorithms ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Merging(SolverOptions):
    merge: bool = option(
        True,
        "Merge equivalent local states. Without it, the states of a maintenance problem keep the "
        "start and end times of all works, as in the literature.",
        Flag(),
        idea=True,
    )


@dataclass(frozen=True, kw_only=True)
class _Gaps(SolverOptions):
    relative_gap: float = option(
        0.0,
        "Stop when the plan is proven to be this close to the optimum, as a part of its value "
        "(0.01 is one per cent).",
        Gap(),
        metavar="PART",
    )
    absolute_gap: float = option(
        0.0,
        "Stop when the plan is proven to be this close to the optimum, as a difference in value.",
        Gap(),
        metavar="VALUE",
    )


@dataclass(frozen=True, kw_only=True)
class _Seeded(SolverOptions):
    seed: int = option(
        1,
        "Seed of the random numbers in the search for good policies.",
        Seed(),
        metavar="N",
        same_answer=True,
    )


@dataclass(frozen=True, kw_only=True)
class _Published(_Merging):
    memo: bool = option(
        False,
        "Remember solved groups of agents. The searches as printed in the paper do not.",
        Flag(),
    )
    assignment: Assignment = option(
        "balanced",
        "The agent that each reward function is assigned to.",
        Assigning(),
        metavar="HOW",
    )
    decouple: Decoupling = option(
        "table",
        "How to get the value of an agent that cannot interact any more: from its own optimal "
        "policy, computed once, or by a search each time.",
        Choice(*get_args(Decoupling)),
    )
    group: float = option(
        0.0,
        "Group similar interactions first: rewards for several agents that differ by at most this "
        "become one, those of at most this are dropped, and paths with equal rewards share arcs of "
        "the conditional return graphs. The bounds include what this can cost.",
        Gap(),
        metavar="TOLERANCE",
    )
    rewards: RewardsFrom = option(
        "graph",
        "How to get the reward of a joint transition: from the conditional return graphs, from the "
        "entries of the problem, or from both with a comparison.",
        Choice(*get_args(RewardsFrom)),
    )


# -- options of each algorithm ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CoreOptions(_Seeded, _Gaps, _Merging):
    """Options of `core`, the engine of coreplan; see docs/core.md."""

    threads: int | None = option(
        None,
        "Number of threads; by default one for each processor that this process may use. The most "
        "is 16, or 4 per processor if that is more.",
        Count(),
        metavar="N",
        same_answer=True,
    )
    work_limit: float | None = option(
        None,
        "Stop after this much work, with the same plan on every run. One unit of work takes about "
        "a second on one thread.",
        Amount(),
        metavar="UNITS",
    )
    deterministic: bool = option(
        True,
        "Give the same result for any number of threads. Without it, several threads are faster, "
        "but the plan may differ from run to run.",
        Flag(),
        same_answer=True,
    )
    cluster: Cluster = option(
        "local",
        "Solve in this process, or in several that share the work on a Ray cluster (needs the "
        "extra `ray`). Bounds, plan and counted work are the same.",
        Choice(*get_args(Cluster)),
        same_answer=True,
    )
    address: str | None = option(
        None,
        "Address of a running Ray cluster, for instance `auto`. Without it, a cluster is started "
        "on this machine.",
        Text(),
        metavar="HOST:PORT",
        same_answer=True,
    )
    workers: int | None = option(
        None,
        "Number of processes on the Ray cluster, this one among them, each with `threads` threads "
        "(by default 1); by default as many as it has cores for.",
        Count(),
        metavar="N",
        same_answer=True,
    )
    lookahead: bool = option(
        True,
        "Let large teams that are not proven optimal decide as they go: in every joint state, by "
        "looking one step ahead of the policy found. The plan is at least as good as its value "
        "says, and an estimate says how much better it is.",
        Flag(),
    )
    prefer: Preference = option(
        "early",
        "Choose among equally good optimal plans: the one that starts tasks as early or as late as "
        "possible, or any, which is the quickest.",
        Choice(*get_args(Preference)),
    )
    keep: OldStarts | None = option(
        None,
        "Choose among equally good optimal plans the one that changes least from these starts of "
        "an old plan: with the least expected sum of the differences of all starts in steps. Plans "
        "that are equal in this, too, start as early as possible; `prefer` has no effect.",
        Starts("starts `{contractor: {work: step}}`, or `None`"),
        on_command_line=False,
    )
    start: StartPlan | Start | None = option(
        None,
        "A plan to start from: a policy for the same problem, stage and state, or a schedule "
        "`{contractor: {work: step}}`. The result is never worse.",
        Kind("a policy, a schedule or `None`"),
        on_command_line=False,
    )
    certificate: str | Path | bool | None = option(
        None,
        "A file for a proof of both bounds, written after solving; `True` to get the proof from "
        "`result.certificate`.",
        Instance(
            "the name of a file, `True`, `False` or `None`",
            "a file's name, or True",
            str,
            Path,
            bool,
            NoneType,
        ),
        on_command_line=False,
    )
    shape: bool = option(
        True,
        "Shrinking: turn rewards of single agents into losses against the best that the agent can "
        "do alone.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    drop: bool = option(
        True,
        "Shrinking: drop interactions at stages where not all members can take part any more.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    settle: bool = option(
        True,
        "Shrinking: in states without further interactions, keep only the agent's own best action.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    eliminate: bool = option(
        True,
        "Shrinking: drop actions whose immediate loss is more than interactions can cost.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    exact: bool = option(
        True,
        "Solve a team exactly if its tables are small.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    search: bool = option(
        True,
        "Search over groups of agents to close the gap that the bounds leave.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    split: bool = option(
        True,
        "Search: split a group as soon as its parts cannot interact any more.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    skip: bool = option(
        True,
        "Search: skip stages with only one possible joint action and outcome.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    floors: bool = option(
        True,
        "Search: bound groups from below with known policies.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    tables: bool = option(
        True,
        "Search: solve small groups that take much work once, exactly, with tables.",
        Flag(),
        on_command_line=False,
        idea=True,
    )
    tuning: Tuning | None = option(
        None,
        "Numbers that divide the work between the parts of the engine, for experiments. They do "
        "not affect the validity of proofs.",
        Instance("a `Tuning` or `None`", "a Tuning, or None", Tuning, NoneType),
        on_command_line=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.wants_certificate and not self.shape:
            raise SolverError("a certificate needs shape=True: it proves bounds on losses")
        self._check_cluster()

    def _check_cluster(self) -> None:
        if self.cluster == "local":
            for name in ("address", "workers"):
                if getattr(self, name) is not None:
                    raise SolverError(f"{name} is for cluster='ray'")
        elif not self.deterministic:
            raise SolverError("cluster='ray' needs deterministic=True: all processes do the same")

    @property
    def wants_certificate(self) -> bool:
        """Whether the caller asks for a proof."""
        return self.certificate is not None and self.certificate is not False


@dataclass(frozen=True, kw_only=True)
class DpOptions(_Merging):
    """Options of `dp`, dynamic programming over joint states; see docs/dp.md."""


@dataclass(frozen=True, kw_only=True)
class SpuddOptions(_Merging):
    """Options of `spudd`, value iteration on decision diagrams; see docs/spudd.md."""

    encoding: Encoding = option(
        "stages",
        "The model to solve: stage by stage with the states that can be reached, or one model with "
        "a clock and one action per joint action, as users of SPUDD write it. The reference "
        "encoding has no choice of `order`, `actions` and `merge`.",
        Choice(*get_args(Encoding)),
    )
    order: VariableOrder = option(
        "grouped",
        "Order in which the bits of the agents' states are tested: agent by agent, or the first "
        "bits of all agents before the second ones.",
        Choice(*get_args(VariableOrder)),
    )
    actions: JointActions | None = option(
        None,
        "How to find the best joint action: by variables of the diagrams, which is the default, or "
        "by trying all of them one by one, as published. The reference encoding always tries all.",
        Choice(*get_args(JointActions), usual="diagram"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoding != "reference":
            return
        # What the reference encoding does, whether it is asked for or not.
        only = {"merge": (True,), "order": ("grouped",), "actions": ("enumerate", None)}
        for name, accepted in only.items():
            value = getattr(self, name)
            if value not in accepted:
                raise SolverError(
                    f"{name} is {value!r}; encoding 'reference' can only be used with "
                    f"{accepted[0]!r}"
                )


@dataclass(frozen=True, kw_only=True)
class CrgPsOptions(_Published):
    """Options of `crg-ps`, the paper's search without branch-and-bound."""


@dataclass(frozen=True, kw_only=True)
class Core2016Options(_Gaps, _Published):
    """Options of `core-2016`, the paper's search with branch-and-bound."""

    bounds: Bounds = option(
        "returns",
        "Which bounds to prune by: bounds on all returns that are possible, as in the paper's "
        "equation, or on the expected return over the agent's own outcomes, as in its figure.",
        Choice(*get_args(Bounds)),
    )
    action_order: ActionOrder = option(
        "promising",
        "Order of the joint actions: the highest upper bound first, or as in the problem.",
        Choice(*get_args(ActionOrder)),
    )
    update_bounds: bool = option(
        True,
        "Lower the upper bound of a joint action while its outcomes are evaluated, and give the "
        "joint action up once another one is better.",
        Flag(),
    )
    independent_actions: bool = option(
        False,
        "Bound the actions of agents separately if the agents cannot interact at a stage.",
        Flag(),
    )


@dataclass(frozen=True, kw_only=True)
class DecMdpOptions(_Seeded, _Merging):
    """Options of `dec-mdp`, for agents that see only their own state; see docs/dec-mdp.md."""


OwnAlgorithm = Literal["core", "dp", "spudd", "crg-ps", "core-2016", "dec-mdp"]
"""The names of the algorithms of coreplan."""

OWN_OPTIONS: dict[OwnAlgorithm, type[SolverOptions]] = {
    "core": CoreOptions,
    "dp": DpOptions,
    "spudd": SpuddOptions,
    "crg-ps": CrgPsOptions,
    "core-2016": Core2016Options,
    "dec-mdp": DecMdpOptions,
}
"""The class of options of each of our algorithms."""


# -- the fields as keywords of `solve`, for type checkers; a test compares both --------------------


class SolveKeywords(TypedDict, total=False):
    """Keywords of `solve` for every algorithm."""

    time_limit: float | None
    memory_limit: float | None
    callback: Callback | None
    stage: int
    state: JointState | None
    tolerance: float


class DpKeywords(SolveKeywords, total=False):
    """The fields of DpOptions."""

    merge: bool


class SpuddKeywords(DpKeywords, total=False):
    """The fields of SpuddOptions."""

    encoding: Encoding
    order: VariableOrder
    actions: JointActions | None


class CrgPsKeywords(DpKeywords, total=False):
    """The fields of CrgPsOptions."""

    memo: bool
    assignment: Assignment
    decouple: Decoupling
    group: float
    rewards: RewardsFrom


class Core2016Keywords(CrgPsKeywords, total=False):
    """The fields of Core2016Options."""

    bounds: Bounds
    action_order: ActionOrder
    update_bounds: bool
    independent_actions: bool
    relative_gap: float
    absolute_gap: float


class DecMdpKeywords(DpKeywords, total=False):
    """The fields of DecMdpOptions."""

    seed: int


class CoreKeywords(DecMdpKeywords, total=False):
    """The fields of CoreOptions."""

    relative_gap: float
    absolute_gap: float
    threads: int | None
    work_limit: float | None
    deterministic: bool
    cluster: Cluster
    address: str | None
    workers: int | None
    lookahead: bool
    prefer: Preference
    keep: OldStarts | None
    start: StartPlan | Start | None
    certificate: str | Path | bool | None
    shape: bool
    drop: bool
    settle: bool
    eliminate: bool
    exact: bool
    search: bool
    split: bool
    skip: bool
    floors: bool
    tables: bool
    tuning: Tuning | None
