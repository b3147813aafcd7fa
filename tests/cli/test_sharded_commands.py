"""Sharded graphs on the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, cast

import highspy
import pytest

from jettison import ShardedGraph, load_schedule, save
from jettison.remat_sharding import Resharding, Role, ShardedSchedule
from tests.cli.terminal import Terminal
from tests.remat_sharding.oracles.brute_force import best_reduced_plan, best_staged_plan
from tests.remat_sharding.tiny_sharded import LAYERS, TWO_LAYERS, operator


@pytest.fixture
def with_graph(terminal: Terminal) -> Terminal:
    save(TWO_LAYERS, terminal.folder / "two.json")
    return terminal


def test_a_plan_is_solved_saved_drawn_and_written_as_a_table(with_graph: Terminal) -> None:
    folder = with_graph.folder
    words = "solve remat-sharding two.json --memory 20B --gap 0 --json"
    files = "-o plan.json --plot memory.png --grid plan.png --table plan.csv"
    status, printed, _ = with_graph.run(f"{words} {files}")
    assert status == 0
    answer = json.loads(printed)
    assert answer["status"].startswith("optimal")
    assert answer["time_ns"] == answer["lower_bound_ns"]
    plan = load_schedule(folder / "plan.json", TWO_LAYERS)
    assert isinstance(plan, ShardedSchedule)
    assert plan.replay(TWO_LAYERS, 20).time_ns == answer["time_ns"]
    assert (folder / "memory.png").stat().st_size > 0
    assert (folder / "plan.png").stat().st_size > 0
    head, *rows = (folder / "plan.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith("operator,role,operation,scope,strategy,computations,compute_ns")
    assert len(rows) == len(TWO_LAYERS)


def test_too_little_memory_is_proved_with_the_operator_named(with_graph: Terminal) -> None:
    status, printed, _ = with_graph.run("solve remat-sharding two.json --memory 15B --json")
    answer = json.loads(printed)
    assert status == 3
    assert (answer["least_memory_bytes"], answer["needed_by"]) == (16, "g1")


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        # dot, act, top are 2, 3, 4, and loss and grad 5 and 6; act follows dot.
        ("", ("one_2:", "stored_3:", "inputs_3_4:", "memory_6:")),
        ("--formulation kiwi-reduced-printed", ("eq21_2:", "eq31_3:")),
        ("--formulation kiwi-elementwise", ("stored_3:", "memory_2:", "memory_6_3:")),
        ("--formulation kiwi-full", ("eq21_2:", "eq13_6_2:")),
    ],
    ids=["compact", "printed", "elementwise", "full"],
)
def test_export_writes_a_model_with_the_optimum_of_its_problem(
    terminal: Terminal, words: str, rows: tuple[str, ...]
) -> None:
    save(LAYERS, terminal.folder / "layers.json")
    for file in ("model.lp", "model.mps.gz"):
        path = str(terminal.folder / file)
        status, _, error = terminal.run(
            f"export remat-sharding layers.json --memory 15B -o {path} {words}"
        )
        assert status == 0, error
        assert "rows" in error
    written = (terminal.folder / "model.lp").read_text(encoding="utf-8")
    for row in rows:
        assert row in written
    plain = terminal.folder / "model.mps"
    plain.write_bytes(gzip.decompress((terminal.folder / "model.mps.gz").read_bytes()))
    # One operator is computed again, in the reduced and in the full problem.
    plan = best_staged_plan(LAYERS, 15)
    assert plan == best_reduced_plan(LAYERS, 15)
    assert plan is not None
    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    for path in (terminal.folder / "model.lp", plain):
        assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
        highs.run()
        # Times of at most 1024 ns are counted as they are.
        assert highs.getInfo().objective_function_value == pytest.approx(plan.time_ns)


@pytest.mark.parametrize("formulation", ["kiwi-reduced-quadratic", "kiwi-full-quadratic"])
@pytest.mark.parametrize("file", ["model.lp", "model.mps", "model.nl"])
def test_export_writes_a_quadratic_model_with_the_optimum_of_its_problem(
    terminal: Terminal, formulation: str, file: str
) -> None:
    pyscipopt = pytest.importorskip("pyscipopt", reason="SCIP reads the files back")
    save(LAYERS, terminal.folder / "layers.json")
    path = terminal.folder / file
    words = f"export remat-sharding layers.json --memory 15B --formulation {formulation} -o {path}"
    status, _, error = terminal.run(words)
    assert status == 0, error
    assert "products" in error
    plan = best_staged_plan(LAYERS, 15)
    assert plan is not None
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.readProblem(str(path))
    scip.setParam("limits/gap", 0)
    scip.optimize()
    assert scip.getStatus() == "optimal"
    # Times of at most 1024 ns are counted as they are.
    assert scip.getObjVal() == pytest.approx(plan.time_ns)


def test_a_linear_model_is_no_nl_file(with_graph: Terminal) -> None:
    words = "export remat-sharding two.json --memory 20B --formulation kiwi-reduced -o model.nl"
    assert "end it in .mps, .lp, .mps.gz, .lp.gz" in with_graph.error(words)


def test_a_formulation_of_another_problem_is_bad_input(with_graph: Terminal) -> None:
    words = "export remat-sharding two.json --memory 20B -o model.lp"
    assert (
        "'checkmate' is not a formulation of remat-sharding; choose one of kiwi-reduced"
        in with_graph.error(f"{words} --formulation checkmate")
    )


@pytest.mark.parametrize("method", ["exact", "kiwi-reduced"])
def test_forbidden_pairs_that_leave_no_choice_are_infeasible_in_any_memory(
    terminal: Terminal, method: str
) -> None:
    # b has to read a's second strategy, which x's only one cannot be resharded for.
    graph = ShardedGraph(
        "apart",
        (
            operator("x", Role.INPUT, ((0, 1),)),
            operator("a", Role.FORWARD, ((1, 1), (1, 1)), ("x",)),
            operator("b", Role.FORWARD, ((1, 1),), ("a",)),
        ),
        (Resharding("x", "a", ((0, None),)), Resharding("a", "b", ((None,), (0,)))),
    )
    save(graph, terminal.folder / "apart.json")
    words = f"solve remat-sharding apart.json --memory 1GiB --method {method}"
    status, printed, _ = terminal.run(words)
    assert status == 3
    assert "none suffices: forbidden strategies and pairs leave no choice" in printed
    assert "without a choice" in printed


def test_an_operator_all_of_whose_strategies_are_forbidden_is_bad_input(terminal: Terminal) -> None:
    document = TWO_LAYERS.to_json()
    lost = cast("list[Any]", document["operators"])[3]
    for strategy in lost["strategies"]:
        strategy["compute_ns"] = None
    (terminal.folder / "lost.json").write_text(json.dumps(document), encoding="utf-8")
    err = terminal.error("solve remat-sharding lost.json --memory 1GiB")
    assert "'h1' has no strategy that is allowed" in err


def test_methods_are_compared_on_several_memories(with_graph: Terminal) -> None:
    printed = with_graph.output("compare remat-sharding two.json --memory 80%,100% --json")
    methods = {item["method"] for item in json.loads(printed)["results"]}
    assert {"exact", "kiwi-reduced", "kiwi-full", "alpa", "alpa-recompute-all"} <= methods


def test_a_plan_is_judged_by_the_bound(with_graph: Terminal) -> None:
    words = "solve remat-sharding two.json --memory 100% --method alpa"
    with_graph.output(f"{words} -o plan.json")
    status, printed, _ = with_graph.run(
        "bound remat-sharding two.json --memory 100% --schedule plan.json --json"
    )
    verdict = json.loads(printed)
    assert status == 0
    assert verdict["status"] == "valid"
    assert verdict["lower_bound_ns"] <= verdict["time_ns"]


def test_the_graph_is_shown(with_graph: Terminal) -> None:
    facts = with_graph.json("show two.json")
    assert (facts["operators"], facts["parameters"], facts["choices"]) == (9, 2, 8)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("remat-graph two.json --memory 20B", "give a graph or a chain to remat-graph"),
        ("remat-sharding vgg16-b2-224-cpu --memory 20B", "give a sharded-graph to remat-sharding"),
        ("remat-sharding two.json --memory alpha=0.5", "defined for chains only"),
        ("remat-chain vgg16-b2-224-cpu --memory 9GiB --table t.csv", "no table"),
    ],
)
def test_bad_commands_say_what_would_be_right(
    with_graph: Terminal, words: str, message: str
) -> None:
    told = with_graph.error(f"solve {words}")
    assert message in " ".join(told.split())


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_an_operator_without_an_allowed_strategy_is_named(terminal: Terminal) -> None:
    document = json.loads(json.dumps(TWO_LAYERS.to_json()))
    for strategy in document["operators"][3]["strategies"]:
        strategy["compute_ns"] = None
    (terminal.folder / "bad.json").write_text(json.dumps(document), encoding="utf-8")
    told = terminal.error("solve remat-sharding bad.json --memory 20B")
    assert "'h1' has no strategy that is allowed" in " ".join(told.split())


def test_a_cost_that_is_no_number_is_refused(with_graph: Terminal) -> None:
    changed(with_graph.folder / "two.json", '"compute_ns": 8', '"compute_ns": NaN')
    told = with_graph.error("show two.json")
    assert "NaN is not a number" in " ".join(told.split())
