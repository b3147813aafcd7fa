"""Proofs of small models: the optimum is proved, nothing above it ever, whatever a solver says."""

from __future__ import annotations

import random
import signal
import threading

import numpy as np
import pytest

from jettison.certificates.errors import CertificateError
from jettison.certificates.integer_model import IntegerModel
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof import covers, search
from jettison.solvers.proof.exact_rows import Floats
from jettison.solvers.proof.linear_program import LinearProgram, LpAnswer, LpStatus
from jettison.solvers.proof.params import ProofParams
from jettison.solvers.proof.proof_lines import Ending
from jettison.solvers.proof.prove import best_proof, prove
from tests.each import each
from tests.proof.proofs import checked, drawn_model, least_objective, least_time_ns

AT_ONCE = Clock(1e-9)
UNLIMITED = Clock(None)


@each(seed=range(80))
def test_the_optimum_of_a_small_model_is_proved_and_a_nanosecond_more_is_false(seed: int) -> None:
    model = drawn_model(random.Random(seed))
    optimum = least_objective(model)
    if optimum is None:
        attempt = best_proof(model, None, UNLIMITED)
        assert attempt.ending is Ending.PROVED
        assert attempt.proof is not None
        assert attempt.proof.time_ns is None
        checked(model, attempt.proof)
        return
    time_ns = least_time_ns(model, optimum)
    proof = prove(model, time_ns, UNLIMITED)
    assert proof is not None
    assert proof.time_ns == time_ns
    beyond = best_proof(model, time_ns + 1, UNLIMITED)
    assert beyond.ending is Ending.FALSE
    assert beyond.proof is not None
    assert beyond.proof.time_ns == time_ns
    checked(model, beyond.proof)
    assert best_proof(model, None, UNLIMITED).proof is None


@each(seed=range(40))
def test_when_the_time_is_up_a_smaller_claim_is_left(seed: int) -> None:
    model = drawn_model(random.Random(seed))
    optimum = least_objective(model)
    if optimum is None:
        return
    time_ns = least_time_ns(model, optimum)
    attempt = best_proof(model, time_ns, AT_ONCE)
    assert attempt.proof is not None
    assert attempt.proof.time_ns is not None
    assert attempt.proof.time_ns <= time_ns
    assert (attempt.ending is Ending.PROVED) == (attempt.proof.time_ns == time_ns)
    checked(model, attempt.proof)


class LyingProgram(LinearProgram):
    """A solver whose every word may be wrong."""

    chance = random.Random(0)

    def solve(self, clock: Clock, most_iterations: int | None = None) -> LpAnswer:
        """Answer anything, now and then after solving."""
        answer = super().solve(clock, most_iterations)
        if self.chance.random() < 0.3:
            return answer
        value = self.chance.choice((float("nan"), float("inf"), -1e30, 1e30, 0.0, answer.value))
        return LpAnswer(self.chance.choice(list(LpStatus)), value)

    def multipliers(self) -> Floats:
        """Return what was right, but for some numbers."""
        return self._spoilt(super().multipliers())

    def ray(self) -> Floats | None:
        """Return a ray where there is none as well."""
        return self.chance.choice((None, self._spoilt(np.ones(self._rows.num_rows))))

    def suggested_values(self) -> Floats:
        """Return a point that need not be within bounds."""
        return self._spoilt(super().suggested_values())

    def _spoilt(self, numbers: Floats) -> Floats:
        found = numbers.copy()
        for place in range(len(found)):
            if self.chance.random() < 0.5:
                found[place] = self.chance.choice(
                    (0.0, 1.0, -found[place], 0.5, 1e300, -1e300, float("nan"), float("inf"))
                )
            elif self.chance.random() < 0.5:
                found[place] = self.chance.uniform(-9, 9)
        return found


