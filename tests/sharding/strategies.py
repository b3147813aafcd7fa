"""Small instances for tests: Hypothesis strategies, and a generator that takes a seed."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import strategies as st

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_graph.graph import Graph, Node

# Zero has a high weight: a size or a time of zero is where a recurrence breaks first.
_AMOUNTS = st.one_of(st.just(0), st.integers(0, 3), st.integers(0, 12))


@st.composite
def stages(draw: st.DrawFn, name: str, output_bytes: st.SearchStrategy[int] = _AMOUNTS) -> Stage:
    """Draw one stage of small amounts; what is saved holds the output and 0 to 12 bytes more."""
    output = draw(output_bytes)
    return Stage(
        name=name,
        forward_ns=draw(_AMOUNTS),
        backward_ns=draw(_AMOUNTS),
        output_bytes=output,
        saved_bytes=output + draw(_AMOUNTS),
        forward_overhead_bytes=draw(_AMOUNTS),
        backward_overhead_bytes=draw(_AMOUNTS),
    )


@st.composite
def chains(draw: st.DrawFn, *, min_stages: int = 1, max_stages: int = 4) -> Chain:
    """Draw a chain of either convention of the backward overhead; the loss is one of its stages."""
    count = draw(st.integers(min_stages, max_stages))
    drawn = [draw(stages(f"stage {number}")) for number in range(1, count)]
    drawn.append(draw(stages("loss", st.just(0))))
    return Chain(
        name="drawn",
        input_bytes=draw(_AMOUNTS),
        stages=tuple(drawn),
        backward_overhead_holds_gradient=draw(st.booleans()),
    )


@st.composite
def remat_chains(draw: st.DrawFn, *, min_stages: int = 1, max_stages: int = 4) -> RematChain:
    """Draw a chain and a memory, from none at all to more than any schedule needs."""
    chain = draw(chains(min_stages=min_stages, max_stages=max_stages))
    return RematChain(chain, draw(st.integers(0, chain.store_all_peak_bytes + 1)))


@st.composite
def graphs(draw: st.DrawFn, *, min_nodes: int = 1, max_nodes: int = 5) -> Graph:
    """Draw a graph of any shape, in which any node may be kept and any value may go unread."""
    nodes: list[Node] = []
    for position in range(draw(st.integers(min_nodes, max_nodes))):
        earlier = [node.name for node in nodes]
        read = draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []
        nodes.append(
            Node(
                name=f"node {position}",
                duration_ns=draw(_AMOUNTS),
                output_bytes=draw(_AMOUNTS),
                inputs=tuple(read),
                workspace_bytes=draw(_AMOUNTS),
                keep=draw(st.booleans()),
            )
        )
    return Graph(name="drawn", nodes=tuple(nodes))


def random_chain(
    generator: random.Random, stage_count: int, *, largest_output_bytes: int = 3
) -> Chain:
    """Return a chain of small integers, on which schedules that are not persistent often pay.

    Overheads up to twice the largest output make the memory tight at some stages and loose at
    others; that is where dropping a checkpoint early helps.
    """
    largest_overhead = 2 * largest_output_bytes

    def stage(name: str, output_bytes: int, most_saved_bytes: int) -> Stage:
        return Stage(
            name=name,
            forward_ns=generator.randint(0, 9),
            backward_ns=generator.randint(0, 9),
            output_bytes=output_bytes,
            saved_bytes=output_bytes + generator.randint(0, most_saved_bytes),
            forward_overhead_bytes=generator.randint(0, largest_overhead),
            backward_overhead_bytes=generator.randint(0, largest_overhead),
        )

    layers = [
        stage(
            f"stage {number}",
            generator.randint(0, largest_output_bytes),
            largest_output_bytes // 3,
        )
        for number in range(1, stage_count)
    ]
    return Chain(
        name="random",
        input_bytes=generator.randint(0, 2),
        stages=(*layers, stage("loss", 0, largest_overhead)),
        backward_overhead_holds_gradient=generator.random() < 0.5,
    )


def scaled_chain(chain: Chain, factor: int) -> Chain:
    """Return a chain with every size multiplied."""
    return replace(
        chain,
        input_bytes=chain.input_bytes * factor,
        stages=tuple(
            replace(
                stage,
                output_bytes=stage.output_bytes * factor,
                saved_bytes=stage.saved_bytes * factor,
                forward_overhead_bytes=stage.forward_overhead_bytes * factor,
                backward_overhead_bytes=stage.backward_overhead_bytes * factor,
            )
            for stage in chain
        ),
    )
