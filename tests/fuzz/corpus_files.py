"""The corpus, and what reads each of its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from jettison import check_certificate, load, load_schedule
from jettison.cli.verify.instance_set_check import verify_set
from jettison.cli.verify.schedule import verify_schedule
from jettison.instances.core.json_file import read_json
from jettison.instances.importers.dtr_graph import import_dtr_log
from jettison.instances.importers.iopddl import import_iopddl
from jettison.instances.importers.layer_graph import import_layer_graph, import_layer_graph_chain
from jettison.instances.importers.networkx import import_networkx_graph
from jettison.instances.importers.pipedream import import_pipedream_chain, import_pipedream_graph
from jettison.instances.importers.piper import import_piper
from jettison.instances.importers.sailor import import_sailor
from jettison.instances.importers.superscaler import import_superscaler
from jettison.instances.importers.superscaler_mesh.collective_times import read_collective_times
from jettison.instances.importers.torch_trace.module_chain import import_torch_trace_chain
from jettison.instances.importers.torch_trace.sequential_chain import import_sequential_chain
from jettison.instances.importers.torch_trace.step_graph import import_torch_trace_graph
from jettison.schedules.remat_graph.framework_policy import load_policy
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.resources import Resources
from jettison.solvers.core.result import replay_schedule
from jettison.studies.job import Job
from jettison.studies.result_folder import ResultFolder
from jettison.studies.study import Study
from jettison.studies.sweep import plan_study

CORPUS = Path(__file__).parent / "corpus"
RECORD_KEY = next(
    line.split('"')[3]
    for line in (CORPUS / "record.json").read_text().splitlines()
    if '"key"' in line
)


def _read_instance(path: Path) -> object:
    return load(path).sha256


def _read_policy(path: Path) -> object:
    return load_policy(path).to_json()


def _read_schedule(problem: str, instance: str, resources: Resources) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        posed = pose_problem(problem, load(CORPUS / instance), resources)
        # The replay judges whatever the file says.
        return replay_schedule(posed, load_schedule(path, posed.instance)).violations

    return read


def _read_claimed_schedule(path: Path) -> object:
    instance = CORPUS / "multi-model.json"
    load_schedule(path, load(instance))
    return verify_schedule(read_json(path), path, [str(instance)], Resources(None)).statement


def _read_pipedream(path: Path) -> object:
    return import_pipedream_graph(path), import_pipedream_chain(path)


def _read_layer_graph(path: Path) -> object:
    return import_layer_graph(path), import_layer_graph_chain(path)


def _read_sailor(path: Path) -> object:
    files = [path.parent / name for name in ("sailor-profile.json", "sailor-sizes.json")]
    for file in files:
        if file != path:
            file.write_bytes((CORPUS / file.name).read_bytes())
    profile, sizes = files
    return import_sailor(profile, sizes=sizes, batch=2, model="OPT-350", device="A100-40")


def _read_operators(path: Path) -> object:
    return import_superscaler(path, layers=2)


def _read_recording(path: Path) -> object:
    files = [path.parent / name for name in ("torch-step.kineto.json", "torch-step.et.json")]
    for file in files:
        if file != path:
            file.write_bytes((CORPUS / file.name).read_bytes())
    kineto, execution = files
    return (
        import_torch_trace_graph(kineto, execution_trace=execution),
        import_torch_trace_chain(kineto, execution_trace=execution),
    )


def _read_collectives(path: Path) -> object:
    return read_collective_times(path).time_ns(2**20)


def _read_study(path: Path) -> object:
    # Files of a study lie beside it.
    for name in ("chain.json", "multi-model.json"):
        (path.parent / name).write_bytes((CORPUS / name).read_bytes())
    study = Study.from_toml(path)
    return plan_study(study, ResultFolder(path.parent / "results")) if len(study.cells) < 500 else 0


def _read_record(path: Path) -> object:
    folder = ResultFolder(path.parent / "results")
    folder.create()
    folder.record_path(RECORD_KEY).write_bytes(path.read_bytes())
    return Job.from_json(folder.record(RECORD_KEY)["job"]).label


def _read_set(name: str) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        folder = path.parent / "set"
        folder.mkdir(exist_ok=True)
        for other in (CORPUS / "set").iterdir():
            (folder / other.name).write_bytes(other.read_bytes())
        (folder / name).write_bytes(path.read_bytes())
        return list(verify_set(folder))

    return read


READERS: Mapping[str, Callable[[Path], object]] = MappingProxyType(
    {
        "chain.json": _read_instance,
        "cycle.json": _read_instance,
        "graph.json": _read_instance,
        "results.json": _read_instance,
        "runs.json": _read_instance,
        "sharded-graph.json": _read_instance,
        "strategy-graph.json": _read_instance,
        "joined-models.json": _read_instance,
        "multi-model.json": _read_instance,
        "program-on-mesh.json": _read_instance,
        "policy.json": _read_policy,
        "regions.policy.json": _read_policy,
        "set/planted-m2-v100-s0-0.json": _read_set("planted-m2-v100-s0-0.json"),
        "set/planted-m2-v100-s0-0.lp": _read_set("planted-m2-v100-s0-0.lp"),
        "set/index.json": _read_set("index.json"),
        "chain.schedule.json": _read_schedule("remat-chain", "chain.json", Resources("50%")),
        "drops.schedule.json": _read_schedule("remat-chain", "chain.json", Resources("80%")),
        "offload-drops.schedule.json": _read_schedule(
            "remat-offload-chain", "chain.json", Resources("80%", None, "1GB/s")
        ),
        "offload.schedule.json": _read_schedule(
            "remat-offload-chain", "chain.json", Resources("50%", None, "1GB/s")
        ),
        "cycle.schedule.json": _read_schedule(
            "weight-offload", "cycle.json", Resources("50%", None, "1GB/s")
        ),
        "pipeline.schedule.json": _read_schedule(
            "pipeline-chain", "cycle.json", Resources("1kB", devices=2, microbatches=3)
        ),
        "graph.schedule.json": _read_schedule("remat-graph", "graph.json", Resources("80%")),
        "offload-graph.schedule.json": _read_schedule(
            "remat-offload-graph", "graph.json", Resources("80%", None, "1GB/s")
        ),
        "arena.schedule.json": _read_schedule("remat-arena", "graph.json", Resources("100%")),
        "sharded-graph.schedule.json": _read_schedule(
            "remat-sharding", "sharded-graph.json", Resources("80%")
        ),
        "strategy-graph.schedule.json": _read_schedule(
            "sharding", "strategy-graph.json", Resources("80%")
        ),
        "multi-model.schedule.json": _read_claimed_schedule,
        "certificate.txt": check_certificate,
        "certificate.gz": check_certificate,
        "chain.certificate": check_certificate,
        "persistent.certificate": check_certificate,
        "drops.certificate": check_certificate,
        "graph.certificate": check_certificate,
        "sharded-graph.certificate": check_certificate,
        "strategy-graph.certificate": check_certificate,
        "cycle.certificate": check_certificate,
        "multi-model.certificate": check_certificate,
        "study.toml": _read_study,
        "record.json": _read_record,
        "checkmate.json": import_networkx_graph,
        "dtr-step.log": import_dtr_log,
        "layer-graph.json": _read_layer_graph,
        "moccasin.json": import_networkx_graph,
        "residual.graph.txt": _read_pipedream,
        "tiny_mbs2_tp1_algo0.csv": _read_operators,
        "prim_tiny_all_gather_2gpus.csv": _read_collectives,
        "torch-sequential.kineto.json": import_sequential_chain,
        "torch-step.et.json": _read_recording,
        "torch-step.kineto.json": _read_recording,
        "piper.json": import_piper,
        "sailor-profile.json": _read_sailor,
        "sailor-sizes.json": _read_sailor,
        "contest.json": import_iopddl,
        "contest.json.gz": import_iopddl,
    }
)
