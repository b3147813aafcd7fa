"""Random models are valid, varied, and the same on any machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import InputError, MultiModel
from jettison.instances.generators.random_models import RandomModels
from tests.each import each

SMALL = RandomModels(operators=6, tensors=3, models=3, most_ns=9, most_bytes=9)


@each(seed=range(100))
def test_small_models_of_any_seed_are_valid(seed: int) -> None:
    # The constructor of the instance checks memory, order and sources.
    drawn = replace(SMALL, operators=2 + seed % 9, tensors=min(2 + seed % 9, seed % 5)).draw(seed)
    assert len(drawn) == 2 + seed % 9
    assert drawn.sizes == (1, 2, 3)
    assert all(tensor.size_bytes[0] >= 1 for tensor in drawn.feature_maps)


def test_two_thousand_operators_are_drawn_and_read_again() -> None:
    drawn = RandomModels(operators=2000, tensors=1000, models=8).draw(1)
    assert (len(drawn), len(drawn.feature_maps)) == (2000, 1000)
    assert MultiModel.from_json(drawn.to_json()) == drawn


def test_draws_have_chains_of_recomputations_and_gaps_in_them() -> None:
    drawn = [SMALL.draw(seed) for seed in range(40)]
    lasts = [models.feature_maps[-1].sources for models in drawn]
    assert () in lasts
    assert ("t1",) in lasts
    assert any(len(sources) > 1 for sources in lasts)
    chained = [models for models in drawn if models.feature_maps[1].sources == ("t0",)]
    assert any("t1" in models.feature_maps[2].sources for models in chained)


def test_memory_grows_with_the_models_and_fusing_saves_time() -> None:
    # Of every nanosecond 30 % are paid once: k models take (.3 + .7 k) as long, rounded up.
    array = RandomModels(operators=20, tensors=9, models=5, most_ns=10**6).draw(3)
    one, five = array.sub_array(1), array.sub_array(5)
    assert five.store_all_peak_bytes == 5 * one.store_all_peak_bytes
    for single, fused in zip(one.forward, five.forward, strict=True):
        assert 0 <= 10 * fused.run_ns - 38 * single.run_ns < 10


def test_copies_have_times_of_their_own_as_often_as_asked() -> None:
    timed = replace(SMALL, timed_percent=100).draw(0)
    assert all(tensor.swap_ns for tensor in timed.feature_maps)
    assert not any(tensor.swap_ns for tensor in SMALL.draw(0).feature_maps)


def test_a_seed_gives_the_same_models_on_any_machine() -> None:
    assert SMALL.draw(5) == SMALL.draw(5)
    assert SMALL.draw(5) != SMALL.draw(6)
    assert (
        SMALL.draw(0).sha256 == "31f1d21477553fc57fcc52ee4b31b9d47199d4cc4b320ce0e3f2fc19362a227e"
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("operators", 1, "operators: 1; write 2 to 10000"),
        ("tensors", 7, "tensors: 7; write 0 to 6"),
        ("models", 65, "models: 65; write 1 to 64"),
        ("reach", -1, "reach: -1; write 0 to 10000"),
        ("most_ns", 0, "most_ns: 0; write 1 to"),
        ("most_bytes", 0, "most_bytes: 0; write 1 to"),
        ("shared_percent", 101, "shared_percent: 101; write 0 to 100"),
        ("timed_percent", -1, "timed_percent: -1; write 0 to 100"),
    ],
)
def test_a_value_out_of_range_is_refused(field: str, value: int, message: str) -> None:
    with pytest.raises(InputError) as info:
        replace(SMALL, **{field: value})  # type: ignore[arg-type]
    assert str(info.value).startswith(message)


def test_a_seed_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match="seed: -1; write 0 to"):
        SMALL.draw(-1)
