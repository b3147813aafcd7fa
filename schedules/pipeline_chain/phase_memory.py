"""Memory of a micro-batch on one device: what its two phases need, and what stays between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Rule
from jettison.schedules.remat_chain.contents import ChainContents, Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind


@dataclass(frozen=True, slots=True)
class PhaseStep:
    """Operation of a phase: its time and memory, from the start of the phase.

    Attributes
    ----------
    operation
        Its text.
    start_ns, end_ns
        When it runs.
    during_bytes, after_bytes
        Memory of the micro-batch while it runs, and after it, all that it holds included.
    repeated
        Whether the same computation had run before for this micro-batch.
    """

    operation: str
    start_ns: int
    end_ns: int
    during_bytes: int
    after_bytes: int
    repeated: bool


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Micro-batch on one device.

    Attributes
    ----------
    forward, backward
        The operations of its phases.
    before_backward_bytes
        What it holds when the gradient of the output has come.
    kept_bytes
        What it holds between the phases, its input included.
    is_persistent
        Whether its operations are persistent.
    """

    forward: tuple[PhaseStep, ...]
    backward: tuple[PhaseStep, ...]
    before_backward_bytes: int
    kept_bytes: int
    is_persistent: bool

    @property
    def forward_ns(self) -> int:
        """Time of the forward phase."""
        return self.forward[-1].end_ns if self.forward else 0

    @property
    def backward_ns(self) -> int:
        """Time of the backward phase."""
        return self.backward[-1].end_ns if self.backward else 0

    @property
    def forward_peak_bytes(self) -> int:
        """Peak of the forward phase."""
        return max((max(item.during_bytes, item.after_bytes) for item in self.forward), default=0)

    @property
    def backward_peak_bytes(self) -> int:
        """Peak of the backward phase."""
        steps = (max(item.during_bytes, item.after_bytes) for item in self.backward)
        return max(steps, default=self.before_backward_bytes)

    @property
    def recompute_ns(self) -> int:
        """Time of what is computed again."""
        return sum(
            item.end_ns - item.start_ns for item in (*self.forward, *self.backward) if item.repeated
        )


class MicroBatchReplay:
    """Replay of a micro-batch on the stages `first` to `last` of a chain.

    Parameters
    ----------
    chain, first, last
        The stages.
    broken
        Called with the rule, the operation and the tensor where one is broken.
    """

    def __init__(
        self, chain: Chain, first: int, last: int, broken: Callable[[Rule, str, str], None]
    ) -> None:
        self._chain, self._first, self._last = chain, first, last
        self._broken = broken
        self._operation = ""
        self._contents = ChainContents(
            chain, lambda rule, tensor: broken(rule, self._operation, tensor)
        )
        self._input = Tensor(TensorKind.PLAIN, first - 1)
        self._gradient = Tensor(TensorKind.GRADIENT, last)
        self._contents.tensors = {self._input}
        self._contents.gradient = last
        self._seen: set[str] = set()

    def run(
        self, forward: Sequence[ChainOperation], backward: Sequence[ChainOperation]
    ) -> MicroBatch:
        """Run the two phases."""
        first = self._phase(forward, is_backward=False)
        self._send_output()
        kept_bytes = self._held_bytes()
        self._contents.tensors.add(self._gradient)
        before_bytes = self._held_bytes()
        second = self._phase(backward, is_backward=True)
        self._operation = "end"
        for number in range(self._contents.gradient, self._first - 1, -1):
            self._broken(Rule.UNFINISHED, "end", f"B {number} is missing")
        left = Tensor(TensorKind.GRADIENT, self._contents.gradient)
        for tensor in sorted(self._contents.tensors - {left}, key=str):
            self._broken(Rule.NOT_PERIODIC, "end", f"{tensor} is left")
        return MicroBatch(first, second, before_bytes, kept_bytes, self._contents.is_persistent)

    def _send_output(self) -> None:
        """Free the output when it has been sent, unless it is a part of what is saved."""
        if self._last == len(self._chain):
            return
        plain, saved = (Tensor(kind, self._last) for kind in (TensorKind.PLAIN, TensorKind.SAVED))
        if plain not in self._contents.tensors and saved not in self._contents.tensors:
            self._broken(Rule.INPUT_MISSING, "send", str(plain))
        self._contents.tensors.discard(plain)

    def _held_bytes(self) -> int:
        return sum(tensor.size_bytes(self._chain) for tensor in self._contents.tensors)

    def _phase(
        self, operations: Sequence[ChainOperation], *, is_backward: bool
    ) -> tuple[PhaseStep, ...]:
        steps: list[PhaseStep] = []
        clock_ns = 0
        for operation in operations:
            self._operation = str(operation)
            least = max(self._first - 1, operation.least_stage)
            if operation.kind is not ChainOperationKind.DROP:
                least = self._first
            if not least <= operation.stage <= self._last:
                where = f"stage {operation.stage} is not on the device"
                self._broken(Rule.UNKNOWN_OPERATION, self._operation, where)
                continue
            if operation.kind is ChainOperationKind.BACKWARD and not is_backward:
                self._broken(Rule.OUT_OF_ORDER, self._operation, "its gradient has not come")
                continue
            held_bytes = self._held_bytes()
            effect = operation.apply_to(self._contents)
            computation = operation.computation
            steps.append(
                PhaseStep(
                    self._operation,
                    clock_ns,
                    clock_ns + effect.duration_ns,
                    held_bytes + effect.extra_bytes,
                    self._held_bytes(),
                    computation is not None and computation in self._seen,
                )
            )
            if computation is not None:
                self._seen.add(computation)
            clock_ns += effect.duration_ns
        return tuple(steps)
