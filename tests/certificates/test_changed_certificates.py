"""Thousands of changed certificates: each is refused, or what it claims is right all the same.

What is right is what the brute forces say of the instance in the header, whatever became of it:
instances, memories, claims and options are changed as well as proofs, with hashes that fit.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from jettison import Chain, Graph, RematChain, ScheduleClass, check_certificate
from jettison.certificates.claim import Claim, instance_sha256
from jettison.core import CertificateError
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import base_time_bound
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.certify import certify
from jettison.solvers.proof.statement import Statement
from jettison.solvers.remat_chain.proof.programs import certify_none_fits, certify_program
from jettison.solvers.remat_chain.rotor_drops import solve_rotor_drops
from jettison.solvers.remat_chain.rotor_exact import solve_rotor_exact
from tests.drawing.chains import random_chain
from tests.drawing.graphs import tight
from tests.remat_chain.oracles import brute_force as chain_brute_force
from tests.remat_chain.oracles.drops_brute_force import fastest_persistent_with_drops
from tests.remat_graph.oracles import brute_force as graph_brute_force

CHANGES = 1500
BROKEN_FILES = 600

# What finds the optimum of each class that has a program, and the brute force.
_PROGRAMS = {
    ScheduleClass.PERSISTENT: solve_rotor_exact,
    ScheduleClass.PERSISTENT_WITH_DROPS: solve_rotor_drops,
}
_FASTEST = {
    ScheduleClass.PERSISTENT: chain_brute_force.fastest_persistent,
    ScheduleClass.PERSISTENT_WITH_DROPS: fastest_persistent_with_drops,
}


@cache
def certificates() -> tuple[Certificate, ...]:
    """Return certificates of small graphs and chains, of times and of infeasibility."""
    return (*_of_graphs(), *_of_chains())


def _of_graphs() -> Iterator[Certificate]:
    generator = random.Random(30)
    count = 0
    while count < 20:
        problem = tight(generator, 5)
        graph, memory = problem.instance, problem.memory_bytes - generator.choice([0, 0, 0, 2])
        cuts = sorted(generator.sample(range(len(graph)), generator.randint(1, 3)))
        staged = generator.random() < 0.5
        optimum = _fastest_graph(graph, memory, staged=staged)
        statement = Statement(
            "remat-graph",
            graph.to_json(),
            {"memory_bytes": memory},
            {"name": "windowed-frontier", "version": 1, "cuts": cuts, "staged": staged},
        )
        found = certify(statement, optimum, Clock(5))
        if found is not None and found.time_ns != graph.base_time_ns:
            count += 1
            yield found


def _of_chains() -> Iterator[Certificate]:
    generator = random.Random(31)
    found = 0
    while found < 12:
        chain = random_chain(generator, 3)
        front = chain_brute_force.persistent_front(chain)
        memory = generator.choice([front[-1][0] - 1, *(peak for peak, _ in front)])
        if memory < 0 or len(front) == 1:
            continue
        problem = RematChain(chain, memory)
        for valid_for, method in _PROGRAMS.items():
            outcome = method(problem, SolveOptions())
            bounds = (base_time_bound(problem), *outcome.bounds)
            if outcome.infeasibility is not None:
                certificate = certify_none_fits(problem, valid_for, Clock(5))
            else:
                certificate = certify_program(problem, valid_for, bounds, Clock(5))
            if certificate is None:
                # Where everything is saved, no more than one of each operation is claimed.
                assert memory >= chain.store_all_peak_bytes
                continue
            yield certificate
        found += 1


def _fastest_graph(graph: Graph, memory_bytes: int, *, staged: bool) -> int | None:
    if staged:
        return graph_brute_force.least_staged_time_ns(graph, memory_bytes)
    return graph_brute_force.least_in_order_time_ns(graph, memory_bytes)


def is_right(claim: Claim, known: dict[str, int | None]) -> bool:
    """Ask the brute forces whether a claim is true."""
    memory = claim.resources["memory_bytes"]
    key = f"{claim.instance_sha256} {memory} {claim.valid_for}"
    if key not in known:
        if claim.problem == "remat-graph":
            assert claim.valid_for in {ScheduleClass.STAGED, ScheduleClass.IN_ORDER}
            graph = Graph.from_json(claim.instance)
            known[key] = _fastest_graph(
                graph, memory, staged=claim.valid_for == ScheduleClass.STAGED
            )
        else:
            assert claim.problem == "remat-chain"
            chain = Chain.from_json(claim.instance)
            known[key] = _FASTEST[ScheduleClass(claim.valid_for)](chain, memory)
    optimum = known[key]
    return optimum is None or (claim.time_ns is not None and claim.time_ns <= optimum)


def test_a_changed_certificate_is_refused_or_right(tmp_path: Path) -> None:
    generator = random.Random(32)
    known: dict[str, int | None] = {}
    counts: Counter[str] = Counter()
    texts = [gzip.decompress(item.compressed).decode() for item in certificates()]
    path = tmp_path / "c"
    for _ in range(CHANGES):
        magic, head, *lines = generator.choice(texts).splitlines()
        header = json.loads(head)
        kind = change(header, lines, generator)
        path.write_text("".join(f"{line}\n" for line in (magic, json.dumps(header), *lines)))
        try:
            claim = check_certificate(path).claim
        except CertificateError:
            counts[f"{kind} refused"] += 1
            continue
        counts[f"{kind} accepted"] += 1
        assert is_right(claim, known), path.read_text()
    # Every kind of change was tried often, and is refused at times.
    assert len(counts) >= 10
    assert min(counts[f"{kind} refused"] for kind in ("number", "line", "claim", "given")) > 25
    assert sum(counts[name] for name in counts if name.endswith("accepted")) > 50


def change(header: dict[str, Any], lines: list[str], generator: random.Random) -> str:
    """Change something, and say what."""
    match generator.randrange(6):
        case 0 | 1 if lines:
            place = generator.randrange(len(lines))
            lines[place] = with_another_number(lines[place], generator)
            return "number"
        case 2 if lines:
            change_lines(lines, generator)
            return "line"
        case 3:
            time_ns = header["claim"].get("time_ns")
            header["claim"] = generator.choice(
                [{"infeasible": True}, {"time_ns": (time_ns or 9) + generator.choice([-1, 1, 2])}]
            )
            return "claim"
        case 4:
            _change_instance(header["instance"], generator)
            header["instance_sha256"] = instance_sha256(header["instance"])
            return "instance"
        case _:
            _change_what_is_given(header, generator)
            return "given"


def with_another_number(line: str, generator: random.Random) -> str:
    letter, *parts = line.split(" ")
    numbers = [place for place, part in enumerate(parts) if any(map(str.isdigit, part))]
    if not numbers:
        return f"{line} 0:1"
    place = generator.choice(numbers)
    *before, last = parts[place].replace(":", " ").replace("=", " ").split(" ")
    mark = ":" if ":" in parts[place] else "="
    values = [*before, last]
    chosen = generator.randrange(len(values))
    if values[chosen].lstrip("-").isdigit():
        step = generator.choice([-(1 << 30), -7, -1, 1, 2, 1 << 28, 1 << 40])
        values[chosen] = str(int(values[chosen]) + step)
    parts[place] = mark.join(values)
    return " ".join([letter, *parts])


def change_lines(lines: list[str], generator: random.Random) -> None:
    place, other = generator.randrange(len(lines)), generator.randrange(len(lines))
    match generator.randrange(4):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[other])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            letter = generator.choice(["b", "x", "l", "f", "G", "K", "p", "C0", "E0", "C1", "E1"])
            lines[place] = " ".join([letter, *lines[place].split(" ")[1:]])


def _change_instance(instance: dict[str, Any], generator: random.Random) -> None:
    """Change a size or a duration."""
    part = generator.choice(instance.get("nodes") or instance["stages"])
    field = generator.choice([key for key, value in part.items() if type(value) is int])
    part[field] = max(0, part[field] + generator.choice([-2, -1, 1, 3]))
    if "saved_bytes" in part:
        part["saved_bytes"] = max(part["saved_bytes"], part["output_bytes"])
        instance["stages"][-1]["output_bytes"] = 0


def _change_what_is_given(header: dict[str, Any], generator: random.Random) -> None:
    formulation = header["formulation"]
    match generator.randrange(4):
        case 0:
            header["resources"]["memory_bytes"] += generator.choice([-2, -1, 1, 2])
        case 1:
            header["scale_bits"] += generator.choice([-1, 1])
        case 2:
            header["valid_for"] = generator.choice(list(ScheduleClass)).value
        case _ if "cuts" in formulation:
            formulation["cuts"] = sorted({*formulation["cuts"], generator.randrange(5)})
        case _:
            formulation["version"] += 1


def test_a_broken_file_is_refused_or_right(tmp_path: Path) -> None:
    generator = random.Random(33)
    known: dict[str, int | None] = {}
    path = tmp_path / "c"
    refused = 0
    for _ in range(BROKEN_FILES):
        data = bytearray(generator.choice(certificates()).compressed)
        place = generator.randrange(len(data))
        match generator.randrange(3):
            case 0:
                data[place] ^= 1 << generator.randrange(8)
            case 1:
                del data[place]
            case _:
                del data[place:]
        path.write_bytes(data)
        try:
            assert is_right(check_certificate(path).claim, known)
        except CertificateError:
            refused += 1
    assert refused > BROKEN_FILES * 0.9


@pytest.mark.parametrize("number", range(0, 32, 5))
def test_the_certificates_hold_as_they_are(tmp_path: Path, number: int) -> None:
    certificate = certificates()[number]
    certificate.save(tmp_path / "c.gz")
    claim = check_certificate(tmp_path / "c.gz").claim
    assert claim.time_ns == certificate.time_ns
    assert is_right(claim, {})
