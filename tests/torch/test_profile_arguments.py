"""`jettison profile` of functions whose models take several arguments, or return their own loss."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from jettison import Graph, load
from tests.cli.terminal import Terminal

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

pytestmark = pytest.mark.torch

ROOFLINE = ("--costs", "roofline", "--kind", "graph", "--threads", str(torch.get_num_threads()))

OWN = """
import torch
from torch import nn

class Labelled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2)

    def forward(self, x, labels=None, scale=1.0):
        logits = self.layer(x) * scale
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}

def by_keyword():
    labels = torch.tensor([0, 1, 1])
    return Labelled(), {"x": torch.zeros(3, 8), "labels": labels, "scale": 2.0}

def by_position():
    return Labelled(), (torch.zeros(3, 8),), lambda output: output["logits"].square().sum()

def without_labels():
    return Labelled(), {"x": torch.zeros(3, 8)}

def without_tensors():
    return Labelled(), {"scale": 2.0}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of models, which is the current one."""
    (tmp_path / "models_of_arguments.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "models_of_arguments", raising=False)
    return tmp_path


@pytest.mark.parametrize("function", ["by_keyword", "by_position"])
def test_arguments_come_as_a_mapping_or_as_a_tuple(
    here: Path, terminal: Terminal, function: str
) -> None:
    target = f"models_of_arguments:{function}"
    code, _, err = terminal.run("profile", target, *ROOFLINE, "-o", "own.json")
    assert code == 0, err
    graph = load(here / "own.json")
    assert isinstance(graph, Graph)
    # The gradients of the weights and of the bias: 16 and 2 numbers of 4 bytes.
    assert {8, 64} <= {node.output_bytes for node in graph.nodes if node.keep}
    assert (graph.provenance.batch, graph.provenance.input_shape) == (3, (3, 8))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("without_labels", *ROOFLINE), "a dict without a loss; return the loss, .* need labels"),
        (("without_tensors", *ROOFLINE), "its input is a dict without a first dimension"),
        (("by_keyword", "--trust"), "kind: a chain of a model that takes a dict of arguments"),
        (("by_keyword", *ROOFLINE, "--batch", "4"), "4 is asked for, and the function returns 3"),
    ],
)
@pytest.mark.usefixtures("here")
def test_arguments_that_cannot_be_profiled_are_refused(
    terminal: Terminal, words: tuple[str, ...], message: str
) -> None:
    function, *options = words
    code, out, err = terminal.run("profile", f"models_of_arguments:{function}", *options)
    assert (code, out) == (2, "")
    assert re.search(message, err), err
    assert err.count("\n") == 1
