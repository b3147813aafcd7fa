"""Train many models in one memory: the instance, the problem, and its schedules."""

from jettison.instances.core.link import Link
from jettison.instances.multi_model.architecture import Architecture
from jettison.instances.multi_model.feature_map import FeatureMap
from jettison.instances.multi_model.fused_operator import FusedOperator
from jettison.instances.multi_model.fused_profile import fused_profile
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.joined import joined_models
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array_key import OfArchitecture
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit

__all__ = [
    "Architecture",
    "FeatureMap",
    "FusedOperator",
    "Link",
    "MultiModel",
    "MultiModelAction",
    "MultiModelOperation",
    "MultiModelSchedule",
    "MultiModelTraining",
    "OfArchitecture",
    "TrainingUnit",
    "fused_profile",
    "joined_models",
]
