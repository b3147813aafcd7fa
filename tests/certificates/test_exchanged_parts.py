"""Certificates of every formulation with parts of others: refused, or right all the same.

Here the proof of one certificate stands under the header of another, headers name other
formulations, options, claims and classes, and instances lose entries or have others twice, beside
changed numbers. What is right is what the brute forces say of the instance in the header.
"""

from __future__ import annotations

import copy
import gzip
import io
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jettison.certificates.certificate_file import CertificateFile
from jettison.certificates.checker import check_opened
from jettison.certificates.claim import Claim, instance_sha256
from jettison.certificates.errors import CertificateError
from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.certify import certify
from jettison.solvers.proof.statement import Statement
from tests.certificates.written_certificate import Header, text_of
from tests.drawing.chains import random_chain
from tests.drawing.graphs import tight
from tests.remat_chain.oracles import brute_force as chain_brute_force
from tests.remat_graph.oracles import brute_force as graph_brute_force
from tests.remat_sharding.oracles.brute_force import best_reduced_plan
from tests.remat_sharding.samples import training_steps
from tests.sharding.oracles.strategy_brute_force import least_cost, least_peak, random_graph
from tests.three_partition.oracles.brute_force import has_three_partition
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import BANDWIDTHS, sample

CHANGES = 900
FORMULATIONS: Mapping[str, tuple[tuple[str, str, dict[str, Any]], ...]] = {
    "remat-graph": (
        ("memory-floor", "all schedules", {}),
        ("windowed-frontier", "in-order", {"cuts": [1, 2, 3]}),
        ("windowed-frontier", "staged", {"cuts": [2, 3, 4], "slots": [[3, 0], [3, 1], [4, 2]]}),
    ),
    "remat-chain": (("chain-cut", "all schedules", {"stage": 3}),),
    "weight-offload": (
        ("cover", "all schedules", {}),
        ("aggregated", "all schedules", {}),
        ("aggregated", "all schedules", {"whole": True}),
        ("milp", "all schedules", {"cuts": ["3a", "3b", "7'", "6c"]}),
    ),
    "sharding": (("strategy-choice", "all schedules", {}),),
    "remat-sharding": (("kiwi-reduced-compact", "kiwi-reduced", {}),),
    "three-partition": (
        ("triples", "all partitions", {}),
        ("assignment", "all partitions", {}),
    ),
}
CLASSES = (*map(str, ScheduleClass), "all partitions")


def statements() -> Iterator[Statement]:
    """Yield what to certify: each formulation of some small problems, in little memory."""
    chance = random.Random(70)
    given: list[tuple[str, Any, dict[str, int]]] = []
    for _ in range(4):
        graph = tight(chance, 5).instance
        least = graph.least_peak_bound_bytes - chance.randint(0, 1)
        given.append(("remat-graph", graph.to_json(), {"memory_bytes": least}))
        chain = random_chain(chance, 4)
        least = chain_brute_force.least_memory(chain) - chance.randint(0, 1)
        given.append(("remat-chain", chain.to_json(), {"memory_bytes": max(0, least)}))
        cycle = sample(chance, 2, longest_ns=3, most_bytes=3, least=1)
        link = {"memory_bytes": cycle.memory_bytes, "bytes_per_s": cycle.link.bytes_per_s}
        given.append(("weight-offload", cycle.instance.to_json(), link))
        choices = random_graph(chance.randrange(99), most_nodes=4)
        given.append(("sharding", choices.to_json(), {"memory_bytes": least_peak(choices) or 0}))
    given.extend(
        ("remat-sharding", step.instance.to_json(), {"memory_bytes": step.memory_bytes})
        for step in training_steps(seed=71, count=4, most_operators=5)
    )
    # The 6 lacks a 3 beside a 4, and the 10 a second 6.
    for values, target in (([4, 4, 4, 4, 4, 6], 13), ([6, 7, 7, 7, 7, 10], 22)):
        items = {
            "format": "jettison",
            "kind": "three-partition",
            "version": 1,
            "name": "items",
            "values": values,
            "target": target,
        }
        given.append(("three-partition", items, {}))
    for problem, instance, resources in given:
        for name, _, options in FORMULATIONS[problem]:
            yield Statement(problem, instance, resources, {"name": name, "version": 1, **options})


@cache
def certificates() -> tuple[Certificate, ...]:
    """Return certificates of what is true: the optimum as far as the model proves it, or none."""
    found = []
    for statement in statements():
        valid_for = statement.model().valid_for
        time_ns = fastest_ns(statement.problem, statement.instance, statement.resources, valid_for)
        certificate = certify(statement, time_ns, Clock(5))
        if certificate is not None:
            found.append(certificate)
    return tuple(found)


