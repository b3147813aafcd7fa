"""Random small sharded graphs with a memory, from too little of it to more than enough."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

from jettison import InputError, RematSharding, ShardedGraph
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.remat_sharding import Operator, Resharding, Role, Strategy


def training_steps(seed: int, count: int, most_operators: int = 7) -> Iterator[RematSharding]:
    """Yield training steps of 4 operators or more: backward ones come last, and read early ones."""
    chance = random.Random(seed)
    for _ in range(count):
        length = chance.randint(4, most_operators)
        backward = chance.randint(1, max(1, length // 2))
        roles = [_early_role(chance) for _ in range(length - backward)]
        roles[-1] = Role.FORWARD
        yield _problem(chance, [*roles, *[Role.BACKWARD] * backward])


def any_order(seed: int, count: int, most_operators: int = 6) -> Iterator[RematSharding]:
    """Yield graphs in which roles follow each other as it happens."""
    chance = random.Random(seed)
    for _ in range(count):
        length = chance.randint(3, most_operators)
        roles = [chance.choice((_early_role(chance), Role.BACKWARD)) for _ in range(length)]
        yield _problem(chance, roles)


def _early_role(chance: random.Random) -> Role:
    return chance.choice((Role.PARAMETER, Role.INPUT, *[Role.FORWARD] * 6))


def _problem(chance: random.Random, roles: list[Role]) -> RematSharding:
    """Draw until the graph is one: what is forbidden must leave something."""
    while True:
        with suppress(InputError):
            sharded = _graph(chance, roles)
            least = sharded.least_peak_bound_bytes
            most = max(_peak_without_recomputation(chance, sharded) - 1, least)
            # Most of them too little for what no operator is computed twice in.
            few, many = (max(least, most - 5), most), (least - 1, most + 12)
            return RematSharding(sharded, max(0, chance.randint(*chance.choice((few, few, many)))))


def _peak_without_recomputation(chance: random.Random, sharded: ShardedGraph) -> int:
    """Return the least peak of some choices of strategies that compute everything once."""
    peaks = []
    for _ in range(40):
        drawn = [chance.choice(operator.allowed) for operator in sharded.operators]
        with suppress(InputError):
            strategies = [drawn[leader] for leader in sharded.leader]
            peaks.append(with_strategies(sharded, strategies).store_all_peak_bytes)
    return min(peaks, default=0)


def _graph(chance: random.Random, roles: list[Role]) -> ShardedGraph:
    operators: list[Operator] = []
    tables = []
    for position, role in enumerate(roles):
        read = [] if role.is_computed_once else _sources(chance, roles[:position], role)
        size = chance.choice((1, 2, 2, 3))
        follows = None
        if position and chance.random() < 0.2:
            leader = operators[chance.randrange(position)]
            follows, size = leader.name, len(leader.strategies)
        operators.append(
            Operator(
                name=f"o{position}",
                role=role,
                strategies=tuple(_strategy(chance, f"s{k}", size) for k in range(size)),
                inputs=tuple(f"o{source}" for source in read),
                follows=follows,
                keep=role is not Role.PARAMETER and chance.random() < 0.1,
            )
        )
        tables.extend(
            _table(chance, operators[source], operators[-1])
            for source in read
            if chance.random() < 0.6
        )
    return ShardedGraph("sample", tuple(operators), tuple(tables))


def _sources(chance: random.Random, before: list[Role], role: Role) -> list[int]:
    """Return what an operator reads: mostly the one before, and backward the mirror image of it."""
    found = set()
    if before and chance.random() < 0.85:
        found.add(len(before) - 1)
    forward = [i for i, other in enumerate(before) if other is Role.FORWARD]
    if role is Role.BACKWARD and forward and chance.random() < 0.9:
        found.add(forward[before.count(Role.BACKWARD) % len(forward)])
    if before and chance.random() < 0.25:
        found.add(chance.randrange(len(before)))
    return sorted(found)


def _table(chance: random.Random, source: Operator, target: Operator) -> Resharding:
    costs = tuple(tuple(_cost(chance) for _ in target.strategies) for _ in source.strategies)
    return Resharding(source.name, target.name, costs)


def _strategy(chance: random.Random, name: str, size: int) -> Strategy:
    return Strategy(
        name=name,
        compute_ns=None if size > 1 and chance.random() < 0.1 else chance.randint(0, 9),
        communication_ns=chance.choice((0, 0, chance.randint(1, 9))),
        memory_bytes=chance.choice((0, chance.randint(1, 4), chance.randint(1, 9))),
    )


def _cost(chance: random.Random) -> int | None:
    return None if chance.random() < 0.12 else chance.choice((0, chance.randint(1, 9)))
