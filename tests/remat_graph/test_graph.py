from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison import Graph, InputError
from jettison.core import Provenance
from jettison.remat_graph import GraphSchedule, Node


def _node(name: str, *inputs: str, duration_ns: int = 1, output_bytes: int = 1) -> Node:
    return Node(name=name, duration_ns=duration_ns, output_bytes=output_bytes, inputs=inputs)


GRAPH = Graph(
    name="three",
    nodes=(
        Node(name="x", duration_ns=3, output_bytes=4),
        Node(name="y", duration_ns=2, output_bytes=2, inputs=("x",), workspace_bytes=5),
        Node(name="z", duration_ns=1, output_bytes=1, inputs=("y", "x"), backward=True),
    ),
)


def test_inputs_and_users_are_positions_in_ascending_order() -> None:
    assert GRAPH.inputs == ((), (0,), (0, 1))
    assert GRAPH.users == ((1, 2), (2,), ())
    assert GRAPH.position_of == {"x": 0, "y": 1, "z": 2}
    assert len(GRAPH) == 3


def test_the_base_time_computes_every_node_once() -> None:
    # 3 + 2 + 1.
    assert GRAPH.base_time_ns == 6


def test_the_peak_without_recomputation_is_worked_out_by_hand() -> None:
    # x 4, y 4+2 and 5 of workspace = 11, z 4+2+1 = 7.
    assert GRAPH.store_all_peak_bytes == 11


def test_the_least_peak_holds_one_operation_with_its_inputs() -> None:
    # y needs x 4, itself 2, and 5 of workspace.
    assert GRAPH.least_peak_bound_bytes == 11


def test_a_value_without_a_user_is_freed_at_once() -> None:
    # Neither is ever beside the other.
    graph = Graph(name="g", nodes=(_node("a", output_bytes=10), _node("b", output_bytes=7)))
    assert graph.store_all_peak_bytes == 10


def test_a_kept_value_stays_to_the_end() -> None:
    kept = replace(_node("a", output_bytes=10), keep=True)
    graph = Graph(name="g", nodes=(kept, _node("b", output_bytes=7)))
    # 10 + 7 now, while an operation alone needs 10 at most.
    assert graph.store_all_peak_bytes == 17
    assert graph.least_peak_bound_bytes == 10


def test_kept_values_stand_together_at_the_end() -> None:
    nodes = tuple(replace(_node(name, output_bytes=5), keep=True) for name in "abc")
    assert Graph(name="g", nodes=nodes).least_peak_bound_bytes == 15


def test_a_value_is_freed_after_its_last_user() -> None:
    # a 8; b 8+1; c 1+1 after a is gone; d 1+9 after b is gone.
    nodes = (
        _node("a", output_bytes=8),
        _node("b", "a"),
        _node("c", "b"),
        _node("d", "c", output_bytes=9),
    )
    assert Graph(name="g", nodes=nodes).store_all_peak_bytes == 10


@pytest.mark.parametrize("field", ["duration_ns", "output_bytes", "workspace_bytes"])
@pytest.mark.parametrize("value", [-1, 5.0, True, "5", None, float("nan"), 2**53])
def test_a_node_takes_only_integers_in_range(field: str, value: object) -> None:
    unit = "nanoseconds" if field == "duration_ns" else "bytes"
    with pytest.raises(InputError, match=f"^{field}: .*; write a whole number of {unit}, 0 to "):
        replace(GRAPH.nodes[0], **{field: value})  # type: ignore[arg-type]


def test_an_input_that_stands_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"^inputs\[2\]: 'a' stands twice; name each input once$"):
        _node("c", "a", "b", "a")


def test_an_empty_graph_is_refused() -> None:
    with pytest.raises(InputError, match=r"^nodes: the graph is empty; give at least one node$"):
        Graph(name="g", nodes=())


