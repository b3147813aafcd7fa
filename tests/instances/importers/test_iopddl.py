from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.importers import iopddl
from jettison.instances.importers.iopddl import import_iopddl

DOCUMENT: dict[str, Any] = {
    "problem": {
        "name": "tiny",
        "nodes": {
            "intervals": [[0, 2], [1, 1]],
            "costs": [[3, 10**18], [4]],
            "usages": [[5, 6], [7]],
        },
        "edges": {"nodes": [[0, 1], [1, 0]], "costs": [[1, 2], [10**19, 3]]},
        "usage_limit": 9,
    }
}


def write(folder: Path, document: object) -> Path:
    path = folder / "contest.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_contest_file_is_read_and_what_is_forbidden_becomes_none(tmp_path: Path) -> None:
    path = write(tmp_path, DOCUMENT)
    graph = import_iopddl(path)
    assert [(node.name, node.interval, node.costs_ns) for node in graph.nodes] == [
        ("n0", (0, 2), (3, None)),
        ("n1", (1, 1), (4,)),
    ]
    assert [(edge.first, edge.second, edge.costs_ns) for edge in graph.edges] == [
        ("n0", "n1", (1, 2)),
        ("n1", "n0", (None, 3)),
    ]
    assert (graph.name, graph.usage_limit_bytes) == ("tiny", 9)
    packed = tmp_path / "contest.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert import_iopddl(packed) == graph


def test_an_edge_of_a_node_with_itself_adds_its_diagonal(tmp_path: Path) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["problem"]["edges"] = {"nodes": [[0, 0]], "costs": [[8, 1, 1, 1]]}
    assert import_iopddl(write(tmp_path, document)).nodes[0].costs_ns == (11, None)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("problem",), 3, "there is no object 'problem'"),
        (("problem", "nodes"), [], "there is no object 'problem.nodes'"),
        (("problem", "nodes", "costs"), 3, "problem.nodes.costs: there is no list"),
        (("problem", "nodes", "costs", 0), 3, "problem.nodes.costs[0]: 3 is not a list"),
        (("problem", "nodes", "costs"), [[3]], "1 costs and 2 intervals"),
        (("problem", "nodes", "costs", 0, 0), 1.5, "1.5 is not an integer"),
        (("problem", "nodes", "costs", 0, 0), -1, "-1 is negative"),
        (("problem", "nodes", "costs", 0, 0), None, "'null' is not an integer"),
        (("problem", "nodes", "costs", 0, 0), 10**18, "every strategy of 'n0' is forbidden"),
        (("problem", "nodes", "usages", 0), [5], "1 usages and 2 costs"),
        (("problem", "nodes", "intervals", 0), [2, 1], "ends before it begins"),
        (("problem", "edges", "nodes", 0), [0, 2], "[0, 2] are not two nodes"),
        (("problem", "edges", "nodes", 0), [0, True], "[0, True] are not two nodes"),
        (("problem", "edges", "costs", 0), [1], "give 2 x 1, row by row"),
        (("problem", "edges", "costs", 0, 0), "x", "'x' is not an integer"),
        (("problem", "usage_limit"), -4, "-4 is negative"),
        (("problem", "name"), 7, "7 is not text"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, path: tuple[str | int, ...], value: object, expected: str
) -> None:
    document = copy.deepcopy(DOCUMENT)
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(InputError) as caught:
        import_iopddl(write(tmp_path, document))
    assert expected in str(caught.value)
    assert "contest.json" in str(caught.value)


def test_broken_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.dumps(DOCUMENT).encode()
    packed = gzip.compress(data)
    path = tmp_path / "broken.json.gz"
    for content, expected in (
        (data[:-9], "not JSON"),
        (packed[:-12], "damaged or cut short"),
        (packed[:12] + b"\xff" * 40, "damaged or cut short"),
        (b"\xff\xfe", "not UTF-8"),
        (data.replace(b"[0, 2]", b"[0, NaN]"), "NaN is not a number"),
        (b"[]", "the file holds no object"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=expected):
            import_iopddl(path)
    # A small file that unpacks to more than is read.
    monkeypatch.setattr(iopddl, "LARGEST_UNPACKED_BYTES", 1000)
    path.write_bytes(gzip.compress(b" " * 1001))
    with pytest.raises(InputError, match="unpacks to more than 1000 bytes"):
        import_iopddl(path)
    with pytest.raises(InputError, match="cannot read the file"):
        import_iopddl(tmp_path / "none.json")
