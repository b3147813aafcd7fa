"""Random sequences on a chain that a replay accepts, persistent or not, with transfers or not."""

from __future__ import annotations

import random

from jettison.schedules.chain_contents import Tensor, TensorKind
from jettison.schedules.chain_schedule import ChainOperation, ChainOperationKind
from jettison.schedules.transfer_operation import TransferOperation

Kind = ChainOperationKind
# After so many operations nothing is dropped any more, so that the sequence comes to its end.
CAREFREE = 60


def random_sequence(
    stages: int, generator: random.Random, *, transfers: bool
) -> list[ChainOperation | TransferOperation]:
    """Walk at random: what is in memory is kept as a set, by the rules of Table 1."""
    memory = {Tensor(TensorKind.PLAIN, 0)}
    host: set[Tensor] = set()
    operations: list[ChainOperation | TransferOperation] = []
    gradient = stages
    while gradient:
        if transfers and len(operations) < CAREFREE and generator.random() < 0.4:
            operations += _random_transfer(memory, host, gradient, generator)
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
    plain, saved = (Tensor(kind, number) for kind in (TensorKind.PLAIN, TensorKind.SAVED))
    kinds = [Kind.FORWARD_ALL]
    if number < gradient:
        kinds.append(Kind.FORWARD_CHECKPOINT)
        # The input of the chain cannot be computed again.
        if number > 1 and count < CAREFREE:
            kinds.append(Kind.FORWARD_NONE)
    kind = generator.choice(kinds)
    if kind is Kind.FORWARD_ALL:
        memory.discard(plain)
        memory.add(saved)
    elif saved not in memory:
        memory.add(plain)
    if kind is Kind.FORWARD_NONE:
        memory -= {Tensor(kind, number - 1) for kind in (TensorKind.PLAIN, TensorKind.SAVED)}
    return ChainOperation(kind, number)


def _random_transfer(
    memory: set[Tensor], host: set[Tensor], gradient: int, generator: random.Random
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
    host.add(tensor)
    return [TransferOperation.offload(tensor)]
