"""State of the tensors of a stage in a replay: where they are, and which version."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.schedules.training_chain.event import StageTensor


@dataclass(slots=True)
class Block:
    """A tensor's place in the device's memory, and its copy on the host.

    Attributes
    ----------
    size_bytes
        Its size.
    is_resident
        Whether it occupies the device's memory, from the start of what makes or brings it.
    is_arriving
        Whether it is being made, or on its way from the host.
    version
        The version that is, or will be, on the device: that of the step whose backward operation
        reads or makes it.
    users
        Running operations that read it.
    leaving_version, hosted_version
        The version on its way to the host, and the newest of which the host has all; None if none.
    is_changing_on_host
        Whether the host changes it now.
    """

    size_bytes: int
    is_resident: bool = False
    is_arriving: bool = False
    version: int = 0
    users: int = 0
    leaving_version: int | None = None
    hosted_version: int | None = None
    is_changing_on_host: bool = False

    def is_ready(self, version: int) -> bool:
        """Tell whether all of a version is on the device."""
        return self.is_resident and not self.is_arriving and self.version == version

    @property
    def is_busy(self) -> bool:
        """Whether something reads, makes or moves it."""
        return self.is_arriving or self.leaving_version is not None or self.users > 0


@dataclass(slots=True)
class StageTensors:
    """All tensors of one stage.

    Attributes
    ----------
    blocks
        Weights, states, gradient of weights, all that is saved, output.
    backwards
        Number of backward operations that have ended; the step before the first is the zeroth.
    version
        Number of updates that have ended.
    updates_on_host
        Whether its updates run on the host.
    """

    blocks: dict[StageTensor, Block]
    backwards: int = 0
    version: int = 0
    updates_on_host: bool = False
    updating: bool = False

    @property
    def is_up_to_date(self) -> bool:
        """Whether the update of the last step has ended."""
        return self.version == self.backwards

    @property
    def state(self) -> tuple[object, ...]:
        """The part of the state that has to be the same at the end of every period."""
        return (
            self.backwards - self.version,
            self.updating,
            *(
                (
                    block.is_resident,
                    block.is_arriving,
                    block.is_resident and self.backwards - block.version,
                    None
                    if block.leaving_version is None
                    else self.backwards - block.leaving_version,
                    None if block.hosted_version is None else self.backwards - block.hosted_version,
                )
                for name, block in self.blocks.items()
                if block.size_bytes and not name.is_activation
            ),
        )
