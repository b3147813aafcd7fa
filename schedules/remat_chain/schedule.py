"""Chain schedules: sequences of rotor operations and drops, and their replay."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core import replay as replay_words
from jettison.schedules.core.checked_operations import checked_operations
from jettison.schedules.core.recorder import Recorder
from jettison.schedules.core.replay import Replay, Rule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.remat_chain.contents import ChainContents, Effect
from jettison.schedules.remat_chain.drop_rules import DropRules, Reading


class ChainOperationKind(StrEnum):
    r"""Kinds of operations on a chain: those of Table 1 of RR-9302, and the drop.

    ``F_all``
        Forward, saving all that the backward needs: :math:`a^{\ell-1} \to a^{\ell-1}, \bar a^\ell`.
    ``F_ck``
        Forward, keeping the input: :math:`a^{\ell-1} \to a^{\ell-1}, a^\ell`.
    ``F_none``
        Forward, dropping the input (:math:`F_\emptyset`): :math:`a^{\ell-1} \to a^\ell`.
    ``B``
        Backward: :math:`\delta^\ell, \bar a^\ell, a^{\ell-1} \to \delta^{\ell-1}`.

    ``D``
        Drop: :math:`a^\ell \to`, or :math:`\bar a^\ell \to`, whichever is there; stage 0 is the
        input of the chain. A device frees memory at no cost: it takes no time. So
        :math:`F_\emptyset^\ell` is :math:`F_{ck}^\ell` and :math:`D^{\ell-1}`.

    Wherever :math:`a^{\ell-1}` is read, :math:`\bar a^{\ell-1}`, which includes it, will do; the
    backward leaves :math:`\bar a^{\ell-1}` in memory, and drops a plain :math:`a^{\ell-1}`.

    Nothing frees the inside of :math:`\bar a^\ell` and keeps :math:`a^\ell`: ``F_ck`` in place of
    the ``F_all`` that made it takes as long, and never more memory, so that no schedule would gain.
    """

    FORWARD_ALL = "F_all"
    FORWARD_CHECKPOINT = "F_ck"
    FORWARD_NONE = "F_none"
    BACKWARD = replay_words.BACKWARD
    DROP = replay_words.DROP


@dataclass(frozen=True, slots=True)
class ChainOperation:
    """Operation on one stage, counted from 1; a drop may name the input, stage 0."""

    kind: ChainOperationKind
    stage: int

    def __str__(self) -> str:
        return f"{self.kind} {self.stage}"

    @property
    def computation(self) -> str | None:
        """Key of what it computes, equal for all forward kinds of a stage; None for a drop."""
        match self.kind:
            case ChainOperationKind.DROP:
                return None
            case ChainOperationKind.BACKWARD:
                return str(self)
            case _:
                return f"F {self.stage}"

    @property
    def least_stage(self) -> int:
        """Least number of a stage that it may name."""
        return 0 if self.kind is ChainOperationKind.DROP else 1

    def apply_to(self, contents: ChainContents) -> Effect:
        """Apply the operation to the contents of memory."""
        match self.kind:
            case ChainOperationKind.FORWARD_ALL:
                return contents.forward_all(self.stage)
            case ChainOperationKind.FORWARD_CHECKPOINT:
                return contents.forward_checkpoint(self.stage)
            case ChainOperationKind.FORWARD_NONE:
                return contents.forward_none(self.stage)
            case ChainOperationKind.BACKWARD:
                return contents.backward(self.stage)
            case ChainOperationKind.DROP:
                return contents.drop(self.stage)


@dataclass(frozen=True, slots=True)
class ChainSchedule:
    """Chain schedule: a sequence of operations, one after the other.

    Raises
    ------
    InputError
        If something is no operation of a chain.
    """

    kind = "chain-schedule"

    operations: tuple[ChainOperation, ...]

    def __repr__(self) -> str:
        return short_repr(self, "operations", self.operations)

    def __post_init__(self) -> None:
        checked = checked_operations(self.operations, (ChainOperation,))
        object.__setattr__(self, "operations", checked)

    @classmethod
    def parse(cls, text: str) -> ChainSchedule:
        """Read operations such as ``F_ck 1, F_all 2, B 2``, separated by commas or line ends.

        Raises
        ------
        InputError
            If something is no operation; the message says which one, by its place from 1.
        """
        words = [word for word in re.split(r"[,;\n]", text) if word.strip()]
        return cls(tuple(_parsed(word, place) for place, word in enumerate(words, start=1)))

    def replay(self, chain: Chain, memory_bytes: int | None = None) -> Replay:
        r"""Execute the sequence in exact integers and name every broken rule.

        The memory of an operation is all that is stored when it starts, plus its outputs, plus
        its overhead. A missing input is recorded, and the replay goes on as if it were there. An
        output that is in memory already is computed into fresh memory and replaces the old copy.

        The schedule class is ``persistent`` if there is no ``D``, and no value is dropped by
        ``F_none`` that had been saved: a value counts as saved once it is the input of ``F_ck`` or
        ``F_all``, and every :math:`\bar a` is saved. Else it is ``persistent with drops`` if the
        sequence keeps the four rules of `DropRules`, else ``table-1`` if there is no ``D``, and
        else that of all schedules.

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


