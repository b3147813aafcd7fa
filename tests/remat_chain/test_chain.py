from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given

from jettison import Chain, InputError
from jettison.core import Provenance
from jettison.instances.remat_chain.kind import CHAIN as CHAIN_KIND
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from tests.drawing.chains import chains, stage_of

_stage = partial(stage_of, forward_ns=1, backward_ns=1)

# Two layers and the loss; every closed form below is worked out on it by hand.
CHAIN = Chain(
    name="three",
    input_bytes=1,
    stages=(
        _stage("first", forward_ns=5, backward_ns=7, output_bytes=4, saved_bytes=10),
        _stage(
            "second",
            forward_ns=6,
            backward_ns=9,
            output_bytes=2,
            saved_bytes=8,
            forward_overhead_bytes=3,
            backward_overhead_bytes=1,
        ),
        _stage("loss", saved_bytes=5, backward_overhead_bytes=2),
    ),
)
FULL_PEAK_CHAIN = replace(CHAIN, backward_overhead_holds_gradient=True)


def test_the_base_time_runs_every_operation_once() -> None:
    # 5 + 7 + 6 + 9 + 1 + 1.
    assert CHAIN.base_time_ns == 29


def test_the_peak_of_saving_everything_is_worked_out_by_hand() -> None:
    # F1 1+10 = 11, F2 11+8+3 = 22, F3 19+5 = 24 and 24 are stored.
    # B3 24 + 0 (its gradient) + 2 (its output) + 2 = 28, B2 19+2+4+1 = 26, B1 11+4+1+0 = 16.
    assert CHAIN.store_all_peak_bytes == 28


def test_an_overhead_that_holds_the_gradient_is_not_counted_twice() -> None:
    # As above without the outputs of B: B3 24+2 = 26, B2 19+2+1 = 22, B1 11+4 = 15.
    assert FULL_PEAK_CHAIN.store_all_peak_bytes == 26


def test_the_peak_of_recomputing_everything_is_worked_out_by_hand() -> None:
    # For B3: F1 1+4 = 5, F2 1+4+2+3 = 10, F3 1+2+5 = 8, B3 1+2+5+2+2 = 12.
    # For B2, beside a gradient of 2: F1 7, F2 1+2+4+8+3 = 18, B2 1+2+4+8+4+1 = 20.
    # For B1, beside a gradient of 4: F1 1+4+10 = 15, B1 1+4+10+1 = 16.
    assert CHAIN.recompute_all_peak_bytes == 20


def test_recomputing_everything_follows_the_convention_of_the_overhead_too() -> None:
    # B2 takes 1+2+4+8+1 = 16 now, so that its F2, 18, is the peak.
    assert FULL_PEAK_CHAIN.recompute_all_peak_bytes == 18


def test_a_loss_alone_is_a_chain() -> None:
    chain = Chain(name="loss only", input_bytes=3, stages=(_stage("loss", saved_bytes=2),))
    # B1 has a0 3, saved 2, and writes the gradient of a0, 3.
    assert chain.store_all_peak_bytes == chain.recompute_all_peak_bytes == 8


def test_a_gradient_of_its_own_size_takes_that_much() -> None:
    # Gradients of 0 and 9 bytes in place of 4 and 2.
    first, second, loss = CHAIN.stages
    stages = (
        replace(first, output_gradient_bytes=0),
        replace(second, output_gradient_bytes=9),
        loss,
    )
    chain = replace(CHAIN, stages=stages)
    assert [chain.gradient_bytes(number) for number in range(4)] == [1, 0, 9, 0]
    # F3 24; B3 24 + 0 + 9 + 2 = 35, B2 19 + 9 + 0 + 1 = 29, B1 11 + 0 + 1 + 0 = 12.
    assert chain.store_all_peak_bytes == 35
    # For B3: B3 1+2+5+9+2 = 19. For B2, beside 9: F2 1+9+4+8+3 = 25, B2 1+9+4+8+0+1 = 23.
    assert chain.recompute_all_peak_bytes == 25
    # From stage 2 on beside a^1: F2 4+8+3, F3 12+5, B3 17+9+2 = 28, B2 12+9+0+1 = 22.
    assert chain.saving_peak_bytes(2) == 28
    held = replace(chain, backward_overhead_holds_gradient=True)
    # B3 24 + 0 + 2, B2 19 + 9 + 1 = 29.
    assert held.store_all_peak_bytes == 29


