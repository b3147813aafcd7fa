from __future__ import annotations

import json
from pathlib import Path

import pytest

from jettison import Card, RematGraph, solve
from jettison.instances.core.errors import InputError
from jettison.instances.importers.dtr_graph import import_dtr_log
from jettison.instances.importers.dtr_log import read_dtr_log
from jettison.instances.remat_graph.graph import Graph

# Constants of 40 and 2 bytes; conv makes y (10), norm of y makes z, mean and one that nothing reads
# (10, 3, 5), relu_ writes z, of which flat is a view. Backward: dy of flat, mean and y; dw (40), of
# dy and a constant, is called gradient at the end. All other names are released.
SAMPLE = Path(__file__).parent / "samples" / "dtr-step.log"
CONSTANTS = 42


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "step.log"


def test_the_graph_is_worked_out_by_hand() -> None:
    assert [
        (node.name, node.duration_ns, node.output_bytes, node.inputs, node.workspace_bytes)
        for node in import_dtr_log(SAMPLE).nodes
    ] == [
        ("conv 1", 700, 10, (), 0),
        # z and mean; the third result is there while it runs.
        ("norm 2", 300, 0, ("conv 1",), 18),
        ("norm 2 result 1", 0, 10, ("norm 2",), 0),
        ("norm 2 result 2", 0, 3, ("norm 2",), 0),
        # A new value; the view of it takes neither time nor memory.
        ("relu_ 3", 50, 10, ("norm 2 result 1",), 0),
        ("norm_backward 4", 400, 10, ("relu_ 3", "norm 2 result 2", "conv 1"), 0),
        ("conv_backward 5", 900, 40, ("norm_backward 4",), 0),
    ]


def test_what_has_a_name_at_the_end_is_kept_and_the_pass_is_known() -> None:
    nodes = import_dtr_log(SAMPLE).nodes
    assert [node.name for node in nodes if node.keep] == ["conv_backward 5"]
    assert [node.name for node in nodes if node.backward] == ["norm_backward 4", "conv_backward 5"]
    assert [node.name for node in nodes if node.result_of] == [
        "norm 2 result 1",
        "norm 2 result 2",
    ]
    assert [node.name for node in nodes if not node.has_value] == ["norm 2"]


def test_the_peak_of_the_logged_program_is_known() -> None:
    # y, z, mean and the new z: 33. dy and dw: 50, with the constants 92.
    step = read_dtr_log(SAMPLE.read_text(encoding="utf-8"))
    assert (step.peak_bytes, step.constant_bytes) == (92, CONSTANTS)
    graph = import_dtr_log(SAMPLE)
    assert graph.store_all_peak_bytes == 50
    assert graph.resident_bytes == CONSTANTS
    assert "peak at 92 bytes" in str(graph.provenance.note)
    assert graph.provenance.source == "imported"


def _call(name: str, arguments: list[str], *results: str | tuple[str, int], time: int = 1) -> str:
    """Write a call; each result has 4 bytes, or is a view of an argument."""
    pairs = [(result, -1) if isinstance(result, str) else result for result in results]
    lines: list[dict[str, object]] = [
        {
            "INSTRUCTION": "CALL",
            "NAME": name,
            "ARGS": arguments,
            "RESULT": [result for result, _ in pairs],
            "TIME": time,
        }
    ]
    for result, view in pairs:
        lines.append({"INSTRUCTION": "MEMORY", "NAME": result, "MEMORY": 4})
        lines.append({"INSTRUCTION": "ALIAS", "NAME": result, "ALIAS": view})
    return "\n".join(json.dumps(line) for line in lines)


def _line(instruction: str, **fields: object) -> str:
    return json.dumps({"INSTRUCTION": instruction, **fields})


def _constant(name: str, size: int = 7) -> str:
    return "\n".join([_line("CONSTANT", NAME=name), _line("MEMORY", NAME=name, MEMORY=size)])


