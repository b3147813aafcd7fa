"""jettison: schedules and proven lower bounds for training in limited memory.

>>> import jettison as jt
>>> problem = jt.RematChain(jt.load("resnet50-b4-224-cpu"), memory="50%")
>>> result = jt.solve(problem, method="rotor")
>>> result.status, result.time_ns, result.peak_bytes, result.lower_bound_ns
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from jettison.certificates.checker import check_certificate
    from jettison.certificates.errors import CertificateError
    from jettison.instances.catalog import bundled_instances, load, save
    from jettison.instances.remat_chain.chain import Chain, Stage
    from jettison.instances.remat_graph.chain_to_graph import chain_to_graph
    from jettison.instances.core.errors import InputError, JettisonError, MissingExtraError
    from jettison.instances.multi_model.feature_map import FeatureMap
    from jettison.instances.multi_model.fused_operator import FusedOperator
    from jettison.instances.multi_model.fused_profile import fused_profile
    from jettison.instances.remat_graph.graph import Graph, Node
    from jettison.instances.core.link import Link
    from jettison.instances.multi_model.instance import MultiModel
    from jettison.instances.multi_model.problem import MultiModelTraining
    from jettison.instances.remat_sharding.operator import Operator, Role, Strategy
    from jettison.instances.core.provenance import Provenance
    from jettison.instances.remat_chain.problem import RematChain
    from jettison.instances.remat_graph.problem import RematGraph
    from jettison.instances.remat_offload.problem import RematOffloadChain, Transfers
    from jettison.instances.remat_sharding.problem import RematSharding
    from jettison.instances.remat_sharding.sharded_graph import Resharding, ShardedGraph
    from jettison.instances.sharding.problem import Sharding
    from jettison.instances.sharding.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode
    from jettison.instances.three_partition.instance import ThreePartition
    from jettison.instances.weight_offload.problem import WeightOffload
    from jettison.schedules.remat_chain.schedule import (
        ChainOperation,
        ChainOperationKind,
        ChainSchedule,
    )
    from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
    from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
    from jettison.schedules.remat_graph.schedule import (
        GraphOperation,
        GraphOperationKind,
        GraphSchedule,
    )
    from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
    from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit
    from jettison.schedules.remat_offload.schedule import OffloadSchedule
    from jettison.schedules.core.replay import Replay, Transfer, Violation
    from jettison.schedules.core.schedule_class import ScheduleClass
    from jettison.schedules.core.schedule_file import load_schedule, save_schedule
    from jettison.schedules.remat_sharding.schedule import ShardedSchedule
    from jettison.schedules.sharding.strategy_choice import StrategyChoice
    from jettison.schedules.remat_offload.transfer_operation import TransferOperation, TransferOperationKind
    from jettison.solvers.core.bound import Bound
    from jettison.solvers.core.result import Result
    from jettison.solvers.core.solve import bound, compare, solve
    from jettison.solvers.core.verdict import Verdict

__all__ = [
    "Bound",
    "CertificateError",
    "Chain",
    "ChainOperation",
    "ChainOperationKind",
    "ChainSchedule",
    "CyclicEvent",
    "CyclicEventKind",
    "CyclicSchedule",
    "FeatureMap",
    "FusedOperator",
    "Graph",
    "GraphOperation",
    "GraphOperationKind",
    "GraphSchedule",
    "InputError",
    "JettisonError",
    "Link",
    "MissingExtraError",
    "MultiModel",
    "MultiModelAction",
    "MultiModelOperation",
    "MultiModelSchedule",
    "MultiModelTraining",
    "Node",
    "OffloadSchedule",
    "Operator",
    "Provenance",
    "RematChain",
    "RematGraph",
    "RematOffloadChain",
    "RematSharding",
    "Replay",
    "Resharding",
    "Result",
    "Role",
    "ScheduleClass",
    "ShardedGraph",
    "ShardedSchedule",
    "Sharding",
    "Stage",
    "Strategy",
    "StrategyChoice",
    "StrategyEdge",
    "StrategyGraph",
    "StrategyNode",
    "ThreePartition",
    "TrainingUnit",
    "Transfer",
    "TransferOperation",
    "TransferOperationKind",
    "Transfers",
    "Verdict",
    "Violation",
    "WeightOffload",
    "bound",
    "bundled_instances",
    "chain_to_graph",
    "check_certificate",
    "compare",
    "fused_profile",
    "load",
    "load_schedule",
    "save",
    "save_schedule",
    "solve",
]

# Names are found when they are first used, so that `import jettison` loads no solver.
__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "certificates.checker": ["check_certificate"],
        "certificates.errors": ["CertificateError"],
        "instances.catalog": ["bundled_instances", "load", "save"],
        "instances.remat_chain.chain": ["Chain", "Stage"],
        "instances.remat_graph.chain_to_graph": ["chain_to_graph"],
        "instances.core.errors": ["InputError", "JettisonError", "MissingExtraError"],
        "instances.multi_model.feature_map": ["FeatureMap"],
        "instances.multi_model.fused_operator": ["FusedOperator"],
        "instances.multi_model.fused_profile": ["fused_profile"],
        "instances.remat_graph.graph": ["Graph", "Node"],
        "instances.core.link": ["Link"],
        "instances.multi_model.instance": ["MultiModel"],
        "instances.multi_model.problem": ["MultiModelTraining"],
        "instances.remat_sharding.operator": ["Operator", "Role", "Strategy"],
        "instances.core.provenance": ["Provenance"],
        "instances.remat_chain.problem": ["RematChain"],
        "instances.remat_graph.problem": ["RematGraph"],
        "instances.remat_offload.problem": ["RematOffloadChain", "Transfers"],
        "instances.remat_sharding.problem": ["RematSharding"],
        "instances.remat_sharding.sharded_graph": ["Resharding", "ShardedGraph"],
        "instances.sharding.problem": ["Sharding"],
        "instances.sharding.strategy_graph": ["StrategyEdge", "StrategyGraph", "StrategyNode"],
        "instances.three_partition.instance": ["ThreePartition"],
        "instances.weight_offload.problem": ["WeightOffload"],
        "schedules.remat_chain.schedule": ["ChainOperation", "ChainOperationKind", "ChainSchedule"],
        "schedules.weight_offload.cyclic_event": ["CyclicEvent", "CyclicEventKind"],
        "schedules.weight_offload.cyclic_schedule": ["CyclicSchedule"],
        "schedules.remat_graph.schedule": ["GraphOperation", "GraphOperationKind", "GraphSchedule"],
        "schedules.multi_model.operation": ["MultiModelAction", "MultiModelOperation"],
        "schedules.multi_model.schedule": ["MultiModelSchedule", "TrainingUnit"],
        "schedules.remat_offload.schedule": ["OffloadSchedule"],
        "schedules.core.replay": ["Replay", "Transfer", "Violation"],
        "schedules.core.schedule_class": ["ScheduleClass"],
        "schedules.core.schedule_file": ["load_schedule", "save_schedule"],
        "schedules.remat_sharding.schedule": ["ShardedSchedule"],
        "schedules.sharding.strategy_choice": ["StrategyChoice"],
        "schedules.remat_offload.transfer_operation": ["TransferOperation", "TransferOperationKind"],
        "solvers.core.bound": ["Bound"],
        "solvers.core.result": ["Result"],
        "solvers.core.solve": ["bound", "compare", "solve"],
        "solvers.core.verdict": ["Verdict"],
    },
)
