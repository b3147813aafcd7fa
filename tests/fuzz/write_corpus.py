"""Writes `corpus/`: one small valid file of every format that jettison reads.

PYTHONPATH=. .venv/bin/python tests/fuzz/write_corpus.py
"""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import shutil
from pathlib import Path

import jettison as jt
from jettison import RematSharding, Sharding, save_schedule
from jettison.certificates.certificate_file import MAGIC
from jettison.certificates.claim import instance_sha256
from jettison.cli.main import main
from jettison.multi_model import joined_models
from jettison.schedules.remat_graph.framework_policy import (
    Policy,
    PolicyBound,
    PolicyTarget,
    RegionDecisions,
    save_policy,
)
from jettison.solvers.core.problem import Problem
from jettison.studies.result_folder import ResultFolder
from tests.remat_graph.result_graphs import (
    graph_of_runs,
    graph_with_results,
    some_computed_once,
)
from tests.remat_offload.sequences import sequence
from tests.remat_sharding.tiny_sharded import WAITING
from tests.studies.tiny_study import job_of, small_chain
from tests.tiny import DIAMOND, EQUAL_LAYERS, RING, UNEVEN
from tests.tiny_models import MULTI_MODELS

FOLDER = Path(__file__).parent / "corpus"
SAMPLES = Path(__file__).parent.parent / "instances" / "importers" / "samples"
BUNDLED = Path(__file__).parents[2] / "instances" / "data"
IMPORTED = (
    "checkmate.json",
    "dtr-step.log",
    "layer-graph.json",
    "moccasin.json",
    "piper.json",
    "residual.graph.txt",
    "sailor-profile.json",
    "sailor-sizes.json",
    "tiny_mbs2_tp1_algo0.csv",
    "torch-sequential.kineto.json",
    "torch-step.et.json",
    "torch-step.kineto.json",
    "mesh/prim_tiny_all_gather_2gpus.csv",
)
CONTEST = {
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
STUDY = """\
name = "tiny"
wall_limit_s = 60
memory_limit = "4GiB"

[[grid]]
problem = ["remat-chain", "remat-offload-chain"]
instances = ["chain.json", "resnet18*"]
memory = { from = "20%", to = "90%", step = "10%" }
bandwidth = ["1GB/s", "12GB/s"]
transfers = "fluid"
time_limit_s = [1, 2.5]
seeds = [0, 1]

[[grid]]
problem = "multi-model"
instances = "multi-model.json"
memory = ["4GiB", "50%"]
models = 2
methods = "hfta"
gap = 0.01
threads = 2
"""


def write_instances_and_schedules() -> None:
    problems: dict[str, Problem] = {
        "chain": jt.RematChain(UNEVEN, "100%"),
        "graph": jt.RematGraph(DIAMOND, "100%"),
        "arena": jt.RematArena(DIAMOND, "100%"),
        "sharded-graph": RematSharding(WAITING, "100%"),
        "strategy-graph": Sharding(RING, "100%"),
        "multi-model": jt.MultiModelTraining(MULTI_MODELS[0], "1GiB"),
        "cycle": jt.WeightOffload(EQUAL_LAYERS, "100%", "1GB/s"),
        "offload": jt.RematOffloadChain(UNEVEN, "100%", "1GB/s"),
        "offload-graph": jt.RematOffloadGraph(DIAMOND, "80%", "1GB/s"),
        "pipeline": jt.PipelineChain(EQUAL_LAYERS, 1000, 2, 3),
    }
    jt.save(graph_with_results(2), FOLDER / "results.json")
    once = some_computed_once(graph_of_runs(5), random.Random(1), share=0.5)
    jt.save(once, FOLDER / "runs.json")
    jt.save(joined_models(MULTI_MODELS[:2]), FOLDER / "joined-models.json")
    for name, problem in problems.items():
        if name not in {"offload", "offload-graph", "pipeline", "arena"}:
            jt.save(problem.instance, FOLDER / f"{name}.json")
        result = jt.solve(problem)
        assert result.schedule is not None, name
        path = FOLDER / f"{name}.schedule.json"
        save_schedule(result.schedule, problem.instance, path, result.claim)


def write_schedules_with_drops() -> None:
    """Write one of the chain alone, and one in which what is copied and what is not is dropped."""
    text = "F_ck 1, F_all 2, {} F_all 3, F_all 4, {} F_all 5, B 5, {} B 4, B 3, F_all 1, B 2, B 1"
    for name, moves in (
        ("drops", ("D 1,", "", "")),
        ("offload-drops", ("D 1, O 0,", "D 0,", "P 0,")),
    ):
        schedule = sequence(text.format(*moves))
        alone = name == "drops"
        save_schedule(
            schedule.computations if alone else schedule, UNEVEN, FOLDER / f"{name}.schedule.json"
        )


def write_certificate() -> None:
    """Write a claim that needs no multiplier: no schedule is faster than without recomputation."""
    graph = DIAMOND
    document = graph.to_json()
    header = {
        "problem": "remat-graph",
        "instance": document,
        "instance_sha256": instance_sha256(document),
        "resources": {"memory_bytes": graph.store_all_peak_bytes},
        "formulation": {
            "name": "windowed-frontier",
            "version": 1,
            "cuts": [0],
            "slots": [],
            "staged": False,
        },
        "claim": {"time_ns": graph.base_time_ns},
        "valid_for": "in-order",
        "scale_bits": 0,
        "producer": "a test",
    }
    text = "".join(f"{line}\n" for line in (MAGIC, json.dumps(header), "l"))
    (FOLDER / "certificate.txt").write_text(text)
    (FOLDER / "certificate.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def write_certificates() -> None:
    """Write what is certified of problems whose memory binds, or that nothing fits."""
    problems: dict[str, Problem] = {
        "chain": jt.RematChain(UNEVEN, "80%"),
        "persistent": jt.RematChain(small_chain(), "50%"),
        "graph": jt.RematGraph(DIAMOND, "80%"),
        "sharded-graph": RematSharding(WAITING, "80%"),
        "strategy-graph": Sharding(RING, "80%"),
        "cycle": jt.WeightOffload(EQUAL_LAYERS, "80%", "1GB/s"),
        "multi-model": jt.MultiModelTraining(MULTI_MODELS[0], "20B"),
    }
    for name, problem in problems.items():
        certificate = jt.bound(problem, certify=True).certificate
        assert certificate is not None, name
        certificate.save(FOLDER / f"{name}.certificate")
    dropping = jt.bound(
        jt.RematChain(jt.load("resnet18-b64-32-cpu"), "70%"), method="rotor-drops", certify=True
    ).certificate
    assert dropping is not None
    dropping.save(FOLDER / "drops.certificate")


def write_policies() -> None:
    """Write a policy of each class, for a step that computes nothing again."""
    bounds = (PolicyBound(30, "all schedules", "exact arithmetic"),)
    region = RegionDecisions(
        "layers.0", ("aten.addmm.default", "aten.relu.default"), (1,), draws=False
    )
    for name, target, regions, decisions in (
        ("policy", PolicyTarget.JOINT_GRAPH, (), {"addmm": False, "relu": True}),
        ("regions.policy", PolicyTarget.TORCH_SAC, (region,), {}),
    ):
        policy = Policy(
            target=target,
            instance=DIAMOND.name,
            instance_sha256=DIAMOND.sha256,
            memory_bytes=100,
            time_ns=40,
            peak_bytes=90,
            base_time_ns=30,
            bounds=bounds,
            regions=regions,
            decisions=decisions,
        )
        save_policy(policy, FOLDER / f"{name}.json")


def write_all() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    write_instances_and_schedules()
    write_schedules_with_drops()
    write_policies()
    write_certificate()
    write_certificates()
    (FOLDER / "study.toml").write_text(STUDY)
    (FOLDER / "contest.json").write_text(json.dumps(CONTEST))
    (FOLDER / "contest.json.gz").write_bytes(gzip.compress(json.dumps(CONTEST).encode(), mtime=0))
    shutil.copy(BUNDLED / "mlp-26.json", FOLDER / "program-on-mesh.json")
    for name in IMPORTED:
        shutil.copy(SAMPLES / name, FOLDER / Path(name).name)
    folder = ResultFolder(FOLDER / "results")
    folder.create()
    job = job_of()
    failure = {"state": "failed", "failed": "a reason", "started": 1.5, "wall_s": 0.5}
    folder.write(job.key, {"job": job.to_json(), "trace": [], **failure})
    shutil.move(folder.record_path(job.key), FOLDER / "record.json")
    shutil.rmtree(folder.path)
    words = "generate three-partition --groups 2 --target 100 --answer yes --format json,mps,lp"
    with contextlib.suppress(SystemExit):
        main([*words.split(), "-o", str(FOLDER / "set")])
    assert (FOLDER / "set").is_dir()


if __name__ == "__main__":
    write_all()
