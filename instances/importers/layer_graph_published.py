"""The layer graphs of a training step that Device Placement's authors published, by their bytes.

They are profiles of PipeDream: ResNet-50 and GNMT have the numbers of its files. Batch and
sequence follow from sizes: of images (batch x shape x 4 bytes), of a state of GNMT (1024 numbers
for each sentence), of BERT's two outputs (2 numbers for each sample, 30522 for each token).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from jettison.instances.core.provenance import Provenance

NOTE = (
    "Time of each layer on a GPU, and sizes of its output and parameters, as Device Placement's "
    "authors profiled them. What a layer saves is taken to be its output; what it saves beyond "
    "that, the inside of a transformer layer say, is unknown and left out. Layers that were not "
    "timed (additions, concatenations) take 0 ms. Nothing is known of workspaces: overheads hold "
    "no more than the values and gradients of several layers in one stage. Times on a CPU in the "
    "file are ten times these and are not read."
)
_PUBLISHED = Provenance(
    source="imported",
    repository="msr-fiddle/dnn-partitioning",
    commit="b207b6a",
    licence="MIT",
    device="GPU, not named",
    device_kind="cuda",
    dtype="float32",
    note=NOTE,
)
# Of a layer that takes .02 or .05 ms backward and milliseconds forward.
_NEIGHBOUR = " The backward time of {} seems to stand at the {} before it."
_FOLDER = "throughput-inputs/LayerGraphs"

PUBLISHED: Mapping[str, Provenance] = MappingProxyType(
    {
        "8edcf0e9300b16faa608a9eaf3083c6641dec751984f8ee82be8cdfe2126413c": replace(
            _PUBLISHED,
            file=f"{_FOLDER}/bert24_training.json",
            model="bert24",
            batch=2,
            sequence=512,
        ),
        "452964e4b25c711b2153771b47ba1251dc0b9833bfb41bbcfad5d29c0fb33819": replace(
            _PUBLISHED,
            file=f"{_FOLDER}/gnmt_training.json",
            model="gnmt",
            batch=128,
            sequence=25,
            note=NOTE + _NEIGHBOUR.format("the first LSTM", "embedding"),
        ),
        "a910adbb9503247239e95cd9ef33798c7672005638e34ca21d5fafabc5b3b769": replace(
            _PUBLISHED,
            file=f"{_FOLDER}/inceptionv3_training.json",
            model="inception_v3",
            batch=128,
            input_shape=(3, 299, 299),
        ),
        "b32cf4d2c2cdeb9241d1f12177a06c569cc551b1a4511bc41a51c883edb5ed8a": replace(
            _PUBLISHED,
            file=f"{_FOLDER}/resnet50_training.json",
            model="resnet50",
            batch=128,
            input_shape=(3, 224, 224),
        ),
    }
)
