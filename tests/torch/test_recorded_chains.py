"""Chains that are recorded for the notebook on rotor, beside what the profiler models."""

from __future__ import annotations

import gzip
import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

from tools.export_rotor_chains import NUMBERS, RECORD, line_of, modelled_chains  # noqa: E402

pytestmark = pytest.mark.torch


def test_a_recorded_chain_is_the_one_that_is_modelled() -> None:
    with gzip.open(RECORD, "rt", encoding="utf-8") as stream:
        common, *lines = map(json.loads, stream)
    found = json.loads(json.dumps(line_of(next(modelled_chains(["resnet18"])))))
    kept = next(line for line in lines if line["name"] == found["name"])
    now, then = (
        [dict(zip(names, stage, strict=True)) for stage in line.pop("distinct")]
        for names, line in ((NUMBERS, found), (common["fields"], kept))
    )
    assert found == kept
    # Backward overheads were recorded when their measurement held an output and its gradient too
    # long, and forward operations that save had no overhead of their own: both are no larger now.
    for stage, recorded in zip(now, then, strict=True):
        assert stage.pop("saving_overhead_bytes") <= recorded["forward_overhead_bytes"]
        assert stage.pop("backward_overhead_bytes") <= recorded.pop("backward_overhead_bytes")
        assert stage == recorded


def test_every_recorded_chain_is_there_once() -> None:
    with gzip.open(RECORD, "rt", encoding="utf-8") as stream:
        common, *lines = map(json.loads, stream)
    assert common["source"] == "modelled"
    names = [line["name"] for line in lines]
    assert len(set(names)) == len(names) == 188
    for line in lines:
        assert set(line["stages"]) == set(range(len(line["distinct"]))), line["name"]
