"""Strategies of a mesh that are measured on one device."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from jettison import InputError, ShardedGraph, load
from jettison.instances.generators.perceptron_program import perceptron
from jettison.instances.tensor_programs.device_mesh import v100_mesh
from jettison.instances.tensor_programs.program_file import save_program
from jettison.instances.tensor_programs.program_on_mesh import ProgramOnMesh
from jettison.instances.tensor_programs.shard_cost import KnownShards, LocalWork, share_name
from jettison.instances.tensor_programs.shard_program import shard_program
from jettison.instances.tensor_programs.tensor_program import TensorOperation
from jettison.remat_sharding import Role
from tests.cli.terminal import Terminal

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

from jettison.instances.profilers.shards import sharding_run  # noqa: E402
from jettison.instances.profilers.shards.shard_kernels import kernel_of  # noqa: E402

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
FAST = ("--repeats", "2", "--warmup", "0", "--threads", str(torch.get_num_threads()))
WORDS = ("profile", "own.json", "--kind", "sharding", "--mesh", "1x4", *FAST, "-o", "out.json")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small perceptron as a program, which is the current one."""
    save_program(perceptron(2, 16, 16), tmp_path / "own.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sharded(path: Path) -> ShardedGraph:
    graph = load(path)
    assert isinstance(graph, ShardedGraph)
    return graph


def work_of(
    primitive: str,
    subscripts: str,
    shape: tuple[int, ...],
    *operands: tuple[int, ...],
    flops: int = 0,
    element_bytes: int = 4,
) -> LocalWork:
    operation = TensorOperation(
        name="it",
        role=Role.FORWARD,
        primitive=primitive,
        subscripts=subscripts,
        shape=shape,
        operands=tuple(f"in{place}" for place in range(len(operands))),
    )
    return LocalWork(
        operation=operation,
        shape=shape,
        operand_shapes=operands,
        element_bytes=(element_bytes,) * len(operands),
        flops=Fraction(flops),
        moved_bytes=64,
    )


@pytest.mark.parametrize(
    ("work", "shape"),
    [
        (work_of("dot_general", "mk,kn->mn", (4, 2), (4, 3), (3, 2), flops=48), (4, 2)),
        (work_of("dot_general", "bmk,bkn->bmn", (5, 4, 2), (5, 4, 3), (5, 3, 2)), (5, 4, 2)),
        # Dimensions without an axis: 4x3 times 3x2 as well, by its 2*4*3*2 operations.
        (work_of("dot_general", "m.,.n->mn", (4, 2), (4, 3), (3, 2), flops=48), (1, 4, 2)),
        (work_of("add", "ab,b->ab", (4, 3), (4, 3), (3,)), (4, 3)),
        (work_of("mul", "ab->ab", (4, 3), (4, 3)), (4, 3)),
        # A transposition that was folded into the operation that reads it.
        (work_of("sub", "ba,ab->ab", (4, 3), (3, 4), (4, 3)), (4, 3)),
        (work_of("exp", "ab->ab", (4, 3), (4, 3)), (4, 3)),
        (work_of("reduce_sum", "ab->a", (4,), (4, 3)), (4,)),
        (work_of("reduce_max", "ab->b", (3,), (4, 3)), (3,)),
        (work_of("select_n", "ab,ab->ab", (4, 3), (4, 3), (4, 3)), (4, 3)),
        # Anything else copies: 64 bytes are moved, half of them read.
        (work_of("gather", "..->..", (4, 3), (7, 3)), (32,)),
        (work_of("reshape", "a.->a", (12,), (4, 3)), (32,)),
        (work_of("add", "ab,bc->ab", (4, 3), (4, 3), (3, 5)), (32,)),
    ],
)
def test_a_share_runs_as_a_kernel_of_its_axes(work: LocalWork, shape: tuple[int, ...]) -> None:
    result: Any = kernel_of(work, CPU)()
    assert tuple(result.shape) == shape


def test_a_product_is_the_product_of_its_operands() -> None:
    # All operands are ones: each of the results is the number of terms.
    result: Any = kernel_of(work_of("dot_general", "mk,kn->mn", (4, 2), (4, 3), (3, 2)), CPU)()
    assert result.tolist() == [[3.0, 3.0]] * 4


def test_numbers_of_two_bytes_are_computed_with_as_such() -> None:
    result: Any = kernel_of(work_of("exp", "a->a", (4,), (4,), element_bytes=2), CPU)()
    assert result.dtype == torch.bfloat16


def test_every_strategy_is_measured_on_the_shapes_of_its_shares(
    here: Path, terminal: Terminal
) -> None:
    code, _, err = terminal.run(*WORDS)
    assert code == 0, err
    graph = sharded(here / "out.json")
    known = graph.provenance
    assert (known.source, known.device_kind, known.repeats) == ("torch-profile", "cpu", 2)
    assert "communication is assumed: 1 devices" in str(known.note)
    # The rows of dot1 split over 4 devices, or its columns, or its terms, or nothing.
    shapes = {name for name in known.spread if name.startswith("dot_general mk,kn->mn of ")}
    assert shapes == {
        f"dot_general mk,kn->mn of {text}, 4,4 bytes each"
        for text in ("4x16,16x16,4x16", "16x4,4x16,16x16", "16x16,16x4,16x4", "16x16,16x16,16x16")
    }
    assumed = shard_program(perceptron(2, 16, 16), v100_mesh((1, 4)), "assumed")
    for mine, other in zip(graph.operators, assumed.operators, strict=True):
        assert [strategy.name for strategy in mine.strategies] == [
            strategy.name for strategy in other.strategies
        ]
        # Communication and memory are as assumed; only computing is measured.
        assert [(s.communication_ns, s.memory_bytes) for s in mine.strategies] == [
            (s.communication_ns, s.memory_bytes) for s in other.strategies
        ]
    assert graph.resharding == assumed.resharding
    assert len(graph.fastest) == len(graph)
    assert terminal.run("solve", "remat-sharding", "out.json", "--memory", "100%")[0] == 0


def test_a_profile_that_was_interrupted_goes_on_where_it_stopped(
    here: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def stopping(work: LocalWork, device: Any) -> Any:
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(share_name(work))
        return kernel_of(work, device)

    with monkeypatch.context() as patch:
        patch.setattr(sharding_run, "kernel_of", stopping)
        assert terminal.run(*WORDS)[0] == 130
    assert not (here / "out.json").exists()
    partial = json.loads((here / "out.json.partial").read_text(encoding="utf-8"))
    assert sorted(partial["measured"]) == sorted(made)
    code, _, err = terminal.run(*WORDS)
    assert code == 0
    assert err.startswith("going on after 3 measured shares of operations\n")


def test_what_was_measured_is_kept_with_program_and_mesh() -> None:
    spread = dict.fromkeys(("absent",), (1, 2, 3))
    graph = ProgramOnMesh(name="mine", program="mlp-26", mesh=(1, 4)).sharded_graph()
    kept = ProgramOnMesh(name="mine", program="mlp-26", mesh=(1, 4), provenance=graph.provenance)
    with pytest.raises(InputError, match="measure it as well"):
        kept.sharded_graph()
    assert ProgramOnMesh.from_json(kept.to_json()).provenance == graph.provenance
    work = work_of("exp", "a->a", (4,), (4,))
    assert KnownShards({share_name(work): (1, 2, 3), **spread}).compute_ns(work) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("own.json", "--kind", "sharding"), "mesh: ''; write 8 or 2x4"),
        (("absent.json", "--kind", "sharding", "--mesh", "4"), "cannot read the file"),
        (("resnet18", "--kind", "sharding", "--mesh", "4"), "program: 'resnet18'; name"),
        (
            ("own.json", "--kind", "sharding", "--mesh", "4", "--costs", "roofline"),
            "use `jettison generate sharded-graph` for assumed rates",
        ),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_be_sharded_is_refused_with_a_reason(
    terminal: Terminal, words: tuple[str, ...], message: str
) -> None:
    code, out, err = terminal.run("profile", *words)
    assert (code, out) == (2, "")
    assert message in err
