"""Recorded steps: the graphs of the file, and refusals of files that have something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from jettison.instances.core.compressed import packed
from jettison.instances.core.errors import InputError
from jettison.studies.recorded_steps import Pricing, RecordedSteps

RECORD = Path(__file__).parents[2] / "notebooks" / "_recorded" / "planners_graphs.jsonl.gz"


@pytest.fixture(scope="module")
def steps() -> RecordedSteps:
    return RecordedSteps.read(RECORD)


def test_twenty_steps_are_recorded(steps: RecordedSteps) -> None:
    assert len(steps.names) == 20


def test_fused_operators_have_other_durations_and_nothing_else(steps: RecordedSteps) -> None:
    alone, fused = (steps.graph("u-net", pricing) for pricing in Pricing)
    assert [node.output_bytes for node in alone.nodes] == [
        node.output_bytes for node in fused.nodes
    ]
    assert alone.inputs == fused.inputs
    changed = {
        (node.operator_name, other.duration_ns)
        for node, other in zip(alone.nodes, fused.nodes, strict=True)
        if node.duration_ns != other.duration_ns
    }
    assert ("aten.relu.default", 0) in changed
    assert {duration_ns for _, duration_ns in changed} == {0}
    assert "pointwise operators and copies take no time" in str(fused.provenance.note)


def test_products_and_convolutions_have_the_floating_point_operations(
    steps: RecordedSteps,
) -> None:
    graph, flops = steps.graph("u-net", "alone"), steps.flops("u-net")
    with_flops = {
        node.operator_name for node, count in zip(graph.nodes, flops, strict=True) if count
    }
    assert with_flops == {"aten.convolution.default", "aten.convolution_backward.default"}
    # The first convolution: 8 images of 256x256, from 3 channels to 64, 3x3, two for each product.
    assert flops[0] == 2 * 8 * 256**2 * 3 * 64 * 9


def test_a_step_that_is_not_recorded_is_named_with_those_that_are(steps: RecordedSteps) -> None:
    with pytest.raises(InputError, match=r"'alexnet' is not recorded; choose from llama-4, llama"):
        steps.graph("alexnet", Pricing.ALONE)
    with pytest.raises(InputError, match="'alexnet' is not recorded"):
        steps.flops("alexnet")


def test_a_file_that_is_not_there_or_has_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graphs.jsonl.gz"
    with pytest.raises(InputError, match="the file cannot be read: No such file"):
        RecordedSteps.read(path)
    path.write_bytes(packed(b'{"name": "no graph"}\n'))
    with pytest.raises(InputError, match="it does not have a graph on each line; run python -m"):
        RecordedSteps.read(path)