def fastest_ns(
    problem: str, instance: Mapping[str, Any], resources: Mapping[str, int], valid_for: str
) -> int | None:
    """Ask the brute force of a problem and a class; None if there is no schedule."""
    document = {"name": "changed", **instance}
    memory_bytes = resources.get("memory_bytes", 0)
    match problem, valid_for:
        case "remat-graph", "all schedules":
            return graph_brute_force.least_time_ns(Graph.from_json(document), memory_bytes)
        case "remat-graph", "in-order":
            return graph_brute_force.least_in_order_time_ns(Graph.from_json(document), memory_bytes)
        case "remat-graph", "staged":
            return graph_brute_force.least_staged_time_ns(Graph.from_json(document), memory_bytes)
        case "remat-chain", "all schedules":
            return chain_brute_force.fastest(Chain.from_json(document), memory_bytes)
        case "weight-offload", "all schedules":
            chain = Chain.from_json(document)
            return least_period_ns(WeightOffload(chain, memory_bytes, resources["bytes_per_s"]))
        case "sharding", "all schedules":
            return least_cost(StrategyGraph.from_json(document), memory_bytes)
        case "remat-sharding", "kiwi-reduced":
            plan = best_reduced_plan(ShardedGraph.from_json(document), memory_bytes)
            return None if plan is None else plan.time_ns
        case "three-partition", "all partitions":
            has_one = has_three_partition(document["values"], document["target"])
            return 0 if has_one else None
        case _:
            raise AssertionError(f"no formulation of {problem} holds for {valid_for}")


def is_right(claim: Claim) -> bool:
    try:
        best_ns = fastest_ns(claim.problem, claim.instance, claim.resources, claim.valid_for)
    except InputError:
        # An instance that cannot be loaded is about nothing that anybody could ask.
        return True
    return best_ns is None or (claim.time_ns is not None and claim.time_ns <= best_ns)


def test_a_certificate_with_parts_of_others_is_refused_or_right() -> None:
    chance = random.Random(72)
    counts: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    for _ in range(CHANGES):
        base = chance.choice(certificates())
        header: Header = copy.deepcopy(dict(base.header))
        kind = chance.choice(("proof", "formulation", "claim", "given", "entries", "numbers"))
        if kind == "proof":
            base = chance.choice([item for item in certificates() if is_like(item, header)])
            header["scale_bits"] = base.header["scale_bits"]
        else:
            change_header(header, kind, chance)
        if chance.random() < 0.3:
            change_header(header, "claim", chance)
        header["instance_sha256"] = instance_sha256(header["instance"])
        lines = gzip.decompress(base.lines).decode("ascii").splitlines()
        text = text_of(header, lines)
        try:
            claim = check_opened(CertificateFile(io.BytesIO(text.encode("ascii")))).claim
        except CertificateError:
            counts[f"{kind} refused"] += 1
            continue
        counts[f"{kind} accepted"] += 1
        accepted[str(claim.formulation["name"])] += 1
        assert is_right(claim), text
    assert min(counts.values()) > 5
    assert len(counts) == 12
    assert accepted.keys() == {name for forms in FORMULATIONS.values() for name, _, _ in forms}


def is_like(certificate: Certificate, header: Header) -> bool:
    return bool(certificate.header["formulation"]["name"] == header["formulation"]["name"])


def change_header(header: Header, kind: str, chance: random.Random) -> None:
    match kind:
        case "formulation":
            name, valid_for, options = chance.choice(FORMULATIONS[header["problem"]])
            header["formulation"] = {"name": name, "version": 1, **options}
            header["valid_for"] = chance.choice((valid_for, valid_for, chance.choice(CLASSES)))
        case "claim":
            time_ns = header["claim"].get("time_ns", 9) + chance.choice((-1, 1, 1, 9))
            header["claim"] = chance.choice(({"infeasible": True}, {"time_ns": max(0, time_ns)}))
        case "given":
            for key in header["resources"]:
                more = chance.choice((-2, -1, 1, 2, 9))
                known = header["resources"][key]
                is_link = key == "bytes_per_s"
                header["resources"][key] = (
                    chance.choice(BANDWIDTHS) if is_link else max(0, known + more)
                )
            header["scale_bits"] = max(0, header["scale_bits"] + chance.choice((-1, 0, 0, 1)))
        case "entries":
            entries = chance.choice([*lists_of(header["instance"])])
            place = chance.randrange(len(entries))
            if chance.random() < 0.5:
                del entries[place]
            else:
                entries.insert(chance.randrange(len(entries)), entries[place])
        case _:
            holder, key = chance.choice([*numbers_of(header["instance"])])
            holder[key] = max(0, holder[key] + chance.choice((-3, -1, 1, 2)))


def lists_of(part: Any) -> Iterator[list[Any]]:
    """Yield the lists of a document that are not empty, inner ones too."""
    if isinstance(part, list) and part:
        yield part
    if isinstance(part, list | dict):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from lists_of(inner)


def numbers_of(part: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what holds an integer, and where in it."""
    if isinstance(part, list | dict):
        places = part.items() if isinstance(part, dict) else enumerate(part)
        for key, inner in places:
            if type(inner) is int and key != "version":
                yield part, key
            yield from numbers_of(inner)
