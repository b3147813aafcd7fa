"""Certificates of one budget: what they claim is right, and what is changed is refused or right."""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path

from jettison import check_certificate
from jettison.core import CertificateError
from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.certified import certificate_for, certified_bound
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.proof.certificate import Certificate
from tests.certificates.second_checker import verdicts
from tests.certificates.test_changed_certificates import change_lines, with_another_number
from tests.drawing.training_chains import random_training_chain

OPTIONS = SolveOptions(time_limit_s=None)


@cache
def least_ns(problem: TrainingChain) -> int | None:
    """Return the least time; None where there is none."""
    return solve_with(problem, "exact", OPTIONS).time_ns


LINKS = ("1GB/s", "400MB/s", "1GB/s:half-duplex", "2GB/s:total=3GB/s")


@cache
def certified(seed: int) -> tuple[TrainingChain, Certificate]:
    """Return a random step of up to three stages with the certificate of its cycle bound."""
    chance = random.Random(seed)
    stages = chance.randint(1, 3)
    trained = None if stages < 3 else {chance.randint(1, 3)}
    chain = random_training_chain(chance, stages, trained)
    link = chance.choice(LINKS)
    peak = TrainingChain(chain, "100%", link).memory_bytes
    problem = TrainingChain(chain, chance.randint(peak // 2, peak), link)
    found = solve_with(problem, "cycle", OPTIONS)
    certificate = certificate_for(problem, found.bounds, found.infeasibility, OPTIONS)
    # Where an update that only the device can do is what does not fit, there is none.
    assert certificate is not None, seed
    bound = certified_bound(problem, certificate)
    assert (bound is None) == (found.infeasibility is not None), seed
    if bound is not None:
        assert found.lower_bound_ns is not None
        assert bound.time_ns >= found.lower_bound_ns, seed
    return problem, certificate


def test_a_certificate_is_of_the_cycle_bound_and_no_larger_than_the_least_time(
    tmp_path: Path,
) -> None:
    paths, infeasible = [], 0
    for seed in range(16):
        problem, certificate = certified(seed)
        least = least_ns(problem)
        if certificate.time_ns is None:
            assert least is None, seed
            infeasible += 1
        elif least is not None:
            assert certificate.time_ns <= least, seed
        paths.append(tmp_path / f"{seed}.gz")
        certificate.save(paths[-1])
        assert check_certificate(paths[-1]).claim.time_ns == certificate.time_ns
    assert infeasible > 1
    assert set(verdicts(paths)) == {"proved"}


def test_a_changed_certificate_is_refused_by_both_checkers_or_right(tmp_path: Path) -> None:
    chance = random.Random(40)
    paths, said = [], []
    for number in range(150):
        problem, certificate = certified(number % 10)
        magic, head, *lines = gzip.decompress(certificate.compressed).decode().splitlines()
        header = json.loads(head)
        if number % 3 == 0:
            more = (header["claim"].get("time_ns") or 0) + chance.choice([-1, 1, 2])
            header["claim"] = {"time_ns": more}
        elif number % 3 == 1:
            lines[0] = with_another_number(lines[0], chance)
        else:
            change_lines(lines, chance)
        path = tmp_path / f"{number}"
        path.write_text("".join(f"{line}\n" for line in (magic, json.dumps(header), *lines)))
        paths.append(path)
        try:
            claimed = check_certificate(path).claim.time_ns
        except CertificateError:
            said.append("refused")
            continue
        said.append("proved")
        least = least_ns(problem)
        if least is not None:
            assert claimed is not None
            assert claimed <= least, path.read_text()
    assert verdicts(paths) == said
    assert said.count("refused") > 30
    assert said.count("proved") > 5
