"""Certificates of POFO's program: what is accepted is right, by both checkers."""

from __future__ import annotations

import copy
import gzip
import json
import math
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jettison import Chain, RematOffloadChain, ScheduleClass, bound, check_certificate, load
from jettison.certificates.claim import Claim, instance_sha256
from jettison.core import CertificateError
from jettison.instances.remat_chain.smaller_gradients import has_larger_gradients
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_offload.proof.certifier import certify_offload_chain
from jettison.solvers.remat_offload.proof.params import POFO_PROOF
from jettison.solvers.remat_offload.proof.pofo_claims import PofoClaims, faster_link
from tests.certificates.pofo_certificates import claims, optimum_ns, pofo_certificates, truth_of
from tests.certificates.second_checker import verdicts
from tests.certificates.written_certificate import text_of
from tests.drawing.chains import chain_of, random_chain, with_random_gradients
from tests.remat_offload.oracles.brute_force import fastest
from tests.remat_offload.oracles.samples import OffloadSample, offload_samples

CHANGED = 450


def test_the_optimum_of_the_class_is_certified_and_nothing_above_it() -> None:
    costly = empty = 0
    for number, sample in enumerate(offload_samples(41, 360)):
        found = fastest(sample.chain, sample.memory_bytes, sample.bytes_per_ns)
        prover = claims(sample, number)
        if found is None:
            certificate = prover.none_fits()
            assert certificate is not None, sample
            assert certificate.time_ns is None
            empty += 1
            continue
        optimum = math.ceil(found)
        # The prover is asked for more than there is, and settles for the optimum.
        certificate = prover.best(optimum + 3)
        assert certificate is not None, sample
        assert (certificate.time_ns, certificate.valid_for) == (optimum, ScheduleClass.POFO), sample
        attempt = prover.attempt(optimum + 1, Clock(None))
        assert attempt is not None
        assert (attempt.lines, attempt.missing_ns) == (None, 1), sample
        assert prover.none_fits() is None, sample
        costly += optimum > sample.chain.base_time_ns
    assert costly > 25
    assert empty > 40


def test_gradients_of_other_sizes_are_counted_by_both_checkers(tmp_path: Path) -> None:
    generator, paths, smaller = random.Random(43), [], 0
    for number, drawn in enumerate(offload_samples(43, 240, most_stages=4)):
        chain = with_random_gradients(generator, drawn.chain, generator.choice((3, 14)))
        sample = drawn._replace(chain=chain)
        found = fastest(chain, sample.memory_bytes, sample.bytes_per_ns)
        optimum = None if found is None else math.ceil(found)
        prover = claims(sample, number)
        certificate = prover.none_fits() if optimum is None else prover.best(optimum)
        if not has_larger_gradients(chain):
            assert certificate is not None, sample
            assert certificate.time_ns == optimum, sample
            smaller += 1
        if certificate is not None:
            assert optimum is None or certificate.time_ns <= optimum, sample
            paths.append(tmp_path / f"{number}.gz")
            certificate.save(paths[-1])
    assert smaller > 30
    assert len(paths) > 100
    assert set(verdicts(paths)) == {"proved"}


def test_longer_chains_are_certified_like_the_recurrence() -> None:
    costly = 0
    for number, sample in enumerate(offload_samples(42, 24, most_stages=7)):
        optimum = optimum_ns(sample)
        prover = claims(sample, number)
        certificate = prover.none_fits() if optimum is None else prover.best(optimum)
        assert certificate is not None, sample
        assert certificate.time_ns == optimum, sample
        costly += optimum is not None and optimum > sample.chain.base_time_ns
    assert costly > 3


def test_the_second_checker_proves_the_same(tmp_path: Path) -> None:
    paths = []
    for number, judged in enumerate(pofo_certificates()):
        paths.append(tmp_path / f"{number}.gz")
        judged.certificate.save(paths[-1])
    assert len(paths) > 40
    assert set(verdicts(paths)) == {"proved"}


def test_a_changed_certificate_is_refused_or_right_and_both_checkers_say_the_same(
    tmp_path: Path,
) -> None:
    generator = random.Random(43)
    made = [
        gzip.decompress(judged.certificate.compressed).decode().splitlines()
        for judged in pofo_certificates()
    ]
    paths, said = [], Counter[str]()
    for number in range(CHANGED):
        _, text, *lines = generator.choice(made)
        header = json.loads(text)
        for _ in range(generator.choice((1, 1, 2))):
            if lines and generator.random() < 0.7:
                _change_lines(lines, generator)
            else:
                _change_header(header, generator)
        path = tmp_path / str(number)
        path.write_text(text_of(header, lines), encoding="ascii")
        paths.append(path)
    seconds = verdicts(paths)
    for path, second in zip(paths, seconds, strict=True):
        claim = _claim(path)
        assert (claim is not None) == (second == "proved"), path.read_text()
        said[second] += 1
        if claim is not None:
            header = json.loads(path.read_text().splitlines()[1])
            truth = truth_of(header)
            assert truth is None or (claim.time_ns is not None and claim.time_ns <= truth), header
    assert said["refused"] > CHANGED // 3
    assert said["proved"] > CHANGED // 30


def _claim(path: Path) -> Claim | None:
    try:
        return check_certificate(path).claim
    except CertificateError:
        return None