@each(seed=range(80))
def test_no_lie_of_a_solver_gets_a_false_claim_certified(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    model = drawn_model(chance, columns=5)
    optimum = least_objective(model)
    monkeypatch.setattr(LyingProgram, "chance", chance)
    monkeypatch.setattr(search, "LinearProgram", LyingProgram)
    monkeypatch.setattr(covers, "LinearProgram", LyingProgram)
    if optimum is None:
        attempt = best_proof(model, None, Clock(20))
    else:
        claimed_ns = least_time_ns(model, optimum) + chance.choice((0, 0, 1, 7))
        attempt = best_proof(model, claimed_ns, Clock(20))
        assert attempt.proof is not None
        assert attempt.proof.time_ns is not None
        assert attempt.proof.time_ns <= least_time_ns(model, optimum)
        assert best_proof(model, None, Clock(20)).proof is None
    if attempt.proof is not None:
        checked(model, attempt.proof)


def test_a_claim_in_the_header_that_is_larger_is_rejected() -> None:
    # Two of three items of weight 2 fit in 5: the third costs 4.
    model = IntegerModel()
    for number in range(3):
        model.add_column(f"x_{number}", 0, 1, cost=-4)
    model.at_most("room", [0, 1, 2], [2, 2, 2], 5)
    proof = prove(model, -8, UNLIMITED)
    assert proof is not None
    checked(model, proof)
    larger = type(proof)(-7, proof.scale_bits, proof.lines, proof.num_bytes, proof.leaves)
    with pytest.raises(CertificateError):
        checked(model, larger)


def test_the_size_of_a_tree_is_a_parameter() -> None:
    # Three triangles, of each of which points have one column and the relaxation three halves:
    # -6 and -9, in units of 2.
    model = IntegerModel()
    for number in range(9):
        model.add_column(f"x_{number}", 0, 1, cost=-2)
    for base in (0, 3, 6):
        for first, second in ((0, 1), (1, 2), (0, 2)):
            ends = [base + first, base + second]
            model.at_most(f"one_of_{ends}", ends, [1, 1], 1)
    assert prove(model, -6, UNLIMITED) is not None
    small = ProofParams(most_multipliers=1)
    assert best_proof(model, -6, UNLIMITED, params=small).ending is Ending.SIZE_LIMIT


def test_numbers_beyond_64_bits_are_proved_as_well() -> None:
    # x + y >= 1 with costs of 2^70 and 2^70 + 3: the optimum is 2^70.
    model = IntegerModel()
    model.add_column("x", 0, 1, cost=2**70)
    model.add_column("y", 0, 1, cost=2**70 + 3)
    model.at_least("one", [0, 1], [1, 1], 1)
    assert prove(model, 2**70, UNLIMITED) is not None
    beyond = best_proof(model, 2**70 + 1, UNLIMITED)
    assert beyond.proof is None or beyond.proof.time_ns == 2**70


@each(seed=range(5))
def test_weights_that_need_more_bits_of_multipliers_get_them(seed: int) -> None:
    # A multiplier of the knapsack is some 2^-50 for each unit of weight.
    chance = random.Random(seed)
    model = IntegerModel()
    weights = [chance.randint(2**49, 2**50) for _ in range(7)]
    for number in range(7):
        model.add_column(f"x_{number}", 0, 1, cost=-chance.randint(1, 3))
    model.at_most("room", range(7), weights, sum(weights) // 2)
    optimum = least_objective(model)
    assert optimum is not None
    assert prove(model, optimum, UNLIMITED) is not None


def test_a_continuous_optimum_is_missed_by_less_than_a_nanosecond() -> None:
    # 3 x >= 10 at 1 ns for each unit of a continuous x: 10/3, so no step takes less than 4 ns.
    model = IntegerModel()
    model.add_column("x", 0, 100, cost=1, is_integer=False)
    model.at_least("enough", [0], [3], 10)
    assert prove(model, 4, UNLIMITED) is not None
    beyond = best_proof(model, 5, UNLIMITED)
    assert beyond.ending is Ending.PRECISION
    assert beyond.proof is not None
    assert beyond.proof.time_ns == 4


def test_ctrl_c_leaves_the_best_claim_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    heard = threading.Event()
    solve = LinearProgram.solve

    def interrupting(
        program: LinearProgram, clock: Clock, most_iterations: int | None = None
    ) -> LpAnswer:
        nonlocal calls
        calls += 1
        if calls == 5:
            signal.raise_signal(signal.SIGINT)
            # Until the main thread has asked this one to stop.
            heard.wait(10)
        return solve(program, clock, most_iterations)

    class Heard(threading.Event):
        def set(self) -> None:
            super().set()
            heard.set()

    model = drawn_model(random.Random(1), columns=12, rows=8)
    monkeypatch.setattr(LinearProgram, "solve", interrupting)
    monkeypatch.setattr("jettison.solvers.proof.prove.Stop", Heard)
    attempt = best_proof(model, 1000, UNLIMITED)
    assert attempt.ending is Ending.INTERRUPTED
    assert attempt.proof is not None
    checked(model, attempt.proof)
