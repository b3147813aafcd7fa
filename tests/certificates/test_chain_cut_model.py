"""The cut of a chain that certificates are about."""

from __future__ import annotations

import random

import pytest

from jettison.certificates.errors import CertificateError
from jettison.certificates.remat_chain.chain_cut import chain_cut
from jettison.formulations.remat_chain.cut import ChainCut
from jettison.instances.remat_chain.problem import RematChain
from tests.certificates.as_arrays import as_arrays, optimum
from tests.drawing.chains import random_chain


def problems(count: int) -> list[RematChain]:
    chance = random.Random(11)
    found = []
    for _ in range(count):
        chain = random_chain(chance, chance.randint(1, 6))
        least, most = chain.recompute_all_peak_bytes - 3, chain.store_all_peak_bytes
        found.append(RematChain(chain, max(0, chance.randint(min(least, most), most))))
    return found


def test_every_cut_has_the_optimum_of_its_formulation() -> None:
    above_base = without = 0
    for problem in problems(60):
        chain = problem.instance
        for number in range(1, len(chain) + 1):
            given = {"memory_bytes": problem.memory_bytes}
            stated = chain_cut(chain.to_json(), given, {"stage": number})
            assert stated.valid_for == "all schedules"
            found = optimum(as_arrays(stated.model))
            known = optimum(ChainCut(number).build(problem))
            assert (found is None) == (known is None)
            if found is None or known is None:
                without += 1
                continue
            time_ns = stated.model.time_offset_ns + round(found)
            assert time_ns == chain.base_time_ns + round(known)
            above_base += time_ns > chain.base_time_ns
    assert above_base >= 20
    assert without >= 3


def test_there_is_no_cut_at_a_stage_that_is_none() -> None:
    [problem] = problems(1)
    given = {"memory_bytes": problem.memory_bytes}
    for number in (0, len(problem.instance) + 1):
        with pytest.raises(CertificateError, match="stage"):
            chain_cut(problem.instance.to_json(), given, {"stage": number})
