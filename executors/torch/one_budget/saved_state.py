"""Weights, buffers and optimizer states of a trained model, as plain training saves and loads them.

Nothing may be pending. What is read is copied to the host, wherever it is; what is written is put
where the next period expects it, one stage after the other, so that the model itself need not fit
the device for either.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jettison.instances.core.errors import InputError
from jettison.schedules.training_chain.event import StageTensor
from jettison.schedules.training_chain.tensors import StageTensors
from jettison.torch.one_budget.optimizer_settings import Settings
from jettison.torch.one_budget.stage_weights import StageWeights


class SavedState:
    """Reader and writer of the state of a trainer.

    Parameters
    ----------
    model
        The stages without the loss.
    stages
        Weights of all stages.
    places
        Where the first period expects the tensors of each stage.
    """

    def __init__(
        self, model: nn.Sequential, stages: Sequence[StageWeights], places: Sequence[StageTensors]
    ) -> None:
        self._model = model
        self._stages = stages
        self._places = places

    def weights(self) -> dict[str, Tensor]:
        """Return weights and buffers by name, as ``model.state_dict()``."""
        stage_of = self._stage_of()
        named = dict(self._model.named_parameters(remove_duplicate=False))
        return {
            name: stage_of[id(named[name])].newest(named[name])
            if name in named
            else item.detach().to("cpu", copy=True)
            for name, item in self._model.state_dict().items()
        }

    def load_weights(self, state: Mapping[str, Tensor]) -> None:
        """Write weights and buffers.

        Raises
        ------
        InputError
            If a name is missing or not of the model, or a shape differs; nothing is written then.
        """
        own = self._model.state_dict()
        missing, unknown = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
        if missing or unknown:
            problem = f"{missing[0]} is missing" if missing else f"{unknown[0]} is not of the model"
            raise InputError(problem, field="state", expected="give what `state_dict` returned")
        for name, item in own.items():
            if state[name].shape != item.shape:
                raise InputError(
                    f"{name} has the shape {tuple(state[name].shape)}",
                    field="state",
                    expected=f"give one of {tuple(item.shape)}",
                )
        named = dict(self._model.named_parameters(remove_duplicate=False))
        with torch.no_grad():
            for name, item in own.items():
                if name not in named:
                    item.copy_(state[name])
            given = {id(named[name]): state[name] for name in own if name in named}
            for stage in self._stages:
                stage.write_weights(given)
                self._settle(stage)

    def optimizer(self) -> dict[str, Any]:
        """Return the optimizer's state, as its `state_dict` would be for all parameters."""
        groups = self._groups()
        numbers: dict[int, int] = {}
        for _, parameters in groups:
            for parameter in parameters:
                numbers[id(parameter)] = len(numbers)
        found: dict[int, Any] = {}
        for stage in self._stages:
            for parameter in stage.trained:
                state = stage.newest_state(parameter)
                if state:
                    found[numbers[id(parameter)]] = state
        return {
            "state": dict(sorted(found.items())),
            "param_groups": [
                {**copy.deepcopy(settings), "params": [numbers[id(item)] for item in parameters]}
                for settings, parameters in groups
            ],
        }

    def load_optimizer(self, state: Mapping[str, Any]) -> None:
        """Write the optimizer's state and its settings, and bring its states to their places.

        Raises
        ------
        InputError
            If the groups have not as many parameters as those of the optimizer; nothing is written
            then.
        """
        groups, given = self._groups(), state["param_groups"]
        sizes = [len(group["params"]) for group in given]
        own = [len(parameters) for _, parameters in groups]
        if sizes != own:
            raise InputError(
                f"groups of {', '.join(map(str, sizes))} parameters",
                field="state",
                expected=f"give those of this model: {', '.join(map(str, own))}",
            )
        number_of: dict[int, int] = {}
        settings_of: dict[int, dict[str, Any]] = {}
        for (_, parameters), group in zip(groups, given, strict=True):
            settings = {key: value for key, value in group.items() if key != "params"}
            for parameter, number in zip(parameters, group["params"], strict=True):
                number_of[id(parameter)], settings_of[id(parameter)] = number, settings
        for stage in self._stages:
            states = {
                id(parameter): state["state"][number_of[id(parameter)]]
                for parameter in stage.trained
                if number_of[id(parameter)] in state["state"]
            }
            stage.write_states(states, settings_of)
            self._settle(stage)

    def settle(self, number: int) -> None:
        """Bring the weights and states of a stage where the next period expects them."""
        self._settle(self._stages[number - 1])

    def _settle(self, stage: StageWeights) -> None:
        place = self._places[self._stages.index(stage)]
        for tensor in (StageTensor.WEIGHTS, StageTensor.STATES):
            block = place.blocks[tensor]
            if not stage.is_on_device(tensor):
                if block.is_resident:
                    stage.prefetch(tensor)
                continue
            if block.hosted_version is not None or not block.is_resident:
                stage.offload(tensor)
            if not block.is_resident:
                stage.drop(tensor)

    def _stage_of(self) -> dict[int, StageWeights]:
        return {id(parameter): stage for stage in self._stages for parameter in stage.parameters}

    def _groups(self) -> list[tuple[dict[str, Any], list[nn.Parameter]]]:
        """Return the groups that one optimizer of all trained parameters would have.

        The groups of the stages with the same number are one, where all stages have as many and of
        the same settings; else each group of each stage is one.
        """
        trained = [stage for stage in self._stages if stage.trained]
        groups = [list(zip(stage.settings, stage.groups, strict=True)) for stage in trained]
        if not groups:
            return []
        if all(_are_alike(own, groups[0]) for own in groups):
            return [
                (settings, [item for own in groups for item in own[place][1]])
                for place, (settings, _) in enumerate(groups[0])
            ]
        return [group for own in groups for group in own]


def _are_alike(
    one: Sequence[tuple[dict[str, Any], list[nn.Parameter]]],
    other: Sequence[tuple[dict[str, Any], list[nn.Parameter]]],
) -> bool:
    ones: Settings = [settings for settings, _ in one]
    return ones == [settings for settings, _ in other]
