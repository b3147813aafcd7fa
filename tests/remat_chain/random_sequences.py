"""Random sequences on a chain that a replay accepts, persistent or not, with transfers or not."""

from __future__ import annotations

import random

from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.schedules.remat_offload.transfer_operation import TransferOperation

Kind = ChainOperationKind
# After so many operations nothing is dropped any more, so that the sequence comes to its end.
CAREFREE = 60


def random_sequence(
    stages: int, generator: random.Random, *, transfers: bool, drops: bool = False
) -> list[ChainOperation | TransferOperation]:
    """Walk at random: what is in memory is kept as a set, by the rules of Table 1.

    With `drops`, some of what has no copy on the host is dropped instead of copied.
    """
    memory = {Tensor(TensorKind.PLAIN, 0)}
    host: set[Tensor] = set()
    operations: list[ChainOperation | TransferOperation] = []
    gradient = stages
    while gradient:
        if transfers and len(operations) < CAREFREE and generator.random() < 0.4:
            operations += _random_transfer(memory, host, gradient, generator, drops=drops)
        below = {tensor.stage for tensor in memory if tensor.stage < gradient}
        if not below:
            away = Tensor(TensorKind.PLAIN, 0)
            memory.add(away)
            operations.append(TransferOperation.prefetch(away))
            continue
        saved = Tensor(TensorKind.SAVED, gradient)
        if saved in memory and gradient - 1 in below and generator.random() < 0.8:
            operations.append(ChainOperation(Kind.BACKWARD, gradient))
            memory -= {saved, Tensor(TensorKind.PLAIN, gradient - 1)}
            gradient -= 1
            continue
        start = max(below) if generator.random() < 0.8 else generator.choice(sorted(below))
        operations.append(_random_forward(start + 1, gradient, len(operations), memory, generator))
    return operations


def _random_forward(
    number: int, gradient: int, count: int, memory: set[Tensor], generator: random.Random
) -> ChainOperation:
    kinds = [Kind.FORWARD_ALL]
    if number < gradient:
        kinds.append(Kind.FORWARD_CHECKPOINT)
        # The input of the chain cannot be computed again.
        if number > 1 and count < CAREFREE:
            kinds.append(Kind.FORWARD_NONE)
    kind = generator.choice(kinds)
    _run_forward(kind, number, memory)
    return ChainOperation(kind, number)


def _run_forward(kind: Kind, number: int, memory: set[Tensor]) -> None:
    plain, saved = _outputs(number)
    if kind is Kind.FORWARD_ALL:
        memory.discard(plain)
        memory.add(saved)
    elif saved not in memory:
        memory.add(plain)
    if kind is Kind.FORWARD_NONE:
        memory.difference_update(_outputs(number - 1))


def _outputs(number: int) -> tuple[Tensor, Tensor]:
    return Tensor(TensorKind.PLAIN, number), Tensor(TensorKind.SAVED, number)


def _random_transfer(
    memory: set[Tensor],
    host: set[Tensor],
    gradient: int,
    generator: random.Random,
    *,
    drops: bool,
) -> list[TransferOperation]:
    there = sorted(memory, key=str)
    away = sorted((item for item in host - memory if item.stage <= gradient), key=str)
    if away and generator.random() < 0.4:
        tensor = generator.choice(away)
        memory.add(tensor)
        return [TransferOperation.prefetch(tensor)]
    if not there:
        return []
    tensor = generator.choice(there)
    if tensor in host:
        memory.discard(tensor)
        return [TransferOperation.drop(tensor)]
    if drops and tensor.stage and generator.random() < 0.5:
        memory.discard(tensor)
        return [TransferOperation.drop(tensor)]
    host.add(tensor)
    return [TransferOperation.offload(tensor)]


def random_sequence_with_drops(
    stages: int, generator: random.Random, *, orderly: bool
) -> list[ChainOperation]:
    """Walk at random by the rules of Table 1, and drop now and then what can be made again.

    An orderly walk goes on from the newest value below the gradient, and drops the inputs of what
    is saved.
    """
    memory = set(_outputs(0)[:1])
    operations: list[ChainOperation] = []
    gradient = stages
    while gradient:
        below = {tensor.stage for tensor in memory if tensor.stage < gradient}
        saved = {tensor.stage for tensor in memory if tensor.kind is TensorKind.SAVED}
        # An orderly walk drops the inputs of what is saved, and no other.
        loose = {
            tensor.stage
            for tensor in memory
            if not orderly or (tensor.stage + 1 in saved and tensor.stage not in saved)
        } - {0}
        if loose and len(operations) < CAREFREE and generator.random() < 0.3:
            number = generator.choice(sorted(loose))
            operations.append(ChainOperation(Kind.DROP, number))
            memory.difference_update(_outputs(number))
            continue
        if gradient in saved and gradient - 1 in below and (orderly or generator.random() < 0.9):
            operations.append(ChainOperation(Kind.BACKWARD, gradient))
            memory -= {_outputs(gradient)[1], _outputs(gradient - 1)[0]}
            gradient -= 1
            continue
        newest = orderly or generator.random() < 0.8
        number = (max(below) if newest else generator.choice(sorted(below))) + 1
        operations.append(_random_forward(number, gradient, len(operations), memory, generator))
    return operations
