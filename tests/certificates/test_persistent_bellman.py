"""Certificates of the persistent program: what is accepted is right, what is wrong is refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jettison import Chain, check_certificate
from jettison.certificates.claim import instance_sha256
from jettison.certificates.remat_chain.persistent_chain import PersistentChain
from jettison.core import CertificateError
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.proof.persistent_steps import PersistentSteps
from tests.certificates.chain_claims import ChainClaims
from tests.certificates.written_certificate import written
from tests.drawing.chains import chain_of, random_chain
from tests.remat_chain.oracles import recurrence as chain_recurrence
from tests.remat_chain.oracles.brute_force import Front, fastest_in, persistent_front

LENGTHS = (1, 2, 2, 3, 3, 3)
FORMULATION = {"name": "persistent-bellman", "version": 1}

# Forward times 2, 3, 5 and the loss 1; outputs of 4 bytes, saved 6; nothing else. With the input
# of 4 bytes in memory, saving everything needs 4 + 3 * 6 and, for the backward of the third, its
# gradient and that of its input, 4 + 4: 30 bytes.
THREE = chain_of(4, (2, 4, 6, 0, 0), (3, 4, 6, 0, 0), (5, 4, 6, 0, 0), (1, 0, 0, 0, 0))

# One stage of a file: the loss, of which 1 byte is saved.
LOSS = {"forward_ns": 1, "backward_ns": 1, "output_bytes": 0, "saved_bytes": 1}

CLAIMS = ChainClaims("persistent-bellman", "persistent", PersistentSteps)
header, proof, holds = CLAIMS.header, CLAIMS.proof, CLAIMS.holds


def refusal(path: Path, lines: list[str], **changes: object) -> str:
    """Return why a proof about `THREE` in 28 bytes is refused."""
    with pytest.raises(CertificateError) as caught:
        check_certificate(written(path / "c", header(THREE, 28, 17) | changes, lines))
    return str(caught.value)


def sample(seed: int, rounds: int) -> list[tuple[Chain, Front]]:
    """Return random chains with what the brute force knows of their persistent schedules."""
    generator = random.Random(seed)
    drawn = [random_chain(generator, count) for _ in range(rounds) for count in LENGTHS]
    return [(chain, persistent_front(chain)) for chain in drawn]


def test_the_optimum_of_small_chains_is_certified_in_every_memory_and_nothing_above_it(
    tmp_path: Path,
) -> None:
    tried = 0
    for chain, front in sample(3, 15):
        for memory in {peak - less for peak, _ in front for less in (0, 1)}:
            optimum = fastest_in(front, memory)
            if optimum is None:
                assert holds(tmp_path, chain, memory, None)
                continue
            assert holds(tmp_path, chain, memory, optimum)
            assert not holds(tmp_path, chain, memory, optimum + 1)
            assert not holds(tmp_path, chain, memory, None)
            tried += optimum > chain.base_time_ns
    assert tried > 60


def test_that_nothing_fits_is_certified_up_to_the_last_byte(tmp_path: Path) -> None:
    for chain, front in sample(4, 15):
        least = front[-1][0]
        assert not holds(tmp_path, chain, least, None)
        for memory in {0, chain.input_bytes, least // 2, least - 1}:
            if 0 <= memory < least:
                assert holds(tmp_path, chain, memory, None)


def test_longer_chains_are_certified_like_the_recurrence(tmp_path: Path) -> None:
    generator = random.Random(5)
    for _ in range(12):
        chain = random_chain(generator, 9)
        low, high = least_persistent_memory(chain)[0], chain.store_all_peak_bytes
        memory = generator.randint(low, max(low, high))
        optimum = chain_recurrence.Recurrence().fastest(chain, memory)
        assert optimum is not None
        assert holds(tmp_path, chain, memory, optimum)
        assert not holds(tmp_path, chain, memory, optimum + 1)


def test_the_thresholds_are_those_of_the_oracle() -> None:
    # Among them m_all with the gradient of stage t, and the output of a backward, which counts
    # where the instance says so: a checker that left out either would accept nothing else here.
    for chain, _ in sample(8, 20):
        needs = PersistentChain(chain.to_json())
        for t in range(1, len(chain) + 1):
            for s in range(1, t + 1):
                assert needs.saving_needs(s, t) == chain_recurrence.need_all(chain, s, t)
                if s < t:
                    assert needs.passing_needs(s, t) == chain_recurrence.need_none(chain, s, t)


def test_more_memory_than_is_of_use_needs_no_line(tmp_path: Path) -> None:
    # 11 forward and 4 backward.
    assert THREE.base_time_ns == 15
    assert proof(THREE, 30, 15) == []
    assert holds(tmp_path, THREE, 30, 15)
    assert not holds(tmp_path, THREE, 30, 16)


def test_a_proof_by_hand_is_accepted_and_says_what_it_proves(tmp_path: Path) -> None:
    # In 28 bytes, 24 beside the input. Saving stages 1 and 2, 6 bytes each, leaves 12 for stages 3
    # and 4, where the backward of stage 3 needs its own 6, its gradient and that of its input: 14.
    # So one of the stages 1 to 3 is passed and runs again: 2, 3 or 5 ns. Each of the steps says so
    # of what is left when the stages before it have been saved.
    lines = ["p 3 4 12:2", "p 2 4 18:2", "p 1 4 24:2"]
    proved = check_certificate(written(tmp_path / "c", header(THREE, 28, 17), lines))
    assert proved.claim.time_ns == 17
    assert str(proved.size) == "3 steps of 3 sub-chains"
    assert "no persistent schedule takes less than 17 ns" in proved.statement
    assert fastest_in(persistent_front(THREE), 28) == 17


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "the steps prove a cost of 0"),
        (["p 3 4 12:2", "p 2 4 18:2"], "the steps prove a cost of 0"),
        (["p 3 4 12:2", "p 2 4 18:2", "p 1 4 23:2"], "the steps prove a cost of 0"),
        (["p 3 4 12:2", "p 2 4 18:2", "p 1 4 24:1"], "a cost of 1 beyond all operations once"),
        (["p 3 4 14:2"], "p 3 4 in 14 bytes, saving 3, may cost 0, not 2"),
        (["p 1 4 24:2"], "p 1 4 in 24 bytes, saving 1, may cost 0, not 2"),
        (["p 3 4 12:6"], "p 3 4 in 12 bytes, split at 4, may cost 5, not 6"),
        (["q 1 4 20:2"], "unknown record 'q'"),
        (["p 1 4"], "at least one step"),
        (["p"], "at least one step"),
        (["p 4 3 20:2"], "4, 3 is no sub-chain"),
        (["p 0 3 20:2"], "0, 3 is no sub-chain"),
        (["p 1 5 20:2"], "1, 5 is no sub-chain"),
        (["p 3 3 13:2", "p 3 3 12:2"], "was listed before"),
        (["p 3 3 13:2 12:3"], "memories ascend"),
        (["p 3 3 12:2 13:2"], "costs descend"),
        (["p 3 3 12:2 13:0"], "costs descend"),
        (["p 3 3 13"], "costs descend to 1"),
        (["p 3 3 -1:2"], "memories ascend from 0"),
        (["p 3 3 1_3:2"], "is not an integer"),
        (["p 3 3 13:2 "], "is not an integer"),
        (["p 3 3 13:2|"], "is not an integer"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, lines: list[str], message: str) -> None:
    text = refusal(tmp_path, lines)
    assert message in text
    if "beyond all operations" not in text:
        assert text.startswith(f"line {len(lines) + 2}: ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"valid_for": "all schedules"}, "holds for persistent, not for all schedules"),
        ({"scale_bits": 30}, "write 0"),
        ({"resources": {"memory_bytes": 28, "bandwidth": 1}}, "unknown field 'bandwidth'"),
        ({"resources": {}}, "memory_bytes is not an integer"),
        ({"formulation": FORMULATION | {"cuts": []}}, "unknown field 'cuts'"),
        ({"formulation": FORMULATION | {"version": 2}}, "no formulation 'persistent-bellman'"),
        ({"problem": "remat-graph"}, "no formulation 'persistent-bellman'"),
        ({"claim": {"time_ns": 18}}, "the claim needs 3"),
        ({"claim": {"infeasible": True}}, "p 3 4 in 12 bytes, split at 4, may cost 0, not 2"),
        ({"claim": {"infeasible": 1}}, "the claim is neither"),
        ({"claim": {"infeasible": False}}, "the claim is neither"),
        ({"claim": {"time_ns": True}}, "time_ns is not an integer"),
        ({"claim": {"time_ns": "17"}}, "time_ns is not an integer"),
        ({"claim": {"time_ns": 17.0}}, "time_ns is not an integer"),
        ({"claim": {"time_ns": 17, "infeasible": True}}, "the claim is neither"),
    ],
)
def test_a_header_that_does_not_go_with_the_proof_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    lines = ["p 3 4 12:2", "p 2 4 18:2", "p 1 4 24:2"]
    assert message in refusal(tmp_path, lines, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": True}, "not a chain of version 1"),
        ({"version": 1.0}, "a number of the instance is not an integer"),
        ({"version": 2}, "not a chain of version 1"),
        ({"kind": "graph"}, "not a chain of version 1"),
        ({"input_bytes": 4.0}, "a number of the instance is not an integer"),
        ({"input_bytes": 10**400}, "a number of the header has more than 400 digits"),
        ({"format": "another"}, "the format of the instance is not jettison: another"),
        ({"format": None}, "the format of the instance is not jettison: None"),
        ({"name": 3}, "name is not a text: 3"),
        ({"memory": 3}, "the instance has an unknown field 'memory'"),
        ({"stages": [{**LOSS, "overhead_bytes": 2}]}, "stage 1 has an unknown field 'overhead_b"),
        ({"stages": []}, "a chain has 1 to"),
        ({"stages": [{**LOSS, "output_bytes": 2}]}, "saves less than its output"),
        ({"stages": [{**LOSS, "output_bytes": 1}]}, "the loss, has an output"),
        ({"stages": [{**LOSS, "weight_bytes": "1"}]}, "weight_bytes is not an integer"),
        ({"stages": [LOSS] * 2001}, "2001 stages"),
    ],
)
def test_a_chain_that_cannot_be_loaded_has_no_certificate(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    chain = {**THREE.to_json(), **changes}
    given = {"instance": chain, "instance_sha256": instance_sha256(chain)}
    assert message in refusal(tmp_path, [], **given)


def test_a_changed_line_proves_no_more_than_the_truth(tmp_path: Path) -> None:
    generator = random.Random(6)
    accepted = 0
    for chain, front in sample(7, 12):
        memory = generator.choice([peak for peak, _ in front])
        optimum = fastest_in(front, memory)
        assert optimum is not None
        honest = proof(chain, memory, optimum)
        assert honest is not None
        for _ in range(20):
            lines = list(honest)
            claim = generator.choice([optimum, optimum, optimum + 1])
            for _ in range(generator.randint(0, 2)):
                _change(lines, generator)
            path = written(tmp_path / "c", header(chain, memory, claim), lines)
            try:
                check_certificate(path)
            except CertificateError:
                continue
            assert claim <= optimum
            accepted += 1
    assert accepted > 120


def _change(lines: list[str], generator: random.Random) -> None:
    """Change a number, or drop, double or exchange lines."""
    if not lines:
        return
    place = generator.randrange(len(lines))
    match generator.randrange(4):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, generator.choice(lines))
        case 2:
            other = generator.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            numbers = lines[place].replace(":", " ").split(" ")[1:]
            chosen = generator.randrange(len(numbers))
            numbers[chosen] = str(int(numbers[chosen]) + generator.choice([-3, -1, 1, 2, 50]))
            steps = (f"{m}:{h}" for m, h in zip(numbers[2::2], numbers[3::2], strict=True))
            lines[place] = " ".join(["p", *numbers[:2], *steps])
