"""Profiles of the same operations by two programs: what their durations say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jettison import Chain, Graph, InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.profilers.profile_comparison import compare_profiles
from jettison.instances.remat_chain.chain import Stage
from jettison.instances.remat_graph.node import Node


def chain(factor: int = 1, *, reference_ns: int | None = None, **settings: Any) -> Chain:
    stages = (
        Stage(
            name="a",
            forward_ns=6_000_000 * factor,
            backward_ns=12_000_000,
            output_bytes=8,
            saved_bytes=16,
        ),
        Stage(name="loss", forward_ns=1_000_000, backward_ns=0, output_bytes=0, saved_bytes=0),
    )
    machine = {} if reference_ns is None else {"reference_ns": reference_ns}
    provenance = Provenance(device="CPU", note="CPU threads: 1", machine=machine)
    return Chain("small", 4, stages, provenance=replace(provenance, **settings))


def graph(*durations_ns: int) -> Graph:
    return Graph(
        "pair",
        tuple(
            Node(name=f"n{place}", duration_ns=duration_ns, output_bytes=1)
            for place, duration_ns in enumerate(durations_ns)
        ),
    )


def test_all_durations_together_are_compared() -> None:
    found = compare_profiles(chain(), chain(2), "earlier")
    assert (found.earlier_ns, found.later_ns) == (19_000_000, 25_000_000)
    assert found.is_apart
    assert found.figures() == "19 ms then and 25 ms now (+32 %)"
    assert not compare_profiles(chain(), chain(), "earlier").is_apart


@pytest.mark.parametrize(
    ("durations", "is_apart"), [((500, 600), False), ((500, 601), True), ((409, 500), True)]
)
def test_ten_percent_of_the_smaller_one_is_the_most_that_agrees(
    durations: tuple[int, int], is_apart: bool
) -> None:
    assert compare_profiles(graph(500, 500), graph(*durations), "earlier").is_apart == is_apart


@pytest.mark.parametrize(
    ("reference_ns", "expected"),
    [
        # 25 of 19 ms are 32 % more; so is 1320 of 1000 us.
        (1_320_000, "1320 us now (+32 %): the whole machine was slower"),
        (1_150_000, "1150 us now (+15 %), which explains a part of it"),
        (1_050_000, "1050 us now (+5 %), so that caches or memory were shared in another way"),
    ],
)
def test_the_reference_kernel_tells_whether_the_machine_was_another(
    reference_ns: int, expected: str
) -> None:
    found = compare_profiles(
        chain(reference_ns=1_000_000), chain(2, reference_ns=reference_ns), "earlier"
    )
    assert found.figures().endswith(f"; a reference kernel took 1000 us then and {expected}")
    back = compare_profiles(
        chain(2, reference_ns=1_320_000), chain(reference_ns=1_000_000), "earlier"
    )
    assert back.figures().endswith("(-24 %): the whole machine was faster")


def test_profiles_that_agree_have_their_figures_too() -> None:
    found = compare_profiles(
        chain(reference_ns=1_000_000), chain(reference_ns=1_900_000), "earlier"
    )
    assert found.figures() == (
        "19 ms then and 19 ms now (+0 %); a reference kernel took 1000 us then and 1900 us now"
        " (+90 %)"
    )


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (chain(device="GPU"), "device is 'GPU' there, and 'CPU' in this profile"),
        (chain(note="CPU threads: 2"), "note is 'CPU threads: 2' there"),
        (replace(chain(), input_bytes=5), "input_bytes is 5 there, and 4 in this profile"),
        (replace(chain(), stages=chain().stages[1:]), "stages is a list of 1 there"),
        (graph(1, 2), "device is None there"),
        (replace(graph(1), provenance=chain().provenance), "kind is 'graph' there"),
    ],
)
def test_profiles_of_other_operations_are_refused_with_what_differs(
    other: Any, expected: str
) -> None:
    with pytest.raises(InputError, match="same model, with the same batch") as caught:
        compare_profiles(other, chain(), "earlier")
    assert expected in str(caught.value)
    assert str(caught.value).startswith("earlier")
