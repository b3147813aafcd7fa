"""Published measurements that are bundled, converted: the table, one row for each published model.

Profiles that fail their checks or fit no row are named, with the reason, in ``docs/imported.md``.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Protocol

from jettison.instances.catalog import Instance
from jettison.instances.core.errors import InputError
from jettison.instances.importers.layer_graph import import_layer_graph
from jettison.instances.importers.pipedream import import_pipedream_chain, import_pipedream_graph
from jettison.instances.importers.piper import import_piper
from jettison.instances.importers.sailor import import_sailor
from jettison.instances.importers.superscaler import import_superscaler
from jettison.instances.importers.superscaler_mesh.mesh_graph import import_superscaler_mesh
from jettison.instances.importers.torch_trace.step_graph import import_torch_trace_graph
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph
from jettison.solvers.remat_sharding.fastest_plan import with_fastest


class Published(Protocol):
    """Published profiles of one model."""

    def instances(self, folder: Path) -> Iterator[Instance]:
        """Read what is bundled of it.

        Parameters
        ----------
        folder
            The published files of the repository.

        Raises
        ------
        InputError
            If a file is missing or refused.
        """


@dataclass(frozen=True, slots=True)
class SailorModel:
    """Layers of a model on a device of Sailor, in several microbatches."""

    model: str
    device: str
    batches: tuple[int, ...]
    tensor_parallel: int = 1

    def instances(self, folder: Path) -> Iterator[Instance]:
        """Return a chain for each microbatch."""
        for batch in self.batches:
            yield import_sailor(
                folder / "profiles" / self.model / self.device / "profile.json",
                sizes=folder / "llm_info.json",
                batch=batch,
                tensor_parallel=self.tensor_parallel,
            )


@dataclass(frozen=True, slots=True)
class SuperScalerModel:
    """Operators of a model that Aceso's authors measured, in several microbatches."""

    model: str
    batches: tuple[int, ...]

    def instances(self, folder: Path) -> Iterator[Instance]:
        """Return a chain for each microbatch."""
        for batch in self.batches:
            name = f"{self.model}_mbs{batch}_tp1_algo0.csv"
            yield import_superscaler(folder / "profiled-time" / name)


@dataclass(frozen=True, slots=True)
class SuperScalerMesh:
    """Operators of a GPT on meshes of one dimension, with the fastest plan of each."""

    model: str
    batch: int
    devices: tuple[int, ...]

    def instances(self, folder: Path) -> Iterator[Instance]:
        """Return a sharded graph for each number of devices."""
        name = f"{self.model}_mbs{self.batch}_tp1_algo0.csv"
        for count in self.devices:
            path = folder / "profiled-time" / name
            yield with_fastest(import_superscaler_mesh(path, devices=count))


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """Step that PyTorch recorded: names of two archives, and of the file in each."""

    kineto_trace: tuple[str, str]
    execution_trace: tuple[str, str]
    name: str

    def instances(self, folder: Path) -> Iterator[Instance]:
        """Return the graph."""
        with TemporaryDirectory() as unpacked:
            kineto, execution = (
                _unpacked(folder / archive, member, Path(unpacked))
                for archive, member in (self.kineto_trace, self.execution_trace)
            )
            graph = import_torch_trace_graph(kineto, execution_trace=execution)
        yield replace(graph, name=f"{self.name}-b{graph.provenance.batch}-v100")


def _unpacked(archive: Path, member: str, folder: Path) -> Path:
    """Copy a file out of an archive; return where it is."""
    try:
        with tarfile.open(archive) as opened:
            found = opened.extractfile(member)
            data = b"" if found is None else found.read()
    except (OSError, KeyError, tarfile.TarError):
        raise InputError(
            f"there is no {member}", source=str(archive), expected="give the published archive"
        ) from None
    target = folder / Path(member).name
    target.write_bytes(data)
    return target


@dataclass(frozen=True, slots=True)
class PiperModel:
    """Layers of Piper's BERT, on one device."""

    file: str

    def instances(self, folder: Path) -> Iterator[Instance]:
        """Return the chain."""
        yield import_piper(folder / self.file)


@dataclass(frozen=True, slots=True)
class PipeDreamModel:
    """Layers of a network of PipeDream; `name` is how jettison spells it."""

    file: str
    name: str

    def instances(self, folder: Path) -> Iterator[Instance]:
        """Return the chain of articulation points and the graph."""
        path = folder / f"{self.file}.graph.txt"
        yield _named(import_pipedream_chain(path), self.name)
        yield _named(import_pipedream_graph(path), f"{self.name}-graph")


