from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jettison as jt
from jettison.instances.core.errors import InputError
from jettison.instances.importers.piper import import_piper
from tests.cli.terminal import Terminal

# Tensors of the step 0 (4 bytes) and 4 (5 bytes), layers 1 -> 2 -> 3; 0 -> 1 and 4 -> 2.
SAMPLE = Path(__file__).parent / "samples" / "piper.json"


def test_the_chain_is_worked_out_by_hand() -> None:
    chain = import_piper(SAMPLE)
    assert (chain.name, chain.input_bytes) == ("piper", 9)
    assert [
        (
            *(stage.name, stage.forward_ns, stage.backward_ns),
            *(stage.output_bytes, stage.saved_bytes, stage.weight_bytes),
        )
        for stage in chain
    ] == [
        # 4 ms with recomputation, 3 without: 1 forward, 2 backward. Layer 2 reads 25 bytes, 5 of
        # them tensor 4: the output has 20. Of 9 bytes, 4 are read.
        ("1 Embedding", 1_000_000, 2_000_000, 20, 5 + 20, 100),
        # 40 - 30.0000005 ms, half to even; the rest is backward. Of 90 bytes, 25 are read.
        ("2 Layer", 10_000_000, 20_000_001, 20, 65 + 20, 40),
        # The last is the loss: what it reads is all that it keeps.
        ("3 Pooler", 0, 0, 0, 0, 6),
    ]


def test_each_degree_has_its_own_share() -> None:
    chain = import_piper(SAMPLE, tensor_parallel=2)
    assert chain.name == "piper-tp2"
    assert [stage.forward_ns for stage in chain] == [1_000_000, 5_000_000, 0]
    assert [stage.saved_bytes for stage in chain] == [25, 35 + 20, 0]
    assert [stage.weight_bytes for stage in chain] == [50, 20, 3]
    assert "communication" in (chain.provenance.note or "")


def test_a_file_of_somebody_else_is_not_said_to_be_published() -> None:
    provenance = import_piper(SAMPLE).provenance
    assert (provenance.source, provenance.repository, provenance.device) == ("imported", None, None)
    assert "Repeated: 3 layers have 3 different times" in (provenance.note or "")


def _way(node: int, way: int, key: str, value: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        document["nodes"][node]["TMPCs"]["1"][way][key] = value

    return change


def _edge(source: int, target: int) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        document["edges"].append({"sourceId": source, "destId": target})

    return change


def _set(path: tuple[Any, ...], value: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


# In the file the nodes are 0, 3, 1, 2, 4.
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set(("nodes",), {}), "nodes: there is no list nodes; give an object"),
        (_set(("edges", 0), 7), "edges[0]: the entry is not an object; give"),
        (_set(("nodes", 2, "id"), "1"), "nodes[2].id: '1' cannot identify a node; write"),
        (_set(("nodes", 2, "id"), 2), "nodes[3].id: 2 stands twice; give each node its own"),
        (_set(("nodes", 2, "name"), ""), "nodes[2].name: '' cannot be a name; write"),
        (_set(("nodes", 2, "TMPCs"), 1), "nodes[2].TMPCs: there is no object; give each degree"),
        (_set(("nodes", 2, "TMPCs"), {"2": []}), "nodes[2].TMPCs: there is no degree 1; choose"),
        (_set(("nodes", 2, "TMPCs", "1"), {}), "nodes[2].TMPCs.1: there is no list of objects;"),
        (_way(2, 1, "id", "offload"), "nodes[2].TMPCs.1: the ways are others; give each degree"),
        (_way(2, 0, "timePerSample", -1), "nodes[2].TMPCs.1[0].timePerSample: -1 is negative"),
        (_way(2, 0, "memoryUsageA", 0.5), "nodes[2].TMPCs.1[0].memoryUsageA: 0.5 is not a whole"),
        (_way(2, 0, "parameterSize", None), "nodes[2].TMPCs.1[0].parameterSize: 'None' is not"),
        (
            _way(2, 1, "timePerSample", 0.002),
            "nodes[2].TMPCs.1.timePerSample: 0.003 s, and 0.002 s with recomputation; "
            "recomputation takes longer, and not twice as long",
        ),
        (
            _way(2, 1, "timePerSample", 0.007),
            "nodes[2].TMPCs.1.timePerSample: 0.003 s, and 0.007 s with recomputation;",
        ),
        (
            _way(2, 1, "memoryUsageA", 12),
            "nodes[2].TMPCs.1.memoryUsageA: 3 bytes more with recomputation; recomputation keeps",
        ),
        (
            _way(3, 1, "memoryUsageA", 3),
            "nodes[3].TMPCs.1.memoryUsageA: the layer reads 3 bytes, and tensors of the step of 5;",
        ),
        (
            _way(4, 0, "timePerSample", 0.5),
            "nodes[4].TMPCs.1[0].timePerSample: no edge leads to it, and it takes 0.5 s; write 0",
        ),
        (_edge(1, 9), "edges[4]: 9 is not a node; name a node"),
        (_edge(1, 3), "nodes[1]: it reads layers 1, 2; let each layer but the first"),
        (_edge(3, 1), "edges: 0 of 3 layers follow one another; let the first layer read"),
        (_set(("edges", 1, "sourceId"), 0), "nodes[3]: another reads the same layer; let each"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(
    tmp_path: Path, change: Callable[[Any], None], message: str
) -> None:
    document = json.loads(SAMPLE.read_text())
    change(document)
    path = tmp_path / "piper.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        import_piper(path)
    assert f"{path}: {message}" in str(caught.value)


def test_the_command_writes_a_chain(terminal: Terminal) -> None:
    code, _, err = terminal.run("import", "piper", str(SAMPLE), "-o", "out.json")
    assert code == 0
    assert err.endswith("out.json: chain piper, 3 stages\n")
    assert jt.load(terminal.folder / "out.json").sha256 == import_piper(SAMPLE).sha256


def test_the_published_profile_is_read_at_every_degree(shared_data: Path) -> None:
    path = shared_data / "piper" / "bert32a100.json"
    chains = [import_piper(path, tensor_parallel=degree) for degree in (1, 2, 4, 8)]
    assert [len(chain) for chain in chains] == [34, 34, 34, 34]
    plain = chains[0]
    assert plain.name == "bert-32-b8-a100"
    assert (plain.provenance.licence, plain.provenance.device) == ("MIT", "A100")
    assert (plain.provenance.batch, plain.provenance.sequence) == (8, 512)
    # The two tensors of 8192 bytes, and the mask of 16 MiB.
    assert plain.input_bytes == 2 * 8192 + 2**24
    # Layer 3: what it reads is the input, 8 x 512 x 1920 x 4 bytes, and the mask.
    layer = plain.stage(2)
    assert layer.output_bytes == 8 * 512 * 1920 * 4
    assert layer.saved_bytes == 606_478_336 - (31_457_280 + 2**24) + 31_457_280
    assert (layer.forward_ns, layer.backward_ns) == (10_193_000, 20_299_000)
    result = jt.solve(jt.RematChain(plain, "50%"), method="rotor-exact")
    assert (plain.base_time_ns, result.time_ns) == (972_864_000, 1_146_779_000)
