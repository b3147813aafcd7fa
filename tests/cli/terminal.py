"""A terminal that runs commands in a folder of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jettison.cli.main import main
from jettison.instances.catalog import save
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_graph.graph import Graph, Node


class Terminal:
    """Runs commands in a folder with a small chain and a small graph."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        stages = [
            Stage(
                name=f"layer{k}",
                forward_ns=10 + k,
                backward_ns=20,
                output_bytes=100,
                saved_bytes=300,
            )
            for k in range(8)
        ]
        loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=0)
        self.chain = Chain("small", 50, (*stages, loss))
        save(self.chain, folder / "chain.json")
        nodes = [Node(name="f0", duration_ns=5, output_bytes=10)]
        nodes += [
            Node(name=f"f{k}", duration_ns=5, output_bytes=10, inputs=(f"f{k - 1}",))
            for k in range(1, 5)
        ]
        nodes.append(Node(name="b4", duration_ns=5, output_bytes=10, inputs=("f4",), backward=True))
        nodes += [
            Node(
                name=f"b{k}",
                duration_ns=5,
                output_bytes=10,
                inputs=(f"b{k + 1}", f"f{k}"),
                backward=True,
            )
            for k in range(3, -1, -1)
        ]
        save(Graph("ladder", tuple(nodes)), folder / "graph.json")

    def run(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        arguments = [
            str(self.folder / word)
            if word.endswith((".json", ".png", ".csv", ".mps", ".lp"))
            else word
            for word in words
        ]
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        captured = self._capsys.readouterr()
        code = stop.value.code
        return (0 if code is None else int(code)), captured.out, captured.err

    def json(self, *words: str) -> dict[str, Any]:
        code, out, err = self.run(*words, "--json")
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found
