from __future__ import annotations

import pytest

from jettison import Chain, Graph, InputError, RematGraph
from jettison.instances.core.memory import Amount
from jettison.remat_chain import Stage
from jettison.remat_graph import Node

# The peak without recomputation is a beside b, 7 + 4 = 11.
GRAPH = Graph(
    name="two",
    nodes=(
        Node(name="a", duration_ns=1, output_bytes=7),
        Node(name="b", duration_ns=1, output_bytes=4, inputs=("a",)),
    ),
)


@pytest.mark.parametrize(
    ("memory", "memory_bytes"),
    # 60 % of 11 are 6.6, and a share rounds down.
    [(12, 12), ("12B", 12), (Amount(12), 12), ("100%", 11), ("60%", 6)],
)
def test_amounts_and_shares_become_bytes(memory: str | int | Amount, memory_bytes: int) -> None:
    assert RematGraph(GRAPH, memory).memory_bytes == memory_bytes


def test_the_ratio_of_pofo_is_for_chains_only() -> None:
    with pytest.raises(InputError, match=r"^memory: alpha=0.2 is defined for chains only; .*60%"):
        RematGraph(GRAPH, "alpha=0.2")


def test_a_chain_is_sent_to_the_conversion() -> None:
    loss = Stage(name="loss", forward_ns=0, backward_ns=0, output_bytes=0, saved_bytes=0)
    chain = Chain(name="c", input_bytes=1, stages=(loss,))
    with pytest.raises(InputError, match=r"^instance: a Chain; .* with chain_to_graph$"):
        RematGraph(chain, "60%")  # type: ignore[arg-type]


def test_memory_is_read_when_the_problem_is_made() -> None:
    with pytest.raises(InputError, match=r"^memory: 'much' is not an amount of memory; write"):
        RematGraph(GRAPH, "much")
