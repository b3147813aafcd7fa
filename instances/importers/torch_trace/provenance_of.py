"""Provenance of recordings of PyTorch: what was measured, what is left out, what is unknown."""

from __future__ import annotations

from pathlib import Path

from jettison.instances.core.provenance import Provenance
from jettison.instances.importers.torch_trace.published_recordings import with_origin
from jettison.instances.importers.torch_trace.recording import Recording


def provenance_of(recording: Recording, kineto_trace: Path, execution_trace: Path) -> Provenance:
    """Return the provenance of a recorded step."""
    kineto = recording.kineto
    remarks = [
        "Measured: one step, "
        + (
            "with the times of the kernels and copies that each operator starts, one after the "
            "other, even where streams overlap."
            if kineto.uses_device
            else "with the times of operators on the host, as the profiler slows them."
        ),
        "Sizes are those of storages; "
        + (
            "workspaces are what the allocator gave while an operator ran."
            if kineto.memory
            else "workspaces are the tensors that an operator makes for itself; others are unknown."
        ),
        f"{recording.resident_bytes} bytes that the step reads were there before it (parameters, "
        "buffers, the batch); no node holds them. Views and the optimizer are left out.",
    ]
    if recording.elsewhere_ns > 0:
        remarks.append(f"{recording.elsewhere_ns} ns of the step are those of no operator.")
    found = Provenance(
        source="imported",
        device=kineto.device,
        device_kind="cuda" if kineto.uses_device else "cpu",
        note=" ".join(remarks),
    )
    return with_origin(found, execution_trace, kineto_trace)