def _change_lines(lines: list[str], generator: random.Random) -> None:
    """Change a number or a letter, or drop, double or exchange lines."""
    place, other = generator.randrange(len(lines)), generator.randrange(len(lines))
    match generator.randrange(8):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[other])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            lines[place] = generator.choice("oc") + lines[place][1:]
        case _:
            letter, *parts = lines[place].split(" ")
            chosen = generator.randrange(len(parts))
            numbers = parts[chosen].split(":")
            at = generator.randrange(len(numbers))
            step = generator.choice((-9, -2, -1, 1, 1, 2, 40))
            numbers[at] = str(max(0, int(numbers[at]) + step))
            parts[chosen] = ":".join(numbers)
            lines[place] = " ".join((letter, *parts))


def _change_header(header: dict[str, Any], generator: random.Random) -> None:
    """Change what is claimed, or of what."""
    match generator.randrange(5):
        case 0 if "time_ns" in header["claim"]:
            header["claim"]["time_ns"] += generator.choice((-2, -1, 1, 5))
        case 0:
            header["claim"] = {"time_ns": generator.randrange(100)}
        case 1:
            step = generator.choice((-2, -1, 1))
            memory_bytes = header["resources"]["memory_bytes"] + step
            header["resources"]["memory_bytes"] = max(0, memory_bytes)
        case 2:
            step = generator.choice((-(10**8), 10**8))
            header["resources"]["bytes_per_s"] += step
        case 3:
            option = generator.choice(("link_bytes", "link_ns"))
            header["formulation"][option] += generator.choice((-1, 1))
        case _:
            instance = copy.deepcopy(header["instance"])
            stage = generator.choice(instance["stages"])
            field = generator.choice([key for key, value in stage.items() if type(value) is int])
            stage[field] = max(0, stage[field] + generator.choice((-2, -1, 1, 3)))
            stage["saved_bytes"] = max(stage["saved_bytes"], stage["output_bytes"])
            instance["stages"][-1]["output_bytes"] = 0
            header["instance"] = instance
            header["instance_sha256"] = instance_sha256(instance)


@pytest.mark.parametrize("transfers", ["fluid", "at-once"])
def test_the_floor_of_pofo_on_a_bundled_chain_is_certified(transfers: str) -> None:
    chain = load("resnet18-b4-224-cpu")
    assert isinstance(chain, Chain)
    problem = RematOffloadChain(chain, "60%", "1GB/s", transfers)
    verdict = bound(problem, method="pofo", certify=True)
    certificate = verdict.certificate
    assert certificate is not None
    floor = max(b.time_ns for b in verdict.bounds if b.method == "pofo")
    assert certificate.time_ns is not None
    assert floor == certificate.time_ns > problem.base_time_ns
    assert certificate.valid_for is ScheduleClass.POFO
    assert "no pofo schedule takes less" in str(certificate.checked())
    assert verdict.certified_bound is not None
    assert verdict.certified_bound.evidence is Evidence.CERTIFICATE


def _bound(time_ns: int, valid_for: ScheduleClass) -> Bound:
    return Bound(time_ns=time_ns, valid_for=valid_for, evidence=Evidence.EXACT, method="a test")


def test_where_a_proof_would_be_too_large_a_smaller_claim_is_certified() -> None:
    chain = load("gpt2-small-b1-256-cpu")
    assert isinstance(chain, Chain)
    problem = RematOffloadChain(chain, "50%", "2GB/s", "fluid")
    whole = bound(problem, method="pofo").bounds
    floor = max(b.time_ns for b in whole if b.valid_for is ScheduleClass.POFO)
    known = [_bound(floor, ScheduleClass.POFO)]
    small = certify_offload_chain(
        problem, known, None, SolveOptions(), replace(POFO_PROOF, most_points=30, most_claims=12)
    )
    assert small is not None
    assert small.time_ns is not None
    assert problem.base_time_ns < small.time_ns < floor
    # Bounds for all schedules rest on models that the checker does not know.
    of_all = [_bound(floor, ScheduleClass.ALL)]
    assert certify_offload_chain(problem, of_all, None, SolveOptions()) is None


def test_that_nothing_fits_is_certified_for_all_schedules() -> None:
    generator = random.Random(44)
    refuted = 0
    for _ in range(20):
        chain = random_chain(generator, 3)
        problem = RematOffloadChain(chain, chain.recompute_all_peak_bytes // 2, "1GB/s")
        verdict = bound(problem, method="pofo", certify=True)
        if verdict.infeasible is None:
            continue
        assert verdict.certificate is not None
        assert verdict.certificate.time_ns is None
        assert verdict.certificate.valid_for is ScheduleClass.ALL
        refuted += 1
    assert refuted > 3


def test_a_link_of_many_digits_is_rounded_up_and_proves_no_more() -> None:
    chain = chain_of(
        3 * 10**9,
        *((10**11, 4 * 10**9, 9 * 10**9, 0, 0) for _ in range(4)),
        (10**10, 0, 10**9, 0, 0),
    )
    rate = 987_654_321_987
    problem = RematOffloadChain(chain, 33 * 10**9, rate, "fluid")
    link = faster_link(problem)
    assert rate * link.denominator <= link.numerator * 10**9
    assert link.numerator * 10**9 < rate * link.denominator * 1.001
    sample = OffloadSample(chain, problem.memory_bytes, rate)
    optimum = optimum_ns(sample)
    assert optimum is not None
    certificate = PofoClaims(problem, Clock(None)).best(optimum)
    assert certificate is not None
    assert certificate.time_ns is not None
    assert chain.base_time_ns < certificate.time_ns <= optimum
    assert certificate.header["formulation"]["link_ns"] == link.denominator