def test_a_gradient_as_large_as_the_output_is_none_of_its_own() -> None:
    first = CHAIN.stages[0]
    same = replace(first, output_gradient_bytes=4)
    assert same == first
    assert same.output_gradient_bytes is None
    # It follows the output then.
    assert replace(same, output_bytes=3).gradient_bytes == 3
    chain = replace(CHAIN, stages=(same, *CHAIN.stages[1:]))
    assert chain.sha256 == CHAIN.sha256
    assert "output_gradient_bytes" not in json.dumps(chain.to_json())


def test_another_gradient_is_written_read_and_hashed() -> None:
    other = replace(CHAIN.stages[0], output_gradient_bytes=0)
    chain = replace(CHAIN, stages=(other, *CHAIN.stages[1:]))
    written = json.loads(json.dumps(chain.to_json()))
    assert written["stages"][0]["output_gradient_bytes"] == 0
    assert "output_gradient_bytes" not in written["stages"][1]
    assert Chain.from_json(written) == chain
    assert chain.sha256 != CHAIN.sha256


@pytest.mark.parametrize(
    ("size", "said"),
    [(-1, "output_gradient_bytes: -1"), (2.5, "output_gradient_bytes"), (True, "True")],
)
def test_a_gradient_that_is_no_size_is_refused(size: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        replace(CHAIN.stages[0], output_gradient_bytes=size)


def test_the_gradient_of_the_loss_is_refused() -> None:
    loss = replace(CHAIN.stages[-1], output_gradient_bytes=1)
    with pytest.raises(InputError, match=r"stages\[2\].output_gradient_bytes: 1"):
        replace(CHAIN, stages=(*CHAIN.stages[:-1], loss))


def test_gradients_too_large_to_be_counted_are_refused() -> None:
    stages = tuple(
        stage_of(f"stage {number}", output_bytes=1, saved_bytes=1) for number in range(65)
    )
    large = tuple(replace(stage, output_gradient_bytes=2**53 - 1) for stage in stages)
    with pytest.raises(InputError, match="add up to"):
        Chain("large", 0, (*large, stage_of("loss")))


def test_what_is_shown_names_gradients_only_where_they_have_sizes() -> None:
    assert "largest_gradient_bytes" not in CHAIN_KIND.facts(CHAIN)
    other = replace(CHAIN.stages[0], output_gradient_bytes=9)
    facts = CHAIN_KIND.facts(replace(CHAIN, stages=(other, *CHAIN.stages[1:])))
    assert (facts["gradients_of_own_size"], facts["largest_gradient_bytes"]) == (1, 9)


def test_stages_are_counted_from_one() -> None:
    assert CHAIN.stage(1).name == "first"
    assert [stage.name for stage in CHAIN] == ["first", "second", "loss"]
    assert len(CHAIN) == 3


@pytest.mark.parametrize("number", [0, 4, -1])
def test_a_stage_that_is_not_there_is_an_index_error(number: int) -> None:
    with pytest.raises(IndexError, match=f"stage {number} of a chain of 3 stages"):
        CHAIN.stage(number)


def test_activation_zero_is_the_input() -> None:
    assert [CHAIN.activation_bytes(number) for number in range(4)] == [1, 4, 2, 0]


def test_the_output_of_a_backward_operation_is_the_gradient_of_its_input() -> None:
    assert [CHAIN.backward_output_bytes(number) for number in (1, 2, 3)] == [1, 4, 2]
    assert [FULL_PEAK_CHAIN.backward_output_bytes(number) for number in (1, 2, 3)] == [0, 0, 0]


AMOUNTS = [
    "forward_ns",
    "backward_ns",
    "output_bytes",
    "saved_bytes",
    "forward_overhead_bytes",
    "backward_overhead_bytes",
    "weight_bytes",
]


@pytest.mark.parametrize("field", AMOUNTS)
@pytest.mark.parametrize("value", [-1, 5.0, True, "5", None, float("nan"), 2**53])
def test_a_stage_takes_only_integers_in_range(field: str, value: object) -> None:
    unit = "nanoseconds" if field.endswith("_ns") else "bytes"
    with pytest.raises(InputError, match=f"^{field}: .*; write a whole number of {unit}, 0 to "):
        _stage("l", **{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, 5.0, True, "5", None])
def test_the_input_takes_only_integers_in_range(value: int) -> None:
    with pytest.raises(InputError, match=r"^input_bytes: .*; write a whole number of bytes"):
        replace(CHAIN, input_bytes=value)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[2J", "x" * 201, 7, None])
def test_a_name_must_print(name: str) -> None:
    expected = "; write 1 to 200 printable characters$"
    with pytest.raises(InputError, match=f"^name: .*{expected}"):
        _stage(name)
    with pytest.raises(InputError, match=f"^name: .*{expected}"):
        replace(CHAIN, name=name)


def test_what_is_saved_includes_the_output() -> None:
    with pytest.raises(InputError) as info:
        _stage("l", output_bytes=4, saved_bytes=3)
    assert str(info.value) == (
        "saved_bytes: 3 is below output_bytes = 4; "
        "what is saved includes the output, so write at least output_bytes"
    )


def test_an_empty_chain_is_refused() -> None:
    with pytest.raises(InputError, match=r"^stages: the chain is empty; give at least one stage$"):
        Chain(name="c", input_bytes=1, stages=())


def test_a_loss_with_an_output_is_refused() -> None:
    with pytest.raises(InputError, match=r"^stages\[1\].output_bytes: 2 .* end the chain with"):
        Chain(name="c", input_bytes=1, stages=CHAIN.stages[:2])


def test_two_stages_of_one_name_are_refused_with_both_positions() -> None:
    with pytest.raises(InputError, match=r"^stages\[2\].name: 'l' is also the name of stages\[0\]"):
        Chain(name="c", input_bytes=1, stages=(_stage("l"), _stage("m"), _stage("l")))


def test_durations_that_a_kernel_cannot_add_up_are_refused() -> None:
    # 600 operations of 2**53 - 1 ns, 300 times over, are more than 2**60.
    largest = 2**53 - 1
    stages = [_stage(f"s{n}", forward_ns=largest, backward_ns=largest) for n in range(300)]
    with pytest.raises(InputError, match=r"^stages: the total time .* check the unit of the dur"):
        Chain(name="c", input_bytes=1, stages=tuple(stages))


def test_sizes_that_a_kernel_cannot_add_up_are_refused() -> None:
    # 600 x (2**53 - 1) bytes are more than 2**60.
    stages = [_stage(f"s{n}", saved_bytes=2**53 - 1) for n in range(600)]
    with pytest.raises(InputError, match=r"^stages: the sizes add up .* check the unit of the siz"):
        Chain(name="c", input_bytes=1, stages=tuple(stages))


def test_json_keeps_everything() -> None:
    chain = replace(FULL_PEAK_CHAIN, provenance=Provenance(source="synthetic", batch=4))
    found = Chain.from_json(json.loads(json.dumps(chain.to_json())))
    assert found == chain
    assert found.provenance == chain.provenance
    assert found.sha256 == chain.sha256


def test_the_hash_is_that_of_the_canonical_text() -> None:
    chain = Chain(name="c", input_bytes=3, stages=(_stage("l", saved_bytes=2),))
    text = (
        '{"backward_overhead_holds_gradient":false,"format":"jettison","input_bytes":3,'
        '"kind":"chain","stages":[{"backward_ns":1,"backward_overhead_bytes":0,"forward_ns":1,'
        '"forward_overhead_bytes":0,"name":"l","output_bytes":0,"saved_bytes":2,'
        '"weight_bytes":0}],"version":1}'
    )
    assert chain.sha256 == hashlib.sha256(text.encode()).hexdigest()


SAVING = _stage(
    "l", output_bytes=2, saved_bytes=5, forward_overhead_bytes=7, saving_overhead_bytes=4
)


def test_a_forward_that_saves_has_an_overhead_of_its_own_where_one_is_given() -> None:
    # F_all takes 5 + 4 bytes, F_ck 2 + 7; before, both had the larger overhead.
    assert (SAVING.saving_bytes, SAVING.passing_bytes) == (9, 9)
    shared = replace(SAVING, saving_overhead_bytes=None)
    assert (shared.saving_bytes, shared.passing_bytes) == (12, 9)
    assert replace(SAVING, saving_overhead_bytes=7) == shared


@pytest.mark.parametrize("value", [3, 8])
def test_a_forward_that_saves_takes_no_less_memory_and_no_larger_overhead(value: int) -> None:
    # 7 bytes where nothing is saved: 3 of these may be among the 5 - 2 that are saved.
    with pytest.raises(InputError, match=rf"^saving_overhead_bytes: {value} .*; write 4 to 7"):
        replace(SAVING, saving_overhead_bytes=value)


def test_json_names_the_overhead_of_saving_only_where_there_is_one() -> None:
    chain = Chain(name="c", input_bytes=3, stages=(SAVING, _stage("loss")))
    document = json.loads(json.dumps(chain.to_json()))
    assert document["stages"][0]["saving_overhead_bytes"] == 4
    assert "saving_overhead_bytes" not in document["stages"][1]
    assert Chain.from_json(document) == chain
    # A file from before the field existed is read as it was: one overhead for both.
    del document["stages"][0]["saving_overhead_bytes"]
    assert Chain.from_json(document).stages[0].overhead_of_saving_bytes == 7
    assert Chain.from_json(document).sha256 != chain.sha256


def test_the_peaks_count_the_overhead_of_the_forward_that_runs() -> None:
    chain = Chain(name="c", input_bytes=3, stages=(SAVING, _stage("loss")))
    # F_all 1 3 + 5 + 4 = 12, B 1 3 + 5 + 2 + 3 = 13; with the shared overhead F_all 1 takes 15.
    assert chain.store_all_peak_bytes == 13
    shared = replace(chain, stages=(replace(SAVING, saving_overhead_bytes=None), chain.stages[1]))
    assert shared.store_all_peak_bytes == 15


def test_the_hash_ignores_the_name_and_the_provenance() -> None:
    other = replace(CHAIN, name="other", provenance=Provenance(source="synthetic"))
    assert other.sha256 == CHAIN.sha256


@pytest.mark.parametrize("field", AMOUNTS)
@pytest.mark.parametrize("position", [0, 1])
def test_the_hash_changes_with_every_number_of_a_stage(field: str, position: int) -> None:
    stages = list(CHAIN.stages)
    stages[position] = replace(
        stages[position],
        **{field: getattr(stages[position], field) + 1},
    )
    assert replace(CHAIN, stages=tuple(stages)).sha256 != CHAIN.sha256


def test_the_hash_changes_with_the_input_and_the_convention() -> None:
    assert replace(CHAIN, input_bytes=2).sha256 != CHAIN.sha256
    assert FULL_PEAK_CHAIN.sha256 != CHAIN.sha256


def test_chains_that_differ_in_provenance_only_are_equal() -> None:
    assert replace(CHAIN, provenance=Provenance(source="synthetic")) == CHAIN


def _replayed_peak(chain: Chain, operations: list[tuple[str, int]]) -> int:
    schedule = ChainSchedule(
        tuple(ChainOperation(ChainOperationKind(kind), number) for kind, number in operations)
    )
    replay = schedule.replay(chain)
    assert replay.valid
    return replay.peak_bytes


@given(chains())
def test_saving_everything_replays_to_its_closed_form(chain: Chain) -> None:
    numbers = range(1, len(chain) + 1)
    operations = [("F_all", n) for n in numbers] + [("B", n) for n in reversed(numbers)]
    assert _replayed_peak(chain, operations) == chain.store_all_peak_bytes


@given(chains())
def test_recomputing_everything_replays_to_its_closed_form(chain: Chain) -> None:
    operations = []
    for last in range(len(chain), 0, -1):
        operations += [("F_ck" if n == 1 else "F_none", n) for n in range(1, last)]
        operations += [("F_all", last), ("B", last)]
    assert _replayed_peak(chain, operations) == chain.recompute_all_peak_bytes
