"""Certificates of graphs: never above the optimum, and what the bound's model says."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import given, settings

from jettison.certificates.checker import check_certificate
from jettison.certificates.errors import CertificateError
from jettison.instances.catalog import load
from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.chain_to_graph import chain_to_graph, graph_memory_bytes
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.outcome import Infeasibility
from jettison.solvers.core.solve import bound
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.remat_graph.certifier import certify_graph
from jettison.solvers.remat_graph.cuts.bound_method import bound_graph_cuts
from tests.core.bound_runs import EXACT
from tests.drawing.graphs import tight, tight_remat_graphs
from tests.remat_graph.oracles.brute_force import (
    least_in_order_time_ns,
    least_staged_memory_bytes,
    least_staged_time_ns,
    least_time_ns,
)
from tests.tiny import SKIP


@settings(max_examples=80)
@given(tight_remat_graphs(max_nodes=6))
def test_what_is_certified_holds_for_its_class_and_is_the_bound(problem: RematGraph) -> None:
    graph, memory_bytes = problem.instance, problem.memory_bytes
    outcome = bound_graph_cuts(problem, EXACT)
    certificate = certify_graph(problem, outcome.bounds, outcome.infeasibility, EXACT)
    if certificate is None:
        assert outcome.infeasibility is not None
        return
    least_ns = {
        ScheduleClass.ALL: least_time_ns(graph, memory_bytes),
        ScheduleClass.IN_ORDER: least_in_order_time_ns(graph, memory_bytes),
        ScheduleClass.STAGED: least_staged_time_ns(graph, memory_bytes),
    }[certificate.valid_for]
    if certificate.time_ns is None:
        assert least_ns is None
    else:
        assert least_ns is None or certificate.time_ns <= least_ns
        # Presolve and the time of a schedule are no part of the certificate's model.
        assert certificate.time_ns >= graph.base_time_ns


def test_the_optimum_of_a_skip_is_certified() -> None:
    problem = RematGraph(SKIP, 7)
    outcome = bound_graph_cuts(problem, EXACT)
    certificate = certify_graph(problem, outcome.bounds, None, EXACT)
    assert certificate is not None
    assert certificate.time_ns == least_in_order_time_ns(SKIP, 7)
    assert certificate.valid_for is ScheduleClass.IN_ORDER


def test_a_bound_above_the_optimum_is_certified_up_to_the_optimum_only() -> None:
    problem = RematGraph(SKIP, 7)
    bounds = [bound for bound in bound_graph_cuts(problem, EXACT).bounds if bound.formulation]
    false = [
        Bound(
            time_ns=bound.time_ns + 10,
            valid_for=bound.valid_for,
            evidence=bound.evidence,
            method="false",
            formulation=bound.formulation,
        )
        for bound in bounds
    ]
    certificate = certify_graph(problem, false, None, EXACT)
    assert certificate is not None
    assert certificate.time_ns == least_in_order_time_ns(SKIP, 7)


def test_too_little_memory_for_one_node_is_certified_with_one_leaf_for_all_schedules() -> None:
    least = SKIP.least_peak_bound_bytes
    problem = RematGraph(SKIP, least - 1)
    outcome = bound_graph_cuts(problem, EXACT)
    certificate = certify_graph(problem, outcome.bounds, outcome.infeasibility, EXACT)
    assert certificate is not None
    assert certificate.time_ns is None
    assert certificate.valid_for is ScheduleClass.ALL
    assert certificate.checked().size.leaves == 1


def test_kept_nodes_that_do_not_fit_together_are_certified() -> None:
    # Each of the three runs in 1 byte, and two of them are to be there at the end.
    kept = Graph(
        "kept",
        tuple(
            Node(name=f"{number}", duration_ns=1, output_bytes=1, keep=number < 2)
            for number in range(3)
        ),
    )
    problem = RematGraph(kept, 1)
    outcome = bound_graph_cuts(problem, EXACT)
    certificate = certify_graph(problem, outcome.bounds, outcome.infeasibility, EXACT)
    assert certificate is not None
    assert (certificate.time_ns, certificate.valid_for) == (None, ScheduleClass.ALL)


def test_a_bundled_graph_whose_kept_nodes_do_not_fit_is_certified() -> None:
    graph = load("resnet18-graph-b8-64-cpu")
    assert isinstance(graph, Graph)
    verdict = bound(RematGraph(graph, "70%"), method="cut-bound", certify=True)
    assert verdict.certificate is not None
    assert verdict.certificate.time_ns is None
    assert len(verdict.certificate.lines) < 100


def test_without_a_model_of_the_method_all_cuts_and_slots_prove_that_nothing_staged_fits() -> None:
    chance = random.Random(50)
    windows = 0
    for _ in range(20):
        graph = tight(chance, 6).instance
        problem = RematGraph(graph, least_staged_memory_bytes(graph) - 1)
        claim = Infeasibility(
            valid_for=ScheduleClass.STAGED, least_memory_bytes=None, is_exact=False
        )
        certificate = certify_graph(problem, (), claim, EXACT)
        assert certificate is not None
        assert certificate.time_ns is None
        windows += certificate.valid_for is ScheduleClass.STAGED
    assert windows >= 5


def test_the_time_of_all_nodes_once_is_certified_for_all_schedules() -> None:
    problem = RematGraph(SKIP, SKIP.store_all_peak_bytes)
    verdict = bound(problem, certify=True)
    assert verdict.certified_bound is not None
    assert verdict.certified_bound.time_ns == SKIP.base_time_ns
    assert verdict.certified_bound.valid_for is ScheduleClass.ALL


def test_a_false_proof_that_nothing_fits_is_not_certified() -> None:
    problem = RematGraph(SKIP, SKIP.store_all_peak_bytes)
    claim = Infeasibility(valid_for=ScheduleClass.ALL, least_memory_bytes=None, is_exact=False)
    assert certify_graph(problem, (), claim, EXACT) is None


def test_a_bundled_chain_as_a_graph_has_a_certificate_of_its_bound() -> None:
    chain = load("vgg16-b2-224-cpu")
    assert isinstance(chain, Chain)
    graph = chain_to_graph(chain)
    memory_bytes = graph_memory_bytes(chain, chain.store_all_peak_bytes * 8 // 10)
    problem = RematGraph(graph, memory_bytes)
    outcome = bound_graph_cuts(problem, EXACT)
    certificate = certify_graph(problem, outcome.bounds, None, EXACT)
    assert certificate is not None
    # Its durations are nanoseconds: nothing is lost by rounding multipliers.
    assert certificate.time_ns == max(bound.time_ns for bound in outcome.bounds)


def certificate_of_skip() -> Certificate:
    problem = RematGraph(SKIP, 7)
    found = certify_graph(problem, bound_graph_cuts(problem, EXACT).bounds, None, EXACT)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["claim.jc", "claim.jc.gz"])
def test_a_saved_certificate_is_what_was_checked(tmp_path: Path, name: str) -> None:
    certificate = certificate_of_skip()
    path = tmp_path / name
    path.write_text("what was there before", encoding="ascii")
    certificate.save(str(path))
    proved = check_certificate(str(path))
    assert proved.claim.time_ns == certificate.time_ns
    assert str(proved) == proved.statement
    # What is shown names the instance and does not hold it.
    assert f"{certificate.time_ns} ns (in-order)" in repr(certificate)
    assert max(len(repr(certificate)), len(repr(proved))) < 500
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    # Nothing else is left in the folder.
    assert list(tmp_path.iterdir()) == [path]


def test_a_certificate_that_cannot_be_saved_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "taken"
    folder.mkdir()
    with pytest.raises(InputError, match="taken"):
        certificate_of_skip().save(folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_a_certificate_with_a_larger_claim_is_rejected() -> None:
    certificate = certificate_of_skip()
    assert certificate.time_ns is not None
    header = {**certificate.header, "claim": {"time_ns": certificate.time_ns + 1}}
    with pytest.raises(CertificateError):
        Certificate(header, certificate.lines).checked()


def test_a_certificate_with_a_line_too_many_is_rejected() -> None:
    certificate = certificate_of_skip()
    longer = certificate.lines + gzip.compress(b"l\n")
    with pytest.raises(CertificateError, match="complete before"):
        Certificate(certificate.header, longer).checked()
