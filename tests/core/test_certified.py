"""Certified bounds beside others: which one counts, and what can never be called certified."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison.certificates.errors import CertificateError
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers.core import certified
from jettison.solvers.core.bound import Bound, Evidence, best_bound, largest_bound
from jettison.solvers.core.certified import certified_bound, proof_to_certify
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.result import ContradictionError, Result
from jettison.solvers.core.solve import bound, compare, solve
from jettison.solvers.core.status import Termination
from jettison.solvers.core.verdict import Verdict
from jettison.solvers.proof.certificate import Certificate
from tests.drawing.chains import random_chain
from tests.remat_chain.oracles import brute_force as chain_brute_force
from tests.tiny import UNIFORM
from tests.weight_offload.layers import layers_in

# Six layers of 1 byte, 2 saved: 60 % of the peak does not hold all of them.
PROBLEM = RematChain(UNIFORM, "60%")
NOW = SolveOptions(time_limit_s=20)


def of(evidence: Evidence, time_ns: int = 9, valid_for: ScheduleClass = ScheduleClass.ALL) -> Bound:
    return Bound(time_ns=time_ns, valid_for=valid_for, evidence=evidence, method=str(evidence))


def certificate_of(problem: RematChain) -> Certificate:
    verdict = bound(problem, method="rotor-exact", certify=True)
    assert verdict.certificate is not None
    return verdict.certificate


def test_of_equal_bounds_the_wider_one_counts_then_the_one_that_needs_least_belief() -> None:
    equal = [of(evidence) for evidence in (Evidence.SOLVER, Evidence.CERTIFICATE, Evidence.EXACT)]
    assert best_bound(equal, ScheduleClass.ALL) is equal[1]
    assert best_bound(equal[::2], ScheduleClass.ALL) is equal[2]
    narrow = of(Evidence.CERTIFICATE, valid_for=ScheduleClass.PERSISTENT)
    assert largest_bound([narrow, *equal[:1]]) is equal[0]
    assert best_bound([narrow, of(Evidence.SOLVER, 8)], ScheduleClass.PERSISTENT) is narrow
    assert best_bound([narrow], ScheduleClass.ALL) is None
    assert largest_bound([]) is None


def test_a_result_tells_what_is_certified_of_its_bound() -> None:
    result = solve(PROBLEM, "rotor-exact")
    assert result.time_ns is not None
    assert (result.certified_bound, result.certified_lower_bound_ns) == (None, None)
    assert result.to_json()["certified_lower_bound_ns"] is None
    known = certified_bound(PROBLEM, certificate_of(PROBLEM))
    assert known is not None
    judged = result.with_bounds((known,))
    assert judged.certified_lower_bound_ns == judged.lower_bound_ns == result.time_ns
    assert judged.to_json()["certified_valid_for"] == str(known.valid_for)
    assert judged.bound is not None
    assert judged.bound.evidence is Evidence.CERTIFICATE
    # A certificate of a solver's smaller claim stays beside the larger bound.
    less = replace(known, time_ns=known.time_ns - 1)
    judged = result.with_bounds((less,))
    assert (judged.certified_lower_bound_ns, judged.gap) == (known.time_ns - 1, 0)
    with pytest.raises(ContradictionError):
        result.with_bounds((replace(known, time_ns=result.time_ns + 1),))


def test_a_claim_that_the_checker_rejects_is_never_certified() -> None:
    honest = certificate_of(PROBLEM)
    assert honest.time_ns is not None
    for claim in ({"time_ns": honest.time_ns + 1}, {"infeasible": True}):
        false = Certificate({**honest.header, "claim": claim}, honest.lines)
        with pytest.raises(CertificateError):
            certified_bound(PROBLEM, false)


def test_a_certificate_of_another_problem_is_none_of_this_one() -> None:
    less = RematChain(UNIFORM, PROBLEM.memory_bytes - 1)
    with pytest.raises(CertificateError, match="about another problem"):
        certified_bound(PROBLEM, certificate_of(less))


def test_a_certificate_for_another_link_is_none_of_this_one() -> None:
    slow = layers_in(16, *[(1, 1, 0, 4)] * 4)
    fast = WeightOffload(slow.instance, slow.memory_bytes, 2 * 10**9)
    verdict = bound(slow, method="closed-form", certify=True)
    assert verdict.certificate is not None
    assert certified_bound(slow, verdict.certificate) is not None
    with pytest.raises(CertificateError, match="about another problem"):
        certified_bound(fast, verdict.certificate)


def test_a_false_certifier_ends_with_an_error_and_no_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = certificate_of(PROBLEM)
    assert honest.time_ns is not None
    false = Certificate({**honest.header, "claim": {"time_ns": 10**6}}, honest.lines)
    monkeypatch.setattr("jettison.solvers.core.verdict.certificate_for", lambda *_: false)
    with pytest.raises(CertificateError):
        bound(PROBLEM, method="rotor-exact", certify=True)
    monkeypatch.setattr(certified, "certificate_for", lambda *_: false)
    with pytest.raises(CertificateError):
        compare(PROBLEM, ["rotor-exact"], certify=True)


def test_a_table_has_a_column_of_what_is_certified() -> None:
    problems = [PROBLEM, RematChain(UNIFORM, PROBLEM.memory_bytes + 1)]
    table = compare(problems, ["rotor-exact", "store-all"], certify=True)
    exact = table[table["method"] == "rotor-exact"]
    assert list(exact["certified_lower_bound_ns"]) == list(exact["time_ns"])
    without = compare(problems, ["rotor-exact"])
    assert list(without["certified_lower_bound_ns"].isna()) == [True, True]


def test_no_certificate_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jettison.solvers.core.verdict.certificate_for", lambda *_: None)
    verdict = bound(PROBLEM, method="rotor-exact")
    assert verdict.certified(NOW) is verdict
    assert verdict.certified_bound is None


def test_what_is_certified_of_several_proofs_that_nothing_fits() -> None:
    known = solve(PROBLEM, "rotor-exact")
    without = replace(known, schedule=None)

    def refuted(valid_for: ScheduleClass, formulation: dict[str, object] | None = None) -> Result:
        proof = Infeasibility(
            valid_for=valid_for, least_memory_bytes=None, is_exact=False, formulation=formulation
        )
        return replace(without, infeasibility=proof)

    narrow, wide = refuted(ScheduleClass.STAGED), refuted(ScheduleClass.ALL)
    modelled = refuted(ScheduleClass.STAGED, {"name": "windowed-frontier"})
    assert proof_to_certify([without]) is None
    assert proof_to_certify([narrow, modelled]) is modelled.infeasibility
    assert proof_to_certify([modelled, wide, without]) is wide.infeasibility
    # The proof is about a class that the schedule is not of; bounds tell more.
    assert proof_to_certify([narrow, known]) is None


def test_a_valid_schedule_has_its_bound_certified_where_a_narrower_class_has_none() -> None:
    chain, memory_bytes = chain_without_persistent_schedule()
    problem = RematChain(chain, memory_bytes)
    found = solve(problem, "unrestricted")
    assert isinstance(found.schedule, ChainSchedule)
    verdict = bound(problem, found.schedule, "rotor-exact", certify=True)
    assert verdict.infeasible is None
    assert [str(proof.valid_for) for proof in verdict.empty_classes] == ["persistent"]
    assert verdict.certified_bound is not None
    assert verdict.certified_bound.valid_for is ScheduleClass.ALL
    without = bound(problem, method="rotor-exact", certify=True)
    assert without.certificate is not None
    assert without.certificate.time_ns is None


def chain_without_persistent_schedule() -> tuple[Chain, int]:
    """Return a chain, and a memory in which it has schedules, but none that is persistent."""
    chance = random.Random(4)
    while True:
        chain = random_chain(chance, 4)
        least = chain_brute_force.least_memory(chain)
        if least < chain_brute_force.least_memory_persistent(chain):
            return chain, least


def test_after_ctrl_c_no_certificate_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a certificate was begun")

    monkeypatch.setattr("jettison.solvers.core.verdict.certificate_for", refuse)
    monkeypatch.setattr(certified, "certificate_for", refuse)
    stopped = replace(solve(PROBLEM, "rotor-exact"), termination=Termination.INTERRUPTED)
    verdict = Verdict(problem=PROBLEM, replay=None, results=(stopped,))
    assert verdict.certified(NOW) is verdict
    assert certified.with_certified_bounds([stopped], NOW) == [stopped]
