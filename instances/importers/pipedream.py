"""Importer of PipeDream's layer profiles: as a graph, or as a chain cut at articulation points.

`pipedream_profile` describes the file, `layer_profile_steps` what it means here. A layer that reads
nothing is an input of the step if it is called ``Input...`` or takes no time.
"""

from __future__ import annotations

from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.importers.layer_profile_steps import chain_of, graph_of
from jettison.instances.importers.pipedream_profile import read_pipedream_profile
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph


def import_pipedream_graph(path: str | Path) -> Graph:
    """Read a profile as a graph: forward operations, then backward ones in reverse.

    Raises
    ------
    InputError
        If the file cannot be read, a line is neither a layer nor an edge, the edges name unknown
        layers or form a cycle, or there is no layer besides the inputs; the message names the
        file and the line.
    """
    try:
        return graph_of(read_pipedream_profile(Path(path)))
    except InputError as error:
        raise error.within(source=str(path)) from None


def import_pipedream_chain(path: str | Path) -> Chain:
    """Read a profile as a chain: one stage per articulation point, and a loss that costs nothing.

    Raises
    ------
    InputError
        As `import_pipedream_graph`.
    """
    try:
        return chain_of(read_pipedream_profile(Path(path)))
    except InputError as error:
        raise error.within(source=str(path)) from None
