"""Write the bundled tensor programs, which JAX traces, and the sharded graphs that they make.

Run ``python -m tools.export_sharded`` from a checkout, with JAX installed. The index is
written again by `tools.bundled_index`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jettison.instances.core.json_file import read_json, write_json
from jettison.instances.tensor_programs.fold_views import fold_views
from jettison.instances.tensor_programs.program_file import save_program
from jettison.instances.tensor_programs.program_names import BUNDLED_DEPTHS
from jettison.instances.tensor_programs.program_on_mesh import ProgramOnMesh
from jettison.solvers.remat_sharding.fastest_plan import with_fastest
from tools.bundled_index import DATA, write_index

# The meshes of the paper's Figure 5, and of its Figure 6, where communication slows down.
_MESHES = ((1, 4), (1, 8), (2, 4), (4, 2))
BUNDLED = (
    # Over slow links the perceptron slows down in little memory about as the paper's Table 1 says.
    ProgramOnMesh(name="mlp-26", program="mlp-26", mesh=(8, 1)),
    ProgramOnMesh(name="mlp-26-no-parameters", program="mlp-26-no-parameters", mesh=(8, 1)),
    ProgramOnMesh(name="mlp-26-mesh1x4", program="mlp-26", mesh=(1, 4)),
    ProgramOnMesh(name="mlp-26-mesh2x4", program="mlp-26", mesh=(2, 4)),
    *(
        ProgramOnMesh(name=f"{model}-4l-mesh{mesh[0]}x{mesh[1]}", program=f"{model}-4l", mesh=mesh)
        for model in ("encoder", "decoder")
        for mesh in _MESHES
    ),
    *(
        ProgramOnMesh(
            name=f"decoder-4l-mesh1x4-slow{slowdown}",
            program="decoder-4l",
            mesh=(1, 4),
            slowdown=slowdown,
        )
        for slowdown in (10, 100)
    ),
)
"""Every bundled sharded graph, without its fastest plan."""


def export_programs(folder: Path) -> None:
    """Trace the transformers and write their programs, views folded, into a folder.

    Raises
    ------
    MissingExtraError
        If JAX is not installed.
    """
    from jettison.instances.zoo.jax_networks import TRACERS, TransformerSize

    for model, trace in TRACERS.items():
        for layers in BUNDLED_DEPTHS:
            name = f"{model}-{layers}l"
            program = trace(TransformerSize(layers=layers), name)
            folded = fold_views(program)
            save_program(folded, folder / f"{name}.json")
            _say(f"{name}: {len(program)} operations, {len(folded)} with views folded")


def export_graphs(folder: Path) -> None:
    """Write the sharded graphs as program, mesh and fastest plan, then the index."""
    for item in BUNDLED:
        started = time.process_time()
        fastest = with_fastest(item.sharded_graph()).fastest
        write_json(replace(item, fastest=fastest).to_json(), folder / f"{item.name}.json")
        _say(f"{item.name}: {time.process_time() - started:.1f} s")
    write_index(folder)


def add_fastest(folder: Path) -> None:
    """Add the fastest plan to measured sharded graphs that lack it, then write the index."""
    for path in sorted(folder.glob("*.json")):
        document = read_json(path)
        if document.get("kind") != ProgramOnMesh.kind or document["fastest"]:
            continue
        item = ProgramOnMesh.from_json(document)
        fastest = with_fastest(item.sharded_graph()).fastest
        write_json(replace(item, fastest=fastest).to_json(), path)
        _say(f"{item.name}: fastest plan added")
    write_index(folder)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0."""
    parser = argparse.ArgumentParser(description="Write the bundled sharded graphs.")
    parser.add_argument("--output", type=Path, default=DATA, help="folder of the instance files")
    parser.add_argument(
        "--only",
        choices=("programs", "graphs", "fastest"),
        help="trace the programs, make the graphs, or add fastest plans to measured graphs",
    )
    chosen = parser.parse_args(arguments)
    if chosen.only == "fastest":
        add_fastest(chosen.output)
        return 0
    if chosen.only != "graphs":
        (chosen.output / "programs").mkdir(exist_ok=True)
        export_programs(chosen.output / "programs")
    if chosen.only != "programs":
        export_graphs(chosen.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
