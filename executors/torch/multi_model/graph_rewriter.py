"""Graph rewriter of µ-TWO (Section 3.2, 6): the two graphs of a round merged into one sequence.

The order is the multiplexed one of the schedule. Beside the operators of both sub-arrays the merged
graph has nodes for swaps, for recomputations with the operators that they run again, and for
removals; each node says what it waits for, which memory it takes and returns, and which values end
with it. A swap-in has a *prompt*, the operator before which it is issued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.multi_model.step_uses import StepUses
from jettison.instances.multi_model.sub_array import SubArray
from jettison.instances.profilers.torch_graphs.fused.fused_program import FusedProgram
from jettison.instances.profilers.torch_graphs.fused.swapping_run import unmeasured_graph
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import TrainingUnit


@dataclass(frozen=True, slots=True)
class MergedNode:
    """Node of a merged graph.

    Attributes
    ----------
    action, array
        As in the operation of the schedule.
    name
        Operator, or the feature map that is moved or computed again.
    value
        Position of the operator, or of the one that makes the feature map, in the program.
    chain
        Operators that it runs: itself, those of a recomputation in order, or none.
    reads
        Values that these read, made by other operators.
    waits
        Values that have to be in memory before it starts, where copies may bring them.
    idle
        Feature maps that are idle in memory from its end on, and may leave.
    ends
        Values that nothing of the pass needs after it.
    taken_bytes, returned_bytes
        Memory that it takes when it starts, and that returns when it ends.
    prompt
        For a swap-in, the operator before which it is issued; empty at the end of a round.
    """

    action: MultiModelAction
    array: int
    name: str
    value: int
    chain: tuple[int, ...]
    reads: tuple[int, ...]
    waits: tuple[int, ...]
    idle: tuple[int, ...]
    ends: tuple[int, ...]
    taken_bytes: int
    returned_bytes: int
    prompt: str = ""

    def __str__(self) -> str:
        hint = f" before {self.prompt}" if self.prompt else ""
        return f"{self.action}{self.array + 1} {self.name}{hint}"


MergedRound = tuple[MergedNode, ...]


@dataclass(frozen=True, slots=True)
class MergedUnit:
    """Merged graphs of a training unit.

    Attributes
    ----------
    rounds
        The rounds of an iteration.
    opening
        What comes before the first one: the forward pass of the first sub-array of a pair.
    closing
        The second round of the last iteration, without that forward pass; empty without a pair.
    """

    rounds: tuple[MergedRound, ...]
    opening: MergedRound
    closing: MergedRound


def rewrite(
    unit: TrainingUnit, arrays: Sequence[SubArray], programs: Sequence[FusedProgram]
) -> MergedUnit:
    """Merge the graphs of a training unit.

    Parameters
    ----------
    unit
        One that the replay accepts.
    arrays, programs
        Profile and program of each of its sub-arrays.
    """
    rewriters = [
        _SubArrayNodes(number, array, program)
        for number, (array, program) in enumerate(zip(arrays, programs, strict=True))
    ]
    rounds = tuple(
        _prompted([rewriters[operation.array].node(operation) for operation in operations])
        for operations in unit.rounds
    )
    if len(rounds) == 1:
        return MergedUnit(rounds, (), ())
    return MergedUnit(
        rounds,
        opening=tuple(node for node in rounds[1] if node.array == 0),
        closing=tuple(node for node in rounds[1] if node.array == 1),
    )


def _prompted(nodes: Sequence[MergedNode]) -> MergedRound:
    """Write the operator before which it is issued to each swap-in."""
    found: list[MergedNode] = []
    following = ""
    for node in reversed(nodes):
        if node.action.is_computation:
            following = f"{node.action}{node.array + 1} {node.name}"
        is_swap_in = node.action is MultiModelAction.PREFETCH
        found.append(replace(node, prompt=following) if is_swap_in else node)
    return tuple(reversed(found))


class _SubArrayNodes:
    """Nodes of one sub-array for the operations of a schedule."""

    def __init__(self, number: int, array: SubArray, program: FusedProgram) -> None:
        graph = unmeasured_graph(program)
        self._number = number
        self._array = array
        self._graph: Graph = graph
        self._uses = StepUses.of(graph)
        self._maps = self._uses.feature_maps
        self._ends: list[list[int]] = [[] for _ in graph.nodes]
        for place, node in enumerate(graph.nodes):
            if not node.keep:
                self._ends[self._uses.last[place]].append(place)

    def node(self, operation: MultiModelOperation) -> MergedNode:
        """Return the node for an operation."""
        match operation.action:
            case MultiModelAction.FORWARD:
                return self._forward(operation.position)
            case MultiModelAction.BACKWARD:
                return self._backward(operation.position)
            case _:
                return self._of_feature_map(operation.action, operation.position)

    def _forward(self, position: int) -> MergedNode:
        array = self._array
        work = array.forward[position]
        before_bytes = array.forward[position - 1].active_bytes if position else 0
        left = [
            place for place, tensor in enumerate(array.tensors) if tensor.last_forward == position
        ]
        left_bytes = sum(array.tensors[place].size_bytes for place in left)
        return MergedNode(
            action=MultiModelAction.FORWARD,
            array=self._number,
            name=work.name,
            value=position,
            chain=(position,),
            reads=self._graph.inputs[position],
            waits=(),
            idle=tuple(self._maps[place] for place in left),
            ends=tuple(self._ends[position]),
            taken_bytes=work.peak_bytes - before_bytes,
            returned_bytes=work.peak_bytes - work.active_bytes - left_bytes,
        )

    def _backward(self, position: int) -> MergedNode:
        array = self._array
        work = array.backward[position]
        before = array.backward[position - 1] if position else array.forward[-1]
        arriving = [
            place for place, tensor in enumerate(array.tensors) if tensor.first_backward == position
        ]
        arriving_bytes = sum(array.tensors[place].size_bytes for place in arriving)
        value = len(array.forward) + position
        return MergedNode(
            action=MultiModelAction.BACKWARD,
            array=self._number,
            name=work.name,
            value=value,
            chain=(value,),
            reads=self._graph.inputs[value],
            waits=tuple(self._maps[place] for place in arriving),
            idle=(),
            ends=tuple(self._ends[value]),
            taken_bytes=work.peak_bytes - before.active_bytes - arriving_bytes,
            returned_bytes=work.peak_bytes - work.active_bytes,
        )

    def _of_feature_map(self, action: MultiModelAction, place: int) -> MergedNode:
        tensor = self._array.tensors[place]
        value = self._maps[place]
        chain: tuple[int, ...] = ()
        waits: tuple[int, ...] = (value,)
        taken_bytes, returned_bytes = 0, tensor.size_bytes
        if action is MultiModelAction.RECOMPUTE:
            waits, chain = self._uses.recomputation(self._graph, value)
            taken_bytes = tensor.size_bytes + tensor.recompute_bytes
            returned_bytes = tensor.recompute_bytes
        elif action is MultiModelAction.PREFETCH:
            taken_bytes, returned_bytes = tensor.size_bytes, 0
        is_made = action in {MultiModelAction.RECOMPUTE, MultiModelAction.PREFETCH}
        return MergedNode(
            action=action,
            array=self._number,
            name=tensor.name,
            value=value,
            chain=chain,
            reads=self._read_by(chain),
            waits=waits,
            idle=(value,) if is_made else (),
            ends=(),
            taken_bytes=taken_bytes,
            returned_bytes=returned_bytes,
        )

    def _read_by(self, chain: Sequence[int]) -> tuple[int, ...]:
        read = {above for place in chain for above in self._graph.inputs[place]}
        return tuple(sorted(read - set(chain)))
