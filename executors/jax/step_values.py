"""Values of a step: which are in memory, which are fused into what reads them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from jettison.jax.equation_cost import EXPENSIVE, FUSIBLE, FUSING, VIEWS, aval_bytes
from jettison.jax.flat_program import Equation
from jettison.jax.operand_copies import OperandCopies
from jettison.jax.step_trace import StepTrace


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Kernel: an equation and those that are fused into it.

    Attributes
    ----------
    equations
        All of them, in their order; the last one is the node.
    reads
        Values that it reads from memory, arguments among them.
    is_backward
        True for the backward pass.
    """

    equations: tuple[Equation, ...]
    reads: tuple[int, ...]
    is_backward: bool

    @property
    def root(self) -> Equation:
        """The equation whose results are in memory."""
        return self.equations[-1]


class StepValues:
    """Values of a trace, of which those that are equal but for their shape are one.

    Parameters
    ----------
    trace
        The trace.
    in_memory
        Names of values that are in memory and not fused into their readers.

    Attributes
    ----------
    names
        Names of a value, in their order.
    returned
        Values that the step returns.
    saved_anyway
        Values without a name that the backward pass reads from the forward pass.
    """

    def __init__(self, trace: StepTrace, in_memory: Collection[str] = ()) -> None:
        self._in_memory = frozenset(in_memory)
        self._flat = trace.flat
        self._is_planned = trace.is_planned
        self._copies = OperandCopies(trace.flat, VIEWS)
        self._same: dict[int, int] = {}
        self.names: dict[int, list[str]] = defaultdict(list)
        self._maker: dict[int, Equation] = {}
        # What no argument decides, an iota say, is left out.
        of_gradients = {value for value in trace.cotangents if isinstance(value, int)}
        decided = set(self._given)
        self._equations: list[Equation] = []
        self._backward: set[int] = set(of_gradients)
        self._of_gradients = of_gradients
        for equation in self._flat.equations:
            reads = [self._root(value) for value in equation.read]
            if equation.primitive in VIEWS and len(reads) == len(equation.outputs):
                self._same.update(zip(equation.outputs, reads, strict=True))
                if equation.primitive == "name":
                    self.names[reads[0]].append(equation.source.params["name"])
                continue
            if not any(value in decided for value in reads):
                continue
            decided.update(equation.outputs)
            if any(value in of_gradients for value in reads):
                of_gradients.update(equation.outputs)
            if equation.again or any(value in of_gradients for value in reads):
                self._backward.update(equation.outputs)
            self._equations.append(equation)
            self._maker.update(dict.fromkeys(equation.outputs, equation))
        self.returned = {
            self._root(value) for value in self._flat.results if isinstance(value, int)
        }
        self._equations = self._needed()
        self._readers: dict[int, list[Equation]] = defaultdict(list)
        for equation in self._equations:
            for value in self._reads(equation):
                self._readers[value].append(equation)
        self.saved_anyway = {
            value
            for value, readers in self._readers.items()
            if value in self._maker
            and value not in self._backward
            and value not in self.names
            and any(self._is_backward(reader) for reader in readers)
        }

    def size_bytes(self, value: int) -> int:
        """Return the size of a value."""
        return aval_bytes(self._flat.avals[value])

    def copied_bytes(self, kernel: Kernel) -> int:
        """Return the bytes of copies beside a kernel, of what is needed in another order.

        A product copies its operand. What is computed element by element in the same pass is
        computed twice instead, in both orders, from operands that are there until then.
        """
        found = sum(
            self.size_bytes(value)
            for equation in kernel.equations
            for value in self._copied_by(equation)
        )
        root = kernel.root
        if root.primitive in FUSIBLE and self._is_in_two_orders(root.outputs[0]):
            found += self.size_bytes(root.outputs[0])
        return found

    def _copied_by(self, equation: Equation) -> list[int]:
        """Return the values that an equation copies.

        What is computed element by element, and read once, is written in the order of its reader.
        So are operands of convolutions in most plans, which compute them again for one reader:
        copies of these are counted in the step of a plan alone.
        """
        if equation.primitive == "conv_general_dilated" and not self._is_planned:
            return []
        found = []
        for value in map(self._root, self._copies.of(equation)):
            maker = self._maker.get(value)
            is_written = maker is not None and maker.primitive in FUSIBLE
            if is_written and self._readers_in_memory[value] == 1:
                continue
            found.append(value)
        return found

    def _is_in_two_orders(self, value: int) -> bool:
        maker = self._maker[value]
        return any(
            self._is_beside(maker, reader) and value in self._copied_by(reader)
            for reader in self._readers[value]
        )

    def _is_beside(self, one: Equation, other: Equation) -> bool:
        """Tell whether two equations are in the same pass, with no barrier between them."""
        if self._is_planned and one.part != other.part:
            return False
        return self._is_backward(one) == self._is_backward(other)

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernels: those of the forward pass, then those of the backward pass."""
        forward: list[Kernel] = []
        late: dict[int, Kernel] = {}
        backward: list[Kernel] = []
        for equation in self._equations:
            if not self._is_stored[equation.outputs[0]]:
                continue
            fused, reads = self._fused_into(equation)
            kernel = Kernel((*fused, equation), reads, self._is_backward(equation))
            if not kernel.is_backward:
                forward.append(kernel)
            elif any(value in self._of_gradients for value in reads):
                backward.append(kernel)
            else:
                late.update(dict.fromkeys(equation.outputs, kernel))
        ordered = _right_before_their_readers(self._in_place(backward), late)
        return (*forward, *ordered)

    def _in_place(self, kernels: list[Kernel]) -> list[Kernel]:
        """Return kernels of the backward pass, each with what it can overwrite.

        An elementwise kernel writes its result over an operand of the same size that nothing else
        reads; compilers do so. Both are one kernel here, which is run when the later one was.
        """
        found: dict[int, Kernel] = {}
        for kernel in kernels:
            (*_, root) = kernel.equations
            overwritten = None
            if (
                root.primitive in FUSIBLE
                and root.outputs[0] not in self.returned
                and not self._is_in_two_orders(root.outputs[0])
            ):
                size = self.size_bytes(root.outputs[0])
                overwritten = next(
                    (
                        value
                        for value in kernel.reads
                        if value in found
                        and len(found[value].root.outputs) == 1
                        and self.size_bytes(value) == size
                        and value not in self.returned
                        and self._readers_in_memory[value] == 1
                    ),
                    None,
                )
            if overwritten is not None:
                earlier = found.pop(overwritten)
                reads = dict.fromkeys((*earlier.reads, *kernel.reads))
                del reads[overwritten]
                equations = (*earlier.equations, *kernel.equations)
                found[root.outputs[0]] = Kernel(equations, tuple(sorted(reads)), is_backward=True)
            else:
                found[root.outputs[0]] = kernel
        return list(found.values())

    @cached_property
    def _readers_in_memory(self) -> Counter[int]:
        """Number of kernels that read each value."""
        found: Counter[int] = Counter()
        for equation in self._equations:
            if self._is_stored[equation.outputs[0]]:
                found.update(self._fused_into(equation)[1])
        return found

    def _root(self, value: int) -> int:
        return self._same.get(value, value)

    def _reads(self, equation: Equation) -> list[int]:
        """Return the values of other equations, and arguments, that an equation reads."""
        return list(dict.fromkeys(self._root(value) for value in equation.read))

    def _is_backward(self, equation: Equation) -> bool:
        return equation.outputs[0] in self._backward

    def _needed(self) -> list[Equation]:
        needed, found = set(self.returned), []
        for equation in reversed(self._equations):
            if needed.intersection(equation.outputs):
                needed.update(self._reads(equation))
                found.append(equation)
        return found[::-1]

    @cached_property
    def _is_stored(self) -> dict[int, bool]:
        """For each value that an equation makes, whether it is in memory."""
        found: dict[int, bool] = {}
        for equation in self._equations:
            for value in equation.outputs:
                found[value] = self._is_in_memory(equation, value, found)
        return found

    def _is_in_memory(self, equation: Equation, value: int, stored: dict[int, bool]) -> bool:
        readers = self._readers[value]
        if equation.primitive not in FUSIBLE or value in self.returned:
            return True
        if self._in_memory.intersection(self.names.get(value, ())):
            return True
        if value in self.saved_anyway or any(item.primitive not in FUSING for item in readers):
            return True
        if equation.primitive in EXPENSIVE and len(readers) > 1:
            return True
        if all(self._is_beside(equation, reader) for reader in readers):
            return False
        if self._is_planned:
            # It is kept for the backward pass, or goes through a barrier.
            return True
        # The backward pass reads it: it is fused there only if that keeps no more in memory.
        _, reads = self._expanded(equation, stored)
        made = [source for source in reads if source in self._maker]
        return self.size_bytes(value) < sum(self.size_bytes(source) for source in made)

    def _fused_into(self, equation: Equation) -> tuple[tuple[Equation, ...], tuple[int, ...]]:
        return self._expanded(equation, self._is_stored)

    def _expanded(
        self, equation: Equation, stored: dict[int, bool]
    ) -> tuple[tuple[Equation, ...], tuple[int, ...]]:
        """Return what is fused into an equation, in order, and what they all read from memory."""
        fused: dict[int, Equation] = {}
        reads: dict[int, None] = {}
        waiting = self._reads(equation)
        while waiting:
            value = waiting.pop()
            maker = self._maker.get(value)
            if maker is None or stored[value]:
                if maker is not None or value in self._given:
                    reads[value] = None
            elif maker.outputs[0] not in fused:
                fused[maker.outputs[0]] = maker
                waiting.extend(self._reads(maker))
        return tuple(fused[value] for value in sorted(fused)), tuple(sorted(reads))

    @cached_property
    def _given(self) -> frozenset[int]:
        constants = (value for value, _ in self._flat.constants)
        return frozenset((*self._flat.arguments, *constants))


def _right_before_their_readers(
    backward: Sequence[Kernel], late: dict[int, Kernel]
) -> list[Kernel]:
    """Return backward kernels, with those that wait for no gradient as late as can be."""
    found: list[Kernel] = []
    done: set[int] = set()

    def add(kernel: Kernel) -> None:
        needed, waiting = {}, [kernel]
        while waiting:
            for value in waiting.pop().reads:
                first = late[value].root.outputs[0] if value in late else value
                if value in late and first not in done and first not in needed:
                    needed[first] = late[value]
                    waiting.append(late[value])
        found.extend(needed[first] for first in sorted(needed))
        done.update(needed)

    for kernel in backward:
        add(kernel)
        found.append(kernel)
    for value, kernel in late.items():
        # A result of the step, which nothing reads.
        if value == kernel.root.outputs[0] and value not in done:
            add(kernel)
            found.append(kernel)
            done.add(value)
    return found
