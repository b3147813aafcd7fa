"""The names that people use from Python: tables, summaries, pictures, files in place of objects."""

from __future__ import annotations

import pickle
import re
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import jettison as jt
from jettison.instances.catalog import bundled_instances
from jettison.solvers.core.registry import PROBLEM_KINDS
from jettison.studies.comparison.run import compared_runs
from tests.tiny import UNIFORM

ROOT = Path(__file__).parent.parent.parent
PROBLEM = jt.RematChain(UNIFORM, memory="60%")


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert jt.__version__ == project["version"]
    with pytest.raises(AttributeError):
        jt.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_methods_and_instances_are_tables() -> None:
    methods = jt.methods("remat-graph")
    assert list(methods.index) == [
        method.name for method in PROBLEM_KINDS.find("remat-graph").methods()
    ]  # type: ignore[union-attr]
    assert methods.loc["dtr", "promise"] == "heuristic"
    everything = jt.methods()
    assert set(everything.index.get_level_values("problem")) == set(PROBLEM_KINDS.names)
    assert len(everything.loc["remat-graph"]) == len(methods)
    with pytest.raises(jt.InputError, match="write remat-graph, or choose one of"):
        jt.methods("remat-grap")
    instances = jt.bundled_instances()
    assert list(instances.index) == [entry.name for entry in bundled_instances()]
    assert set(instances["origin"]) == {"measured", "imported", "modelled"}


def test_summaries_are_names_and_values_and_tables_in_notebooks() -> None:
    result = jt.solve(PROBLEM, "rotor-exact")
    rows = dict(line.split("  ", 1) for line in result.summary().splitlines())
    assert rows["method"].strip() == "rotor-exact"
    assert f"{result.time_ns} ns" in rows["time"]
    assert result._repr_html_().count("<tr>") == len(result.summary().splitlines())
    verdict = jt.bound(PROBLEM, result.schedule)
    assert re.search(r"^status +valid$", verdict.summary(), re.MULTILINE)
    assert "<td" in verdict._repr_html_()


def test_the_summary_of_what_does_not_fit_says_how_much_would_do() -> None:
    tight = jt.solve(jt.RematChain(UNIFORM, memory="1B"), "rotor-exact")
    rows = dict(line.split("  ", 1) for line in tight.summary().splitlines())
    (least,) = (value for name, value in rows.items() if name.startswith("least memory"))
    assert tight.infeasibility is not None
    assert least.strip() == f"{tight.infeasibility.least_memory_bytes} bytes"
    with pytest.raises(jt.InputError, match=r"rotor-exact found no schedule .*give more memory"):
        tight.plot()


def test_results_and_verdicts_draw_their_schedules() -> None:
    result = jt.solve(PROBLEM, "rotor-exact")
    (axes, *_) = result.plot().axes
    assert axes.get_title(loc="left").splitlines()[0] == "uniform: rotor-exact"
    assert "overhead" in axes.get_title(loc="left")
    (axes, *_) = result.plot(title="mine").axes
    assert axes.get_title(loc="left") == "mine"
    (axes, *_) = jt.bound(PROBLEM, result.schedule).plot().axes
    assert axes.get_title(loc="left") == "uniform: valid"
    with pytest.raises(jt.InputError, match="no schedule was given"):
        jt.bound(PROBLEM).plot()


def test_a_schedule_is_given_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    schedule = jt.remat_chain.ChainSchedule.parse(
        ", ".join([*(f"F_all {k}" for k in range(1, 8)), *(f"B {k}" for k in range(7, 0, -1))])
    )
    jt.save_schedule(schedule, UNIFORM, path)
    roomy = jt.RematChain(UNIFORM, memory="100%")
    assert jt.bound(roomy, str(path)).replay == jt.bound(roomy, schedule).replay
    assert jt.solve(roomy, "recompute-all", start=path).schedule == schedule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("F_ck 1, G 2", r"operations\[2\]: 'G 2'; write F_all, F_ck, F_none, B, D, each with"),
        ("F_ck", r"operations\[1\]: 'F_ck'"),
        ("F_ck one", r"operations\[1\]"),
        ("F_ck -1", r"operations\[1\]"),
    ],
)
def test_what_is_no_operation_of_a_chain_is_named(text: str, message: str) -> None:
    with pytest.raises(jt.InputError, match=message):
        jt.remat_chain.ChainSchedule.parse(text)


def test_operations_are_read_from_lines_as_well() -> None:
    schedule = jt.remat_chain.ChainSchedule.parse("F_ck 1\nF_all 2\n\nB 2; D 0")
    assert [str(item) for item in schedule.operations] == ["F_ck 1", "F_all 2", "B 2", "D 0"]


def test_a_chain_is_a_table_and_back() -> None:
    table = UNIFORM.to_dataframe()
    assert (
        jt.Chain.from_dataframe(table, name="uniform", input_bytes=UNIFORM.input_bytes) == UNIFORM
    )
    # As a file gives it: names in a column, whole numbers as floats, empty cells.
    read = table.reset_index()[["name", "forward_ns", "backward_ns", "output_bytes", "saved_bytes"]]
    read = read.astype(dict.fromkeys(read.columns[1:], "float64"))
    found = jt.Chain.from_dataframe(read, name="uniform", input_bytes=UNIFORM.input_bytes)
    assert found.stages == UNIFORM.stages


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda table: table.drop(columns="saved_bytes"),
            "there is no column saved_bytes",
        ),
        (
            lambda table: table.assign(saved_byte=1),
            "'saved_byte' is no.*write saved_bytes, or",
        ),
        (lambda table: table.assign(forward_ns=1.5), r"stages\[0\].forward_ns: 1.5"),
        (lambda table: table.assign(backward_ns=-1), r"stages\[0\].backward_ns: -1 is negative"),
    ],
)
def test_a_table_that_is_no_chain_is_refused_by_column(change: Any, message: str) -> None:
    with pytest.raises(jt.InputError, match=message):
        jt.Chain.from_dataframe(change(UNIFORM.to_dataframe()), name="a", input_bytes=1)


