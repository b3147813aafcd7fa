"""Chains for tests: by hand, drawn by Hypothesis, and random ones of a seed."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import strategies as st

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_chain.problem import RematChain
from tests.drawing.amounts import AMOUNTS
from tests.drawing.overheads import least_saving_overhead, with_saving_overheads


def stage_of(
    name: str,
    forward_ns: int = 0,
    backward_ns: int = 0,
    output_bytes: int = 0,
    saved_bytes: int = 0,
    forward_overhead_bytes: int = 0,
    backward_overhead_bytes: int = 0,
    weight_bytes: int = 0,
    saving_overhead_bytes: int | None = None,
) -> Stage:
    """Return a stage of which only what matters has to be said."""
    return Stage(
        name=name,
        forward_ns=forward_ns,
        backward_ns=backward_ns,
        output_bytes=output_bytes,
        saved_bytes=saved_bytes,
        forward_overhead_bytes=forward_overhead_bytes,
        backward_overhead_bytes=backward_overhead_bytes,
        weight_bytes=weight_bytes,
        saving_overhead_bytes=saving_overhead_bytes,
    )


def unit_chain(input_bytes: int, *stages: dict[str, int]) -> Chain:
    """Build a chain of stages of 1 ns each way, without any size unless one is given."""
    return Chain(
        "tiny",
        input_bytes,
        tuple(
            stage_of(f"stage {number}", **{"forward_ns": 1, "backward_ns": 1, **fields})
            for number, fields in enumerate(stages, start=1)
        ),
    )


def chain_of(
    input_bytes: int, *stages: tuple[int, int, int, int, int], holds_gradient: bool = False
) -> Chain:
    """Build a chain from (forward time, a, ā, of, ob) per stage; every backward takes 1 ns."""
    return Chain(
        name="c",
        input_bytes=input_bytes,
        stages=tuple(
            stage_of(f"s{number}", time, 1, *sizes)
            for number, (time, *sizes) in enumerate(stages, start=1)
        ),
        backward_overhead_holds_gradient=holds_gradient,
    )


def even_chain(layers: int) -> Chain:
    """Layers that take 10 ns each way, put out 1 byte and save 3; the input has no size."""
    stages = [stage_of(f"layer {k}", 10, 10, 1, 3) for k in range(1, layers + 1)]
    return Chain("even", 0, (*stages, stage_of("loss")))


@st.composite
def stages(draw: st.DrawFn, name: str, output_bytes: st.SearchStrategy[int] = AMOUNTS) -> Stage:
    """Draw one stage of small amounts; what is saved holds the output and 0 to 12 bytes more.

    The gradient of an output may have a size of its own, that of a loss has none.
    """
    output = draw(output_bytes)
    saved, overhead = output + draw(AMOUNTS), draw(AMOUNTS)
    least = least_saving_overhead(output, saved, overhead)
    return Stage(
        name=name,
        forward_ns=draw(AMOUNTS),
        backward_ns=draw(AMOUNTS),
        output_bytes=output,
        saved_bytes=saved,
        forward_overhead_bytes=overhead,
        saving_overhead_bytes=draw(st.none() | st.integers(least, overhead)),
        backward_overhead_bytes=draw(AMOUNTS),
        output_gradient_bytes=None if name == "loss" else draw(st.none() | AMOUNTS),
    )


@st.composite
def chains(draw: st.DrawFn, *, min_stages: int = 1, max_stages: int = 4) -> Chain:
    """Draw a chain of either convention of the backward overhead; the loss is one of its stages."""
    count = draw(st.integers(min_stages, max_stages))
    drawn = [draw(stages(f"stage {number}")) for number in range(1, count)]
    drawn.append(draw(stages("loss", st.just(0))))
    return Chain(
        name="drawn",
        input_bytes=draw(AMOUNTS),
        stages=tuple(drawn),
        backward_overhead_holds_gradient=draw(st.booleans()),
    )


@st.composite
def remat_chains(draw: st.DrawFn, *, min_stages: int = 1, max_stages: int = 4) -> RematChain:
    """Draw a chain and a memory, from none at all to more than any schedule needs."""
    chain = draw(chains(min_stages=min_stages, max_stages=max_stages))
    return RematChain(chain, draw(st.integers(0, chain.store_all_peak_bytes + 1)))


def random_chain(
    generator: random.Random, stage_count: int, *, largest_output_bytes: int = 3
) -> Chain:
    """Return a chain of small integers, on which schedules that are not persistent often pay.

    Overheads up to twice the largest output make the memory tight at some stages and loose at
    others; that is where dropping a checkpoint early helps.
    """
    largest_overhead = 2 * largest_output_bytes

    def stage(name: str, output_bytes: int, most_saved_bytes: int) -> Stage:
        return stage_of(
            name,
            generator.randint(0, 9),
            generator.randint(0, 9),
            output_bytes,
            output_bytes + generator.randint(0, most_saved_bytes),
            generator.randint(0, largest_overhead),
            generator.randint(0, largest_overhead),
        )

    layers = [
        stage(
            f"stage {number}",
            generator.randint(0, largest_output_bytes),
            largest_output_bytes // 3,
        )
        for number in range(1, stage_count)
    ]
    chain = Chain(
        name="random",
        input_bytes=generator.randint(0, 2),
        stages=(*layers, stage("loss", 0, largest_overhead)),
        backward_overhead_holds_gradient=generator.random() < 0.5,
    )
    return with_saving_overheads(chain)


def with_random_gradients(generator: random.Random, chain: Chain, largest_bytes: int) -> Chain:
    """Return a chain whose gradients are absent, or of sizes from 0 up, whatever the outputs are.

    About a third is no larger than the output, which may be given as such, or as 0.
    """

    def gradient_bytes(stage: Stage) -> int | None:
        return generator.choice(
            (None, 0, generator.randint(0, stage.output_bytes), generator.randint(0, largest_bytes))
        )

    *layers, loss = chain.stages
    drawn = [replace(stage, output_gradient_bytes=gradient_bytes(stage)) for stage in layers]
    return replace(chain, stages=(*drawn, loss))


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
                saving_overhead_bytes=stage.overhead_of_saving_bytes * factor,
                backward_overhead_bytes=stage.backward_overhead_bytes * factor,
                output_gradient_bytes=stage.gradient_bytes * factor,
            )
            for stage in chain
        ),
    )
