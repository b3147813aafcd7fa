from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from jettison.instances.catalog import load
from jettison.instances.chain import Chain
from jettison.instances.errors import InputError

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

from jettison.instances.profilers import export_bundled  # noqa: E402
from jettison.instances.profilers.device_name import short_device_name  # noqa: E402

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
NAME = "gpt2-tiny-b2-8-cpu"


@pytest.fixture(autouse=True)
def tiny_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {"depth": 1, "hidden": 8, "heads": 2, "vocabulary": 10}
    item = export_bundled._Export("gpt2", 2, 8, arguments, "-tiny")
    monkeypatch.setattr(export_bundled, "_ON_CPU", (item,))


def index_of(folder: Path) -> list[dict[str, Any]]:
    document: dict[str, Any] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    entries: list[dict[str, Any]] = document["instances"]
    return entries


def test_an_export_writes_the_instance_and_an_index_that_matches_it(tmp_path: Path) -> None:
    export_bundled.export(tmp_path, CPU)
    chain = load(tmp_path / f"{NAME}.json")
    assert isinstance(chain, Chain)
    # Embedding, one block, head, loss.
    assert len(chain) == 4
    assert chain.provenance.model_arguments["depth"] == 1
    content = (tmp_path / f"{NAME}.json").read_bytes()
    assert index_of(tmp_path) == [
        {
            "name": NAME,
            "kind": "chain",
            "size": 4,
            "device": chain.provenance.device,
            "device_kind": "cpu",
            "model": "gpt2",
            "batch": 2,
            "input_shape": [2, 8],
            "source": "torch-profile",
            "file_sha256": hashlib.sha256(content).hexdigest(),
            "instance_sha256": chain.sha256,
        }
    ]


def test_an_export_keeps_what_is_there_unless_it_is_forced(tmp_path: Path) -> None:
    export_bundled.export(tmp_path, CPU)
    path = tmp_path / f"{NAME}.json"
    marked = path.read_text(encoding="utf-8").replace('"gpt2"', '"marked"')
    path.write_text(marked, encoding="utf-8")
    export_bundled.export(tmp_path, CPU)
    assert index_of(tmp_path)[0]["model"] == "marked"
    export_bundled.export(tmp_path, CPU, [NAME], force=True)
    assert index_of(tmp_path)[0]["model"] == "gpt2"


def test_a_name_that_is_not_exported_on_the_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"'resnet18-b4-224-h200'; choose from {NAME}"):
        export_bundled.export(tmp_path, CPU, ["resnet18-b4-224-h200"])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_refused_before_anything_runs(tmp_path: Path) -> None:
    # As many threads as there are: the setting holds for the whole process.
    threads = str(torch.get_num_threads())
    absent = str(tmp_path / "absent")
    assert export_bundled.main(["--output", absent, "--threads", threads]) == 2


@pytest.mark.parametrize(
    ("name", "kind", "short"),
    [
        ("Intel(R) Xeon(R) Gold 6148", "cpu", "cpu"),
        ("NVIDIA H200", "cuda", "h200"),
        ("Tesla V100-PCIE-16GB", "cuda", "v100"),
        ("NVIDIA A100-SXM4-80GB", "cuda", "a100"),
        ("NVIDIA GeForce RTX 4090", "cuda", "4090"),
        ("Graphics Device", "cuda", "graphicsdevice"),
    ],
)
def test_a_short_device_name_is_the_model(name: str, kind: str, short: str) -> None:
    assert short_device_name(name, kind) == short