def _read(log: Path, *lines: str) -> Graph:
    log.write_text("\n".join(lines), encoding="utf-8")
    return import_dtr_log(log)


def test_numbers_may_be_numbers_and_lines_may_be_empty(log: Path) -> None:
    graph = _read(log, "", _call("a", [], "x", time=5), "", _call("b", ["x"], "y"), "")
    assert [(node.name, node.duration_ns, node.output_bytes) for node in graph.nodes] == [
        ("a 1", 5, 4),
        ("b 2", 1, 4),
    ]


def test_a_mutated_constant_is_a_value_and_the_constant_stays(log: Path) -> None:
    mutate = _line("MUTATE", NAME="add_", ARGS=["x", "c"], MUTATE=[1], TIME=3)
    graph = _read(log, _constant("c"), _call("a", [], "x"), mutate, _call("b", ["c"], "y"))
    update, after = graph.nodes[1:]
    assert (update.name, update.output_bytes, update.inputs) == ("add_ 2", 7, ("a 1",))
    assert update.keep
    assert update.workspace_bytes == 0
    assert graph.resident_bytes == 7
    assert after.inputs == ("add_ 2",)


def test_a_copy_keeps_the_value_that_was_mutated_under_another_name(log: Path) -> None:
    graph = _read(
        log,
        _call("a", [], "x"),
        _line("COPY", SRC="x", DST="old"),
        _line("MUTATE", NAME="relu_", ARGS=["x"], MUTATE=[0], TIME=3),
        _call("b", ["old", "x"], "y"),
    )
    assert graph.nodes[2].inputs == ("a 1", "relu_ 2")


def test_a_result_that_is_kept_leaves_the_other_one_to_be_freed(log: Path) -> None:
    # x is kept, y is read and released.
    lines = [_call("a", [], "x", "y"), _call("b", ["y"], "z"), _line("RELEASE", NAME="y")]
    graph = _read(log, *lines)
    assert [(node.name, node.keep, node.output_bytes) for node in graph.nodes] == [
        ("a 1", False, 0),
        ("a 1 result 1", True, 4),
        ("a 1 result 2", False, 4),
        ("b 2", True, 4),
    ]
    assert graph.nodes[3].inputs == ("a 1 result 2",)


def test_an_operator_may_have_views_besides_new_results_or_no_results(log: Path) -> None:
    lines = [_call("a", [], "x"), _call("b", ["x"], ("v", 0), "y"), _call("c", ["v", "y"])]
    graph = _read(log, *lines)
    assert [(node.name, node.output_bytes, node.inputs) for node in graph.nodes] == [
        ("a 1", 4, ()),
        ("b 2", 4, ("a 1",)),
        ("c 3", 0, ("a 1", "b 2")),
    ]


def test_a_name_that_is_copied_to_itself_keeps_its_value(log: Path) -> None:
    same = _line("COPY_FROM", SRC="x", DST="x")
    assert _read(log, _call("a", [], "x"), same, _call("b", ["x"], "y")).nodes[0].keep