def test_two_nodes_of_one_name_are_refused_with_both_positions() -> None:
    with pytest.raises(InputError, match=r"^nodes\[1\].name: 'a' is also the name of nodes\[0\]"):
        Graph(name="g", nodes=(_node("a"), _node("a")))


def test_an_unknown_input_is_named_with_its_place() -> None:
    with pytest.raises(InputError) as info:
        Graph(name="g", nodes=(_node("a"), _node("b", "a", "q")))
    assert str(info.value) == (
        "nodes[1].inputs[1]: 'q' is not a node of the graph; name a node of this graph"
    )


def _result(**fields: object) -> Node:
    given = {"name": "r", "duration_ns": 0, "output_bytes": 1, "inputs": ("y",), "result_of": "y"}
    return Node(**{**given, **fields})  # type: ignore[arg-type]


def test_a_result_says_which_operator_makes_it() -> None:
    graph = Graph("g", (*GRAPH.nodes, _result()))
    assert graph.operators == (0, 1, 2, 1)
    found = Graph.from_json(json.loads(json.dumps(graph.to_json())))
    assert found == graph
    assert found.nodes[3].result_of == "y"
    unmarked = Graph("g", (*GRAPH.nodes, _result(result_of=None)))
    assert graph.sha256 != unmarked.sha256
    assert all("result_of" not in node.to_json() for node in unmarked.nodes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"duration_ns": 3}, "duration_ns: 3 for a result of 'y'; write 0: the operator has the"),
        ({"workspace_bytes": 3}, "workspace_bytes: 3 for a result of 'y'; write 0"),
        ({"inputs": ("y", "x")}, "inputs: a result of 'y' reads 'y', 'x'; give the operator as "),
        ({"inputs": ()}, "inputs: a result of 'y' reads nothing; give the operator as the only"),
        ({"result_of": "x"}, "inputs: a result of 'x' reads 'y'; give the operator as the only"),
        ({"result_of": ""}, "result_of: '' cannot be a name"),
        ({"result_of": 3}, "result_of: 3 is not text; write 1 to 200"),
    ],
)
def test_a_result_only_reads_its_operator_and_takes_no_time(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        _result(**fields)


def test_a_result_of_a_result_is_refused() -> None:
    second = _result(name="s", inputs=("r",), result_of="r")
    with pytest.raises(
        InputError,
        match=r"^nodes\[4\].result_of: 'r' is a result itself, of 'y'; name the node that runs the",
    ):
        Graph("g", (*GRAPH.nodes, _result(), second))


def test_a_cycle_is_spelt_out() -> None:
    with pytest.raises(
        InputError, match=r"^nodes\[0\].inputs\[0\]: the inputs form a cycle"
    ) as info:
        Graph(name="g", nodes=(_node("a", "b"), _node("b", "a")))
    assert "a -> b -> a" in info.value.problem or "b -> a -> b" in info.value.problem
    assert info.value.expected == "remove one of these inputs"


def test_a_node_that_reads_itself_is_a_cycle() -> None:
    with pytest.raises(InputError, match="form a cycle: a -> a; remove"):
        Graph(name="g", nodes=(_node("a", "a"),))


def test_a_node_before_its_input_is_refused() -> None:
    with pytest.raises(InputError, match=r"'b' comes after 'a', which needs it; list .* topologic"):
        Graph(name="g", nodes=(_node("a", "b"), _node("b")))


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        ((("x",), ("y", "z")), "its blocks differ in length; give blocks that match"),
        ((("x",), ("q",)), "'q' is unknown or stands in two blocks"),
        ((("x",), ("x",)), "'x' is unknown or stands in two blocks"),
    ],
)
def test_repeated_blocks_must_match_and_be_apart(
    groups: tuple[tuple[str, ...], ...], problem: str
) -> None:
    with pytest.raises(InputError, match=rf"^repeated_blocks\[0\]: {problem}"):
        replace(GRAPH, repeated_blocks=(groups,))


