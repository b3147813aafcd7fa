"""Pipeline schedules: the stages of each device, and what it runs for every micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from jettison.instances.core.errors import InputError
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.schedules.core.checked_operations import checked_operations
from jettison.schedules.core.short_repr import short_repr
from jettison.schedules.pipeline_chain.step_replay import PipelineReplay, replay_pipeline
from jettison.schedules.remat_chain.schedule import ChainOperation


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """Plan of a part, which is all of a device or a chunk of it: its stages, and its two phases.

    Attributes
    ----------
    first, last
        Its stages, both counted.
    forward
        Operations from the arrival of the input of stage `first` to the output of stage `last`,
        which is then sent.
    backward
        Operations from the arrival of the gradient of that output to the gradient of the input,
        which is then sent; recomputations are among them.

    Raises
    ------
    InputError
        If there is no stage, or something is no operation of a chain.
    """

    first: int
    last: int
    forward: tuple[ChainOperation, ...]
    backward: tuple[ChainOperation, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise InputError(
                f"stages {self.first} to {self.last}",
                field="devices",
                expected="give every device at least one stage",
            )
        for phase in ("forward", "backward"):
            checked = checked_operations(getattr(self, phase), (ChainOperation,))
            object.__setattr__(self, phase, checked)


@dataclass(frozen=True, slots=True)
class PipelineSchedule:
    """Pipeline schedule: a plan for each part, from the one that has the first stage.

    Attributes
    ----------
    devices
        The plans along the chain. With one chunk, that of each device; with more, the devices take
        turns.
    chunks
        Parts of each device.

    Raises
    ------
    InputError
        If the stages of a part do not follow those of the part before it, or if the parts are no
        multiple of the chunks.
    """

    kind = "pipeline-schedule"

    devices: tuple[DevicePlan, ...]
    chunks: int = 1

    def __repr__(self) -> str:
        return short_repr(self, "devices", self.devices)

    def __post_init__(self) -> None:
        object.__setattr__(self, "devices", tuple(self.devices))
        if not self.devices or self.devices[0].first != 1:
            raise InputError(
                "stage 1 is on no first device",
                field="devices",
                expected="give the first device the stages from 1 on",
            )
        for position, (before, after) in enumerate(pairwise(self.devices), start=1):
            if after.first != before.last + 1:
                raise InputError(
                    f"stage {after.first} follows stage {before.last}",
                    field=f"devices[{position}].first",
                    expected=f"begin with stage {before.last + 1}",
                )
        if self.chunks < 1 or len(self.devices) % self.chunks:
            raise InputError(
                f"{self.chunks} of each device make no {len(self.devices)} parts",
                field="chunks",
                expected="give every device as many parts",
            )

    @property
    def cuts(self) -> tuple[int, ...]:
        """The last stage of every part but the last."""
        return tuple(plan.last for plan in self.devices[:-1])

    def replay(self, problem: PipelineChain) -> PipelineReplay:
        """Execute the step in exact integers and name every broken rule; see `replay_pipeline`."""
        return replay_pipeline(problem, self.devices, self.chunks)


def spans_of(cuts: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Return the first and the last stage of each part of a chain of `count` stages."""
    ends = [0, *cuts, count]
    return [(before + 1, end) for before, end in pairwise(ends)]
