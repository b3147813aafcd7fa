"""Execution of multi-model schedules in PyTorch: many models trained in one memory (µ-TWO).

>>> from jettison.torch.multi_model import SGD, optimal_trainer, profile_models
>>> array = profile_models(
...     models, batch, loss=criterion, sample_loss_arguments=(labels,), optimizers=SGD(lr=0.1)
... )
>>> report = optimal_trainer(array, memory="60%", method="mu-two").train(batches)

``python -m jettison.torch.multi_model`` trains four small models so, and compares them with four
trainings of their own.
"""

from jettison.instances.profilers.torch_graphs.fused.optimizers import SGD, Adam
from jettison.torch.multi_model.graph_rewriter import MergedNode, MergedUnit, rewrite
from jettison.torch.multi_model.model_array import ModelArray, profile_models
from jettison.torch.multi_model.optimal_trainer import optimal_trainer
from jettison.torch.multi_model.separate_training import SeparateTraining, train_separately
from jettison.torch.multi_model.trainer import MultiModelTrainer, TrainingReport

__all__ = [
    "SGD",
    "Adam",
    "MergedNode",
    "MergedUnit",
    "ModelArray",
    "MultiModelTrainer",
    "SeparateTraining",
    "TrainingReport",
    "optimal_trainer",
    "profile_models",
    "rewrite",
    "train_separately",
]
