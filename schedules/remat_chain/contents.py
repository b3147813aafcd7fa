"""Contents of memory as the operations of a chain change them, without times or sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Rule


class TensorKind(StrEnum):
    r"""The three kinds of tensors of a chain: :math:`a^\ell, \bar a^\ell, \delta^\ell`."""

    PLAIN = "a"
    SAVED = "ā"
    GRADIENT = "δ"


@dataclass(frozen=True, slots=True)
class Tensor:
    """Tensor of a chain; stage 0 is the input of the chain."""

    kind: TensorKind
    stage: int

    def __str__(self) -> str:
        return f"{self.kind}^{self.stage}"

    def size_bytes(self, chain: Chain) -> int:
        """Return its size."""
        if self.kind is TensorKind.SAVED:
            return chain.stage(self.stage).saved_bytes
        if self.kind is TensorKind.GRADIENT:
            return chain.gradient_bytes(self.stage)
        return chain.activation_bytes(self.stage)


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of one operation on the memory.

    Attributes
    ----------
    duration_ns
        Duration.
    extra_bytes
        Its outputs and its overhead, on top of what is stored when it starts.
    reads
        The tensors that it reads and that are there.
    drops, adds
        What is gone, and what is new, when it has ended. A tensor in both is computed into fresh
        memory and replaces the old copy.
    output
        Tensor that it makes, or frees if it is a drop, for messages.
    """

    duration_ns: int
    extra_bytes: int
    reads: tuple[Tensor, ...]
    drops: tuple[Tensor, ...]
    adds: tuple[Tensor, ...]
    output: Tensor

    def change_bytes(self, chain: Chain) -> int:
        """Return the change of the stored bytes; negative if the operation frees memory."""
        added = sum(tensor.size_bytes(chain) for tensor in self.adds)
        return added - sum(tensor.size_bytes(chain) for tensor in self.drops)


