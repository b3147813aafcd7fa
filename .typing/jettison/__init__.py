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
    from jettison.instances.chain import Chain, Stage
    from jettison.instances.chain_to_graph import chain_to_graph
    from jettison.instances.errors import InputError, JettisonError, MissingExtraError
    from jettison.instances.feature_map import FeatureMap
    from jettison.instances.fused_operator import FusedOperator
    from jettison.instances.fused_profile import fused_profile
    from jettison.instances.graph import Graph, Node
    from jettison.instances.link import Link
    from jettison.instances.multi_model import MultiModel
    from jettison.instances.multi_model_training import MultiModelTraining
    from jettison.instances.operator import Operator, Role, Strategy
    from jettison.instances.provenance import Provenance
    from jettison.instances.remat_chain import RematChain
    from jettison.instances.remat_graph import RematGraph
    from jettison.instances.remat_offload_chain import RematOffloadChain, Transfers
    from jettison.instances.remat_sharding import RematSharding
    from jettison.instances.sharded_graph import Resharding, ShardedGraph
    from jettison.instances.sharding import Sharding
    from jettison.instances.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode
    from jettison.instances.three_partition import ThreePartition
    from jettison.instances.weight_offload import WeightOffload
    from jettison.schedules.chain_schedule import (
        ChainOperation,
        ChainOperationKind,
        ChainSchedule,
    )
    from jettison.schedules.cyclic_event import CyclicEvent, CyclicEventKind
    from jettison.schedules.cyclic_schedule import CyclicSchedule
    from jettison.schedules.graph_schedule import (
        GraphOperation,
        GraphOperationKind,
        GraphSchedule,
    )
    from jettison.schedules.multi_model_operation import MultiModelAction, MultiModelOperation
    from jettison.schedules.multi_model_schedule import MultiModelSchedule, TrainingUnit
    from jettison.schedules.offload_schedule import OffloadSchedule
    from jettison.schedules.replay import Replay, Transfer, Violation
    from jettison.schedules.schedule_class import ScheduleClass
    from jettison.schedules.schedule_file import load_schedule, save_schedule
    from jettison.schedules.sharded_schedule import ShardedSchedule
    from jettison.schedules.strategy_choice import StrategyChoice
    from jettison.schedules.transfer_operation import TransferOperation, TransferOperationKind
    from jettison.solvers.bound import Bound
    from jettison.solvers.result import Result
    from jettison.solvers.solve import bound, compare, solve
    from jettison.solvers.verdict import Verdict

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
        "instances.chain": ["Chain", "Stage"],
        "instances.chain_to_graph": ["chain_to_graph"],
        "instances.errors": ["InputError", "JettisonError", "MissingExtraError"],
        "instances.feature_map": ["FeatureMap"],
        "instances.fused_operator": ["FusedOperator"],
        "instances.fused_profile": ["fused_profile"],
        "instances.graph": ["Graph", "Node"],
        "instances.link": ["Link"],
        "instances.multi_model": ["MultiModel"],
        "instances.multi_model_training": ["MultiModelTraining"],
        "instances.operator": ["Operator", "Role", "Strategy"],
        "instances.provenance": ["Provenance"],
        "instances.remat_chain": ["RematChain"],
        "instances.remat_graph": ["RematGraph"],
        "instances.remat_offload_chain": ["RematOffloadChain", "Transfers"],
        "instances.remat_sharding": ["RematSharding"],
        "instances.sharded_graph": ["Resharding", "ShardedGraph"],
        "instances.sharding": ["Sharding"],
        "instances.strategy_graph": ["StrategyEdge", "StrategyGraph", "StrategyNode"],
        "instances.three_partition": ["ThreePartition"],
        "instances.weight_offload": ["WeightOffload"],
        "schedules.chain_schedule": ["ChainOperation", "ChainOperationKind", "ChainSchedule"],
        "schedules.cyclic_event": ["CyclicEvent", "CyclicEventKind"],
        "schedules.cyclic_schedule": ["CyclicSchedule"],
        "schedules.graph_schedule": ["GraphOperation", "GraphOperationKind", "GraphSchedule"],
        "schedules.multi_model_operation": ["MultiModelAction", "MultiModelOperation"],
        "schedules.multi_model_schedule": ["MultiModelSchedule", "TrainingUnit"],
        "schedules.offload_schedule": ["OffloadSchedule"],
        "schedules.replay": ["Replay", "Transfer", "Violation"],
        "schedules.schedule_class": ["ScheduleClass"],
        "schedules.schedule_file": ["load_schedule", "save_schedule"],
        "schedules.sharded_schedule": ["ShardedSchedule"],
        "schedules.strategy_choice": ["StrategyChoice"],
        "schedules.transfer_operation": ["TransferOperation", "TransferOperationKind"],
        "solvers.bound": ["Bound"],
        "solvers.result": ["Result"],
        "solvers.solve": ["bound", "compare", "solve"],
        "solvers.verdict": ["Verdict"],
    },
)
