"""Certificates of the best cut of a chain: as large as that cut, never above the fastest step."""

from __future__ import annotations

import random

from jettison import RematChain, ScheduleClass
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_chain.cut_bound import ChainCuts
from jettison.solvers.remat_chain.proof.certifier import certify_cut
from tests.drawing.chains import random_chain
from tests.remat_chain.oracles.brute_force import fastest_in
from tests.remat_chain.oracles.drops_brute_force import trade_off_with_drops


def test_the_best_cut_is_certified_and_at_most_the_fastest_step() -> None:
    chance = random.Random(31)
    above_base = 0
    for _ in range(25):
        chain = random_chain(chance, chance.randint(2, 4))
        front = trade_off_with_drops(chain)
        least, most = front[-1][0], chain.store_all_peak_bytes
        problem = RematChain(chain, chance.randint(least, max(least, most)))
        fastest_ns = fastest_in(front, problem.memory_bytes)
        assert fastest_ns is not None
        cuts = ChainCuts(chain, problem.memory_bytes)
        rerun_ns = [cuts.rerun_ns(k, [0] * len(chain)) for k in range(1, len(chain) + 1)]
        # A claim that is too large ends with what is true of the model.
        certificate = certify_cut(problem, fastest_ns + 3, Clock(20))
        assert certificate is not None
        assert certificate.valid_for is ScheduleClass.ALL
        best_ns = chain.base_time_ns + max(known for known in rerun_ns if known is not None)
        assert certificate.time_ns == best_ns
        assert best_ns <= fastest_ns
        above_base += best_ns > chain.base_time_ns
    assert above_base >= 5


def test_too_little_for_an_operation_is_certified() -> None:
    chain = random_chain(random.Random(32), 4)
    certificate = certify_cut(RematChain(chain, 0), None, Clock(20))
    assert certificate is not None
    assert certificate.time_ns is None