class ChainContents:
    r"""Contents of memory on a chain, and whether the operations so far are persistent.

    Persistent means that no saved value is dropped or computed again, and that values are dropped
    by operations of Table 1 only. A value counts as saved once it is the input of ``F_ck`` or
    ``F_all``; every :math:`\bar a` is saved.

    Parameters
    ----------
    chain
        The instance.
    broken
        Called with the rule and the tensor where an operation breaks a rule; the operation then
        goes on as if it were allowed.
    """

    def __init__(self, chain: Chain, broken: Callable[[Rule, str], None]) -> None:
        self._chain = chain
        self._broken = broken
        self._checkpointed: set[int] = set()
        self._away: set[Tensor] = set()
        self.gradient = len(chain)
        self.tensors = {
            Tensor(TensorKind.PLAIN, 0),
            Tensor(TensorKind.GRADIENT, self.gradient),
        }
        self.is_persistent = True

    def forward_all(self, number: int) -> Effect:
        r"""Run ``F_all``: the output is :math:`\bar a`, the input stays."""
        stage = self._chain.stage(number)
        output = Tensor(TensorKind.SAVED, number)
        reads = self._activation(number - 1)
        drops = self._present(Tensor(TensorKind.PLAIN, number), output)
        self._checkpointed.add(number - 1)
        return self._forward(
            number, stage.saving_bytes, output, reads=reads, drops=drops, adds=(output,)
        )

    def forward_checkpoint(self, number: int) -> Effect:
        """Run ``F_ck``: the output is plain, the input stays."""
        self._checkpointed.add(number - 1)
        return self._forward_plain(number, drops=())

    def forward_none(self, number: int) -> Effect:
        """Run ``F_none``: the output is plain, the input goes."""
        plain, saved = (Tensor(kind, number - 1) for kind in (TensorKind.PLAIN, TensorKind.SAVED))
        if number - 1 in self._checkpointed or saved in self.tensors:
            self.is_persistent = False
        self._checkpointed.discard(number - 1)
        return self._forward_plain(number, drops=self._present(plain, saved))

    def backward(self, number: int) -> Effect:
        r"""Run ``B``: :math:`\delta^\ell, \bar a^\ell`, and a plain input go."""
        stage = self._chain.stage(number)
        if self.gradient != number:
            self._broken(Rule.WRONG_GRADIENT, f"δ^{number}")
        saved = Tensor(TensorKind.SAVED, number)
        if saved not in self.tensors:
            self._broken(Rule.INPUT_MISSING, str(saved))
        reads = (*self._present(saved), *self._activation(number - 1))
        output = Tensor(TensorKind.GRADIENT, number - 1)
        drops = (
            *self._present(saved, Tensor(TensorKind.PLAIN, number - 1)),
            Tensor(TensorKind.GRADIENT, self.gradient),
        )
        self._checkpointed -= {number - 1, number}
        self.gradient = number - 1
        return self._apply(
            Effect(
                duration_ns=stage.backward_ns,
                extra_bytes=self._chain.backward_output_bytes(number)
                + stage.backward_overhead_bytes,
                reads=reads,
                drops=drops,
                adds=(output,),
                output=output,
            )
        )

    def drop(self, number: int) -> Effect:
        r"""Free the forward output of a stage, :math:`a` or :math:`\bar a`, whichever is there."""
        plain, saved = (Tensor(kind, number) for kind in (TensorKind.PLAIN, TensorKind.SAVED))
        drops = self._present(plain, saved)
        if not drops:
            self._broken(Rule.NOT_IN_MEMORY, str(plain))
        self._lose(number)
        return self._apply(
            Effect(
                duration_ns=0,
                extra_bytes=0,
                reads=(),
                drops=drops,
                adds=(),
                output=drops[0] if drops else plain,
            )
        )

    def give_up(self, tensor: Tensor) -> None:
        """Drop a tensor that is held nowhere else, at no cost."""
        self.tensors.discard(tensor)
        self._lose(tensor.stage)

    def send_away(self, tensor: Tensor) -> None:
        """Drop a tensor that has a copy elsewhere, on the host say: it is not lost."""
        self.tensors.discard(tensor)
        self._away.add(tensor)

    def bring_back(self, tensor: Tensor) -> None:
        """Put a tensor back into memory from its copy elsewhere."""
        self._away.discard(tensor)
        self.tensors.add(tensor)

    def _lose(self, number: int) -> None:
        self.is_persistent = False
        self._checkpointed.discard(number)

    def _forward_plain(self, number: int, drops: tuple[Tensor, ...]) -> Effect:
        output = Tensor(TensorKind.PLAIN, number)
        reads = self._activation(number - 1)
        adds: tuple[Tensor, ...] = ()
        # Where ā is in memory, which includes a, the output is not kept.
        if Tensor(TensorKind.SAVED, number) not in self.tensors:
            drops = (*drops, *self._present(output))
            adds = (output,)
        extra_bytes = self._chain.stage(number).passing_bytes
        return self._forward(number, extra_bytes, output, reads=reads, drops=drops, adds=adds)

    def _forward(
        self,
        number: int,
        extra_bytes: int,
        output: Tensor,
        *,
        reads: tuple[Tensor, ...],
        drops: tuple[Tensor, ...],
        adds: tuple[Tensor, ...],
    ) -> Effect:
        stage = self._chain.stage(number)
        if any(tensor.stage >= number for tensor in self._away):
            # A saved tensor is on the host and not used: a stage at or below it runs again.
            self.is_persistent = False
        return self._apply(
            Effect(
                duration_ns=stage.forward_ns,
                extra_bytes=extra_bytes,
                reads=reads,
                drops=drops,
                adds=adds,
                output=output,
            )
        )

    def _apply(self, effect: Effect) -> Effect:
        self.tensors.difference_update(effect.drops)
        self.tensors.update(effect.adds)
        return effect

    def _activation(self, number: int) -> tuple[Tensor, ...]:
        """Return the copy of an activation that an operation reads."""
        for kind in (TensorKind.PLAIN, TensorKind.SAVED):
            if Tensor(kind, number) in self.tensors:
                return (Tensor(kind, number),)
        self._broken(Rule.INPUT_MISSING, f"a^{number}")
        return ()

    def _present(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensor for tensor in tensors if tensor in self.tensors)
