"""Programs of transformers with other sizes, beside what JAX traces for these."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.tensor_programs.program_names import named_program
from jettison.instances.tensor_programs.resized import resized


@pytest.mark.jax
@pytest.mark.parametrize("model", ["encoder", "decoder", "gpt"])
def test_a_resized_program_is_the_one_that_is_traced(model: str) -> None:
    pytest.importorskip("jax")
    from jettison.instances.tensor_programs.fold_views import fold_views
    from jettison.instances.zoo.jax_networks import TRACERS, TransformerSize

    for tokens, hidden in ((256, 1024), (64, 5120), (2048, 256)):
        size = TransformerSize(layers=1, tokens=tokens, hidden=hidden, heads=hidden // 128)
        traced = fold_views(TRACERS[model](size, f"{model}-1l"))
        made = resized(named_program(f"{model}-1l"), tokens=tokens, hidden=hidden)
        assert made.operations == traced.operations
        assert made.provenance.model_arguments == traced.provenance.model_arguments
        assert made.provenance.input_shape == traced.provenance.input_shape


def test_the_same_sizes_make_the_same_operations() -> None:
    program = named_program("encoder-4l")
    assert resized(program).operations == program.operations
    # Half of the tokens: a product with weights does half, one within a sequence a quarter.
    half = resized(program, tokens=512).named
    for name, whole in program.named.items():
        assert half[name].flops <= whole.flops
    scores = next(
        n for n in half if "attention/dot_general" in n and half[n].shape[-2:] == (512, 512)
    )
    assert 4 * half[scores].flops == program.named[scores].flops


@pytest.mark.parametrize(
    ("sizes", "field"),
    [({"tokens": 0}, "tokens"), ({"hidden": 200}, "hidden"), ({"hidden": 0}, "hidden")],
)
def test_a_wrong_size_is_named(sizes: dict[str, int], field: str) -> None:
    with pytest.raises(InputError) as caught:
        resized(named_program("encoder-1l"), **sizes)
    assert caught.value.field == field


def test_a_program_without_sizes_or_with_equal_ones_is_refused() -> None:
    program = named_program("encoder-1l")
    with pytest.raises(InputError, match="does not say"):
        resized(named_program("mlp-26"), tokens=8)
    with pytest.raises(InputError, match="does not say"):
        resized(replace(program, provenance=Provenance()), tokens=8)
    with pytest.raises(InputError, match="all different"):
        resized(resized(program, tokens=5120), tokens=8)
