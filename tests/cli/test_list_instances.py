from __future__ import annotations

import itertools

import pytest

from jettison.instances.catalog import bundled_instances
from tests.cli.terminal import Terminal

WIDTH = 80
HEADER_LINES = 2


def names(terminal: Terminal, *words: str) -> list[str]:
    return [entry["name"] for entry in terminal.json("list", "instances", *words)["instances"]]


def test_the_table_fits_a_terminal_of_80_columns(terminal: Terminal) -> None:
    out = terminal.output("list", "instances")
    lines = out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= WIDTH
    words = lines[0].split()
    assert words == ["name", "kind", "size", "batch", "device", "source"]
    assert len([line for line in lines[HEADER_LINES:] if line.strip()]) == len(bundled_instances())


def test_what_others_measured_is_told_from_what_we_measured_and_what_is_modelled(
    terminal: Terminal,
) -> None:
    parts = [names(terminal, "--source", source) for source in ("measured", "imported", "modelled")]
    assert sorted(itertools.chain(*parts)) == [entry.name for entry in bundled_instances()]
    measured, imported, modelled = parts
    assert all(name.endswith(("-cpu", "-h200")) for name in measured)
    assert "opt-350m-b4-a100-40" in imported
    assert {"bert-x8", "gpt2-38-b64-table1", "mlp-26"} <= set(modelled)


def test_a_device_is_found_by_words_of_its_name_in_either_case(terminal: Terminal) -> None:
    found = terminal.json("list", "instances", "--device", "a100")["instances"]
    devices = {entry["device"] for entry in found}
    assert devices == {"A100", "A100-40", "A100-80", "A100 40 GB, assumed rates"}
    found = terminal.json("list", "instances", "--device", "h200")["instances"]
    assert {entry["device"] for entry in found} == {"NVIDIA H200"}


def test_filters_are_all_asked_for_together(terminal: Terminal) -> None:
    found = names(terminal, "--device", "GPU", "--kind", "graph", "--source", "imported")
    assert "resnet50-graph-b128-gpu" in found
    assert "resnet50-b128-gpu" not in found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--device", "A10"),
            "error: device: 'A10' is the device of none of these instances; write A100, A100 40 GB "
            "or A100-40, or choose one of: A100, A100 40 GB, A100-40, A100-80, CPU, GH-96, GPU, "
            "NVIDIA H200, RTX-2080, RTX-3090, Titan-RTX, V100, V100 16 GB, V100-16, V100-32\n",
        ),
        (
            ("--kind", "chian"),
            "error: kind: 'chian' is the kind of none of these instances; write chain, or choose "
            "one of: chain, graph, multi-model, sharded-graph\n",
        ),
        (
            ("--source", "torch-profile"),
            "error: source: 'torch-profile' is the source of none of these instances; choose one "
            "of: imported, measured, modelled\n",
        ),
        # Nothing was measured by jettison on this device.
        (
            ("--device", "RTX-3090", "--source", "measured"),
            "error: source: 'measured' is the source of none of these instances; choose one of: "
            "imported\n",
        ),
    ],
)
def test_a_filter_that_nothing_passes_is_one_line_that_names_what_there_is(
    terminal: Terminal, words: tuple[str, ...], message: str
) -> None:
    code, out, err = terminal.run("list", "instances", *words)
    assert (code, out, err) == (2, "", message)
