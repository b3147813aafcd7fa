"""Throughput over batch sizes: samples over time, what no schedule exceeds, and what is settled."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from jettison import Chain, InputError, RematChain
from jettison.core import BatchSeries, Provenance, solve_batches
from jettison.remat_chain import Stage
from tests.cli.terminal import Terminal


def step(batch: int, *, fixed_ns: int = 10, **origin: object) -> Chain:
    """Return three layers that save 4 bytes a sample; each takes some time, and 2 ns a sample."""
    layers = tuple(
        Stage(
            name=f"{number}",
            forward_ns=fixed_ns + 2 * batch,
            backward_ns=fixed_ns + 2 * batch,
            output_bytes=batch,
            saved_bytes=4 * batch,
        )
        for number in range(3)
    )
    loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=0)
    given = {"batch": batch, "model": "three", "device": "here", **origin}
    return Chain(f"three-b{batch}", batch, (*layers, loss), provenance=Provenance(**given))


def series(*batches: int, memory_bytes: int, method: str | None = None) -> BatchSeries:
    problems = [RematChain(step(batch), memory_bytes) for batch in batches]
    return solve_batches(problems, method)


def test_a_larger_batch_is_faster_until_it_has_to_compute_again() -> None:
    # Backward of a layer needs what all layers saved, 12 bytes a sample, its input and two
    # gradients: 15 bytes a sample, at 3 * (10 + 2 B) each way; the loss takes 2 ns.
    found = series(3, 1, 2, memory_bytes=30)
    assert [row.batch for row in found.rows] == [1, 2, 3]
    one, two, three = found.rows
    assert one.samples_per_s == Fraction(10**9, 6 * 12 + 2)
    assert two.samples_per_s == Fraction(2 * 10**9, 6 * 14 + 2)
    # 45 bytes would be needed for three samples: layers of 16 ns run forward again.
    assert three.result.time_ns is not None
    assert three.result.time_ns >= 6 * 16 + 2 + 16
    for row in found.rows:
        assert row.samples_per_s == row.at_most_per_s
    assert found.best is max(found.rows, key=lambda row: row.samples_per_s or 0)
    assert found.is_settled


def test_a_batch_that_cannot_fit_is_ruled_out() -> None:
    found = series(1, 50, memory_bytes=20)
    assert found.rows[1].samples_per_s is None
    assert found.rows[1].at_most_per_s == 0
    assert found.best is found.rows[0]
    assert found.is_settled


def test_a_batch_whose_bound_is_above_the_best_leaves_it_open() -> None:
    # recompute-all proves nothing but the time without recomputation.
    found = series(1, 2, memory_bytes=30, method="recompute-all")
    best, other = found.best, found.rows[0]
    assert best is found.rows[1]
    assert best.samples_per_s is not None
    assert other.at_most_per_s == Fraction(10**9, 74)
    assert found.is_settled == (other.at_most_per_s <= best.samples_per_s)
    assert not found.is_settled


@pytest.mark.parametrize(
    ("chains", "field"),
    [
        ([], "instances"),
        ([step(1), step(1)], "instances"),
        ([step(1), step(2, device="there")], "provenance.device"),
        ([step(1), step(2, model="four")], "provenance.model"),
        ([replace(step(1), provenance=Provenance())], "provenance.batch"),
    ],
)
def test_what_is_no_series_is_bad_input(chains: list[Chain], field: str) -> None:
    with pytest.raises(InputError) as caught:
        solve_batches([RematChain(chain, 28) for chain in chains])
    assert caught.value.field == field


def test_the_command_finds_the_best_batch_of_a_model_on_a_gpu(terminal: Terminal) -> None:
    names = " ".join(f"opt-350m-b{batch}-a100-40" for batch in (4, 1))
    status, out, _ = terminal.run(f"throughput remat-chain {names} --memory 40GiB")
    assert status == 0
    # 40 GiB are enough for four samples, in 773.946 ms.
    assert out.rstrip().endswith("best: 5.168 samples/s, batch 4; no other batch can be faster")
    status, out, _ = terminal.run(f"throughput remat-chain {names} --memory 40GiB --json")
    document = json.loads(out)
    assert (document["best_batch"], document["settled"]) == (4, True)
    assert [row["batch"] for row in document["batches"]] == [1, 4]
    status, _, error = terminal.run(f"throughput remat-chain {names} --memory 50%")
    assert status == 2
    assert "write one amount for all, such as 12GiB" in error
    status, _, _ = terminal.run(f"throughput remat-chain {names} --memory 1MiB")
    assert status == 3
