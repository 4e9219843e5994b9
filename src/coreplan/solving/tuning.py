"""The numbers that steer the engine, each with its reason; none of them changes what is proven.

Work is counted in units of about a second of one thread, see `cpp/support/costs.hpp`: a clock would
make every run a different one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """How the engine shares out its work. Hand in another one to try something else."""

    # -- when bounds count as equal ---------------------------------------------------------------

    closed: float = 1e-9
    """Part of the value within which bounds are brought together, finer than optimality asks."""
    closed_by_teams: float = 0.5
    """Of that, for all teams together; the rest is room for rounding."""
    closed_by_search: float = 0.25
    """Of that, for the search of one team."""

    # -- slices of work ---------------------------------------------------------------------------

    shortest_slice: float = 0.02
    """Work that one bound of one team gets at a time: less would cost more in changing over."""
    longest_slice: float = 1.0
    """More would keep the other bounds waiting."""
    slice_part: float = 0.05
    """Of the work so far, in between."""

    least_work: float = 2e-4
    """That any attempt counts for, also one that finds nothing to do: else it might never end."""

    # -- exact solution ---------------------------------------------------------------------------

    exact_at_once: float = 0.03
    """Work that an exact solution may take before anything else is tried."""
    exact_part: float = 0.25
    """Of what the work limit leaves, that an exact solution may take later on."""

    # -- relaxation -------------------------------------------------------------------------------

    cuts: int = 24
    """That a cluster remembers: more make the master slower than they make the steps better."""
    slow_rounds: int = 6
    slow_gain: float = 0.02
    """A relaxation is slow if `slow_rounds` rounds closed less than this part of the gap."""
    stuck_rounds: int = 40
    stuck_gain: float = 0.01
    """Without any limit, it is given up if `stuck_rounds` rounds closed less of the gap."""
    shortest_growth: float = 0.05
    """Work that a round with larger clusters may take, right from the start."""
    growth_part: float = 0.5
    """Of the team's work so far, that such a round may take later on."""
    rounds_left: int = 10
    """Rounds for which the work limit should leave room after clusters are enlarged."""
    last_growth: float = 4.0
    """Times as much, again and again until a cluster fits, if nothing else is left to do."""
    most_growth: float = 1e9
    """Work that nobody waits for."""
    growth_pause: float = 1.3
    """Times as much work as so far until clusters may be enlarged again, if that was too much."""
    search_cluster: int = 5
    """Agents of a cluster that is good for a search, which looks into all of them all the time."""

    # -- policies ---------------------------------------------------------------------------------

    bases: int = 6
    """Policies of single agents that a rollout goes by: more but weaker ones do not help."""
    states_per_layer: int = 20_000
    """Joint states per stage that a rollout keeps."""
    joint_agents: int = 10
    """Teams up to this size act together; larger ones in clusters."""
    stalled_after: int = 12
    """Attempts at a better policy without success ..."""
    stalled_work: float = 0.5
    """... and work without success ..."""
    stalled_part: float = 0.3
    """... and part of the work on both bounds without success: then policies have stalled."""

    # -- who gets the work ------------------------------------------------------------------------

    upper_part: float = 0.3
    """Of the work, for the relaxation."""
    lower_part: float = 0.3
    """The same for the policies."""
    search_part: float = 0.4
    """The same for the search, which uses what both have found."""
    least_part: float = 0.1
    """Of its part, that the side which gains least still gets: gains may come late."""
    idle_factor: float = 0.7
    """The policies get so much less with every attempt without success."""
    rate_memory: float = 0.5
    """Work that tells how well a side has been doing recently."""
    most_debt: float = 16.0
    """Slices that a side may be ahead of its part: some work cannot be cut short."""

    # -- search -----------------------------------------------------------------------------------

    prepare: float = 0.02
    """Work on relaxation and policies of `prepare_agents` agents before the search begins."""
    prepare_agents: int = 10
    prepare_power: float = 1.5
    """More agents take so much longer: the number of pairs grows faster than that of agents."""
    search_bases: int = 8
    """Policies that the search knows from the start."""
    search_memory: float = 0.5
    """Of the memory that is left, for the search."""
    most_memory: float = 2.0**40
    """Bytes: a number that stays finite where memory is not limited."""
    actions_per_line: int = 2_000
    """Joint actions that are built before the search has one more line: many lines at the same time
    keep threads busy, but go where one alone would not have gone."""
    most_lines: int = 16
    """Lines of search: more than most machines have processors."""
    better_start: float = 0.1
    """A search goes by a relaxation that has gained this part of the gap since."""
    adopt_memory: float = 0.7
    """Of its memory, that the search may use for the tables of a better relaxation."""
    adopt_part: float = 0.3
    """Of the team's work so far, that these tables may take."""
    adopt_left: float = 0.2
    """Of what the work limit leaves, that they may take."""
    work_per_byte: float = 8e-9
    """That such a table takes, per byte, about: clusters, and what is left of them in groups."""

    # -- writing policies down --------------------------------------------------------------------

    policy_states: int = 100_000
    """Groups' joint states per stage that the policy of a finished search tells apart at first."""
    more_policy_states: int = 10
    """Times as many, if these were not enough."""
    fewer_policy_states: int = 8
    """So many times fewer, if there was no memory."""
    fewest_states: int = 1_000
    """That any policy of a search tells apart."""
    least_loss: float = 1e-7
    """Of what counts as closed, that a state may lose by a simpler policy in the end."""
    least_part_of_gap: float = 1e-5
    """Of the gap, that it may lose till then."""
    policy_hope: float = 0.2
    """Of the gap, that the search's policy may be worth more than its bound says."""
    work_per_state: float = 2e-5
    """That it takes to write one state down, about."""
    writing_part: float = 0.1
    """Of the team's work so far, that writing may take while the search goes on."""
    writing_pause: float = 8.0
    """Times the work of writing, that the search goes on before the next time."""
    last_writing: float = 0.05
    """Seconds that writing takes, about, where nothing has been written yet."""
    last_writing_safety: float = 2.0
    """Times as long as last time, that is kept for writing before a time limit strikes."""

    # -- the preferred one among optimal plans ----------------------------------------------------

    least_preference: float = 1.0
    """Work that it may take in any case."""
    preference_part: float = 0.5
    """Of the work that the optimum took, that it may take."""

    # -- memory -----------------------------------------------------------------------------------

    copies: int = 3
    """Of the compiled problem, to be kept room for: a smaller one, the teams', and the plan."""
