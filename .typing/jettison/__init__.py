"""jettison: schedules and proven lower bounds for training in limited memory.

>>> import jettison as jt
>>> problem = jt.RematChain(jt.load("opt-350m-b4-a100-40"), memory="30%")
>>> result = jt.solve(problem, method="rotor")
>>> result.status, result.time_ns, result.peak_bytes, result.lower_bound_ns

What belongs to one problem alone stands in a module of its own: `jt.remat_chain.ChainSchedule`,
`jt.remat_graph.Node` and so on.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from jettison import (
        core,
        generate,
        multi_model,
        pipeline_chain,
        remat_arena,
        remat_chain,
        remat_graph,
        remat_offload,
        remat_offload_graph,
        remat_sharding,
        sharding,
        three_partition,
        training_chain,
        weight_offload,
    )
    from jettison.certificates.checker import check_certificate
    from jettison.instances.catalog import load, save
    from jettison.instances.core.card import Card
    from jettison.instances.core.errors import InputError, JettisonError
    from jettison.instances.core.link import Link
    from jettison.instances.multi_model.instance import MultiModel
    from jettison.instances.multi_model.problem import MultiModelTraining
    from jettison.instances.pipeline_chain.problem import PipelineChain
    from jettison.instances.remat_arena.problem import RematArena
    from jettison.instances.remat_chain.chain import Chain
    from jettison.instances.remat_chain.problem import RematChain
    from jettison.instances.remat_graph.graph import Graph
    from jettison.instances.remat_graph.problem import RematGraph
    from jettison.instances.remat_offload.problem import RematOffloadChain
    from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
    from jettison.instances.remat_sharding.problem import RematSharding
    from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
    from jettison.instances.sharding.problem import Sharding
    from jettison.instances.sharding.strategy_graph import StrategyGraph
    from jettison.instances.three_partition.instance import ThreePartition
    from jettison.instances.training_chain.problem import TrainingChain
    from jettison.instances.weight_offload.problem import WeightOffload
    from jettison.schedules.core.schedule_class import ScheduleClass
    from jettison.schedules.core.schedule_file import load_schedule, save_schedule
    from jettison.solvers.core.answers.tables import bundled_instances, methods
    from jettison.solvers.core.bound import Bound
    from jettison.solvers.core.result import Result
    from jettison.solvers.core.solve import bound, compare, solve
    from jettison.solvers.core.verdict import Verdict
    from jettison.solvers.milp.export import export
    from jettison.studies.comparison.plot import plot_compare

    __version__: str

__all__ = [
    "Bound",
    "Card",
    "Chain",
    "Graph",
    "InputError",
    "JettisonError",
    "Link",
    "MultiModel",
    "MultiModelTraining",
    "PipelineChain",
    "RematArena",
    "RematChain",
    "RematGraph",
    "RematOffloadChain",
    "RematOffloadGraph",
    "RematSharding",
    "Result",
    "ScheduleClass",
    "ShardedGraph",
    "Sharding",
    "StrategyGraph",
    "ThreePartition",
    "TrainingChain",
    "Verdict",
    "WeightOffload",
    "bound",
    "bundled_instances",
    "check_certificate",
    "compare",
    "core",
    "export",
    "generate",
    "load",
    "load_schedule",
    "methods",
    "multi_model",
    "pipeline_chain",
    "plot_compare",
    "remat_arena",
    "remat_chain",
    "remat_graph",
    "remat_offload",
    "remat_offload_graph",
    "remat_sharding",
    "save",
    "save_schedule",
    "sharding",
    "solve",
    "three_partition",
    "training_chain",
    "weight_offload",
]

# Names are found when they are first used, so that `import jettison` loads no solver.
_attribute, __dir__, _ = lazy_loader.attach(
    __name__,
    submodules=[
        "core",
        "generate",
        "multi_model",
        "pipeline_chain",
        "remat_arena",
        "remat_chain",
        "remat_graph",
        "remat_offload",
        "remat_offload_graph",
        "remat_sharding",
        "sharding",
        "three_partition",
        "training_chain",
        "weight_offload",
    ],
    submod_attrs={
        "certificates.checker": ["check_certificate"],
        "instances.catalog": ["load", "save"],
        "instances.core.card": ["Card"],
        "instances.core.errors": ["InputError", "JettisonError"],
        "instances.core.link": ["Link"],
        "instances.multi_model.instance": ["MultiModel"],
        "instances.multi_model.problem": ["MultiModelTraining"],
        "instances.pipeline_chain.problem": ["PipelineChain"],
        "instances.remat_arena.problem": ["RematArena"],
        "instances.remat_chain.chain": ["Chain"],
        "instances.remat_chain.problem": ["RematChain"],
        "instances.remat_graph.graph": ["Graph"],
        "instances.remat_graph.problem": ["RematGraph"],
        "instances.remat_offload.problem": ["RematOffloadChain"],
        "instances.remat_offload_graph.problem": ["RematOffloadGraph"],
        "instances.remat_sharding.problem": ["RematSharding"],
        "instances.remat_sharding.sharded_graph": ["ShardedGraph"],
        "instances.sharding.problem": ["Sharding"],
        "instances.sharding.strategy_graph": ["StrategyGraph"],
        "instances.three_partition.instance": ["ThreePartition"],
        "instances.training_chain.problem": ["TrainingChain"],
        "instances.weight_offload.problem": ["WeightOffload"],
        "schedules.core.schedule_class": ["ScheduleClass"],
        "schedules.core.schedule_file": ["load_schedule", "save_schedule"],
        "solvers.core.answers.tables": ["bundled_instances", "methods"],
        "solvers.core.bound": ["Bound"],
        "solvers.core.result": ["Result"],
        "solvers.core.solve": ["bound", "compare", "solve"],
        "solvers.core.verdict": ["Verdict"],
        "solvers.milp.export": ["export"],
        "studies.comparison.plot": ["plot_compare"],
    },
)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("jettison")
    return _attribute(name)

