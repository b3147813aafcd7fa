"""Chain as the checker reads it from the parsed JSON of an instance."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import CertificateError
from ..header_fields import Fields, check_kind, flag_field, integer_field, list_field, only_fields

_MOST_STAGES = 100_000
_FIELDS = {"input_bytes", "stages", "backward_overhead_holds_gradient"}
_STAGE_FIELDS = {
    "name",
    "forward_ns",
    "backward_ns",
    "output_bytes",
    "saved_bytes",
    "forward_overhead_bytes",
    "backward_overhead_bytes",
    "saving_overhead_bytes",
    "weight_bytes",
    "output_gradient_bytes",
}
# Of the optimizer, for training-chain (`given_step`).
_TRAINING_FIELDS = {
    "weight_gradient_bytes",
    "optimizer_state_bytes",
    "update_ns",
    "host_update_ns",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenStage:
    """Numbers of one stage; optional ones are 0 where they are absent.

    The gradient of an output, `gradient_bytes`, is as large as the output where it is absent, and
    the overhead of saving as that of another forward operation.
    """

    forward_ns: int
    backward_ns: int
    output_bytes: int
    saved_bytes: int
    forward_overhead_bytes: int
    saving_overhead_bytes: int
    backward_overhead_bytes: int
    weight_bytes: int
    gradient_bytes: int


@dataclass(frozen=True)
class GivenChain:
    """Chain: its stages in order, the last one the loss.

    Attributes
    ----------
    input_bytes
        Size of the input.
    stages
        The stages.
    overhead_holds_gradient
        Whether the backward overhead includes the gradient of the stage's input.
    """

    input_bytes: int
    stages: tuple[GivenStage, ...]
    overhead_holds_gradient: bool

    @classmethod
    def from_json(cls, document: Fields) -> GivenChain:
        """Read the fields that models use.

        Raises
        ------
        CertificateError
            If it is no chain of version 1, a field is unknown, a number is none, a stage saves
            less than its output or has an overhead out of range where it saves, or the loss has
            an output or a gradient of it.
        """
        check_kind(document, "chain", _FIELDS)
        entries = list_field(document, "stages")
        if not 0 < len(entries) <= _MOST_STAGES or not all(isinstance(e, dict) for e in entries):
            raise CertificateError(f"a chain has 1 to {_MOST_STAGES} stages, each an object")
        for number, entry in enumerate(entries, start=1):
            only_fields(entry, _STAGE_FIELDS | _TRAINING_FIELDS, f"stage {number}")
            for name in _TRAINING_FIELDS:
                integer_field(entry, name, default=0)
        stages = tuple(
            GivenStage(
                forward_ns=integer_field(entry, "forward_ns"),
                backward_ns=integer_field(entry, "backward_ns"),
                output_bytes=integer_field(entry, "output_bytes"),
                saved_bytes=integer_field(entry, "saved_bytes"),
                forward_overhead_bytes=integer_field(entry, "forward_overhead_bytes", default=0),
                saving_overhead_bytes=integer_field(
                    entry,
                    "saving_overhead_bytes",
                    default=integer_field(entry, "forward_overhead_bytes", default=0),
                ),
                backward_overhead_bytes=integer_field(entry, "backward_overhead_bytes", default=0),
                weight_bytes=integer_field(entry, "weight_bytes", default=0),
                gradient_bytes=integer_field(
                    entry, "output_gradient_bytes", default=integer_field(entry, "output_bytes")
                ),
            )
            for entry in entries
        )
        for number, stage in enumerate(stages, start=1):
            if stage.saved_bytes < stage.output_bytes:
                raise CertificateError(f"stage {number} saves less than its output")
            overhead = stage.forward_overhead_bytes
            least = stage.output_bytes + overhead - stage.saved_bytes
            if not least <= stage.saving_overhead_bytes <= overhead:
                raise CertificateError(f"stage {number} has no such overhead where it saves")
        if stages[-1].output_bytes or stages[-1].gradient_bytes:
            raise CertificateError("the last stage, the loss, has an output that is not 0 bytes")
        return cls(
            input_bytes=integer_field(document, "input_bytes"),
            stages=stages,
            overhead_holds_gradient=flag_field(document, "backward_overhead_holds_gradient"),
        )

    def __len__(self) -> int:
        return len(self.stages)

    @property
    def base_time_ns(self) -> int:
        """Time of all operations, each run once."""
        return sum(stage.forward_ns + stage.backward_ns for stage in self.stages)

    def activation_bytes(self, number: int) -> int:
        """Return the size of the output of stage `number`, from 1; 0 stands for the input."""
        return self.stages[number - 1].output_bytes if number else self.input_bytes

    def gradient_bytes(self, number: int) -> int:
        """Return the size of the gradient of the output of stage `number`, or of the input."""
        return self.stages[number - 1].gradient_bytes if number else self.input_bytes

    def backward_output_bytes(self, number: int) -> int:
        """Return the bytes to add for the gradient of its input while stage `number` runs back."""
        return 0 if self.overhead_holds_gradient else self.gradient_bytes(number - 1)
