"""Weight offloading on a link whose directions share a total: replay, bounds, methods, proofs."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from jettison import Link, WeightOffload
from jettison.certificates.checker import check_certificate
from jettison.certificates.errors import CertificateError
from jettison.instances.core.link import SharedTotal
from jettison.solvers.core.certified import certified_bound
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.weight_offload.bounds.aggregated import bound_weight_fluid, bound_weight_whole
from jettison.solvers.weight_offload.bounds.closed_form import bound_weight_closed_form
from jettison.solvers.weight_offload.bounds.milp import (
    bound_paper_milp,
    bound_paper_milp_strengthened,
)
from jettison.solvers.weight_offload.certifier import certify_weight_offload
from jettison.weight_offload import CyclicEvent, CyclicEventKind, CyclicSchedule
from tests.certificates.second_checker import needs_node, verdicts
from tests.weight_offload.layers import layers_in
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import sample
from tests.weight_offload.oracles.shared_walks import least_shared_period_ns

OPTIONS = SolveOptions(time_limit_s=20, gap=0)
GB = 10**9
BOUNDS = (
    bound_weight_fluid,
    bound_weight_whole,
    bound_paper_milp,
    bound_paper_milp_strengthened,
    bound_weight_closed_form,
)


@cache
def judged() -> tuple[tuple[WeightOffload, int], ...]:
    """Return tiny steps on shared links of which weights have to leave, with their least period."""
    chance = random.Random(51)
    found = []
    while len(found) < 15:
        drawn = sample(chance, 2, least=1, most_bytes=3, longest_ns=3)
        alone, together = chance.choice(((1, 1), (2, 3), (1, 1), (2, 2)))
        problem = replace(drawn, bandwidth=Link(alone * GB, SharedTotal(together * GB)))
        fastest_ns = least_shared_period_ns(problem, alone, together)
        assert fastest_ns is not None
        if fastest_ns > problem.base_time_ns:
            found.append((problem, fastest_ns))
    return tuple(found)


def test_no_step_is_faster_than_on_a_full_duplex_link_and_some_are_slower() -> None:
    slower = 0
    for problem, fastest_ns in judged():
        full_ns = least_period_ns(replace(problem, bandwidth=problem.link.full_duplex))
        assert full_ns is not None
        assert full_ns <= fastest_ns
        slower += full_ns < fastest_ns
    assert slower >= 2


def test_no_step_is_faster_than_a_bound_and_the_total_raises_bounds() -> None:
    raised = 0
    for problem, fastest_ns in judged():
        for bound_of in BOUNDS:
            bounds = bound_of(problem, OPTIONS).bounds
            assert max(bound.time_ns for bound in bounds) <= fastest_ns, (bound_of, problem)
            full = bound_of(replace(problem, bandwidth=problem.link.full_duplex), OPTIONS).bounds
            raised += max(item.time_ns for item in bounds) > max(item.time_ns for item in full)
    assert raised >= 3


@pytest.mark.parametrize("method", ["l2l", "greedy", "margin-sweep", "local-search", "exact"])
def test_schedules_are_valid_and_not_faster_than_the_search(method: str) -> None:
    reached = 0
    for problem, fastest_ns in judged()[::3]:
        result = solve_with(problem, method, replace(OPTIONS, time_limit_s=1))
        assert result.time_ns is not None
        assert result.lower_bound_ns is not None
        assert result.lower_bound_ns <= fastest_ns <= result.time_ns
        reached += result.time_ns == fastest_ns
    assert reached or method in {"l2l", "greedy", "margin-sweep"}


def test_both_directions_at_once_last_longer() -> None:
    # Layers of 2 bytes, 1 byte per ns half-duplex. The upload is alone from 4 to 5; then both have
    # half a byte per ns, and at 7 the upload ends, with 1 byte of the prefetch to come alone.
    problem = layers_in(100, (4, 4, 0, 2), (4, 4, 0, 2))
    kinds = CyclicEventKind
    events = (
        CyclicEvent(kinds.BACKWARD, 2, 0),
        CyclicEvent(kinds.BACKWARD, 1, 4),
        CyclicEvent(kinds.UPLOAD, 2, 4),
        CyclicEvent(kinds.PREFETCH, 1, 5),
        CyclicEvent(kinds.FORWARD, 1, 8),
        CyclicEvent(kinds.FORWARD, 2, 12),
    )
    schedule = CyclicSchedule(16, events)
    link = Link.half_duplex(GB)
    ends = {item.operation: item.end_ns for item in schedule.replay(problem.cycle, link).transfers}
    assert ends == {"upload 2": 7, "prefetch 1": 8}
    full = schedule.replay(problem.cycle, link.full_duplex).transfers
    assert {item.operation: item.end_ns for item in full} == {"upload 2": 6, "prefetch 1": 7}


def test_a_plan_for_half_of_the_total_keeps_all_rules() -> None:
    chance = random.Random(52)
    for _ in range(60):
        drawn = sample(chance, chance.randint(2, 5), least=1, most_bytes=9, longest_ns=9)
        rate = chance.choice((1, 2, 3)) * GB
        link = Link(rate, SharedTotal(rate * chance.choice((10, 13, 19)) // 10))
        problem = replace(drawn, bandwidth=link)
        planned = solve_with(
            replace(problem, bandwidth=link.always_available), "greedy", OPTIONS
        ).schedule
        if isinstance(planned, CyclicSchedule):
            assert planned.replay(problem.cycle, link, problem.memory_bytes).valid, problem


def test_bounds_on_shared_links_are_certified_for_both_checkers(tmp_path: Path) -> None:
    paths = []
    for number, (problem, fastest_ns) in enumerate(judged()[:6]):
        bounds = [bound for method in BOUNDS[:2] for bound in method(problem, OPTIONS).bounds]
        certificate = certify_weight_offload(problem, bounds, None, OPTIONS)
        assert certificate is not None
        bound = certified_bound(problem, certificate)
        assert bound is not None
        assert bound.time_ns <= fastest_ns
        resources = certificate.checked().claim.resources
        assert resources["total_bytes_per_s"] == problem.link.total_bytes_per_s
        # It says nothing about a link that carries more.
        with pytest.raises(CertificateError, match="another problem"):
            certified_bound(replace(problem, bandwidth=problem.link.full_duplex), certificate)
        path = tmp_path / f"{number}.cert"
        certificate.save(path)
        paths.append(path)
        text = path.read_text()
        total = f'"total_bytes_per_s": {problem.link.total_bytes_per_s}'
        if total not in text:
            total = total.replace(": ", ":")
        assert total in text
        # Less than one direction has, and a rate that is none.
        for changed in (problem.link.bytes_per_s - 1, 2 * problem.link.bytes_per_s):
            other = tmp_path / f"{number}-{changed}.cert"
            other.write_text(text.replace(total, total.split(":")[0] + f":{changed}"))
            with pytest.raises(CertificateError):
                check_certificate(other)
            paths.append(other)
    needs_node()
    said = verdicts(paths)
    assert [line == "proved" for line in said] == ["-" not in path.stem for path in paths]
