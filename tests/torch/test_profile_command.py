"""`jettison profile`, on models of a few layers."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jettison import Chain, Graph, load
from tests.cli.terminal import Terminal

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

from jettison.instances.profilers.torch_chains import measurement as chain_measurement  # noqa: E402
from jettison.instances.profilers.torch_graphs import operator_cost  # noqa: E402

pytestmark = pytest.mark.torch

FAST = ("--repeats", "1", "--warmup", "0", "--threads", str(torch.get_num_threads()), "--trust")
TINY = ("profile", "gpt2-tiny", "--batch", "2", "--input", "8", *FAST)

OWN = """
import torch
from torch import nn

def layers(width=4):
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 2))

def with_input():
    return layers(), torch.zeros(5, 8)

def with_loss():
    return layers(), torch.zeros(5, 8), lambda output: output.square().sum()

def single():
    return nn.Linear(8, 2)

def nothing():
    return None

def needs(width):
    return layers(width)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of models, which is the current one."""
    (tmp_path / "own_models.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_models", raising=False)
    return tmp_path


def chain_in(path: Path) -> Chain:
    chain = load(path)
    assert isinstance(chain, Chain)
    return chain


def test_a_model_of_the_zoo_becomes_a_chain_that_can_be_solved(
    here: Path, terminal: Terminal
) -> None:
    code, out, err = terminal.run(*TINY, "-o", "tiny.json")
    assert (code, out) == (0, "")
    # Embedding, two blocks, head, loss. Nothing else is said where no terminal listens.
    assert err == f"wrote {here / 'tiny.json'}: chain gpt2-tiny-b2-8-cpu, 5 stages\n"
    found = chain_in(here / "tiny.json").provenance
    assert (found.model, found.batch, found.input_shape) == ("gpt2-tiny", 2, (2, 8))
    assert (found.warmup, found.repeats) == (0, 1)
    assert not list(here.glob("*.partial"))
    assert terminal.run("solve", "remat-chain", "tiny.json", "--memory", "100%")[0] == 0


def test_a_model_with_skips_becomes_a_graph_and_no_chain(here: Path, terminal: Terminal) -> None:
    small = ("--batch", "1", "--input", "3x8x8", "--set", "depth=1", "--set", "width=2")
    words = ("profile", "unet", *small, *FAST, "-o", "unet.json")
    code, _, err = terminal.run(*words)
    assert code == 2
    assert "a UNet is not an nn.Sequential" in err
    assert "--kind graph" in err
    assert terminal.run(*words, "--kind", "graph", "--costs", "roofline")[0] == 0
    graph = load(here / "unet.json")
    assert isinstance(graph, Graph)
    # The skip: the first level's output is read by a pooling and, after the lower level, by a cat.
    assert any(node.name == "cat" and len(node.inputs) == 2 for node in graph.nodes)


def test_without_an_output_the_file_has_the_name_of_the_instance(
    here: Path, terminal: Terminal
) -> None:
    assert terminal.run(*TINY)[0] == 0
    assert chain_in(here / "gpt2-tiny-b2-8-cpu.json").name == "gpt2-tiny-b2-8-cpu"


@pytest.mark.parametrize(
    ("target", "options", "batch"),
    [
        ("own_models:layers", ("--batch", "3", "--input", "8", "--set", "width=6"), 3),
        ("own_models:with_input", (), 5),
        ("own_models:with_loss", ("--batch", "5", "--input", "8"), 5),
    ],
)
def test_a_function_of_ones_own_is_found_in_the_current_folder(
    here: Path, terminal: Terminal, target: str, options: tuple[str, ...], batch: int
) -> None:
    code, _, err = terminal.run("profile", target, *options, *FAST, "-o", "own.json")
    assert code == 0, err
    chain = chain_in(here / "own.json")
    assert [stage.name for stage in chain] == ["0-Linear", "1-ReLU", "2-Linear", "loss"]
    assert chain.provenance.batch == batch
    # 8 numbers of 4 bytes for each sample.
    assert chain.input_bytes == 32 * batch
    width = 6 if "width=6" in options else 4
    assert chain.stage(1).weight_bytes == 4 * (8 * width + width)


def interrupted_at(stage: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let Ctrl-C fall on the measurement of a stage; return the stages that are measured."""
    measured: list[str] = []
    measure = chain_measurement.measure_time

    def measure_time(chain_stage: Any, *arguments: Any, **options: Any) -> Any:
        measured.append(chain_stage.name)
        if chain_stage.name == stage:
            raise KeyboardInterrupt
        return measure(chain_stage, *arguments, **options)

    monkeypatch.setattr(chain_measurement, "measure_time", measure_time)
    return measured