X = _call("a", [], "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "CALL: no operator ran; give the log of a training step"),
        (_constant("c"), "CALL: no operator ran; give the log of a training step"),
        ("{", "line 1: "),
        ("7", "line 1: '7' is not an instruction; write one object a line"),
        (_line("JUMP"), "line 1: INSTRUCTION: 'JUMP' is not known; write CONSTANT, CALL"),
        (_line("MEMORY", NAME="x", MEMORY=4), "line 1: INSTRUCTION: 'MEMORY' is not known; write"),
        (
            _line("COPY", SRC="x", DST="y"),
            "line 1: SRC: 'x' is not a name that is in use; give the log from",
        ),
        (f"{X}\n{_line('COPY', SRC='x')}", "line 4: DST: the field is missing; write a name"),
        (f"{X}\n{_line('COPY', SRC='x', DST='x')}", "line 4: DST: 'x' is in use; release a name"),
        (f"{X}\n{X}", "line 4: RESULT: 'x' is in use; release a name before it is reused"),
        (
            _line("RELEASE", NAME="x"),
            "line 1: NAME: 'x' is not a name that is in use; give the log",
        ),
        (
            _call("b", ["x"], "y"),
            "line 1: ARGS: 'x' is not a name that is in use; give the log from",
        ),
        (_call("b", [], ("y", 0)), "line 1: RESULT: 'y' is a view of argument 0; write a position"),
        (
            _call("b", [], ("y", -2)),
            "line 3: ALIAS: -2 is not an argument; write a position, or -1",
        ),
        (_call("b", [], "y", time=-1), "line 1: TIME: -1 is negative; write a whole number of"),
        (X.replace('"TIME": 1', '"TIME": "1.5"'), "line 1: TIME: '1.5' is not a whole number"),
        (X.replace('"MEMORY": 4', '"MEMORY": -4'), "line 2: MEMORY: -4 is negative; write a whole"),
        (X.replace('["x"]', '"x"'), "line 1: RESULT: 'x' is not a list of names; write one"),
        ("\n".join(X.splitlines()[:2]), "line 1: there is no ALIAS of 'x'; write a CALL, then"),
        (
            "\n".join(X.splitlines()[::2]),
            "line 2: 'ALIAS' in place of MEMORY of 'x'; write a CALL, then MEMORY and ALIAS",
        ),
        (_line("CONSTANT", NAME="c"), "line 1: there is no MEMORY of 'c'; write a CALL, then"),
        (
            f"{X}\n{_line('MUTATE', NAME='m', ARGS=['x'], MUTATE=[1], TIME=1)}",
            "line 4: MUTATE: 1 is listed twice or is not an argument; write positions in ARGS",
        ),
        (
            f"{X}\n{_line('MUTATE', NAME='m', ARGS=['x'], MUTATE=[0, 0], TIME=1)}",
            "line 4: MUTATE: 0 is listed twice or is not an argument; write positions in ARGS",
        ),
        (
            "\n".join(2 * [_line("ANNOTATE", ANNOTATION="START")]),
            "line 2: a second START; give the log of one step",
        ),
    ],
)
def test_a_bad_line_is_named_with_file_and_next_step(log: Path, text: str, message: str) -> None:
    log.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as info:
        import_dtr_log(log)
    assert str(info.value).startswith(f"{log}: {message}")
    assert "\n" not in str(info.value)


# Nodes, operators and time, the peak of the program in MiB, and of the graph, with constants.
PUBLISHED = {"resnet32": (549, 270, 291.9, 9595, 9595), "unet": (371, 201, 435.2, 8025, 8020)}


@pytest.mark.parametrize(("name", "expected"), PUBLISHED.items())
def test_a_log_of_the_authors_is_what_it_is_known_for(
    name: str, expected: tuple[int, int, float, int, int], shared_data: Path
) -> None:
    path = shared_data / "dtr" / f"{name}.log"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    graph = import_dtr_log(path)
    assert (
        len(graph),
        len(set(graph.operators)),
        round(graph.base_time_ns / 1e6, 1),
        read_dtr_log(path.read_text(encoding="utf-8")).peak_bytes // 2**20,
        (graph.store_all_peak_bytes + (graph.resident_bytes or 0)) // 2**20,
    ) == expected


@pytest.mark.parametrize(("name", "percent"), [("resnet32", "8.9676"), ("unet", "9.5806")])
def test_half_of_the_peak_costs_what_is_known(name: str, percent: str, shared_data: Path) -> None:
    path = shared_data / "dtr" / f"{name}.log"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    graph = import_dtr_log(path)
    # Of the peak with the constants, which are resident on a card of that size.
    half = (graph.store_all_peak_bytes + (graph.resident_bytes or 0)) // 2
    result = solve(RematGraph(graph, Card(half)), method="exact")
    assert str(result.status) == "optimal-in-order"
    assert result.time_ns is not None
    assert f"{100 * (result.time_ns / graph.base_time_ns - 1):.4f}" == percent
