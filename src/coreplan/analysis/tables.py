"""The situations and actions of a policy for other programs: tables and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coreplan.errors import SolverError
from coreplan.files.writing import to_csv, write_text
from coreplan.model.values import Cell, plain_state, value_columns
from coreplan.policies.graph import PlanGraph, Situation
from coreplan.support.late import provides

if TYPE_CHECKING:
    import pandas as pd


def situation_table(graph: PlanGraph) -> tuple[list[str], list[list[Cell]]]:
    """Make the columns and rows of a table of the situations before the horizon.

    Columns are the situation's number, stage, probability and value and, for each agent, its state
    and action. The state of a contractor has three columns: its completed works, its work in
    progress, and the remaining steps.
    """
    columns = ["situation", "stage", "probability", "value"]
    start = graph.situations[0].state
    for name in graph.agents:
        columns += [f"{name} {part}" for part in (*value_columns(start[name]), "action")]
    rows = []
    for number, each in enumerate(graph.situations):
        if each.stage == graph.horizon:
            break
        row: list[Cell] = [number, each.stage, each.probability, each.value]
        for name in graph.agents:
            row += value_columns(each.state[name]).values()
            row.append(each.action[name] if each.action else None)
        rows.append(row)
    return columns, rows


@provides("PlanGraph.to_dataframe")
def to_dataframe(graph: PlanGraph) -> pd.DataFrame:
    """Make a pandas table of the situations, see :func:`situation_table`; needs the extra `pandas`.

    Raises
    ------
    SolverError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise SolverError(
            "pandas is not installed; install the extra `pandas`: pip install 'coreplan[pandas]'"
        ) from None
    columns, rows = situation_table(graph)
    return pd.DataFrame(rows, columns=columns).set_index("situation")


@provides("PlanGraph.to_csv")
def write_csv(graph: PlanGraph, path: str | Path) -> None:
    """Write the situations to a file, see :func:`situation_table`."""
    columns, rows = situation_table(graph)
    write_text(to_csv([columns, *rows]), path)


@provides("PlanGraph.to_json")
def write_json(graph: PlanGraph, path: str | Path) -> None:
    """Write the graph to a file, a line for each situation; see :func:`graph_to_dict`."""
    plain = graph_to_dict(graph)
    situations = ",\n".join(json.dumps(each, ensure_ascii=False) for each in plain["situations"])
    head = json.dumps({**plain, "situations": []}, ensure_ascii=False)
    write_text(head.removesuffix("]}") + "\n" + situations + "\n]}\n", path)


def graph_to_dict(graph: PlanGraph) -> dict[str, Any]:
    """Turn a plan graph into plain values; situations refer to each other by number."""
    return {
        "agents": list(graph.agents),
        "stage": graph.stage,
        "horizon": graph.horizon,
        "complete": graph.complete,
        "covered": graph.covered,
        "situations": [_situation(each) for each in graph.situations],
    }


def _situation(each: Situation) -> dict[str, Any]:
    return {
        "stage": each.stage,
        "state": plain_state(each.state),
        "probability": each.probability,
        "action": dict(each.action),
        "value": each.value,
        "outcomes": [
            {
                "probability": outcome.probability,
                "next": outcome.next,
                "known": [fact._asdict() for fact in outcome.known],
            }
            for outcome in each.outcomes
        ],
        "cut": each.cut,
    }
