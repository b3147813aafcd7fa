"""Chains as linked graphs: the same least times where a stage saves only what it puts out."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from jettison import Chain
from jettison.instances.core.errors import InputError
from jettison.instances.remat_offload_graph.saving_graph import saves_only_outputs, saving_graph
from tests.drawing.chains import chain_of, random_chain
from tests.remat_offload.oracles.unrestricted import OffloadSearch
from tests.remat_offload_graph.oracles.moments import MomentSearch


def saving_nothing_else(chain: Chain) -> Chain:
    """Return the chain whose stages, but the loss, save no more than they put out."""
    *inner, loss = chain.stages
    stages = [
        replace(stage, saved_bytes=stage.output_bytes, saving_overhead_bytes=None)
        for stage in inner
    ]
    return replace(chain, stages=(*stages, loss))


def test_where_stages_save_only_outputs_chain_and_graph_have_the_same_least_times() -> None:
    generator = random.Random(1)
    equal = infeasible = moved = 0
    while equal < 40:
        chain = saving_nothing_else(random_chain(generator, 2, largest_output_bytes=3))
        if generator.random() < 0.3:
            chain = replace(chain, backward_overhead_holds_gradient=True)
        try:
            graph = saving_graph(chain)
        except InputError:
            continue
        assert saves_only_outputs(chain)
        rate = Fraction(generator.choice((1, 2, 4)), 2)
        memory_bytes = generator.randint(2, chain.store_all_peak_bytes)
        by_chain = OffloadSearch(chain, memory_bytes, rate).fastest()
        by_graph = MomentSearch(graph, memory_bytes, rate).fastest()
        assert by_chain == by_graph
        equal += by_chain is not None
        infeasible += by_chain is None
        moved += by_chain is not None and by_chain > chain.base_time_ns
    assert infeasible > 3
    assert moved > 5


def test_elsewhere_the_graph_is_never_faster() -> None:
    generator = random.Random(2)
    compared = 0
    while compared < 40:
        chain = random_chain(generator, 2, largest_output_bytes=2)
        try:
            graph = saving_graph(chain)
        except InputError:
            continue
        memory_bytes = generator.randint(2, chain.store_all_peak_bytes)
        by_chain = OffloadSearch(chain, memory_bytes, Fraction(1)).fastest()
        by_graph = MomentSearch(graph, memory_bytes, Fraction(1)).fastest()
        if by_graph is not None:
            assert by_chain is not None
            assert by_chain <= by_graph
            compared += 1


def test_a_stage_that_saves_more_than_it_puts_out_makes_the_graph_slower() -> None:
    # Stage 1 takes 2 ns, puts out 1 byte and saves 5; the loss saves 4, in 1 ns. In 6 bytes the
    # chain passes a^1 (1 byte) to the loss, and makes the 5 bytes of ā^1 after B 2. In the graph
    # F 1 always saves 5, beside which the loss does not fit: nothing does.
    chain = chain_of(0, (2, 1, 5, 0, 0), (1, 0, 4, 0, 0))
    assert not saves_only_outputs(chain)
    assert OffloadSearch(chain, 6, Fraction(1)).fastest() == chain.base_time_ns + 2
    assert MomentSearch(saving_graph(chain), 6, Fraction(1)).fastest() is None


def test_a_gradient_that_does_not_fit_its_overhead_is_refused() -> None:
    chain = replace(chain_of(3, (1, 1, 1, 0, 1), (1, 0, 1, 0, 0)))
    with pytest.raises(InputError, match="as large as what they hold"):
        saving_graph(replace(chain, backward_overhead_holds_gradient=True))
