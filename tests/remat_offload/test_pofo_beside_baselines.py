"""pofo beside the baselines of its table: no slower, whatever the limit and the parameters.

A sample of bundled chains, memories, links, kinds of transfers, limits and parameters. The promise
is for baselines that end by themselves, where the least time for all of them together is enough.
By default that is a second; here it is so long that a busy machine cuts none of them off.
"""

from __future__ import annotations

import random

import pytest

from jettison import Chain, RematOffloadChain, load
from jettison.remat_offload import Transfers
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination

# One of each family, from 7 to 78 stages.
CHAINS = (
    "alexnet-b256-gpu",
    "bert-base-b2-128-cpu",
    "gnmt-large-b128-gpu",
    "gpt2-38-b16-table1",
    "inception-v3-b128-gpu",
    "nasnet-large-b16-gpu",
    "opt-350m-b4-a100-40",
    "resnet18-b4-224-cpu",
    "resnet50-b128-gpu",
    "squeezenet-b256-gpu",
    "vgg16-b2-224-cpu",
    "wide-resnet-2b-b32-v100",
)
LINKS = ("1GB/s", "4GB/s", "12GB/s", "36GB/s", "12GB/s:half-duplex")
# As on the command line with 50 slots, and hardly any search at all.
PARAMS: tuple[dict[str, int], ...] = (
    {},
    {"usual_slots": 50, "most_slots": 50, "most_units": 50, "most_slots_of_plans": 50},
    {"usual_slots": 1, "most_slots": 1, "most_units": 1, "most_labels": 1, "exact_labels": 1},
)
CASES = 14


@pytest.mark.parametrize("transfers", Transfers)
def test_no_limit_and_no_parameter_makes_it_slower_than_a_baseline(transfers: Transfers) -> None:
    generator = random.Random(f"beside {transfers}")
    baselines = find_method("remat-offload-chain", "pofo").baselines
    compared = 0
    for _ in range(CASES):
        name = generator.choice(CHAINS)
        memory, link = f"{generator.randint(20, 90)}%", generator.choice(LINKS)
        limit_s, params = generator.choice((0.02, 0.1, 0.5)), generator.choice(PARAMS)
        chain = load(name)
        assert isinstance(chain, Chain)
        problem = RematOffloadChain(chain, memory, link, transfers)
        options = SolveOptions(time_limit_s=limit_s)
        found = solve_with(problem, "pofo", options, {**params, "least_s_of_baselines": 600})
        for baseline in baselines:
            other = solve_with(problem, baseline, options)
            if other.time_ns is None or other.termination is not Termination.COMPLETED:
                continue
            compared += 1
            case = (name, memory, link, limit_s, params, baseline)
            assert found.time_ns is not None, case
            assert found.time_ns <= other.time_ns, case
    assert compared >= CASES
