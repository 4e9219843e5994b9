"""The numbers that steer the engine, each with its reason; none affects the validity of proofs.

Work is counted in units of about a second of one thread, see `cpp/support/costs.hpp`: with a clock,
every run would be different.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """The numbers that divide the engine's work. Pass another object to experiment."""

    # -- when bounds count as equal ---------------------------------------------------------------

    closed: float = 1e-9
    """Least gap, as part of the value, that the engine tries to close: rounding makes smaller ones
    meaningless. The option `tolerance` may ask for less."""
    closed_by_teams: float = 0.5
    """Part of that gap for all teams together; the rest is room for rounding."""
    closed_by_search: float = 0.25
    """Part of that gap for the search of one team."""

    # -- slices of work ---------------------------------------------------------------------------

    shortest_slice: float = 0.02
    """Least work on one bound of one team at a time: with less, switching costs too much."""
    longest_slice: float = 1.0
    """Most work on one bound at a time: with more, the other bounds wait too long."""
    slice_part: float = 0.05
    """Work on one bound at a time between these limits, as part of the team's work so far."""

    least_work: float = 2e-4
    """Least work that an attempt counts for, even if it does nothing: the loop must end."""

    even_part: float = 0.5
    """Part of the mean work of all teams that are not closed yet that each of them gets in any
    case."""

    # -- exact solution ---------------------------------------------------------------------------

    exact_at_once: float = 0.03
    """Work that an exact solution may take before any other attempt."""
    exact_with_sums: float = 1.0
    """The same if agents earn for sums: prices bound sums less tightly than shares bound other
    interactions, and closing the rest of the gap takes longer."""
    exact_soon: float = 0.03
    """Part of all work so far that an exact solution of one team may take in any case."""
    exact_part: float = 0.25
    """Part of the remaining work limit that an exact solution may take later."""

    # -- relaxation -------------------------------------------------------------------------------

    cuts: int = 24
    """Cuts that a cluster keeps: more slow down the master more than they improve the steps."""
    slow_rounds: int = 6
    slow_part: float = 0.1
    slow_gain: float = 0.02
    """A relaxation is slow if the last `slow_part` of its rounds, at least `slow_rounds` of them,
    closed less than this part of the gap."""
    stuck_rounds: int = 40
    stuck_gain: float = 0.01
    """Without a limit, it ends if `stuck_rounds` rounds closed less than this part of the gap."""
    shortest_growth: float = 0.05
    """Work that a round with larger clusters may take from the start."""
    growth_part: float = 0.03
    """Part of the team's work so far that a round with larger clusters may take later: many rounds
    have to follow."""
    rounds_left: int = 10
    """Rounds that must fit into the work limit after clusters are enlarged."""
    last_growth: float = 4.0
    """Factor by which the allowed work grows until a cluster fits, if no other work is left."""
    most_growth: float = 1e9
    """Work of a round that is too long in any case."""
    growth_pause: float = 1.3
    """Factor of the work so far until clusters may be enlarged again, if that was too much."""
    search_cluster: int = 5
    """Most agents of a cluster for a search, which looks into all clusters very often."""

    # -- policies ---------------------------------------------------------------------------------

    bases: int = 6
    """Policies of single agents that a rollout uses: more but weaker ones do not help."""
    states_per_layer: int = 20_000
    """Joint states per stage that a rollout keeps."""
    joint_agents: int = 10
    """Teams up to this size act together; larger ones in clusters."""
    stalled_after: int = 12
    """The search for policies has stalled after this many attempts without success ..."""
    stalled_work: float = 0.5
    """... and this much work without success ..."""
    stalled_part: float = 0.3
    """... and this part of the work on both bounds without success."""

    # -- division of the work ---------------------------------------------------------------------

    upper_part: float = 0.3
    """Part of the work for the relaxation."""
    lower_part: float = 0.3
    """Part of the work for the policies."""
    search_part: float = 0.4
    """Part of the work for the search, which uses the results of both."""
    least_part: float = 0.1
    """Part of its share that the side with the least gain still gets: gains may come late."""
    rate_memory: float = 0.5
    """Work that counts as recent, at least, when gains are compared ..."""
    rate_part: float = 0.25
    """... and the part of all work on this side, or this team, that does: large teams gain less
    often."""
    idle_part: float = 0.4
    """Part of its own work without success after which a side does not count as gaining ..."""
    least_idle: float = 0.5
    """... and the least work for that: the first successes may take a while."""
    most_debt: float = 16.0
    """Slices by which a side may exceed its share: some work cannot be interrupted."""

    fair_work: float = 10.0
    """Work of a team during which no side starves: gains of the first seconds say little."""
    fair_part: float = 0.22
    """Part of this work that every side gets that still gains anything: a little more than a fifth,
    as work comes in pieces."""

    # -- search -----------------------------------------------------------------------------------

    prepare: float = 0.02
    """Work on relaxation and policies of `prepare_agents` agents before the search begins."""
    prepare_agents: int = 10
    prepare_power: float = 1.5
    """Power by which this grows with the number of agents: pairs grow faster than agents."""
    search_bases: int = 8
    """Policies that the search knows from the start."""
    search_memory: float = 0.5
    """Part of the remaining memory for the search."""
    most_memory: float = 2.0**40
    """Bytes for the search if memory is not limited: a finite number."""
    actions_per_line: int = 2_000
    """Joint actions that are built before the search has one more line: many lines at the same time
    keep threads busy, but explore parts that a single line would not have explored."""
    most_lines: int = 16
    """Most lines of search: more than most machines have processors."""
    better_start: float = 0.1
    """A search adopts a relaxation that has closed this part of the gap since the start."""
    adopt_memory: float = 0.7
    """Part of its memory that the search may use for the tables of a better relaxation."""
    adopt_part: float = 0.3
    """Part of the team's work so far that these tables may take."""
    adopt_left: float = 0.2
    """Part of the remaining work limit that these tables may take."""
    work_per_byte: float = 8e-9
    """Estimated work per byte of these tables, for clusters and their parts in groups."""

    # -- writing policies down --------------------------------------------------------------------

    policy_states: int = 100_000
    """Joint states of groups per stage in the first policy of a finished search."""
    more_policy_states: int = 10
    """Factor for the next attempt, if these were not enough."""
    fewer_policy_states: int = 8
    """Divisor for the next attempt, if memory was too short."""
    fewest_states: int = 1_000
    """Least number of states in a search's policy."""
    least_loss: float = 1e-7
    """Part of the closed gap that a state may lose by a simpler policy at the end."""
    least_part_of_gap: float = 1e-5
    """Part of the gap that a state may lose by a simpler policy before the end."""
    policy_hope: float = 0.2
    """Part of the gap by which the search's policy may be better than its bound."""
    work_per_state: float = 2e-5
    """Estimated work to write down one state."""
    writing_part: float = 0.1
    """Part of the team's work so far that writing may take while the search continues."""
    writing_pause: float = 8.0
    """Work of the search before the next writing, as a multiple of the work of writing."""
    last_writing: float = 0.05
    """Estimated seconds of writing before the first time."""
    last_writing_safety: float = 2.0
    """Time kept for writing before a time limit, as a multiple of the last time."""

    # -- the preferred one among optimal plans ----------------------------------------------------

    least_preference: float = 1.0
    """Work that the choice of the preferred plan may take in any case."""
    preference_part: float = 0.5
    """Part of the work for the optimum that this choice may take."""

    # -- looking ahead ----------------------------------------------------------------------------

    ahead_agents: int = 11
    """Fewest agents of a team that looks ahead: smaller ones have policies of all their agents
    together, which were better in tests."""
    ahead_profiles: int = 0
    """Policies of single agents to look ahead from, besides the team's own policy: that never
    gained anything (benchmarks/lookahead.py)."""
    pilot_runs: int = 64
    """Runs that show whether a team gains by looking ahead, and how its estimate is made."""
    least_gain: float = 1e-3
    """Part of the gap that a team must gain by it; otherwise it keeps its policy, whose value is
    certain."""
    estimate_part: float = 0.02
    """Distance between the estimate and its lower end that is good enough, as part of the gap."""
    estimate_work: float = 0.05
    """Work on the estimate, as part of the work so far, if it does not get that good before."""
    least_estimate: float = 0.2
    """Work on the estimate that is worth it in any case."""
    runs_at_once: int = 256
    most_runs: int = 100_000
    """Runs between two looks at the limits, and in all."""
    ahead_seconds: float = 0.1
    """Part of the time so far that is kept for all this before a time limit."""

    # -- memory -----------------------------------------------------------------------------------

    copies: int = 3
    """Copies of the compiled problem to reserve memory for: reduced, as teams, and the plan."""
