"""The graph of a chain, and the mapping of schedules that its proof gives.

The mapping is written here from the words of the proof; it shares nothing with `chain_to_graph`
but the names of the nodes.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Chain, Graph, InputError
from jettison.core import Provenance
from jettison.instances.remat_graph.chain_to_graph import graph_memory_bytes
from jettison.remat_chain import ChainSchedule
from jettison.remat_graph import GraphOperation, GraphOperationKind, GraphSchedule, chain_to_graph
from tests.drawing.chains import chain_of, chains
from tests.remat_chain.random_sequences import random_sequence_with_drops

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
        # a0 3 + a2 0 + of 2.
        ("F2 s2", 4, reserve, 5, ("A1 s1",)),
        # ā2, of which a2 is nothing; its input has to be there.
        ("S2 s2", 0, 4, 5, ("A1 s1", "F2 s2")),
        # The reserve, a0 3 and ob.
        ("B2 s2", 1, 2, reserve + 4, ("S2 s2", "A1 s1")),
        ("B1 s1", 1, 3, reserve + 9, ("S1 s1", "A1 s1", "B2 s2")),
    ]
    assert [node.name for node in graph.nodes if node.backward] == ["B2 s2", "B1 s1"]


def test_a_gradient_that_the_overhead_holds_is_not_counted_twice() -> None:
    chain = replace(TWO, backward_overhead_holds_gradient=True)
    # Store-all: F2 14, B2 12 + 1 = 13, B1 8 + 2 + 6 = 16.
    assert graph_memory_bytes(chain, 0) == 16
    workspaces = {node.name: node.workspace_bytes for node in chain_to_graph(chain).nodes}
    # B2 writes 2 bytes that its overhead of 1 holds: 16 + 3 + 1 - 2; B1 16 + 3 + 6 - 3.
    assert workspaces["B2 s2"] == 18
    assert workspaces["B1 s1"] == 22


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


@given(chains())
def test_base_time_and_no_recomputation_peak_carry_over(chain: Chain) -> None:
    graph = chain_to_graph(chain)
    assert len(graph) == 4 * len(chain) - 1
    assert graph.base_time_ns == chain.base_time_ns
    assert graph.store_all_peak_bytes == 2 * chain.store_all_peak_bytes


class _Mapping:
    """Turns a valid sequence of operations on a chain into a schedule of its graph."""

    def __init__(self, chain: Chain, graph: Graph, operations: list[Operation]) -> None:
        self._position = {node.name.split()[0]: place for place, node in enumerate(graph.nodes)}
        self._operations = operations
        self._resident: set[str] = set()
        self._found: list[GraphOperation] = []

    def _compute(self, name: str) -> None:
        # The loss has no A, and what is there is not computed again.
        if name in self._position and name not in self._resident:
            self._found.append(GraphOperation(GraphOperationKind.COMPUTE, self._position[name]))
            self._resident.add(name)

    def _free(self, *names: str) -> None:
        for name in names:
            if name in self._resident:
                self._found.append(GraphOperation(GraphOperationKind.FREE, self._position[name]))
                self._resident.remove(name)

    def schedule(self) -> GraphSchedule:
        saved: set[int] = set()
        for kind, number in self._operations:
            if kind == "B":
                self._compute(f"B{number}")
                self._free(f"S{number}", f"A{number}", f"B{number + 1}")
                saved.discard(number)
                if number - 1 not in saved:
                    self._free(f"A{number - 1}")
                continue
            if kind == "D":
                self._free(f"S{number}", f"A{number}")
                saved.discard(number)
                continue
            self._compute(f"F{number}")
            if kind == "F_all":
                self._compute(f"S{number}")
                saved.add(number)
            self._compute(f"A{number}")
            self._free(f"F{number}")
            if kind == "F_none":
                self._free(f"S{number - 1}", f"A{number - 1}")
                saved.discard(number - 1)
        self._free("B1")
        return GraphSchedule(tuple(self._found))


@settings(max_examples=200)
@given(chains(), st.integers(0, 2**32), st.booleans())
def test_every_schedule_of_the_chain_is_one_of_the_graph(
    chain: Chain, seed: int, orderly: bool
) -> None:
    walk = random_sequence_with_drops(len(chain), random.Random(seed), orderly=orderly)
    operations = [(str(item.kind), item.stage) for item in walk]
    graph = chain_to_graph(chain)
    before = ChainSchedule(tuple(walk)).replay(chain)
    after = _Mapping(chain, graph, operations).schedule().replay(graph)
    assert before.valid
    assert after.valid, after.violations
    assert after.time_ns == before.time_ns
    # What is computed to where it is already takes more memory in the chain only.
    assert after.peak_bytes <= graph_memory_bytes(chain, before.peak_bytes)
    if not _computes_what_is_there(operations):
        assert after.peak_bytes == graph_memory_bytes(chain, before.peak_bytes)


def _computes_what_is_there(operations: list[Operation]) -> bool:
    """Tell whether a forward runs whose output, or a part of it, is in memory."""
    there: dict[int, str] = {}
    for kind, number in operations:
        if kind.startswith("F"):
            if number in there:
                return True
            there[number] = kind
        if kind in {"D", "B"}:
            there.pop(number, None)
        if kind == "F_none" or (kind == "B" and there.get(number - 1) != "F_all"):
            there.pop(number - 1, None)
    return False
