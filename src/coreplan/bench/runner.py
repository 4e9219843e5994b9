"""Runs: make all solves of a configuration that are not in the store yet."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from coreplan.bench.config import BenchConfig, SetRun
from coreplan.bench.modules import Module
from coreplan.bench.pool import Answer, Pool
from coreplan.bench.sets import Instance
from coreplan.bench.solvers import Solver
from coreplan.bench.store import Row, Store, solve_key, version_with_code
from coreplan.bench.worker import KILLED, PATIENCE, SOLVE, TIME_GRACE
from coreplan.errors import SolverError
from coreplan.support.interrupts import catch_interrupts
from coreplan.support.processors import usable_processors
from coreplan.support.version import __version__

MOST_LOSSES = 3
"""A solve that was killed from outside this many times counts as crashed, and is not repeated."""

_TICK = 0.5
_LOOK_FOR_OTHERS = 1.0
_SHOW_LIFE = 60.0


@dataclass(frozen=True)
class Solve:
    """One solve of a configuration."""

    set: str
    instance: str
    parameters: Mapping[str, Any]
    digest: str
    text: str = field(repr=False)
    solver: Solver
    time_limit: float
    memory_limit: float | None
    clock: str
    key: str

    def row(self, answer: Answer, jobs: int) -> Row:
        """The row of the store for its outcome."""
        code = self.solver.code
        return Row(
            set=self.set,
            instance=self.instance,
            parameters=self.parameters,
            digest=self.digest,
            solver=self.solver.name,
            algorithm=self.solver.algorithm,
            options=self.solver.options,
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            outcome=answer["outcome"],
            message=answer["message"],
            result=answer["result"],
            progress=tuple((s, lower, upper) for s, lower, upper in answer["progress"]),
            wall_seconds=answer["wall_seconds"],
            cpu_seconds=answer["cpu_seconds"],
            peak_memory_mb=answer["peak_memory_mb"],
            versions={**answer["versions"], **({"code": code} if code else {})},
            machine={**answer["machine"], "jobs": jobs},
            started=answer["started"],
            clock=self.clock,
        )


def plan_solves(
    config: BenchConfig, tell: Callable[[int], object] | None = None
) -> dict[str, Solve]:
    """All solves of a configuration by key, in their order.

    Sets come in the order of the configuration. All solvers solve an instance before the next
    instance begins: a stopped run then has data that can be compared.

    Parameters
    ----------
    config
        The configuration.
    tell
        Called at intervals with the number of solves so far.
    """
    planned: dict[str, Solve] = {}
    for each in config.sets:
        for instance in each.instances(config.seed):
            for solve in _solves_of(each, instance):
                planned.setdefault(solve.key, solve)
            if tell is not None:
                tell(len(planned))
    return planned


def _solves_of(run: SetRun, instance: Instance) -> Iterator[Solve]:
    text, digest = instance.text(), instance.digest()
    for solver in run.solvers:
        limits = (run.time_limit, run.memory_limit)
        algorithm, options = solver.algorithm, solver.options
        version = version_with_code(__version__, solver.code)
        yield Solve(
            set=instance.set,
            instance=instance.name,
            parameters=instance.parameters,
            digest=digest,
            text=text,
            solver=solver,
            time_limit=run.time_limit,
            memory_limit=run.memory_limit,
            clock=run.clock,
            key=solve_key(digest, algorithm, options, *limits, version, run.clock),
        )


def default_jobs(config: BenchConfig) -> int:
    """Number of solves that can run on this machine at the same time without sharing cores."""
    return max(1, usable_processors() // config.threads)


class Pace:
    """Durations of the solves so far, per set and solver, and an estimate for the rest."""

    def __init__(self) -> None:
        self._seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._count: Counter[tuple[str, str]] = Counter()

    def add(self, set_name: str, solver: str, seconds: float) -> None:
        """Record the duration of a solve."""
        # Unknown durations are estimated from the same solver on other sets, then from all solves.
        for group in ((set_name, solver), ("", solver), ("", "")):
            self._seconds[group] += seconds
            self._count[group] += 1

    def seconds_left(self, remaining: Mapping[tuple[str, str], int], jobs: int) -> float | None:
        """Estimated seconds for the rest; None before the first solve has ended.

        Parameters
        ----------
        remaining
            Number of solves to do, by set and solver.
        jobs
            Number of solves at the same time.
        """
        if not self._count["", ""]:
            return None
        total = 0.0
        for (set_name, solver), count in remaining.items():
            groups = ((set_name, solver), ("", solver), ("", ""))
            group = next(each for each in groups if self._count[each])
            total += count * self._seconds[group] / self._count[group]
        return total / jobs


@dataclass
class RunState:
    """The progress of a run.

    Attributes
    ----------
    total
        Solves of the configuration.
    before
        Solves of these that were in the store before.
    added
        Rows added by this run, by outcome.
    elsewhere
        Solves that another program has done meanwhile.
    solved
        Rows added by this run with a proven optimum.
    running
        Solves that are running.
    waiting
        Whether other programs are making all remaining solves.
    lost
        Solves that were killed from outside; the next run repeats them, a few times at most.
    stopping
        Whether no more solves are started, because of Ctrl-C.
    interrupted
        Whether the run ended before all solves were done.
    seconds
        Seconds since its start.
    seconds_left
        Estimated seconds for the rest; None before the first solve has ended.
    last
        The row that was added last.
    """

    total: int
    before: int = 0
    added: Counter[str] = field(default_factory=Counter)
    elsewhere: int = 0
    solved: int = 0
    running: int = 0
    waiting: bool = False
    lost: int = 0
    stopping: bool = False
    interrupted: bool = False
    seconds: float = 0.0
    seconds_left: float | None = None
    last: Row | None = None

    @property
    def done(self) -> int:
        """Solves that are in the store."""
        return self.before + self.elsewhere + self.added.total()


class Run:
    """A run that makes solves with a pool and keeps the results in a store.

    Parameters
    ----------
    solves
        The solves by key, in this order.
    store
        Store for the results; solves that it has already are not repeated.
    pool
        The workers.
    modules
        The modules of users that solving needs.
    tell
        Called with the state at least twice a second, and after each row.
    function
        The function that solves, as ``module:function``.
    grace
        Seconds after 1.25 times the time limit at which a solver is killed.
    patience
        Seconds in which a solver whose processor time counts must use some, or it is killed.
    """

    def __init__(
        self,
        solves: Mapping[str, Solve],
        store: Store,
        pool: Pool,
        *,
        modules: Iterable[Module] = (),
        tell: Callable[[RunState], object] | None = None,
        function: str = SOLVE,
        grace: float = TIME_GRACE,
        patience: float = PATIENCE,
    ) -> None:
        self._store = store
        self._pool = pool
        self._modules = [each.to_dict() for each in modules]
        self._tell = tell
        self._function = function
        self._grace = grace
        self._patience = patience
        self._pace = Pace()
        done = store.keys()
        self._pending = {key: each for key, each in solves.items() if key not in done}
        self._running: dict[str, Solve] = {}
        self._remaining = Counter(_group(each) for each in self._pending.values())
        self._next_claim = 0.0
        self._next_life = 0.0
        self._start = time.monotonic()
        self.state = RunState(total=len(solves), before=len(solves) - len(self._pending))
        if self.state.before:
            for row in store.rows():
                self._pace.add(row.set, row.solver, row.wall_seconds)

    def run(self) -> RunState:
        """Make the remaining solves.

        The first Ctrl-C lets the running solves finish. The second ends them; the next run repeats
        them. All finished solves are in the store.

        Raises
        ------
        FormatError
            If the store cannot be written.
        SolverError
            If workers cannot be started, or have another version of coreplan.
        """
        state = self.state
        try:
            with catch_interrupts(self._stop):
                while self._running or (self._pending and not state.stopping):
                    self._hand_out()
                    self._collect()
                    self._report()
        except KeyboardInterrupt:
            state.interrupted = True
        state.running = 0
        state.interrupted = state.interrupted or bool(self._pending)
        return state

    def _stop(self) -> None:
        self.state.stopping = True

    def _hand_out(self) -> None:
        """Claim and start as many solves as can run."""
        free = self._pool.jobs - len(self._running)
        now = time.monotonic()
        if self.state.stopping or free <= 0 or not self._pending or now < self._next_claim:
            return
        ours, done = self._store.claim(self._pending, free)
        for key in done:
            self._remaining[_group(self._pending.pop(key))] -= 1
            self.state.elsewhere += 1
        for key in ours:
            solve = self._running[key] = self._pending.pop(key)
            self._pool.submit(
                key,
                {
                    "function": self._function,
                    "modules": self._modules,
                    "text": solve.text,
                    "algorithm": solve.solver.algorithm,
                    "options": dict(solve.solver.options),
                    "time_limit": solve.time_limit,
                    "memory_limit": solve.memory_limit,
                    "clock": solve.clock,
                    "threads": solve.solver.threads,
                    "grace": self._grace,
                    "patience": self._patience,
                },
            )
        # Other programs have claimed the rest: check later whether they have done it, or ended.
        self._next_claim = now + _LOOK_FOR_OTHERS if len(ours) < free else 0.0
        self.state.waiting = bool(self._pending) and not self._running

    def _collect(self) -> None:
        """Record finished solves."""
        if not self._running:
            if self._pending:
                time.sleep(_TICK)
            return
        for key, answer in self._pool.wait(_TICK):
            solve = self._running.pop(key)
            version = answer["versions"]["coreplan"]
            if version != __version__:
                raise SolverError(
                    f"a worker has coreplan {version}, this program is {__version__}; install the "
                    "same version everywhere"
                )
            if answer["outcome"] == KILLED:
                answer["outcome"] = "crashed"
                losses = self._store.add_loss(key, answer["message"])
                if losses < MOST_LOSSES:
                    self.state.lost += 1
                    self._remaining[_group(solve)] -= 1
                    self._report()
                    continue
                answer["message"] += f"; {losses} times in all"
            row = solve.row(answer, self._pool.jobs)
            if self._store.add(row):
                self.state.added[row.outcome] += 1
                self.state.solved += row.solved
            else:
                self.state.elsewhere += 1
            self.state.last = row
            self._pace.add(row.set, row.solver, row.wall_seconds)
            self._remaining[_group(solve)] -= 1
            self._report()

    def _report(self) -> None:
        now = time.monotonic()
        if now >= self._next_life:
            self._next_life = now + _SHOW_LIFE
            self._store.show_life()
        state = self.state
        state.running = len(self._running)
        state.seconds = now - self._start
        state.seconds_left = self._pace.seconds_left(self._remaining, self._pool.jobs)
        if self._tell is not None:
            self._tell(state)


def _group(solve: Solve) -> tuple[str, str]:
    return solve.set, solve.solver.name


def count_solves(solves: Iterable[Solve]) -> dict[tuple[str, str], int]:
    """Number of solves by set and solver."""
    return dict(Counter(map(_group, solves)))
