"""Provenance of an instance: the source of its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from jettison.instances.core.errors import InputError
from jettison.instances.core.frozen_mapping import FrozenMapping
from jettison.instances.core.parameter_gradients import ParameterGradients

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Origin of an instance, as far as it is known; every field but `source` may be absent.

    Attributes
    ----------
    source
        How the numbers were obtained: ``torch-profile``, ``imported`` (measured and published by
        others), ``modelled`` (from shapes and the rates of a device), ``networkx``, ``iopddl``,
        ``synthetic``, ``derived`` or ``unknown``.
    repository, commit, file, licence
        Where the numbers were published: ``eth-easl/sailor``, the commit, the path there and the
        licence.
    device, device_kind
        Name of the device that was measured, and ``cpu`` or ``cuda``.
    date
        Day of the measurement, ISO 8601.
    exporter
        Program and version that wrote the instance.
    libraries
        Versions of the libraries (and driver) that ran the model.
    model, model_arguments, batch, sequence, input_shape, dtype
        What was run; `sequence` is the number of tokens of a sample.
    warmup, repeats
        How often each stage ran before and while it was measured.
    parameter_gradients
        ``new`` or ``accumulated``, of a chain that was measured: see `ParameterGradients`.
    spread
        Per measured quantity (``"conv1 forward_ns"``) the least, the one that counts (a
        median, or the lower quartile of noisy ones) and the most.
    rises
        Per stage of a measured chain what its operations take beyond what is there as they begin:
        the forward operation with and without saving, and the backward operation, at their peaks;
        the new gradients that stay, the state of the generator if it draws random numbers, and what
        its output is in memory beside its input.
    note
        Anything else that a reader should know.
    """

    source: str = "unknown"
    repository: str | None = None
    commit: str | None = None
    file: str | None = None
    licence: str | None = None
    device: str | None = None
    device_kind: str | None = None
    date: str | None = None
    exporter: str | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    model_arguments: Mapping[str, Scalar] = field(default_factory=dict)
    batch: int | None = None
    sequence: int | None = None
    input_shape: tuple[int, ...] = ()
    dtype: str | None = None
    warmup: int | None = None
    repeats: int | None = None
    parameter_gradients: str | None = None
    spread: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    rises: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    note: str | None = None

    def __post_init__(self) -> None:
        for name in ("libraries", "model_arguments", "spread", "rises"):
            object.__setattr__(self, name, FrozenMapping(getattr(self, name)))
        if self.device_kind not in {None, "cpu", "cuda"}:
            raise InputError(
                f"{self.device_kind!r} is not a kind of device",
                field="device_kind",
                expected="write cpu or cuda, or leave it out",
            )
        if self.parameter_gradients not in {None, *ParameterGradients}:
            raise InputError(
                f"{self.parameter_gradients!r}",
                field="parameter_gradients",
                expected=f"write {' or '.join(ParameterGradients)}, or leave it out",
            )
        for key, triple in self.spread.items():
            if len(triple) != 3 or not triple[0] <= triple[1] <= triple[2]:
                raise InputError(
                    f"{triple!r} is not least <= counted <= most",
                    field=f"spread[{key!r}]",
                    expected="write three integers in ascending order",
                )
        for key, amounts in self.rises.items():
            if len(amounts) != 6 or min(amounts) < 0:
                raise InputError(
                    f"{amounts!r}",
                    field=f"rises[{key!r}]",
                    expected="write six amounts of bytes: forward with and without saving, "
                    "backward, new gradients, generator, output",
                )

    def to_json(self) -> dict[str, object]:
        """Return the fields that are known, ready for JSON."""
        found: dict[str, object] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Mapping):
                value = {
                    key: list(entry) if isinstance(entry, tuple) else entry
                    for key, entry in value.items()
                }
            elif isinstance(value, tuple):
                value = list(value)
            if value not in (None, {}, []):
                found[item.name] = value
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Provenance:
        """Build the provenance from parsed JSON that has passed the schema."""
        arguments: dict[str, object] = dict(data)
        if "input_shape" in arguments:
            arguments["input_shape"] = tuple(arguments["input_shape"])  # type: ignore[arg-type]
        if "spread" in arguments:
            spread: Mapping[str, list[int]] = arguments["spread"]  # type: ignore[assignment]
            arguments["spread"] = {key: tuple(triple) for key, triple in spread.items()}
        if "rises" in arguments:
            rises: Mapping[str, list[int]] = arguments["rises"]  # type: ignore[assignment]
            arguments["rises"] = {key: tuple(amounts) for key, amounts in rises.items()}
        return cls(**arguments)  # type: ignore[arg-type]