def test_a_run_that_was_interrupted_goes_on_where_it_stopped(
    here: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        measured = interrupted_at("block2", patch)
        code, _, err = terminal.run(*TINY, "-o", "tiny.json")
    assert code == 130
    assert measured == ["embedding", "block1", "block2"]
    assert "2 stages are in" in err
    assert not (here / "tiny.json").exists()
    kept = json.loads((here / "tiny.json.partial").read_text(encoding="utf-8"))["measured"]
    with monkeypatch.context() as patch:
        measured = interrupted_at("none", patch)
        code, _, err = terminal.run(*TINY, "-o", "tiny.json")
    assert code == 0
    assert measured == ["block2", "head", "loss"]
    assert err.startswith("going on after 2 measured stages\n")
    assert not (here / "tiny.json.partial").exists()
    chain = chain_in(here / "tiny.json")
    for name in ("embedding", "block1"):
        stage = next(stage for stage in chain if stage.name == name)
        assert [stage.forward_ns, stage.backward_ns] == [
            kept[name]["forward_ns"][1],
            kept[name]["backward_ns"][1],
        ]


def test_what_was_measured_of_another_run_is_not_used(
    here: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupted_at("head", patch)
        terminal.run(*TINY, "-o", "tiny.json")
    with monkeypatch.context() as patch:
        measured = interrupted_at("none", patch)
        code, _, err = terminal.run(*TINY, "--seed", "1", "-o", "tiny.json")
    assert code == 0
    assert "is of another run (set seed differ): starting anew" in err
    assert measured == ["embedding", "block1", "block2", "head", "loss"]


def test_an_unfinished_profile_of_an_older_form_is_one_error_or_measured_anew(
    here: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished = here / "tiny.json.partial"
    with monkeypatch.context() as patch:
        interrupted_at("block1", patch)
        terminal.run(*TINY, "-o", "tiny.json")
    document = json.loads(unfinished.read_text(encoding="utf-8"))
    # Stages lack a size that was not measured then, as if the version had stayed the same.
    for stage in document["measured"].values():
        del stage["own_output_bytes"]
    older = json.dumps(document)
    unfinished.write_text(older, encoding="utf-8")
    code, _, err = terminal.run(*TINY, "-o", "tiny.json")
    assert code == 2
    assert err.count("\n") == 1
    assert "tiny.json.partial: this is not an unfinished profile of this version" in err
    assert unfinished.read_text(encoding="utf-8") == older
    # The version is one of the things that the numbers depend on.
    document["key"]["jettison"] = "0.0.1"
    unfinished.write_text(json.dumps(document), encoding="utf-8")
    code, _, err = terminal.run(*TINY, "-o", "tiny.json")
    assert code == 0
    assert "is of another run (jettison differ): starting anew" in err
    assert not unfinished.exists()


def test_a_function_that_was_changed_is_measured_anew(
    here: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("profile", "own_models:with_input", *FAST, "-o", "own.json")
    with monkeypatch.context() as patch:
        interrupted_at("1-ReLU", patch)
        terminal.run(*words)
    monkeypatch.delitem(sys.modules, "own_models")
    (here / "own_models.py").write_text(f"{OWN}\n# changed\n", encoding="utf-8")
    code, _, err = terminal.run(*words)
    assert code == 0
    assert "(code differ)" in err


def test_a_file_of_another_kind_in_the_place_of_the_unfinished_one_is_not_lost(
    here: Path, terminal: Terminal
) -> None:
    for text, message in (("{}", "not an unfinished profile"), ("{", "not JSON")):
        (here / "tiny.json.partial").write_text(text, encoding="utf-8")
        code, _, err = terminal.run(*TINY, "-o", "tiny.json")
        assert code == 2
        assert message in err
        assert (here / "tiny.json.partial").read_text(encoding="utf-8") == text


def test_a_program_that_is_killed_leaves_complete_stages(here: Path) -> None:
    code = "import time; from jettison.cli.main import main; main()"
    words = ["profile", "gpt2-tiny", "--batch", "1", "--input", "8", "-o", "tiny.json"]
    # Far more repetitions than anyone waits for.
    words += ["--repeats", "2000", "--warmup", "0"]
    with subprocess.Popen([sys.executable, "-c", code, *words]) as program:
        deadline = time.monotonic() + 120
        while not (here / "tiny.json.partial").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        program.send_signal(signal.SIGKILL)
    assert not (here / "tiny.json").exists()
    document = json.loads((here / "tiny.json.partial").read_text(encoding="utf-8"))
    assert "embedding" in document["measured"]


@pytest.mark.parametrize("kind", ["graph", "multi-model"])
def test_operations_that_were_measured_before_an_interruption_are_not_measured_again(
    here: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    words = (*TINY, "--kind", kind, "--models", "2", "-o", "tiny.json")
    run, measured = operator_cost.Measured._run, []

    def stopping(self: Any, operation: Any) -> Any:
        if len(measured) == 5:
            raise KeyboardInterrupt
        measured.append(operation.name)
        return run(self, operation)

    with monkeypatch.context() as patch:
        patch.setattr(operator_cost.Measured, "_run", stopping)
        code, _, err = terminal.run(*words)
    assert code == 130
    assert "5 operations are in" in err
    assert not (here / "tiny.json").exists()
    kept = json.loads((here / "tiny.json.partial").read_text(encoding="utf-8"))["measured"]
    assert len(kept) == 5
    code, _, err = terminal.run(*words)
    assert code == 0
    assert err.startswith("going on after 5 measured operations\n")
    assert not (here / "tiny.json.partial").exists()
    spread = load(here / "tiny.json").provenance.spread
    if kind == "graph":
        # Operations that are called alike have one measurement: none of the five is lost.
        assert {tuple(triple) for triple in kept.values()} <= set(spread.values())


def test_a_program_that_is_killed_leaves_complete_operations(here: Path) -> None:
    code = "from jettison.cli.main import main; main()"
    words = ["profile", "gpt2-tiny", "--batch", "1", "--input", "8", "-o", "tiny.json"]
    # Far more repetitions than anyone waits for.
    words += ["--repeats", "200000", "--warmup", "0", "--kind", "graph"]
    with subprocess.Popen([sys.executable, "-c", code, *words]) as program:
        deadline = time.monotonic() + 120
        while not (here / "tiny.json.partial").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        program.send_signal(signal.SIGKILL)
    assert not (here / "tiny.json").exists()
    document = json.loads((here / "tiny.json.partial").read_text(encoding="utf-8"))
    assert all(len(spread) == 3 for spread in document["measured"].values())
    assert document["measured"]


def test_an_unfinished_profile_of_another_kind_is_not_used(
    here: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupted_at("head", patch)
        terminal.run(*TINY, "-o", "tiny.json")
    code, _, err = terminal.run(*TINY, "--kind", "graph", "-o", "tiny.json")
    assert code == 0
    assert "(kind, gradients differ): starting anew" in err


@pytest.mark.parametrize("gradients", ["new", "accumulated"])
def test_a_chain_says_what_becomes_of_its_gradients(
    here: Path, terminal: Terminal, gradients: str
) -> None:
    assert terminal.run(*TINY, "--gradients", gradients, "-o", "tiny.json")[0] == 0
    assert chain_in(here / "tiny.json").provenance.parameter_gradients == gradients


def test_a_terminal_sees_which_stage_runs(here: Path) -> None:
    code = "from jettison.cli.main import main; main()"
    mine, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code, *TINY, "-o", "tiny.json"], stderr=theirs
    ) as program:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(mine, 4096):
                seen += part
        except OSError:
            # Linux says so when the other side is closed.
            os.close(mine)
    assert program.returncode == 0
    text = seen.decode()
    assert "gpt2-tiny-b2-8-cpu: stage 1 of 5, embedding" in text
    assert "stage 5 of 5, loss" in text
    assert text.rstrip().endswith("5 stages")
    assert "USDT" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("resnet20",), "'resnet20' is not a model of the zoo; write module:function, or choose"),
        (("resnet18",), "a model of the zoo needs both"),
        (("resnet18", "--batch", "2", "--input", "64"), "write 3 colours and a square"),
        (("resnet18", "--batch", "2", "--input", "3x64x32"), "write 3 colours and a square"),
        (("resnet18", "--batch", "2", "--input", "3xx64"), "write sizes from 1"),
        (("resnet18", "--batch", "2", "--input", "0"), "write sizes from 1"),
        (("resnet18", "--batch", "0", "--input", "3x64x64"), "batch: 0; write"),
        (("gpt2", "--batch", "2", "--input", "8"), "missing a required argument: 'depth'"),
        (("gpt2", "--batch", "2", "--input", "8", "--set", "depth"), "as in depth=12"),
        (("gpt2", "--batch", "2", "--input", "8", "--set", "seed=1"), "an option of its own"),
        (("bert-tiny", "--batch", "2", "--input", "3x8x8"), "write the number of tokens"),
        (("absent_models:f",), "cannot be imported: No module named 'absent_models'"),
        (("own_models:absent",), "no function 'absent'; choose from layers"),
        (("own_models:nothing",), "returns a NoneType; return an nn.Sequential"),
        (("own_models:needs",), "missing a required argument: 'width'"),
        (("own_models:layers",), "the function returns no input"),
        (
            ("own_models:layers", "--batch", "2", "--input", "7"),
            "0-Linear: .* this one is 2x7",
        ),
        (("own_models:single", "--batch", "2", "--input", "8"), "Linear is not an nn.Sequential"),
        (("own_models:with_input", "--batch", "4"), "4 is asked for, and the function returns 5"),
        (("own_models:with_input", "--threads", "0"), "threads: 0"),
        (("own_models:with_input", "--repeats", "0"), "repeat at least once"),
        (("own_models:with_input", "-o", "absent/own.json"), "the folder does not exist"),
        (("own_models:with_input", "--rates", "v100"), "rates: v100 is given, and durations are"),
        (
            ("own_models:with_input", "--costs", "roofline", "--rates", "h900"),
            "rates: 'h900'; write the name of a device, a100 or v100, or floating-point",
        ),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_be_profiled_is_refused_with_a_reason(
    terminal: Terminal, words: tuple[str, ...], message: str
) -> None:
    threads = () if "--threads" in words else ("--threads", str(torch.get_num_threads()))
    code, out, err = terminal.run("profile", *words, *threads)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert re.search(message, err), err
    assert err.count("\n") == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch sees a GPU here")
@pytest.mark.usefixtures("here")
def test_a_device_that_is_not_there_is_refused(terminal: Terminal) -> None:
    code, _, err = terminal.run(*TINY, "--device", "cuda")
    assert code == 2
    assert "PyTorch sees no GPU here" in err


@pytest.mark.parametrize(
    ("rates", "name", "device"),
    [
        ((), "own_models-with_input-b5-8-roofline", "A100 40 GB, assumed rates"),
        (
            ("--rates", "v100"),
            "own_models-with_input-b5-8-v100-roofline",
            "V100 PCIe 16 GB, assumed rates",
        ),
        (
            ("--rates", "1TFLOP/s,1GB/s,1us"),
            "own_models-with_input-b5-8-own-roofline",
            "a device, assumed rates",
        ),
    ],
)
def test_a_chain_of_a_roofline_is_written_at_once(
    here: Path, terminal: Terminal, rates: tuple[str, ...], name: str, device: str
) -> None:
    words = ("profile", "own_models:with_input", *FAST, "--costs", "roofline", *rates)
    code, _, err = terminal.run(*words)
    assert code == 0, err
    assert [path.name for path in here.glob("own_models-*")] == [f"{name}.json"]
    known = chain_in(here / f"{name}.json").provenance
    assert (known.source, known.device, known.batch) == ("modelled", device, 5)


@pytest.mark.parametrize(
    ("kind", "options", "name"),
    [
        ("graph", (), "own_models-with_input-b5-8-cpu"),
        (
            "graph",
            ("--costs", "roofline", "--rates", "V100"),
            "own_models-with_input-b5-8-v100-roofline",
        ),
        ("graph", ("--costs", "roofline"), "own_models-with_input-b5-8-roofline"),
        (
            "multi-model",
            ("--costs", "roofline", "--models", "2", "--bandwidth", "1GB/s"),
            "own_models-with_input-b5-8-roofline-x2",
        ),
    ],
)
def test_a_model_becomes_a_graph_or_several_fused_ones(
    here: Path, terminal: Terminal, kind: str, options: tuple[str, ...], name: str
) -> None:
    words = ("profile", "own_models:with_input", *FAST, "--kind", kind, *options)
    code, _, err = terminal.run(*words)
    assert code == 0, err
    instance = load(here / f"{name}-{kind}.json")
    assert (instance.kind, instance.name) == (kind, name)
