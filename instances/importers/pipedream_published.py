"""The profiles that PipeDream's authors published, known by their bytes.

The batch of an image network follows from the size of its input, batch x shape x 4 bytes; that of
GNMT, whose inputs have no size there, from a state of 1024 numbers for each sentence, and its
sequence from the output of the embedding.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from jettison.instances.core.provenance import Provenance

NOTE = (
    "Time of each layer, and sizes of its output and parameters, as PipeDream's profiler measured "
    "them. What a layer saves is taken to be its output; what it saves beyond that, the inside of "
    "an LSTM say, is unknown and left out. Layers that were not timed (additions, "
    "concatenations) take 0 ms. Nothing is known of workspaces: overheads hold no more than the "
    "values and gradients of several layers in one stage."
)
_REPOSITORY = "msr-fiddle/pipedream"
_COMMIT = "7db6a1c"
_IMAGE = (3, 224, 224)
_AUXILIARY = {"inception_v3", "nasnetalarge", "nasnetamobile"}


def _image_network(name: str, batch: int, shape: tuple[int, ...] = _IMAGE) -> Provenance:
    note = f"{NOTE} The loading of the batch, timed at the input, is left out."
    if name in _AUXILIARY:
        note += " The auxiliary classifier leads to no loss and has no backward operations."
    return Provenance(
        source="imported",
        repository=_REPOSITORY,
        commit=_COMMIT,
        file=f"profiler/image_classification/profiles/{name}/graph.txt",
        licence="MIT",
        device="GPU, not named",
        device_kind="cuda",
        model=name,
        batch=batch,
        input_shape=shape,
        dtype="float32",
        note=note,
    )


def _translation_network(name: str, batch: int, sequence: int) -> Provenance:
    return Provenance(
        source="imported",
        repository=_REPOSITORY,
        commit=_COMMIT,
        file=f"profiler/translation/profiles/{name}/graph.txt",
        licence="MIT",
        device="GPU, not named",
        device_kind="cuda",
        model=name,
        batch=batch,
        sequence=sequence,
        dtype="float32",
        note=f"{NOTE} Inputs have 0 bytes in the file; batch and sequence follow from other sizes. "
        "The first LSTM takes .02 ms backward: its time seems to stand at the embedding before it.",
    )


PUBLISHED: Mapping[str, Provenance] = MappingProxyType(
    {
        "e9a0bb73a0929b03be3a23cbcdf224c03ae39123bed685de4f1e17b65014d26b": _image_network(
            "alexnet", 256
        ),
        "3e914ff5290644c6b1c871002d278e57fcc486c22ac07283480b7779f28e5b08": _image_network(
            "vgg16", 128
        ),
        "9514adf4714f637ebf45d614f61a79dac315ae6aaacbfa3f5a851a6531c863c4": _image_network(
            "resnet18", 256
        ),
        "5fc27812d75d7fa39946ef32ac8089cc277b0debc78c6d8200de3cb5c62ca7d2": _image_network(
            "resnet50", 128
        ),
        "6aac5b34ade0b0b691c46acadd5f73eea33814bb17d7d4dce0aaed8d89657c06": _image_network(
            "resnet101", 64
        ),
        "e75ab88e4a3a65e8c0d1505b32cac47bd76b948c23d93e6f330f6d3ee0d22983": _image_network(
            "resnext50", 128
        ),
        "375e0fc17197faffbec14ba194193e5824341fe62920f4811d296421dc80a102": _image_network(
            "resnext101", 64
        ),
        "17d21dcaf4b621ebe6d5dc40323fba8b62b039d5db79110f5fb216ebc65dbfcb": _image_network(
            "densenet121", 64
        ),
        "f51d9262119d7a4cb5f6cae4363a4f8ea94eead947d232c1c53f3cc11b9885cd": _image_network(
            "inception_v3", 128, (3, 299, 299)
        ),
        "78938a95d1ca0fee63d9459271ec93761bd5c97e31c0ade8229a8fec0aedf830": _image_network(
            "squeezenet1_0", 256
        ),
        "0896a7ba06561966aef60ab3c08ef8d7cba12332cf80283e822334d13ee8213b": _image_network(
            "nasnetamobile", 128
        ),
        "e02497dffc1f944b5ca323abb5579071fffc130e7eec06e33a203a3b488ade4a": _image_network(
            "nasnetalarge", 16
        ),
        "2c5b8415ed45b34b7530d051023de388a7e0dbc02cec38f9e43610f29211dc5a": _translation_network(
            "gnmt", 32, 48
        ),
        "290023c21f9c09eb4a191bdcf820f970b8709a9cc35e7a8920f9c6504272b4e6": _translation_network(
            "gnmt_large", 128, 25
        ),
    }
)
