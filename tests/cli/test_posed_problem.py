"""From typed words to problems: memory, alpha, bandwidth, and what each problem refuses."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from jettison import InputError, RematChain, save
from jettison.cli.posed_problem import make_problem
from jettison.instances.core.memory import Alpha
from jettison.solvers.core.resources import Resources
from tests.tiny import UNEVEN


@pytest.fixture
def chain_file(tmp_path: Path) -> str:
    path = tmp_path / "chain.json"
    save(UNEVEN, path)
    return str(path)


def test_alpha_is_another_way_to_give_the_memory(chain_file: str) -> None:
    problem = make_problem("remat-chain", chain_file, Resources(None, alpha="0.2"))
    assert isinstance(problem, RematChain)
    assert problem.memory == Alpha(Fraction(1, 5))


@pytest.mark.parametrize(("memory", "alpha"), [(None, None), ("40%", "0.2")])
def test_memory_is_given_once(chain_file: str, memory: str | None, alpha: str | None) -> None:
    with pytest.raises(InputError, match=r"--memory 40%, --alpha 0\.2, or --card"):
        make_problem("remat-chain", chain_file, Resources(memory, alpha))


@pytest.mark.parametrize("problem", ["remat-chain", "remat-graph"])
def test_a_link_belongs_to_problems_that_offload(chain_file: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"bandwidth: {problem} has no link"):
        make_problem(problem, chain_file, Resources("40%", bandwidth="12GB/s"))


def test_lists_are_taken_apart_in_the_order_of_a_table() -> None:
    resources = Resources("40%,2GiB", bandwidth="1GB/s,2GB/s")
    assert [(one.memory, one.bandwidth) for one in resources.each()] == [
        ("40%", "1GB/s"),
        ("40%", "2GB/s"),
        ("2GiB", "1GB/s"),
        ("2GiB", "2GB/s"),
    ]
