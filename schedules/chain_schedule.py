"""Sequences of rotor operations on a chain, and their replay."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jettison.instances.chain import Chain
from jettison.schedules.recorder import Recorder
from jettison.schedules.replay import Replay, Rule
from jettison.schedules.schedule_class import ScheduleClass


class ChainOperationKind(StrEnum):
    r"""The operations of Table 1 of RR-9302.

    ``F_all``
        Forward, saving all that the backward needs: :math:`a^{\ell-1} \to a^{\ell-1}, \bar a^\ell`.
    ``F_ck``
        Forward, keeping the input: :math:`a^{\ell-1} \to a^{\ell-1}, a^\ell`.
    ``F_none``
        Forward, dropping the input (:math:`F_\emptyset`): :math:`a^{\ell-1} \to a^\ell`.
    ``B``
        Backward: :math:`\delta^\ell, \bar a^\ell, a^{\ell-1} \to \delta^{\ell-1}`.

    Wherever :math:`a^{\ell-1}` is read, :math:`\bar a^{\ell-1}`, which includes it, will do; the
    backward leaves :math:`\bar a^{\ell-1}` in memory, and drops a plain :math:`a^{\ell-1}`.
    """

    FORWARD_ALL = "F_all"
    FORWARD_CHECKPOINT = "F_ck"
    FORWARD_NONE = "F_none"
    BACKWARD = "B"


@dataclass(frozen=True, slots=True)
class ChainOperation:
    """One operation on one stage, counted from 1."""

    kind: ChainOperationKind
    stage: int

    def __str__(self) -> str:
        return f"{self.kind} {self.stage}"


@dataclass(frozen=True, slots=True)
class ChainSchedule:
    """A sequence of operations on a chain, one after the other."""

    operations: tuple[ChainOperation, ...]

    def replay(self, chain: Chain, memory_bytes: int | None = None) -> Replay:
        r"""Execute the sequence in exact integers and name every broken rule.

        The memory of an operation is all that is stored when it starts, plus its outputs, plus
        its overhead. A missing input is recorded, and the replay goes on as if it were there. An
        output that is in memory already is computed into fresh memory and replaces the old copy.

        The schedule class is ``persistent`` if no value is dropped by ``F_none`` that had been
        saved: a value counts as saved once it is the input of ``F_ck`` or ``F_all``, and every
        :math:`\bar a` is saved.

        Parameters
        ----------
        chain
            The instance.
        memory_bytes
            The limit; None to measure only.

        Notes
        -----
        Time linear in the number of operations.
        """
        return _ChainReplay(chain, memory_bytes).run(self.operations)


class _ChainReplay:
    """The memory contents while a sequence runs: which a, which ā, which gradient."""

    def __init__(self, chain: Chain, memory_bytes: int | None) -> None:
        self._chain = chain
        self._plain = {0}
        self._saved: set[int] = set()
        self._checkpointed: set[int] = set()
        self._gradient = len(chain)
        self._stored_bytes = chain.input_bytes
        self._persistent = True
        self._recorder = Recorder(stored_bytes=chain.input_bytes, limit_bytes=memory_bytes)

    def run(self, operations: tuple[ChainOperation, ...]) -> Replay:
        for operation in operations:
            if not 1 <= operation.stage <= len(self._chain):
                self._recorder.broken(
                    Rule.UNKNOWN_OPERATION, str(operation), f"stage {operation.stage}"
                )
                self._record(operation, 0, 0, "nothing")
            elif operation.kind is ChainOperationKind.BACKWARD:
                self._backward(operation)
            else:
                self._forward(operation)
        for number in range(self._gradient, 0, -1):
            self._recorder.broken_at_end(Rule.UNFINISHED, f"B {number} is missing")
        return self._recorder.verdict(
            ScheduleClass.PERSISTENT if self._persistent else ScheduleClass.ALL
        )

    def _forward(self, operation: ChainOperation) -> None:
        number = operation.stage
        stage = self._chain.stage(number)
        self._require_activation(operation, number - 1)
        saves_all = operation.kind is ChainOperationKind.FORWARD_ALL
        if saves_all:
            self._drop_plain(number)
            self._add_saved(number)
        elif number not in self._saved:
            self._add_plain(number)
        if operation.kind is ChainOperationKind.FORWARD_NONE:
            if number - 1 in self._checkpointed or number - 1 in self._saved:
                self._persistent = False
            self._drop_plain(number - 1)
            self._drop_saved(number - 1)
            self._checkpointed.discard(number - 1)
        else:
            self._checkpointed.add(number - 1)
        output_bytes = stage.saved_bytes if saves_all else stage.output_bytes
        self._record(
            operation,
            stage.forward_ns,
            output_bytes + stage.forward_overhead_bytes,
            f"ā^{number}" if saves_all else f"a^{number}",
        )

    def _backward(self, operation: ChainOperation) -> None:
        number = operation.stage
        stage = self._chain.stage(number)
        if self._gradient != number:
            self._recorder.broken(Rule.WRONG_GRADIENT, str(operation), f"δ^{number}")
        if number not in self._saved:
            self._recorder.broken(Rule.INPUT_MISSING, str(operation), f"ā^{number}")
        self._require_activation(operation, number - 1)
        self._drop_saved(number)
        self._drop_plain(number - 1)
        self._checkpointed.discard(number)
        self._checkpointed.discard(number - 1)
        self._stored_bytes += self._chain.activation_bytes(number - 1)
        self._stored_bytes -= self._chain.activation_bytes(self._gradient)
        self._gradient = number - 1
        self._record(
            operation,
            stage.backward_ns,
            self._chain.backward_output_bytes(number) + stage.backward_overhead_bytes,
            f"δ^{number - 1}",
        )

    def _require_activation(self, operation: ChainOperation, number: int) -> None:
        if number not in self._plain and number not in self._saved:
            self._recorder.broken(Rule.INPUT_MISSING, str(operation), f"a^{number}")

    def _add_plain(self, number: int) -> None:
        if number not in self._plain:
            self._plain.add(number)
            self._stored_bytes += self._chain.activation_bytes(number)

    def _drop_plain(self, number: int) -> None:
        if number in self._plain:
            self._plain.remove(number)
            self._stored_bytes -= self._chain.activation_bytes(number)

    def _add_saved(self, number: int) -> None:
        if number not in self._saved:
            self._saved.add(number)
            self._stored_bytes += self._chain.stage(number).saved_bytes

    def _drop_saved(self, number: int) -> None:
        if number in self._saved:
            self._saved.remove(number)
            self._stored_bytes -= self._chain.stage(number).saved_bytes

    def _record(
        self, operation: ChainOperation, duration_ns: int, extra_bytes: int, tensor: str
    ) -> None:
        forward = operation.kind is not ChainOperationKind.BACKWARD
        self._recorder.step(
            str(operation),
            duration_ns=duration_ns,
            extra_bytes=extra_bytes,
            stored_bytes=self._stored_bytes,
            tensor=tensor,
            computation=f"F {operation.stage}" if forward else str(operation),
        )
