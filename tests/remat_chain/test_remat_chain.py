from __future__ import annotations

import pytest

from jettison import Chain, Graph, InputError, RematChain
from jettison.instances.core.memory import Amount
from jettison.remat_chain import Stage
from jettison.remat_graph import Node

# Store-all: F1 1+9+0 = 10, F2 10+0 = 10, B2 10+4+2 = 16, B1 10+4+1+0 = 15; its peak is 16.
# Recompute-all: for B2 F1 1+4 = 5, F2 1+4 = 5, B2 1+4+4+2 = 11; for B1, beside a gradient of 4,
# F1 1+4+9 = 14, B1 1+4+9+1 = 15; its peak is 15.
CHAIN = Chain(
    name="two",
    input_bytes=1,
    stages=(
        Stage(name="layer", forward_ns=1, backward_ns=1, output_bytes=4, saved_bytes=9),
        Stage(
            name="loss",
            forward_ns=1,
            backward_ns=1,
            output_bytes=0,
            saved_bytes=0,
            backward_overhead_bytes=2,
        ),
    ),
)


@pytest.mark.parametrize(
    ("memory", "memory_bytes"),
    [
        (12, 12),
        ("12B", 12),
        (Amount(12), 12),
        ("100%", 16),
        ("50%", 8),
        # 60 % of 16 are 9.6, and a share rounds down.
        ("60%", 9),
        ("alpha=0", 15),
        ("alpha=1", 16),
        # .5 x 15 + .5 x 16 = 15.5, and a ratio rounds down.
        ("alpha=0.5", 15),
    ],
)
def test_each_form_of_memory_becomes_bytes(memory: str | int | Amount, memory_bytes: int) -> None:
    assert RematChain(CHAIN, memory).memory_bytes == memory_bytes


def test_a_share_is_exact_where_a_double_is_not() -> None:
    # In doubles 100 x .29 is 28.999999999999996, which would round down to 28.
    chain = Chain(
        name="hundred",
        input_bytes=50,
        stages=(Stage(name="loss", forward_ns=0, backward_ns=0, output_bytes=0, saved_bytes=0),),
    )
    # B1 has a0 50 and writes its gradient 50.
    assert chain.store_all_peak_bytes == 100
    assert RematChain(chain, "29%").memory_bytes == 29


def test_a_graph_is_sent_to_the_problem_for_graphs() -> None:
    graph = Graph(name="g", nodes=(Node(name="a", duration_ns=1, output_bytes=1),))
    with pytest.raises(InputError, match=r"^instance: a Graph; .* for a graph use remat-graph$"):
        RematChain(graph, "60%")  # type: ignore[arg-type]


def test_memory_is_read_when_the_problem_is_made() -> None:
    with pytest.raises(InputError, match=r"^memory: '12' has no unit; write an amount"):
        RematChain(CHAIN, "12")
