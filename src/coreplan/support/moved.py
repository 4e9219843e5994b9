"""Modules and names that have moved: the old ones work for one more version, with a warning."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = "coreplan"
MOVED = {
    "algorithms": "solving.algorithms",
    "algorithms.certify": "solving.engine.certify",
    "algorithms.core": "solving.engine.core",
    "algorithms.core_2016": "solving.algorithms.core_2016",
    "algorithms.dec_mdp": "solving.algorithms.dec_mdp",
    "algorithms.dp": "solving.algorithms.dp",
    "algorithms.joint": "solving.algorithms.joint",
    "algorithms.spudd": "solving.algorithms.spudd",
    "algorithms.start": "solving.start",
    "algorithms.task": "solving.task",
    "algorithms.team": "solving.engine.team",
    "algorithms.way_back": "solving.engine.way_back",
    "certificate": "proof.certificate",
    "checks": "support.checks",
    "compare": "analysis.comparison",
    "compile": "solving.compile",
    "crg": "solving.crg",
    "distribution": "analysis.distribution",
    "evaluate": "policies.evaluation",
    "explanation": "analysis.explanation",
    "formats.calendar": "domains.maintenance.formats.calendar",
    "formats.document": "files.document",
    "formats.json_text": "files.json_text",
    "formats.mpp": "domains.maintenance.formats.mpp",
    "formats.policy": "policies.saving",
    "formats.policy_arrays": "policies.saved_arrays",
    "formats.policy_groups": "policies.saved_groups",
    "formats.policy_teams": "policies.saved_teams",
    "formats.quick_json": "files.quick_json",
    "formats.reading": "files.reading",
    "formats.schedule": "domains.maintenance.formats.schedule",
    "formats.schemas": "files.schemas",
    "formats.writing": "files.writing",
    "formats.yaml_text": "files.yaml_text",
    "frozen": "support.frozen",
    "group_rule": "policies.group_rule",
    "histories": "policies.histories",
    "indexed": "model.indexed",
    "interrupts": "support.interrupts",
    "limits": "solving.limits",
    "maintenance": "domains.maintenance",
    "maintenance.calendar": "model.calendar",
    "maintenance.changes": "domains.maintenance.changes",
    "maintenance.coordination": "domains.maintenance.coordination",
    "maintenance.courses": "domains.maintenance.courses",
    "maintenance.decision_rules": "domains.maintenance.decision_rules",
    "maintenance.feasibility": "domains.maintenance.feasibility",
    "maintenance.money": "domains.maintenance.money",
    "maintenance.problem": "domains.maintenance.problem",
    "maintenance.schedule": "domains.maintenance.schedule",
    "maintenance.states": "domains.maintenance.states",
    "maintenance.timeline": "domains.maintenance.timeline",
    "maintenance.translate": "domains.maintenance.translate",
    "memory": "support.memory",
    "plan": "analysis.plan",
    "plan_export": "analysis.tables",
    "plan_graph": "policies.graph",
    "plan_tree": "analysis.tree",
    "planned_schedule": "domains.maintenance.planned",
    "policy": "policies.policy",
    "processors": "support.processors",
    "result": "solving.result",
    "reward_tables": "analysis.reward_tables",
    "rewards": "model.rewards",
    "rows": "support.rows",
    "sensitivity": "domains.maintenance.influence",
    "sequences": "analysis.sequences",
    "simulate": "analysis.simulator",
    "simulation": "analysis.simulation",
    "solve": "solving.solver",
    "solving.engine.start": "solving.start",
    "solving.engine.tuning": "solving.tuning",
    "trace": "analysis.trace",
    "verification": "proof",
    "verification.classes": "proof.classes",
    "verification.couplings": "proof.couplings",
    "verification.elimination": "proof.elimination",
    "verification.local": "proof.local",
    "verification.relaxation": "proof.relaxation",
    "verification.search": "proof.search",
    "verify": "proof.verify",
    "view.bench_run": "bench.live",
    "view.gantt_text": "domains.maintenance.view.gantt_text",
    "view.influences": "domains.maintenance.view.influences",
    "view.money_table": "domains.maintenance.view.money_table",
    "view.report.content": "domains.maintenance.report.content",
    "view.report.money": "domains.maintenance.report.money",
    "view.rules_text": "domains.maintenance.view.rules_text",
    "works": "domains.maintenance.works",
    "works.cells": "domains.maintenance.works.cells",
    "works.columns": "domains.maintenance.works.columns",
    "works.excel": "domains.maintenance.works.excel",
    "works.read": "domains.maintenance.works.read",
    "works.rows": "domains.maintenance.works.rows",
    "works.sheet": "domains.maintenance.works.sheet",
    "works.table": "domains.maintenance.works.table",
    "works.template": "domains.maintenance.works.template",
    "works.workbook_scan": "domains.maintenance.works.workbook_scan",
}
"""Old and new names of modules, both below the package."""
MOVED_NAMES = {
    "AgentSize": "solving.AgentSize",
    "Alternative": "analysis.Alternative",
    "CertificateError": "errors.CertificateError",
    "ComparedRun": "analysis.ComparedRun",
    "Comparison": "analysis.Comparison",
    "CompiledProblem": "solving.CompiledProblem",
    "Completion": "analysis.Completion",
    "ConditionalReturnGraph": "solving.ConditionalReturnGraph",
    "ConditionalReturnGraphs": "solving.ConditionalReturnGraphs",
    "Coordination": "domains.maintenance.Coordination",
    "CrgSize": "solving.CrgSize",
    "Estimate": "analysis.Estimate",
    "ExecutionSequence": "analysis.ExecutionSequence",
    "Explanation": "analysis.Explanation",
    "Influence": "domains.maintenance.Influence",
    "Money": "domains.maintenance.Money",
    "PlanGraph": "policies.PlanGraph",
    "PlanReport": "analysis.PlanReport",
    "PlanTree": "analysis.PlanTree",
    "PlannedSchedule": "domains.maintenance.PlannedSchedule",
    "PlannedWork": "domains.maintenance.PlannedWork",
    "Problem": "Diagnostic",
    "Report": "view.report.Report",
    "ReturnDistribution": "analysis.ReturnDistribution",
    "Returns": "analysis.Returns",
    "SearchTrace": "analysis.SearchTrace",
    "Sensitivity": "domains.maintenance.Sensitivity",
    "Simulation": "analysis.Simulation",
    "SimulationProgress": "analysis.SimulationProgress",
    "Statistics": "solving.Statistics",
    "Timeline": "domains.maintenance.timeline.Timeline",
    "Transition": "model.Transition",
    "WorksList": "domains.maintenance.WorksList",
    "build_crgs": "solving.build_crgs",
    "compile_problem": "solving.compile_problem",
    "execution_sequences": "analysis.execution_sequences",
    "plan_graph": "policies.plan_graph",
    "plan_tree": "analysis.plan_tree",
    "planned_schedule": "domains.maintenance.planned_schedule",
    "read_result": "formats.read_result",
    "read_schedule": "domains.maintenance.read_schedule",
    "return_distribution": "analysis.return_distribution",
    "schedule_policy": "domains.maintenance.schedule_policy",
    "schema": "formats.schema",
    "sensitivity": "domains.maintenance.sensitivity",
    "timeline": "domains.maintenance.timeline.timeline",
    "trace_search": "analysis.trace_search",
    "value_of_coordination": "domains.maintenance.value_of_coordination",
    "write_result": "formats.write_result",
    "write_schedule": "domains.maintenance.write_schedule",
}
"""Names that the package itself had, and where they are now, below the package."""


def moved_name(name: str) -> Any:
    """What the package has had under a name, with a warning; an AttributeError if nothing."""
    if name not in MOVED_NAMES:
        raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}")
    place, _, new = f"{PACKAGE}.{MOVED_NAMES[name]}".rpartition(".")
    warnings.warn(
        f"{PACKAGE}.{name} is now {place}.{new}; the old name goes with the next version",
        DeprecationWarning,
        stacklevel=3,  # the line that asked the package for it
    )
    return getattr(importlib.import_module(place), new)


class _Moved(ModuleType):
    """A module under its old name; its content comes from the new one."""

    moved_to: ModuleType

    def __getattr__(self, name: str) -> Any:
        return getattr(self.moved_to, name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        # An old module must not hide a function of the same name, for instance `solve`.
        name = self.__name__.rpartition(".")[2]
        return getattr(self.moved_to, name)(*arguments, **options)


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        old = spec.name.removeprefix(f"{PACKAGE}.")
        new = f"{PACKAGE}.{MOVED[old]}"
        warnings.warn(
            f"{spec.name} is now {new}; the next version drops the old name",
            DeprecationWarning,
            stacklevel=2,
        )
        module = _Moved(spec.name)
        module.__path__ = []  # otherwise its submodules would be found there, and loaded twice
        module.moved_to = importlib.import_module(new)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, dot, old = fullname.partition(".")
        if package != PACKAGE or not dot or old not in MOVED:
            return None
        return ModuleSpec(fullname, _Loader(), is_package=True)


def let_old_names_work() -> None:
    """Let imports find modules under their old names."""
    sys.meta_path.append(_Finder())