@dataclass(frozen=True, slots=True)
class LayerGraphModel:
    """Layer graph of Device Placement; `name` is how jettison spells the network."""

    file: str
    name: str

    def instances(self, folder: Path) -> Iterator[Instance]:
        """Return the graph."""
        path = folder / f"LayerGraphs_{self.file}_training.json"
        yield _named(import_layer_graph(path), f"{self.name}-layers")


def _named(instance: Chain | Graph, label: str) -> Chain | Graph:
    """Return an instance with a name that says its batch, and that a GPU was measured."""
    return replace(instance, name=f"{label}-b{instance.provenance.batch}-gpu")


PUBLISHED: Mapping[str, tuple[Published, ...]] = MappingProxyType(
    {
        "sailor": (
            SailorModel("OPT-350", "A100-40", (1, 2, 4, 8)),
            SailorModel("OPT-350", "A100-80", (1, 2, 4, 8)),
            SailorModel("OPT-350", "GH-96", (1, 2, 4, 8)),
            SailorModel("OPT-350", "RTX-2080", (1, 2, 4)),
            SailorModel("OPT-350", "RTX-3090", (1, 2, 4, 8)),
            SailorModel("OPT-350", "Titan-RTX", (1, 2, 4, 8)),
            SailorModel("OPT-350", "V100-16", (1, 2, 4)),
            SailorModel("GPT-Neo-2.7", "A100-40", (1, 4)),
            SailorModel("GPT-Neo-2.7", "A100-80", (1, 4)),
            SailorModel("GPT-Neo-2.7", "V100-16", (1, 4)),
            SailorModel("OPT-30", "A100-40", (1, 2)),
            SailorModel("OPT-30", "GH-96", (1, 4)),
            SailorModel("OPT-30", "V100-16", (1,), tensor_parallel=4),
            SailorModel("LLAMA-3-8", "A100-40", (1,), tensor_parallel=2),
            SailorModel("LLAMA-3-8", "GH-96", (1,)),
            SailorModel("LLAMA-3-8", "V100-16", (1,), tensor_parallel=4),
        ),
        "superscaler": (
            SuperScalerModel("gpt_350M", (1, 4)),
            SuperScalerModel("gpt_1_3B", (1, 4)),
            SuperScalerModel("gpt_2_6B", (1, 4)),
            SuperScalerModel("gpt_6_7B", (1, 4)),
            SuperScalerModel("gpt_13B", (1, 4)),
            SuperScalerModel("t5_770M", (1,)),
            SuperScalerModel("t5_3B", (1,)),
            SuperScalerModel("t5_6B", (1,)),
            SuperScalerModel("t5_11B", (1,)),
            SuperScalerModel("resnet_500M", (32,)),
            SuperScalerModel("resnet_2B", (32,)),
            SuperScalerModel("resnet_4B", (32,)),
            SuperScalerModel("resnet_6_8B", (32,)),
            SuperScalerModel("resnet_13B", (32,)),
            SuperScalerMesh("gpt_1_3B", 1, (2, 4, 8)),
            SuperScalerMesh("gpt_6_7B", 1, (2, 4, 8)),
        ),
        "param": (
            RecordedModel(
                (
                    "dlrm_kineto.tar.gz",
                    "dlrm_kineto/worker0_step_12.1694128201545.pt.trace.json",
                ),
                ("dlrm_pytorch_et.tar.gz", "dlrm_pytorch_et/dlrm_eg_0.json"),
                "dlrm",
            ),
        ),
        "piper": (PiperModel("bert32a100.json"),),
        "pipedream": (
            PipeDreamModel("alexnet", "alexnet"),
            PipeDreamModel("densenet121", "densenet121"),
            PipeDreamModel("gnmt", "gnmt"),
            PipeDreamModel("gnmt_large", "gnmt-large"),
            PipeDreamModel("inception_v3", "inception-v3"),
            PipeDreamModel("nasnetalarge", "nasnet-large"),
            PipeDreamModel("nasnetamobile", "nasnet-mobile"),
            PipeDreamModel("resnet18", "resnet18"),
            PipeDreamModel("resnet50", "resnet50"),
            PipeDreamModel("resnet101", "resnet101"),
            PipeDreamModel("resnext50", "resnext50"),
            PipeDreamModel("resnext101", "resnext101"),
            PipeDreamModel("squeezenet1_0", "squeezenet"),
            PipeDreamModel("vgg16", "vgg16"),
        ),
        "dnn-partitioning": (
            LayerGraphModel("bert24", "bert-24"),
            LayerGraphModel("gnmt", "gnmt-large"),
            LayerGraphModel("inceptionv3", "inception-v3"),
            LayerGraphModel("resnet50", "resnet50"),
        ),
    }
)
"""What is bundled, by the name of the folder that the published files of a repository lie in."""
