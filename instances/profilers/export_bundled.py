"""Profile the models of the bundled data set and write their files and index.

Run ``python -m jettison.instances.profilers.export_bundled`` from a checkout, or with ``--output``.
A file that exists is kept, so that an interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from jettison.instances.bundled_index import write_index
from jettison.instances.catalog import save
from jettison.instances.errors import InputError, JettisonError
from jettison.instances.profilers.device_name import device_name, short_device_name
from jettison.instances.profilers.torch_chain import profile_chain
from jettison.instances.zoo.catalogue import build

_DATA = Path(__file__).resolve().parents[1] / "data"


@dataclass(frozen=True, slots=True)
class _Export:
    """One instance: `input_size` is a side in pixels or a length in tokens."""

    model: str
    batch: int
    input_size: int
    arguments: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    def name(self, device: str) -> str:
        """Return the name of the instance; `label` tells the arguments apart."""
        return f"{self.model}{self.label}-b{self.batch}-{self.input_size}-{device}"


# Small enough that one core finishes all of them in about six minutes.
_ON_CPU = (
    _Export("resnet18", 4, 224),
    _Export("resnet18", 64, 32, {"stem": "3x3", "classes": 10}),
    _Export("resnet50", 4, 224),
    _Export("resnet50", 1, 500),
    _Export("resnet101", 2, 224),
    _Export("resnet152", 1, 224),
    _Export("vgg16", 2, 224),
    _Export("vgg19", 1, 224),
    _Export("gpt2-small", 1, 256),
    _Export("gpt2", 2, 128, {"depth": 48, "hidden": 256, "heads": 4}, "-d48-h256"),
    _Export("bert-base", 2, 128),
    _Export("bert-large", 1, 128),
)

# Batch 16 of 500 x 500 pixels is POFO's setting; 224, 500 and 1000 pixels are rotor's.
_ON_GPU = (
    *(_Export(f"resnet{depth}", 16, 500) for depth in (18, 34, 50, 101, 152)),
    *(_Export(f"resnet{depth}", 32, 224) for depth in (50, 101, 152)),
    *(_Export(f"resnet{depth}", 8, 1000) for depth in (50, 101, 152)),
    _Export("vgg16", 16, 500),
    _Export("vgg19", 16, 500),
    _Export("gpt2-small", 8, 1024),
    _Export("gpt2-medium", 8, 1024),
    _Export("gpt2-large", 4, 1024),
    _Export("bert-base", 16, 512),
    _Export("bert-large", 16, 512),
)


def export(
    output: Path, device: torch.device, names: Sequence[str] = (), *, force: bool = False
) -> None:
    """Write the instances of `device` that are missing in `output`, then the index.

    Parameters
    ----------
    output
        A folder that exists. The index covers every instance in it.
    device
        Where the models run; its short name ends the names of the instances.
    names
        Which instances to write; all of the device's if it is empty.
    force
        Measure again what is there already.

    Raises
    ------
    InputError
        If a name is not that of an instance, or the folder cannot be written.
    """
    if not output.is_dir():
        raise InputError(f"{output} is not a folder", field="output", expected="create it first")
    short = short_device_name(device_name(device), device.type)
    table = _ON_GPU if device.type == "cuda" else _ON_CPU
    exports = {item.name(short): item for item in table}
    for name in names:
        if name not in exports:
            raise InputError(
                f"{name!r}", field="name", expected=f"choose from {', '.join(exports)}"
            )
    for name in names or exports:
        path = output / f"{name}.json"
        if path.exists() and not force:
            _say(f"{name}: kept")
            continue
        started = time.perf_counter()
        item = exports[name]
        workload = build(
            item.model, batch=item.batch, input_size=item.input_size, **item.arguments
        ).to(device)
        chain = profile_chain(
            workload.model,
            workload.sample_input,
            name=name,
            model_name=workload.model_name,
            model_arguments=workload.model_arguments,
            loss=workload.loss,
        )
        save(chain, path)
        _say(f"{name}: {len(chain)} stages, {time.perf_counter() - started:.0f} s")
    write_index(output)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for bad input."""
    parser = argparse.ArgumentParser(description="Profile the models of the bundled data set.")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--output", type=Path, default=_DATA, help="folder of the instance files")
    parser.add_argument("--force", action="store_true", help="measure again what is there already")
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads; one disturbs and is disturbed least"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="all of the device's by default")
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch sees no GPU here")
    device = torch.device("cuda", 0) if options.device == "cuda" else torch.device("cpu")
    if options.threads < 1:
        parser.error("--threads: write a whole number from 1")
    torch.set_num_threads(options.threads)
    try:
        export(options.output, device, options.names, force=options.force)
    except JettisonError as error:
        _say(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
