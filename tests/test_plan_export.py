"""Tables and JSON of what a policy does, read back."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coreplan import ContractorState, FormatError, SolverError
from coreplan.analysis.tables import graph_to_dict, situation_table, write_csv, write_json
from coreplan.files.writing import cell_text
from coreplan.policies import plan_graph
from helpers import coupled_team, from_file, random_mpp
from strategies import problem_dicts
from test_policy import policy_of


def plain_text(cell: str) -> str:
    """What a cell says, without the apostrophe that keeps it from being a formula."""
    return cell[1:] if re.match("'+[=+@\t\r-]", cell) else cell


@given(raw=problem_dicts(max_work=300), kind=st.sampled_from(["csv", "json"]))
def test_files_say_what_the_policy_does(
    tmp_path_factory: pytest.TempPathFactory, raw: dict[str, Any], kind: str
) -> None:
    """Whatever names are, a file read back has the policy's states and actions, and its values."""
    policy = policy_of(from_file(raw))
    graph = plan_graph(policy)
    path = tmp_path_factory.mktemp("export") / f"plan.{kind}"
    if kind == "json":
        policy.to_json(path)
        plain = json.loads(path.read_text(encoding="utf-8"))
        assert plain == json.loads(json.dumps(graph_to_dict(graph)))
        for each in plain["situations"]:
            if each["stage"] < graph.horizon:
                assert each["action"] == policy.act(each["stage"], each["state"])
        return
    policy.to_csv(path)
    with path.open(encoding="utf-8", newline="") as file:
        columns, *rows = ([plain_text(cell) for cell in row] for row in csv.reader(file))
    assert len(set(columns)) == len(columns)
    assert len(rows) == graph.stage_begin[-2]
    for row, situation in zip(rows, graph.situations, strict=False):
        named = dict(zip(columns, row, strict=True))
        assert int(named["stage"]) == situation.stage
        assert float(named["probability"]) == situation.probability
        assert float(named["value"]) == situation.value
        for name in graph.agents:
            state = situation.state[name]
            assert named[f"{name} action"] == situation.action[name]
            if isinstance(state, ContractorState):
                assert named[f"{name} done"] == ", ".join(state.done)
                assert named[f"{name} doing"] == (state.doing or "")
                assert int(named[f"{name} remaining"]) == state.remaining
            else:
                assert named[f"{name} state"] == state


FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-1+2", "@SUM(A1)", "\tx", "\rx", "'=1"]


@pytest.mark.parametrize("name", FORMULAS)
def test_names_are_no_formulas(tmp_path: Path, name: str) -> None:
    """A spreadsheet program that opens the table finds texts and numbers, never a formula."""
    raw = {
        "format": "ti-mmdp/1",
        "horizon": 1,
        "agents": [{"name": name, "initial": name, "transitions": {name: {name: {name: 1}}}}],
        "rewards": [{"scope": [name], "entries": [{"value": -2.5}]}],
    }
    path = tmp_path / "plan.csv"
    policy_of(from_file(raw)).to_csv(path)
    with path.open(encoding="utf-8", newline="") as file:
        columns, row = csv.reader(file)
    assert not any(re.match("[=+@\t\r-]", cell) for cell in columns)
    assert columns[4:] == [f"'{name} state", f"'{name} action"]
    assert row == ["0", "0", "1.0", "-2.5", f"'{name}", f"'{name}"]


def test_cells_stay_apart() -> None:
    """Texts that differ are written in different ways, and what is harmless stays as it is."""
    cells = [*FORMULAS, "=1", "'", "'a", "a=b", "", "a-b"]
    written = [cell_text(cell) for cell in cells]
    assert len({*written}) == len(cells)
    assert [plain_text(cell) for cell in written] == cells
    assert written[-5:] == cells[-5:]
    assert [cell_text(number) for number in (-1, -0.5, None)] == [-1, -0.5, None]


def test_a_cut_graph_is_exported_as_it_is() -> None:
    """Values that are not known are empty, and JSON says that it is not complete."""
    graph = plan_graph(policy_of(from_file(coupled_team(1))), most_situations=5)
    _, rows = situation_table(graph)
    assert rows[0][3] is None
    plain = graph_to_dict(graph)
    assert plain["complete"] is False
    assert 0 < plain["covered"] < 1


def test_histories_keep_their_times() -> None:
    """States with times have them in JSON, too."""
    graph = plan_graph(policy_of(from_file(random_mpp(2, 1, 4)), merge=False))
    last = graph_to_dict(graph)["situations"][-1]
    assert last["state"]["C0"]["times"]["w0"] == list(graph.situations[-1].state["C0"].times["w0"])


def test_what_was_there_stays_if_it_cannot_be_written(tmp_path: Path) -> None:
    """A folder that does not exist is an error with the path, and nothing is left behind."""
    graph = plan_graph(policy_of(from_file(random_mpp(1, 1, 3))))
    for write in (write_csv, write_json):
        with pytest.raises(FormatError, match=r"missing.*cannot be written"):
            write(graph, tmp_path / "missing" / "plan")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas the error says what to install."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SolverError, match=r"extra `pandas`: pip install 'coreplan\[pandas\]'"):
        policy_of(from_file(random_mpp(1, 1, 3))).to_dataframe()


@pytest.mark.extras
def test_a_dataframe_has_the_same_table() -> None:
    """Rows and columns are those of the table; the index is the situation's number."""
    policy = policy_of(from_file(random_mpp(2, 2, 6)))
    frame = policy.to_dataframe()
    columns, rows = situation_table(plan_graph(policy))
    assert ["situation", *frame.columns] == columns
    assert frame.index.tolist() == [row[0] for row in rows]
    assert frame["C0 action"].tolist() == [row[columns.index("C0 action")] for row in rows]
    assert frame.loc[0, "value"] == pytest.approx(policy.evaluate())
