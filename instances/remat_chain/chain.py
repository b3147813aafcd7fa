"""Chain: a training step as a sequence of stages (rotor, POFO, weight offloading)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_document import InstanceDocument, read_each, read_provenance
from jettison.instances.core.names import checked_name, checked_unique
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import checked_amount

if TYPE_CHECKING:
    import pandas as pd

_LATER_FIELDS = ("optimizer_state_bytes", "update_ns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    r"""Stage :math:`\ell` of a chain: a forward and a backward operation and their tensors.

    Attributes
    ----------
    name
        Unique within the chain.
    forward_ns, backward_ns
        Durations :math:`u_f, u_b` of the two operations.
    output_bytes
        Size of the output :math:`a^\ell`.
    saved_bytes
        Size of :math:`\bar a^\ell`: all that the backward operation needs of this stage. It
        includes the output, and does not include the stage's input or its parameters.
    output_gradient_bytes
        Size of :math:`\delta^\ell`, the gradient of the output; None for that of the output. A
        size that is equal to `output_bytes` becomes None, so that a stage has one description.
    forward_overhead_bytes, backward_overhead_bytes
        Extra memory :math:`o_f, o_b` in use only while the operation runs.
    saving_overhead_bytes
        Extra memory :math:`\bar o_f` of the forward operation that leaves :math:`\bar a^\ell`;
        None for `forward_overhead_bytes`, which then stands for both kinds of forward operation. It
        may be less by what the operation keeps and others free: :math:`o_f - (\bar a^\ell -
        a^\ell) \le \bar o_f \le o_f`. A size that is equal becomes None, so that a stage has one
        description.
    weight_bytes
        Size of the parameters.
    weight_gradient_bytes
        Size of their gradient, where weights, gradients and optimizer states are planned together
        (`TrainingChain`); None for that of the parameters.
    optimizer_state_bytes
        Size of the optimizer's states of this stage, such as the two moments of Adam.
    update_ns, host_update_ns
        Durations of the optimizer's update of this stage on the device, and on the host; None where
        the host cannot do it.

    Raises
    ------
    InputError
        If a field is not a non-negative integer, the name is empty, `saved_bytes` is below
        `output_bytes`, or `saving_overhead_bytes` out of its range, on which rests what is proved
        of schedules. Only the fields whose default is None may be None.
    """

    name: str
    forward_ns: int
    backward_ns: int
    output_bytes: int
    saved_bytes: int
    forward_overhead_bytes: int = 0
    backward_overhead_bytes: int = 0
    saving_overhead_bytes: int | None = None
    weight_bytes: int = 0
    output_gradient_bytes: int | None = None
    weight_gradient_bytes: int | None = None
    optimizer_state_bytes: int = 0
    update_ns: int = 0
    host_update_ns: int | None = None

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        for item in fields(self)[1:]:
            amount = getattr(self, item.name)
            if amount is None and item.default is None:
                continue
            unit = "nanoseconds" if item.name.endswith("_ns") else "bytes"
            checked_amount(amount, item.name, unit)
        if self.output_gradient_bytes == self.output_bytes:
            object.__setattr__(self, "output_gradient_bytes", None)
        if self.weight_gradient_bytes == self.weight_bytes:
            object.__setattr__(self, "weight_gradient_bytes", None)
        if self.saving_overhead_bytes == self.forward_overhead_bytes:
            object.__setattr__(self, "saving_overhead_bytes", None)
        if self.saved_bytes < self.output_bytes:
            raise InputError(
                f"{self.saved_bytes} is below output_bytes = {self.output_bytes}",
                field="saved_bytes",
                expected="what is saved includes the output, so write at least output_bytes",
            )
        least_bytes = self.passing_bytes - self.saved_bytes
        if not least_bytes <= self.overhead_of_saving_bytes <= self.forward_overhead_bytes:
            raise InputError(
                f"{self.saving_overhead_bytes} beside {self.forward_overhead_bytes} of a forward "
                "operation that does not save",
                field="saving_overhead_bytes",
                expected=f"write {max(least_bytes, 0)} to {self.forward_overhead_bytes}: less by "
                "saved_bytes - output_bytes at most",
            )

    @property
    def gradient_bytes(self) -> int:
        r"""Size of :math:`\delta^\ell`, whether it is given or that of the output."""
        if self.output_gradient_bytes is None:
            return self.output_bytes
        return self.output_gradient_bytes

    @property
    def overhead_of_saving_bytes(self) -> int:
        r"""Overhead :math:`\bar o_f`, whether it is given or that of both kinds of forward."""
        if self.saving_overhead_bytes is None:
            return self.forward_overhead_bytes
        return self.saving_overhead_bytes

    @property
    def saving_bytes(self) -> int:
        """Output and overhead of the forward operation that saves: what it takes as it runs."""
        return self.saved_bytes + self.overhead_of_saving_bytes

    @property
    def passing_bytes(self) -> int:
        """Output and overhead of a forward operation that saves nothing."""
        return self.output_bytes + self.forward_overhead_bytes

    @property
    def gradient_of_weights_bytes(self) -> int:
        """Size of the gradient of the parameters, whether it is given or that of the parameters."""
        if self.weight_gradient_bytes is None:
            return self.weight_bytes
        return self.weight_gradient_bytes

    @property
    def is_trained(self) -> bool:
        """Whether the optimizer updates this stage: it has parameters, states or an update."""
        return any(
            (
                self.weight_bytes,
                self.gradient_of_weights_bytes,
                self.optimizer_state_bytes,
                self.update_ns,
            )
        )

    @property
    def host_can_update(self) -> bool:
        """Whether the host can do the update of this stage."""
        return self.host_update_ns is not None


@dataclass(frozen=True, repr=False)
class Chain(InstanceDocument):
    r"""Chain of stages :math:`1, \dots, N`, the last one the loss, with the input :math:`a^0`.

    Attributes
    ----------
    name
        Name of the instance.
    input_bytes
        Size of :math:`a^0`. It is in memory from the start and cannot be recomputed.
    stages
        At least one stage. The loss comes last, and its `output_bytes` and the gradient of its
        output are 0: a scalar is not counted.
    backward_overhead_holds_gradient
        Two conventions exist for :math:`o_b`. False (Table 1 of RR-9302, Appendix B of POFO): the
        backward operation of stage :math:`\ell` needs its stored inputs, plus its output
        :math:`\delta^{\ell-1}`, plus :math:`o_b`. True (:math:`o_b` was measured as a full peak):
        :math:`\delta^{\ell-1}` is already part of :math:`o_b`.
    provenance
        Provenance of the numbers.

    Raises
    ------
    InputError
        If there is no stage, a name occurs twice, the loss has an output or a gradient of it, or
        the total time times the number of stages does not fit 60 bits.
    """

    kind = "chain"

    name: str
    input_bytes: int
    stages: tuple[Stage, ...]
    backward_overhead_holds_gradient: bool = False
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        checked_amount(self.input_bytes, "input_bytes", "bytes")
        if not self.stages:
            raise InputError(
                "the chain is empty", field="stages", expected="give at least one stage"
            )
        checked_unique([stage.name for stage in self.stages], "stages")
        last = self.stages[-1]
        if last.output_bytes != 0:
            raise InputError(
                f"{last.output_bytes} for the last stage, which is the loss",
                field=f"stages[{len(self.stages) - 1}].output_bytes",
                expected="end the chain with a loss stage whose output_bytes is 0",
            )
        if last.gradient_bytes != 0:
            raise InputError(
                f"{last.gradient_bytes} for the last stage, which is the loss",
                field=f"stages[{len(self.stages) - 1}].output_gradient_bytes",
                expected="leave it out: the gradient of a scalar is not counted",
            )
        # Every method runs each forward operation at most once per stage of the chain, so that
        # this product bounds every time that a 64-bit kernel can meet.
        if self.base_time_ns * len(self.stages) >= 2**60:
            raise InputError(
                f"the total time {self.base_time_ns} ns is too large for {len(self.stages)} stages",
                field="stages",
                expected="check the unit of the durations: nanoseconds",
            )
        total_bytes = self.input_bytes + sum(
            stage.saved_bytes
            + stage.output_bytes
            + stage.forward_overhead_bytes
            + stage.backward_overhead_bytes
            + stage.weight_bytes
            + stage.gradient_of_weights_bytes
            + stage.optimizer_state_bytes
            # What is beyond the output may be counted as an overhead of two operations.
            + 2 * max(0, stage.gradient_bytes - stage.output_bytes)
            for stage in self.stages
        )
        if total_bytes >= 2**60:
            raise InputError(
                f"the sizes add up to {total_bytes} bytes",
                field="stages",
                expected="check the unit of the sizes: bytes",
            )

    @classmethod
    def from_dataframe(
        cls,
        table: pd.DataFrame,
        *,
        name: str,
        input_bytes: int,
        backward_overhead_holds_gradient: bool = False,
        provenance: Provenance | None = None,
    ) -> Chain:
        """Return the chain of a table with a row for each stage, in order.

        Parameters
        ----------
        table
            Columns are fields of `Stage`; ``forward_ns``, ``backward_ns``, ``output_bytes`` and
            ``saved_bytes`` are needed, empty cells stand for defaults. Names of stages are those of
            the column ``name``, or else the index.
        name, input_bytes, backward_overhead_holds_gradient, provenance
            As the attributes.

        Raises
        ------
        InputError
            If a column is missing or unknown, or a value is wrong; the message names them.
        """
        from jettison.instances.remat_chain.chain_table import chain_of_table

        return chain_of_table(
            table,
            name,
            input_bytes,
            backward_overhead_holds_gradient=backward_overhead_holds_gradient,
            provenance=provenance or Provenance(),
        )

    def to_dataframe(self) -> pd.DataFrame:
        """Return a row for each stage, indexed by name, with the fields of `Stage` as columns."""
        from jettison.instances.remat_chain.chain_table import table_of_chain

        return table_of_chain(self)

    def __len__(self) -> int:
        return len(self.stages)

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def stage(self, number: int) -> Stage:
        """Return stage `number`, counted from 1 as in the papers."""
        if not 1 <= number <= len(self.stages):
            raise IndexError(f"stage {number} of a chain of {len(self.stages)} stages")
        return self.stages[number - 1]

    def activation_bytes(self, number: int) -> int:
        r"""Return the size of :math:`a^\ell`, where :math:`a^0` is the input."""
        return self.input_bytes if number == 0 else self.stage(number).output_bytes

    def gradient_bytes(self, number: int) -> int:
        r"""Return the size of :math:`\delta^\ell`; that of the input is as large as the input."""
        return self.input_bytes if number == 0 else self.stage(number).gradient_bytes

    def backward_output_bytes(self, number: int) -> int:
        r"""Return the bytes to add for :math:`\delta^{\ell-1}` while stage :math:`\ell` runs back.

        Zero where the instance says that the backward overhead already holds the gradient.
        """
        if self.backward_overhead_holds_gradient:
            return 0
        return self.gradient_bytes(number - 1)

    @cached_property
    def base_time_ns(self) -> int:
        """Time of one step without any recomputation: a lower bound for every schedule."""
        return sum(stage.forward_ns + stage.backward_ns for stage in self.stages)

    @cached_property
    def resident_bytes(self) -> int | None:
        """Weights, their gradients and optimizer states of all stages, as far as recorded.

        None where no stage has any: the chain does not say what stays in memory beside the step.
        """
        weights = sum(stage.weight_bytes + stage.gradient_of_weights_bytes for stage in self.stages)
        return (weights + (self.resident_state_bytes or 0)) or None

    @cached_property
    def resident_state_bytes(self) -> int | None:
        """Optimizer states of all stages; None where no stage has any."""
        return sum(stage.optimizer_state_bytes for stage in self.stages) or None

    @cached_property
    def store_all_peak_bytes(self) -> int:
        r"""No-saving peak :math:`M^{high}`, of the step that keeps everything; :math:`O(N)`."""
        return self.saving_peak_bytes(1)

    def saving_peak_bytes(self, first: int) -> int:
        """Return the peak of saving everything from a stage on, beside its input; :math:`O(N)`."""
        stored = self.activation_bytes(first - 1)
        peak = stored
        numbers = range(first, len(self.stages) + 1)
        for number in numbers:
            stage = self.stage(number)
            peak = max(peak, stored + stage.saving_bytes)
            stored += stage.saved_bytes
        for number in reversed(numbers):
            stage = self.stage(number)
            working = self.backward_output_bytes(number) + stage.backward_overhead_bytes
            peak = max(peak, stored + stage.gradient_bytes + working)
            stored -= stage.saved_bytes
        return peak

    @cached_property
    def recompute_all_peak_bytes(self) -> int:
        r"""Peak of the step that restarts from the input for every backward (:math:`M^{low}`).

        :math:`O(N)`: for the backward of stage :math:`t`, the forward operations before it run
        beside the input and :math:`\delta^t`.
        """
        peak = self.input_bytes
        widest_forward = 0
        for number, stage in enumerate(self.stages, start=1):
            held = self.activation_bytes(number - 1) if number > 1 else 0
            gradient = stage.gradient_bytes
            saving = held + stage.saving_bytes
            working = self.backward_output_bytes(number) + stage.backward_overhead_bytes
            backward = held + stage.saved_bytes + working
            peak = max(peak, self.input_bytes + gradient + max(widest_forward, saving, backward))
            widest_forward = max(widest_forward, held + stage.passing_bytes)
        return peak

    def content(self) -> dict[str, object]:
        """Return the fields of the JSON object that schedules depend on."""
        return {
            "input_bytes": self.input_bytes,
            "backward_overhead_holds_gradient": self.backward_overhead_holds_gradient,
            "stages": [
                # What stages could not have at first is named where they have it only.
                {
                    item.name: amount
                    for item in fields(stage)
                    if (amount := getattr(stage, item.name)) is not None
                    and not (item.name in _LATER_FIELDS and amount == item.default)
                }
                for stage in self.stages
            ],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Chain:
        """Build the chain from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            If a value contradicts another; the field is named by its path.
        """
        return cls(
            name=document["name"],
            input_bytes=document["input_bytes"],
            stages=read_each(document, "stages", lambda entry: Stage(**entry)),
            backward_overhead_holds_gradient=bool(
                document.get("backward_overhead_holds_gradient", False)
            ),
            provenance=read_provenance(document),
        )
