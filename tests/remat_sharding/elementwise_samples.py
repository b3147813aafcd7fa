"""Random small training steps whose forward operators are products or elementwise."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

from jettison import InputError, RematSharding, ShardedGraph
from jettison.remat_sharding import Operator, Resharding, Role, Strategy


def elementwise_steps(seed: int, count: int) -> Iterator[RematSharding]:
    """Yield steps of 7 to 9 operators in too little memory to store everything, or in enough."""
    chance = random.Random(seed)
    for _ in range(count):
        yield _problem(chance)


def _problem(chance: random.Random) -> RematSharding:
    while True:
        forward, backward = chance.randint(4, 6), chance.randint(2, 3)
        operators = [_operator(chance, "x", Role.INPUT, "", [])]
        for i in range(1, forward + 1):
            # Some values that only elementwise operators read, and residual edges.
            read = {i - 1} if chance.random() < 0.9 else set()
            read |= {chance.randrange(i) for _ in range(chance.random() < 0.3)}
            kind = chance.choice(("dot", "add", "exp", "max", "mul"))
            operators.append(
                _operator(chance, f"f{i}", Role.FORWARD, kind, _names(operators, read))
            )
        for i in range(backward):
            read = {len(operators) - 1} if chance.random() < 0.8 else set()
            read |= {chance.randint(1, forward) for _ in range(chance.choice((1, 1, 2)))}
            operators.append(_operator(chance, f"b{i}", Role.BACKWARD, "", _names(operators, read)))
        tables = tuple(
            Resharding(name, item.name, _table(chance, operators, name, item))
            for item in operators
            for name in item.inputs
            if chance.random() < 0.3
        )
        with suppress(InputError):
            sharded = ShardedGraph("elementwise", tuple(operators), tables)
            least = sharded.least_peak_bound_bytes
            return RematSharding(sharded, least + chance.choice((0, 1, 2, 4, 8, 16)))


def _names(operators: list[Operator], read: set[int]) -> tuple[str, ...]:
    return tuple(operators[i].name for i in sorted(read))


def _operator(
    chance: random.Random, name: str, role: Role, operation: str, inputs: object
) -> Operator:
    assert isinstance(inputs, (tuple, list))
    strategies = tuple(
        Strategy(
            name=f"s{k}",
            compute_ns=chance.randint(0, 9) if operation == "dot" else chance.randint(0, 3),
            communication_ns=chance.choice((0, 0, 5)),
            memory_bytes=chance.randint(0, 9),
        )
        for k in range(chance.choice((1, 1, 2)))
    )
    return Operator(
        name=name,
        role=role,
        strategies=strategies,
        inputs=tuple(inputs),
        operation=operation,
        keep=role is not Role.INPUT and chance.random() < 0.08,
    )


def _table(
    chance: random.Random, operators: list[Operator], source: str, target: Operator
) -> tuple[tuple[int | None, ...], ...]:
    (rows,) = (len(item.strategies) for item in operators if item.name == source)
    return tuple(
        tuple(None if chance.random() < 0.1 else chance.randint(0, 6) for _ in target.strategies)
        for _ in range(rows)
    )