def _parsed(text: str, place: int) -> ChainOperation:
    kinds = {str(kind): kind for kind in ChainOperationKind}
    kind, _, stage = text.strip().partition(" ")
    digits = stage.strip()
    if kind not in kinds or not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise InputError(
            f"{text.strip()[:40]!r}",
            field=f"operations[{place}]",
            expected=f"write {', '.join(kinds)}, each with the number of a stage: F_ck 1, B 1",
        )
    return ChainOperation(kinds[kind], int(digits))


class _ChainReplay:
    """Replay of a chain schedule, operation by operation."""

    def __init__(self, chain: Chain, memory_bytes: int | None) -> None:
        self._chain = chain
        self._operation = ""
        self._recorder = Recorder(stored_bytes=chain.input_bytes, limit_bytes=memory_bytes)
        self._contents = ChainContents(
            chain, lambda rule, tensor: self._recorder.broken(rule, self._operation, tensor)
        )
        self._rules = DropRules()
        self._is_table_1 = True

    def run(self, operations: tuple[ChainOperation, ...]) -> Replay:
        for operation in operations:
            self._operation = str(operation)
            if not operation.least_stage <= operation.stage <= len(self._chain):
                self._recorder.broken(
                    Rule.UNKNOWN_OPERATION, self._operation, f"stage {operation.stage}"
                )
                self._record(0, 0, self._recorder.stored_bytes, "nothing", None)
                continue
            self._watch(operation)
            effect = operation.apply_to(self._contents)
            self._record(
                effect.duration_ns,
                effect.extra_bytes,
                self._recorder.stored_bytes + effect.change_bytes(self._chain),
                str(effect.output),
                operation.computation,
            )
        for number in range(self._contents.gradient, 0, -1):
            self._recorder.broken_at_end(Rule.UNFINISHED, f"B {number} is missing")
        return self._recorder.verdict(self._schedule_class())

    def _watch(self, operation: ChainOperation) -> None:
        number = operation.stage
        match operation.kind:
            case ChainOperationKind.BACKWARD:
                self._rules.backward(number)
            case ChainOperationKind.DROP:
                self._rules.drop(number, self._contents)
                self._is_table_1 = False
            case ChainOperationKind.FORWARD_ALL:
                self._rules.forward(number, self._contents, Reading.SAVES)
            case ChainOperationKind.FORWARD_CHECKPOINT:
                self._rules.forward(number, self._contents, Reading.KEEPS)
            case ChainOperationKind.FORWARD_NONE:
                self._rules.forward(number, self._contents, Reading.DROPS)

    def _schedule_class(self) -> ScheduleClass:
        if self._contents.is_persistent:
            return ScheduleClass.PERSISTENT
        if self._rules.kept:
            return ScheduleClass.PERSISTENT_WITH_DROPS
        return ScheduleClass.TABLE_1 if self._is_table_1 else ScheduleClass.ALL

    def _record(
        self,
        duration_ns: int,
        extra_bytes: int,
        stored_bytes: int,
        tensor: str,
        computation: str | None,
    ) -> None:
        self._recorder.step(
            self._operation,
            duration_ns=duration_ns,
            extra_bytes=extra_bytes,
            stored_bytes=stored_bytes,
            tensor=tensor,
            computation=computation,
        )
