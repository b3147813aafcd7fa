"""A terminal that runs commands in a folder of its own."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from jettison.cli.main import main
from jettison.instances.catalog import save
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_graph.graph import Graph, Node

_FILES = (".json", ".png", ".csv", ".mps", ".lp", ".gz", ".html")


class CommandLine:
    """Lines of commands as a user types them; files that they name are in the folder, if any."""

    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path = Path()) -> None:
        self.folder = folder
        self._capsys = capsys

    def run(self, line: str, *words: str) -> tuple[int, str, str]:
        """Run a line, and more words as they are; return exit status, output and errors."""
        self._capsys.readouterr()
        arguments = [
            str(self.folder / word) if word.endswith(_FILES) else word
            for word in (*shlex.split(line), *words)
        ]
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        captured = self._capsys.readouterr()
        code = stop.value.code
        return (0 if code is None else int(code)), captured.out, captured.err

    def error(self, line: str, *words: str) -> str:
        """Run a line that is bad input, and return its one line of error."""
        code, out, err = self.run(line, *words)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith("error: ")
        return err

    def output(self, line: str, *words: str) -> str:
        """Run a line that succeeds, and return what it prints."""
        code, out, err = self.run(line, *words)
        assert code == 0, err
        return out

    def json(self, line: str, *words: str) -> dict[str, Any]:
        """Run a line that succeeds, and return the object that it prints."""
        found: dict[str, Any] = json.loads(self.output(line, *words, "--json"))
        return found


class Terminal(CommandLine):
    """Command line in a folder with a small chain and a small graph."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(capsys, folder)
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
