"""Certificates of the persistent program with drops: what is accepted is right."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from jettison import Chain, RematChain, ScheduleClass, bound, check_certificate, load, solve
from jettison.core import CertificateError
from jettison.solvers.remat_chain.proof.drop_steps import DropSteps
from tests.certificates.chain_claims import ChainClaims
from tests.certificates.written_certificate import written
from tests.drawing.chains import chain_of, random_chain
from tests.remat_chain.oracles.drop_recurrence import Reading, time_by_recurrence
from tests.remat_chain.oracles.drops_brute_force import persistent_trade_off_with_drops

LENGTHS = (1, 2, 3, 3, 4)
WITH_DROPS = ScheduleClass.PERSISTENT_WITH_DROPS

# Feasible in 31 bytes only by a drop of the input of the last stage but one: F_ck^1 F_none^2
# F_all^3 D^2 F_all^1 F_all^2 and the backwards.
DROP_AT_THE_END = chain_of(0, (1, 10, 12, 13, 0), (1, 1, 5, 14, 0), (1, 0, 0, 30, 0))

CLAIMS = ChainClaims("drops-bellman", str(WITH_DROPS), DropSteps)
header, proof, holds = CLAIMS.header, CLAIMS.proof, CLAIMS.holds


def test_the_optimum_of_the_class_is_certified_in_every_memory_and_nothing_above_it(
    tmp_path: Path,
) -> None:
    generator = random.Random(13)
    costly = refuted = by_drops = 0
    for _ in range(15):
        for chain in (random_chain(generator, count) for count in LENGTHS):
            front = persistent_trade_off_with_drops(chain)
            for memory in {peak - less for peak, _ in front for less in (0, 1) if peak >= less}:
                optimum = min((time for peak, time in front if peak <= memory), default=None)
                assert holds(tmp_path, chain, memory, optimum)
                if optimum is None:
                    refuted += 1
                    continue
                assert not holds(tmp_path, chain, memory, optimum + 1)
                assert not holds(tmp_path, chain, memory, None)
                costly += optimum > chain.base_time_ns
                by_drops += optimum != time_by_recurrence(chain, memory, Reading.WITHOUT_DROPS)
    assert costly > 50
    assert refuted > 40
    assert by_drops > 3


def test_longer_chains_are_certified_like_the_recurrence(tmp_path: Path) -> None:
    generator = random.Random(14)
    for _ in range(12):
        chain = random_chain(generator, 8)
        memory = generator.randint(chain.store_all_peak_bytes // 2, chain.store_all_peak_bytes)
        optimum = time_by_recurrence(chain, memory)
        assert holds(tmp_path, chain, memory, optimum)
        if optimum is not None:
            assert not holds(tmp_path, chain, memory, optimum + 1)


def test_the_last_stage_may_drop_its_input(tmp_path: Path) -> None:
    # A checker that forgets this way to begin would accept that nothing fits.
    optimum = time_by_recurrence(DROP_AT_THE_END, 31)
    assert optimum is not None
    assert time_by_recurrence(DROP_AT_THE_END, 31, Reading.NO_DROP_AT_THE_END) is None
    assert holds(tmp_path, DROP_AT_THE_END, 31, optimum)
    assert not holds(tmp_path, DROP_AT_THE_END, 31, None)
    assert holds(tmp_path, DROP_AT_THE_END, 30, None)


def test_a_changed_line_proves_no_more_than_the_truth(tmp_path: Path) -> None:
    generator = random.Random(15)
    accepted = refused = 0
    while accepted + refused < 600:
        chain = random_chain(generator, 4)
        memory = generator.randint(chain.store_all_peak_bytes // 2, chain.store_all_peak_bytes)
        optimum = time_by_recurrence(chain, memory)
        honest = proof(chain, memory, optimum)
        assert honest is not None
        if len(honest) < 2:
            continue
        for _ in range(20):
            lines = list(honest)
            _change(lines, generator)
            claim = None if optimum is None else optimum + generator.choice([0, 0, 1])
            try:
                check_certificate(written(tmp_path / "c", header(chain, memory, claim), lines))
            except CertificateError:
                refused += 1
                continue
            assert optimum is None or (claim is not None and claim <= optimum)
            accepted += 1
    assert accepted > 50
    assert refused > 200


def _change(lines: list[str], generator: random.Random) -> None:
    """Change a number or a table, or drop or exchange lines."""
    place, other = generator.randrange(len(lines)), generator.randrange(len(lines))
    table, *numbers = lines[place].replace(":", " ").split(" ")
    match generator.randrange(4):
        case 0:
            del lines[place]
        case 1:
            lines[place], lines[other] = lines[other], lines[place]
        case 2:
            rest = lines[place].split(" ")[1:]
            lines[place] = " ".join([generator.choice(DropSteps.tables), *rest])
        case _:
            chosen = generator.randrange(len(numbers))
            numbers[chosen] = str(int(numbers[chosen]) + generator.choice([-3, -1, 1, 2, 50]))
            steps = (f"{m}:{h}" for m, h in zip(numbers[2::2], numbers[3::2], strict=True))
            lines[place] = " ".join([table, *numbers[:2], *steps])


@pytest.mark.parametrize(
    ("name", "memory"),
    [
        ("resnet18-b64-32-cpu", "70%"),
        ("resnet50-b4-224-cpu", "50%"),
    ],
)
def test_the_value_of_rotor_drops_on_a_bundled_chain_is_certified(name: str, memory: str) -> None:
    chain = load(name)
    assert isinstance(chain, Chain)
    problem = RematChain(chain, memory)
    result = solve(problem, "rotor-drops")
    verdict = bound(problem, method="rotor-drops", certify=True)
    certificate = verdict.certificate
    assert certificate is not None
    assert (certificate.time_ns, certificate.valid_for) == (result.time_ns, WITH_DROPS)
    assert certificate.header["formulation"] == {"name": "drops-bellman", "version": 1}
    assert f"no schedule that is persistent with drops takes less than {result.time_ns} ns" in str(
        certificate.checked()
    )
    # Without drops more time is spent in the same memory: the claim is not that of rotor.
    slower = solve(problem, "rotor-exact")
    assert slower.time_ns is not None
    assert result.time_ns is not None
    assert result.time_ns < slower.time_ns
    assert gzip.decompress(certificate.lines).startswith((b"C", b"E"))


def test_that_nothing_fits_is_certified_for_the_class_of_the_method() -> None:
    # Among all schedules one fits or none is known not to: no cut refutes it.
    problem = RematChain(DROP_AT_THE_END, 30)
    certificate = bound(problem, method="rotor-drops", certify=True).certificate
    assert certificate is not None
    assert certificate.time_ns is None
    assert certificate.valid_for in {WITH_DROPS, ScheduleClass.ALL}
