"""Cost of certificates of lower bounds: time to find, size, and time to check.

Run: ``python benchmarks/certificates.py [SECTION ...] [--folder FOLDER]``. Sections:

``published``
    Published graphs, MOCCASIN's and Checkmate's, in FOLDER (networkx node-link JSON).
``large``
    A layered graph of 1000 nodes drawn here, at nine tenths of its memory.
``offload``
    The aggregated model of weight offloading with 38 alike layers.

Each line is one claim: the bound that the method found, which rests on HiGHS, and the certified one
beside it, as overheads in 10^-6 of the base time for graphs; leaves of the tree; CPU seconds of the
proof, in which neither the method nor the check counts; bytes of the lines, plain and of the
compressed file, which holds the instance as well; and CPU seconds of the check. One thread, one run
per line.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable
from pathlib import Path

from jettison.instances.catalog import load
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import kind_of
from jettison.solvers.remat_graph.cuts.exact_method import solve_graph_exact
from jettison.solvers.weight_offload.bounds.aggregated import bound_weight_fluid, bound_weight_whole

# Memory of published graphs, the seconds in which to find a bound, and those for the certificate.
PUBLISHED: tuple[tuple[str, str | int, float, float], ...] = (
    ("VGG16*", "90%", 5, 5),
    ("VGG16*", "50%", 5, 5),
    ("VGG19*", "90%", 5, 5),
    ("VGG19*", "50%", 5, 5),
    ("vgg_unet*", "90%", 5, 5),
    ("vgg_unet*", "50%", 5, 5),
    ("ResNet50*", "90%", 5, 5),
    ("ResNet50*", "80%", 5, 5),
    ("ResNet50*", "50%", 5, 5),
    ("ResNet50*", "30%", 60, 60),
    ("random_layered_n100_*", "90%", 10, 5),
    ("random_layered_n100_*", "80%", 10, 5),
    ("random_layered_n250_*", 132156, 10, 10),
    ("random_layered_n250_*", 117472, 60, 60),
)
LARGE_S = 60.0
OFFLOAD: tuple[tuple[str, str, str], ...] = (
    ("gpt2-38-b16-table1", "25%", "4000MiB/s"),
    ("gpt2-38-b16-table1", "50%", "1000MiB/s"),
)
OFFLOAD_S = 30.0

Method = Callable[[Problem, SolveOptions], Outcome]


def heading() -> None:
    """Print the names of the columns."""
    print(
        f"{'instance':<22} {'memory':>8} {'bound':>10} {'certified':>10} {'leaves':>6} "
        f"{'proof s':>8} {'raw':>9} {'lines':>8} {'file':>8} {'check s':>8}"
    )


def measure(label: str, problem: Problem, method: Method, bound_s: float, proof_s: float) -> None:
    """Print one line: a bound, its certificate, and the check."""
    outcome = method(problem, SolveOptions(time_limit_s=bound_s, gap=0))
    certifier = kind_of(problem).certify
    assert certifier is not None, "the problems here have certificates"
    started = time.process_time()
    options = SolveOptions(time_limit_s=proof_s)
    certificate = certifier(problem, outcome.bounds, outcome.infeasibility, options)
    proof_cpu_s = time.process_time() - started
    if certificate is None:
        print(f"{label:<22} no certificate after {proof_cpu_s:.2f} s", flush=True)
        return
    started = time.process_time()
    proved = certificate.checked()
    check_s = time.process_time() - started
    bound_ns = max((bound.time_ns for bound in outcome.bounds), default=None)
    # The certifier has followed its certificate as well.
    print(
        f"{label:<22} {problem.memory!s:>8} {overhead(problem, bound_ns):>10} "
        f"{overhead(problem, certificate.time_ns):>10} {proved.size.leaves:>6} "
        f"{proof_cpu_s - check_s:>8.2f} {len(gzip.decompress(certificate.lines)):>9} "
        f"{len(certificate.lines):>8} {len(certificate.compressed):>8} {check_s:>8.3f}",
        flush=True,
    )


def overhead(problem: Problem, time_ns: int | None) -> str:
    """Return a time as an overhead in 10^-6 of the base time; ``none`` where nothing fits."""
    if time_ns is None:
        return "none"
    base_ns = problem.instance.base_time_ns
    return f"{1e6 * (time_ns - base_ns) / base_ns:.1f}"


def published(folder: Path | None) -> None:
    """Measure the published graphs."""
    if folder is None:
        print("the published graphs are left out: no --folder")
        return
    for pattern, memory, bound_s, proof_s in PUBLISHED:
        for path in sorted(folder.rglob(f"{pattern}.json")):
            problem = RematGraph(import_networkx_graph(path), memory)
            measure(path.stem[:22], problem, solve_graph_exact, bound_s, proof_s)


def large() -> None:
    """Measure a graph of 1000 nodes."""
    graph = LayeredGraphs(nodes=1000, passes=Passes.FORWARD).draw(1)
    measure("layered, 1000 nodes", RematGraph(graph, "90%"), solve_graph_exact, LARGE_S, LARGE_S)


def offload() -> None:
    """Measure AGG and AGGINT."""
    for name, memory, bandwidth in OFFLOAD:
        problem = WeightOffload(catalog_chain(name), memory, bandwidth)
        for label, method in (("agg", bound_weight_fluid), ("aggint", bound_weight_whole)):
            measure(f"{name[:14]}, {label}", problem, method, OFFLOAD_S, OFFLOAD_S)


def catalog_chain(name: str) -> Chain:
    """Return a bundled chain."""
    chain = load(name)
    assert isinstance(chain, Chain)
    return chain


def main() -> None:
    """Run the sections that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    sections = ("published", "large", "offload")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(sections))
    parser.add_argument("--folder", type=Path, help="where the published graphs are")
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - set(sections)
    if unknown:
        parser.error(f"no section {min(unknown)}; there are {', '.join(sections)}")
    heading()
    chosen = arguments.sections or sections
    if "published" in chosen:
        published(arguments.folder)
    if "large" in chosen:
        large()
    if "offload" in chosen:
        offload()


if __name__ == "__main__":
    main()
