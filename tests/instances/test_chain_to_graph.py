"""The graph of a chain, and the mapping of schedules that its proof gives.

The mapping is written here from the words of the proof; it shares nothing with `chain_to_graph`
but the names of the nodes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison.instances.chain import Chain
from jettison.instances.chain_to_graph import chain_to_graph, graph_memory_bytes
from jettison.instances.errors import InputError
from jettison.instances.graph import Graph
from jettison.instances.provenance import Provenance
from jettison.schedules.chain_schedule import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.schedules.graph_schedule import GraphOperation, GraphOperationKind, GraphSchedule
from tests.tiny import chain_of

Operation = tuple[str, int]


# Store-all: F1 3+5+1 = 9, F2 8+4+2 = 14; B2 12 + 0 + 2 + 1 = 15, B1 8 + 2 + 3 + 6 = 19.
TWO = chain_of(3, (7, 2, 5, 1, 6), (4, 0, 4, 2, 1))


def test_the_nodes_of_two_stages_are_worked_out_by_hand() -> None:
    graph = chain_to_graph(TWO)
    reserve = 19
    assert [
        (node.name, node.duration_ns, node.output_bytes, node.workspace_bytes, node.inputs)
        for node in graph.nodes
    ] == [
        # a0 3 + a1 2 + of 1.
        ("F1 s1", 7, reserve, 6, ()),
        # ā1 5 - a1 2; a0 is counted in the workspace.
        ("S1 s1", 0, 3, 6, ("F1 s1",)),
        ("A1 s1", 0, 2, 4, ("F1 s1",)),
        # B2 writes 2 and has an overhead of 1, so that e = 3 does not limit of = 2.
        ("F2 s2", 4, reserve, 5, ("A1 s1",)),
        # a1 2 + ā2 4.
        ("S2 s2", 0, 6, 5, ("F2 s2",)),
        # The reserve, a0 3, a2 0 and ob.
        ("B2 s2", 1, 2, reserve + 4, ("S2 s2",)),
        ("B1 s1", 1, 3, reserve + 11, ("S1 s1", "B2 s2")),
    ]
    assert [node.name for node in graph.nodes if node.backward] == ["B2 s2", "B1 s1"]


def test_a_gradient_that_the_overhead_holds_is_not_counted_twice() -> None:
    chain = replace(TWO, backward_overhead_holds_gradient=True)
    # Store-all: F2 14, B2 12 + 1 = 13, B1 8 + 2 + 6 = 16.
    assert graph_memory_bytes(chain, 0) == 16
    workspaces = {node.name: node.workspace_bytes for node in chain_to_graph(chain).nodes}
    # B2 writes 2 bytes that its overhead of 1 holds: 16 + 3 + 0 + 1 - 2; B1 16 + 3 + 2 + 6 - 3.
    assert workspaces["B2 s2"] == 18
    assert workspaces["B1 s1"] == 24
    # e = 1 limits the overhead of 2: a0 3 + a2 0 + 1.
    assert workspaces["S2 s2"] == 4


def test_the_memory_limit_grows_by_the_peak_of_the_chain() -> None:
    assert graph_memory_bytes(TWO, 100) == 119


def test_long_stage_names_are_cut_and_stay_apart() -> None:
    name = "x" * 199
    stages = (replace(TWO.stages[0], name=name + "1"), replace(TWO.stages[1], name=name + "2"))
    graph = chain_to_graph(replace(TWO, stages=stages))
    assert max(len(node.name) for node in graph.nodes) == 200


def test_the_origin_of_the_chain_is_kept() -> None:
    chain = replace(TWO, provenance=Provenance(source="torch-profile", device="Some GPU"))
    provenance = chain_to_graph(chain).provenance
    assert (provenance.source, provenance.device) == ("derived", "Some GPU")
    assert "torch-profile" in str(provenance.note)


def test_a_chain_too_large_for_twice_its_peak_is_refused() -> None:
    # B1 takes 2**52 for a0 and as much for its gradient.
    with pytest.raises(InputError, match=r"^stages: the no-saving peak of 9007199254740992 bytes"):
        chain_to_graph(chain_of(2**52, (1, 0, 0, 0, 0)))


SIZES = st.integers(0, 9)


@st.composite
def chains(draw: st.DrawFn, longest: int = 5) -> Chain:
    stages = []
    count = draw(st.integers(1, longest))
    for number in range(1, count + 1):
        output = draw(SIZES) if number < count else 0
        stages.append((draw(SIZES), output, output + draw(SIZES), draw(SIZES), draw(SIZES)))
    return chain_of(draw(SIZES), *stages, holds_gradient=draw(st.booleans()))


@settings(deadline=None)
@given(chains())
def test_base_time_and_no_recomputation_peak_carry_over(chain: Chain) -> None:
    graph = chain_to_graph(chain)
    assert len(graph) == 4 * len(chain) - 1
    assert graph.base_time_ns == chain.base_time_ns
    loss = chain.stages[-1]
    backward_need = chain.backward_output_bytes(len(chain)) + loss.backward_overhead_bytes
    if len(chain) == 1 or loss.forward_overhead_bytes <= backward_need:
        assert graph.store_all_peak_bytes == 2 * chain.store_all_peak_bytes
    else:
        assert graph.store_all_peak_bytes <= 2 * chain.store_all_peak_bytes


def _chain_schedule(operations: Iterable[Operation]) -> ChainSchedule:
    return ChainSchedule(
        tuple(ChainOperation(ChainOperationKind(kind), number) for kind, number in operations)
    )


class _Mapping:
    """Turns a valid sequence of operations on a chain into a schedule of its graph."""

    def __init__(self, chain: Chain, graph: Graph, operations: list[Operation]) -> None:
        self._count = len(chain)
        self._position = {node.name.split()[0]: place for place, node in enumerate(graph.nodes)}
        self._operations = operations
        self._resident: set[str] = set()
        self._found: list[GraphOperation] = []
        self._final_run: dict[int, int] = {}
        self._left_out: dict[int, int] = {}
        for number in range(1, self._count + 1):
            backward = operations.index(("B", number))
            last_saving = self._last(("F_all", number), backward)
            dropping = self._last(("F_none", number), backward)
            regular = dropping < last_saving
            self._final_run[number] = last_saving if regular else backward
            self._left_out[number] = -1 if regular else dropping

    def _last(self, operation: Operation, before: int) -> int:
        places = [n for n, found in enumerate(self._operations[:before]) if found == operation]
        return places[-1] if places else -1

    def _compute(self, name: str) -> None:
        self._found.append(GraphOperation(GraphOperationKind.COMPUTE, self._position[name]))
        self._resident.add(name)

    def _free(self, *names: str) -> None:
        for name in names:
            if name in self._resident:
                self._found.append(GraphOperation(GraphOperationKind.FREE, self._position[name]))
                self._resident.remove(name)

    def _run(self, place: int, number: int, *, final: bool) -> None:
        """Run F and what is made of its value, if any of it is needed."""
        activation = f"A{number}"
        needed = (
            number < self._count
            and activation not in self._resident
            and place < self._final_run[number + 1]
        )
        if final or needed:
            self._compute(f"F{number}")
            if final:
                self._free(f"A{number - 1}")
                self._compute(f"S{number}")
            if needed:
                self._compute(activation)
            self._free(f"F{number}")

    def schedule(self) -> GraphSchedule:
        for place, (kind, number) in enumerate(self._operations):
            final = self._final_run[number] == place
            if kind == "B":
                if final:
                    self._run(place, number, final=True)
                self._compute(f"B{number}")
                self._free(f"S{number}", f"B{number + 1}")
            elif place <= self._final_run[number] and place != self._left_out[number]:
                self._run(place, number, final=final)
            if kind == "F_none":
                self._free(f"A{number - 1}")
        self._free("B1")
        return GraphSchedule(tuple(self._found))


def _random_operations(chain: Chain, rng: random.Random, length: int) -> list[Operation]:
    """Walk at random through the valid sequences, then finish with saving everything."""
    count = len(chain)
    plain, saved, gradient = {0}, set[int](), count
    operations: list[Operation] = []
    while gradient:
        present = plain | saved
        wandering = len(operations) < length
        choices: list[Operation] = []
        if gradient in saved and gradient - 1 in present:
            choices += [("B", gradient)] * (2 if wandering else 1)
        for number in range(1, gradient + 1):
            if number - 1 in present and (wandering or number not in saved):
                choices += [("F_all", number)] * 2
                if wandering:
                    choices.append(("F_ck", number))
                    # The input of the chain cannot be had again.
                    choices += [("F_none", number)] * (2 if number > 1 else 0)
        kind, number = rng.choice(choices)
        operations.append((kind, number))
        if kind == "B":
            saved.discard(number)
            plain.discard(number - 1)
            gradient -= 1
            continue
        if kind == "F_all":
            plain.discard(number)
            saved.add(number)
        elif number not in saved:
            plain.add(number)
        if kind == "F_none":
            plain.discard(number - 1)
            saved.discard(number - 1)
    return operations


def _assert_maps(chain: Chain, operations: list[Operation]) -> None:
    graph = chain_to_graph(chain)
    before = _chain_schedule(operations).replay(chain)
    after = _Mapping(chain, graph, operations).schedule().replay(graph)
    assert before.valid
    assert after.valid, after.violations
    assert after.time_ns <= before.time_ns
    assert after.peak_bytes <= graph_memory_bytes(chain, before.peak_bytes)


@settings(deadline=None, max_examples=400)
@given(chains(), st.integers(0, 2**32), st.integers(0, 30))
def test_every_schedule_of_the_chain_is_one_of_the_graph(
    chain: Chain, seed: int, length: int
) -> None:
    _assert_maps(chain, _random_operations(chain, random.Random(seed), length))


# Save stage 2, drop its input, do the loss, and get the input again for the backward of stage 2:
# an irregular stage in the words of the proof.
IRREGULAR: list[Operation] = [
    *[("F_ck", 1), ("F_all", 2), ("F_none", 2), ("F_all", 3), ("B", 3)],
    *[("F_all", 1), ("B", 2), ("B", 1)],
]


def test_an_input_that_is_dropped_below_a_saved_stage_maps_to_a_later_run() -> None:
    chain = chain_of(1, (5, 8, 8, 0, 0), (3, 1, 2, 0, 0), (1, 0, 0, 9, 9))
    _assert_maps(chain, IRREGULAR)


def test_a_large_forward_overhead_must_be_limited_by_what_the_backward_needs() -> None:
    # F2 has an overhead of 30 that fits before F3 saves its 25 bytes, and not after; the graph
    # runs F2 once more just before B2, where only e = a1 8 + ob 0 is sure to fit.
    chain = chain_of(1, (5, 8, 9, 0, 0), (3, 1, 2, 30, 0), (1, 0, 25, 0, 0))
    _assert_maps(chain, IRREGULAR)
    workspaces = {node.name: node.workspace_bytes for node in chain_to_graph(chain).nodes}
    # a0 1 + min(a2 1 + of 30, ā2 2 + e 8), and a0 1 + a2 1 + min(of 30, e 8).
    assert (workspaces["F2 s2"], workspaces["S2 s2"]) == (11, 10)
