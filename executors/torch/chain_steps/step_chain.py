r"""Chain of a step as the executor runs it: views with what they view, gradients as they come.

The chain of a profile has a stage for each module, counts a view as a copy of what it views, and
leaves the gradients of all parameters out of its memory: they are reserved. What was measured of
each operation by itself (`StageRises`) says more, and a chain can express it:

* A stage whose output is a view of its input has the storage of that. It is *joined* with the stage
  that made the storage, or, if that is the input of the chain, with the stage that reads it. No
  schedule loses anything: between the two there is nothing to be freed or kept.
* Gradients of parameters appear in the backward operations, last stage first. While work goes on
  below stage :math:`\ell`, there is exactly one gradient :math:`\delta^\ell`, and there are the
  gradients :math:`g^{\ell+1}, \dots, g^N` of the parameters of all stages above. So

  .. math:: \hat\delta^\ell = \delta^\ell + \sum_{i > \ell} g^i

  is what stays while work goes on there. The backward operation of stage :math:`\ell` makes
  :math:`\delta^{\ell-1}` and :math:`g^\ell`, which its overhead has
  (`Chain.backward_overhead_holds_gradient`).

The replay of such a chain is the account of `step_rise_bytes`, but for what the executor keeps to
repeat stages, and for operations that take less than nothing, which no chain has. Its memory has
the gradients of all parameters in it: it is that of the profile's chain and `gradient_bytes` more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.core.names import LONGEST_NAME
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_chain.stage_rises import StageRises


@dataclass(frozen=True, slots=True)
class StepChain:
    """Chain of a step as the executor runs it, and what its stages are made of.

    Attributes
    ----------
    chain
        The chain: views joined, gradients of parameters included.
    counts
        The number of stages of the profile's chain in each stage.
    gradient_bytes
        Gradients of parameters that a step makes.
    """

    chain: Chain
    counts: tuple[int, ...]
    gradient_bytes: int


def step_chain(chain: Chain) -> StepChain | None:
    """Return the chain of a step as the executor runs it; :math:`O(N)`.

    None without the measured rises of all stages in its provenance, and where all that comes before
    the loss are views of the input.
    """
    measured = chain.provenance.rises
    if any(stage.name not in measured for stage in chain):
        return None
    groups = _groups([_Part(stage, StageRises(*measured[stage.name])) for stage in chain])
    if len(groups[-1]) > 1:
        return None
    above_bytes = 0
    stages: list[Stage] = []
    joined: dict[str, StageRises] = {}
    for group in reversed(groups):
        stage, known = _joined(group, above_bytes)
        stages.append(stage)
        # They are a part of what stays as the gradient of the input.
        joined[stage.name] = known._replace(gradient_bytes=0)
        above_bytes += known.gradient_bytes
    return StepChain(
        chain=replace(
            chain,
            stages=tuple(reversed(stages)),
            backward_overhead_holds_gradient=True,
            provenance=replace(chain.provenance, rises=joined, spread={}),
        ),
        counts=tuple(map(len, groups)),
        gradient_bytes=above_bytes,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Stage of the profile's chain, and what was measured of it."""

    stage: Stage
    rises: StageRises

    @property
    def is_view(self) -> bool:
        """Whether the output has the storage of the input."""
        return self.stage.output_bytes > 0 and self.rises.own_output_bytes == 0

    @property
    def new_output_bytes(self) -> int:
        """Storage of the output that was not there before."""
        return 0 if self.is_view else self.stage.output_bytes

    @property
    def kept_bytes(self) -> int:
        """Bytes that a forward operation that saves leaves in memory."""
        return self.stage.saved_bytes - (self.stage.output_bytes if self.is_view else 0)


def _groups(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Return runs of stages, each with one that makes a storage: the others are views."""
    groups: list[list[_Part]] = [[]]
    for part in parts:
        is_begun = any(not before.is_view for before in groups[-1])
        if is_begun and not part.is_view:
            groups.append([])
        groups[-1].append(part)
    return groups


def _joined(group: Sequence[_Part], above_bytes: int) -> tuple[Stage, StageRises]:
    """Return stages as one, below which gradients of `above_bytes` are there, and its rises."""
    if len(group) == 1:
        name, known = group[0].stage.name, group[0].rises
    else:
        name = " + ".join(part.stage.name for part in group)
        if len(name) > LONGEST_NAME:
            name = f"{group[0].stage.name} and {len(group) - 1} more"
        known = _joined_rises(group)
    stages = [part.stage for part in group]
    output_bytes = sum(part.new_output_bytes for part in group)
    saved_bytes = sum(part.kept_bytes for part in group)
    saving_bytes = max(known.saving_bytes, saved_bytes)
    # A chain has no forward operation that takes less where it saves.
    passing_bytes = max(known.passing_bytes, output_bytes)
    overhead_bytes = max(passing_bytes - output_bytes, saving_bytes - saved_bytes)
    gradient_bytes = stages[-1].gradient_bytes
    stage = Stage(
        name=name,
        forward_ns=sum(stage.forward_ns for stage in stages),
        backward_ns=sum(stage.backward_ns for stage in stages),
        output_bytes=output_bytes,
        saved_bytes=saved_bytes,
        forward_overhead_bytes=overhead_bytes,
        saving_overhead_bytes=max(
            saving_bytes - saved_bytes, output_bytes + overhead_bytes - saved_bytes
        ),
        backward_overhead_bytes=known.backward_bytes,
        weight_bytes=sum(stage.weight_bytes for stage in stages),
        output_gradient_bytes=gradient_bytes + above_bytes,
    )
    return stage, known


def _joined_rises(group: Sequence[_Part]) -> StageRises:
    """Return the rises of stages that run as one."""
    passing_bytes = saving_bytes = made_bytes = kept_bytes = 0
    for part in group:
        passing_bytes = max(passing_bytes, made_bytes + part.rises.passing_bytes)
        saving_bytes = max(saving_bytes, kept_bytes + part.rises.saving_bytes)
        made_bytes += part.new_output_bytes
        kept_bytes += part.kept_bytes
    backward_bytes = change_bytes = 0
    for place in reversed(range(len(group))):
        part = group[place]
        backward_bytes = max(backward_bytes, change_bytes + part.rises.backward_bytes)
        if place:
            given_bytes = group[place - 1].stage.gradient_bytes
            change_bytes += given_bytes - part.stage.gradient_bytes
        change_bytes += part.rises.gradient_bytes - part.kept_bytes
    return StageRises(
        saving_bytes=saving_bytes,
        passing_bytes=passing_bytes,
        backward_bytes=backward_bytes,
        gradient_bytes=sum(part.rises.gradient_bytes for part in group),
        generator_bytes=max(part.rises.generator_bytes for part in group),
        own_output_bytes=sum(part.rises.own_output_bytes for part in group),
    )