class Digraph:
    """The part of ``networkx.DiGraph`` that is read."""

    def __init__(self, nodes: dict[Any, dict[str, Any]], edges: list[tuple[Any, Any]]) -> None:
        self._nodes, self._edges = nodes, edges

    def is_directed(self) -> bool:
        return True

    def number_of_nodes(self) -> int:
        return len(self._nodes)

    def nodes(self, data: bool) -> Any:
        assert data
        return self._nodes.items()

    def edges(self) -> Any:
        return self._edges


def made(*, networkx: bool, nodes: dict[Any, dict[str, Any]], edges: list[tuple[Any, Any]]) -> Any:
    if not networkx:
        return Digraph(nodes, edges)
    module = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = module.DiGraph()
    graph.add_nodes_from(nodes.items())
    graph.add_edges_from(edges)
    return graph


@pytest.mark.parametrize("networkx", [False, True])
def test_a_graph_of_networkx_is_read_with_the_fields_of_nodes(networkx: bool) -> None:
    nodes = {
        "loss": {"duration_ns": 1, "output_bytes": 4, "keep": True},
        1: {"duration_ns": 5, "output_bytes": 8, "workspace_bytes": 2},
        "x": {"duration_ns": 0, "output_bytes": 16},
    }
    graph = jt.Graph.from_networkx(
        made(networkx=networkx, nodes=nodes, edges=[("x", 1), (1, "loss"), ("x", "loss")]), name="g"
    )
    assert [node.name for node in graph.nodes] == ["x", "1", "loss"]
    assert set(graph.nodes[2].inputs) == {"x", "1"}
    assert (graph.nodes[1].workspace_bytes, graph.nodes[2].keep) == (2, True)


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ({"a": {"duration_ns": 1}}, [], r"nodes\['a'\]: there is no output_bytes"),
        ({"a": {"duration": 1}}, [], r"'duration' is not a field of a node; write duration_ns, or"),
        ({"a": {"duration_ns": 1, "output_bytes": -1}}, [], r"nodes\['a'\].output_bytes: -1"),
        ({1: {}, "1": {}}, [], "two nodes have the same name"),
        (
            {name: {"duration_ns": 1, "output_bytes": 1} for name in "ab"},
            [("a", "b"), ("b", "a")],
            "edges: the edges form a cycle",
        ),
    ],
)
def test_a_graph_of_networkx_that_is_no_step_is_refused_by_node(
    nodes: dict[Any, dict[str, Any]], edges: list[tuple[Any, Any]], message: str
) -> None:
    with pytest.raises(jt.InputError, match=message):
        jt.Graph.from_networkx(made(networkx=False, nodes=nodes, edges=edges), name="g")


def test_a_model_is_exported_with_its_size(tmp_path: Path) -> None:
    graph = jt.generate.LayeredGraphs(nodes=8).draw(seed=1)
    problem = jt.RematGraph(graph, memory="80%")
    written = jt.export(problem, tmp_path / "model.lp", "checkmate")
    assert (written.formulation, written.products) == ("checkmate", 0)
    assert (tmp_path / "model.lp").stat().st_size > 0
    assert min(written.rows, written.columns, written.nonzeros) > 0
    with pytest.raises(jt.InputError, match="write checkmate or checkmate-unpart"):
        jt.export(problem, tmp_path / "other.lp", "checkm")
    with pytest.raises(jt.InputError, match="is not written as a model file"):
        jt.export(PROBLEM, tmp_path / "other.lp")
    assert [path.name for path in tmp_path.iterdir()] == ["model.lp"]


def test_objects_are_pickled_and_say_in_one_line_what_they_are() -> None:
    result = jt.solve(PROBLEM, "rotor-exact")
    names = ("bert-x8", "mlp-26", "resnet18-graph-b8-64-cpu")
    for item in (
        *map(jt.load, names),
        PROBLEM,
        PROBLEM.instance,
        result,
        result.schedule,
        result.replay,
        jt.bound(PROBLEM),
    ):
        assert pickle.loads(pickle.dumps(item)) == item
        assert len(repr(item)) < 250
        assert "\n" not in repr(item)


def test_a_table_of_results_is_drawn_as_the_results_are() -> None:
    problems = [jt.RematChain(UNIFORM, memory=f"{share}%") for share in (10, 60, 100)]
    frame = jt.compare(problems)
    figure = jt.plot_compare(frame)
    assert {line.get_label() for line in figure.axes[0].lines} >= {"rotor-exact", "periodic"}
    (run,) = [
        run for run in compared_runs(frame) if run.method == "rotor" and run.memory_bytes == 1
    ]
    assert run.empty_class is not None
    assert run.time_ns is None
    with pytest.raises(jt.InputError, match="the table has no column time_ns"):
        jt.plot_compare(frame.drop(columns="time_ns"))
    assert isinstance(frame, pd.DataFrame)