def test_durations_that_a_kernel_cannot_add_up_are_refused() -> None:
    # 300 x (2**53 - 1) ns x 300 nodes is more than 2**60.
    nodes = tuple(_node(f"n{n}", duration_ns=2**53 - 1) for n in range(300))
    with pytest.raises(InputError, match=r"^nodes: .* more than 60 bits; check their units"):
        Graph(name="g", nodes=nodes)


def test_json_keeps_everything() -> None:
    graph = Graph(
        name="g",
        nodes=(*GRAPH.nodes, replace(_node("k", "z"), keep=True)),
        repeated_blocks=((("x",), ("y",)),),
        provenance=Provenance(source="synthetic"),
    )
    found = Graph.from_json(json.loads(json.dumps(graph.to_json())))
    assert found == graph
    assert found.provenance == graph.provenance
    assert found.sha256 == graph.sha256


def test_the_hash_is_that_of_the_canonical_text() -> None:
    graph = Graph(name="g", nodes=(_node("a", output_bytes=2),))
    text = (
        '{"format":"jettison","kind":"graph","nodes":[{"backward":false,"duration_ns":1,'
        '"inputs":[],"keep":false,"name":"a","output_bytes":2,"workspace_bytes":0}],"version":1}'
    )
    assert graph.sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_the_hash_ignores_the_name_and_the_provenance() -> None:
    other = replace(GRAPH, name="other", provenance=Provenance(source="synthetic"))
    assert other.sha256 == GRAPH.sha256


@pytest.mark.parametrize(
    "change",
    [
        {"duration_ns": 9},
        {"output_bytes": 9},
        {"workspace_bytes": 9},
        {"backward": False},
        {"keep": True},
        {"inputs": ("y",)},
        {"name": "w"},
    ],
    ids=str,
)
def test_the_hash_changes_with_everything_else(change: dict[str, object]) -> None:
    last = replace(GRAPH.nodes[2], **change)  # type: ignore[arg-type]
    assert replace(GRAPH, nodes=(*GRAPH.nodes[:2], last)).sha256 != GRAPH.sha256


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    sizes = st.integers(0, 20)
    nodes = []
    for number in range(draw(st.integers(1, 7))):
        sources = draw(st.sets(st.integers(0, number - 1))) if number else set()
        nodes.append(
            Node(
                name=str(number),
                duration_ns=draw(sizes),
                output_bytes=draw(sizes),
                inputs=tuple(str(source) for source in sources),
                workspace_bytes=draw(sizes),
                keep=draw(st.booleans()),
            )
        )
    return Graph(name="g", nodes=tuple(nodes))


@given(graphs())
def test_computing_each_node_once_replays_to_the_closed_form(graph: Graph) -> None:
    schedule = GraphSchedule.from_computations(graph, range(len(graph)))
    replay = schedule.replay(graph)
    assert replay.valid
    assert replay.time_ns == graph.base_time_ns
    assert replay.peak_bytes == graph.store_all_peak_bytes
    assert replay.peak_bytes >= graph.least_peak_bound_bytes


def test_the_name_of_an_operator_belongs_to_the_file_and_to_the_hash_where_there_is_one() -> None:
    plain = Graph("g", (Node(name="x", duration_ns=1, output_bytes=1),))
    named = Graph("g", (replace(plain.nodes[0], operator_name="aten.mm.default"),))
    assert "operator_name" not in plain.nodes[0].to_json()
    assert named.nodes[0].to_json()["operator_name"] == "aten.mm.default"
    # Planners answer differently, and studies name an instance by its hash.
    assert named.sha256 != plain.sha256
    assert plain.sha256 == Graph("other", plain.nodes).sha256
    assert Graph.from_json(named.to_json()) == named
    assert Graph.from_json(plain.to_json()).nodes[0].operator_name is None
    with pytest.raises(InputError, match="operator_name: '' cannot be a name"):
        replace(plain.nodes[0], operator_name="")
