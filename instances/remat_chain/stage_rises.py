"""Rises of a stage: what its operations were measured to take, each by itself."""

from __future__ import annotations

from typing import NamedTuple


class StageRises(NamedTuple):
    r"""Rises of a stage, as the provenance of a measured chain keeps them.

    A chain has no overhead below 0, and reserves the gradients of all parameters. Plans made with
    it fit the memory; what a step really takes is often less, and these say how much.

    Attributes
    ----------
    saving_bytes, passing_bytes, backward_bytes
        What a forward operation with saving (:math:`\bar a` included), one without (:math:`a`
        included) and the backward operation take at their peaks beyond what is there as they begin.
        For the latter that is the input, :math:`\bar a` and the gradient of the output.
    gradient_bytes
        Gradients of parameters that the backward operation makes, and that stay.
    generator_bytes
        State of the generator of random numbers if the stage draws some; else 0.
    own_output_bytes
        Size of the output if it has a storage of its own; 0 if it is a view of the input.
    """

    saving_bytes: int
    passing_bytes: int
    backward_bytes: int
    gradient_bytes: int
    generator_bytes: int
    own_output_bytes: int
