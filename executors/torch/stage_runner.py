"""Repeated runs of a stage exactly like its first: random numbers, buffers and autocast."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.autocast_state import AutocastState
from jettison.torch.buffer_copies import Buffers, copies_of, in_place_of
from jettison.torch.generator_log import GeneratorLog, GeneratorStates
from jettison.torch.stage_modules import StageModules

StageCall = Callable[[Tensor], Tensor]


class StageRunner:
    """Runner of one stage in one training step: every later run repeats the first exactly.

    The first run draws random numbers and updates buffers as in a plain step. A repeated run finds
    the generators and the buffers as the first one did, and leaves no trace in either: it works on
    copies of the buffers, so that running statistics are updated once; the last run on what was
    kept. A stage that has drawn nothing at first draws nothing later, and its generators are left
    alone. What else a stage keeps from one run to the next (a counter in Python, a tensor that is
    no buffer) is its own affair.

    Parameters
    ----------
    name
        Name of the stage, for messages.
    call
        The module, or the loss.
    autocast
        The state in which it runs.
    log
        Log of the generators' states, which all stages of the step share.
    modules
        Its modules, as the step has found them.
    runs
        How often it will run; what it finds is only kept if that is more than once.
    """

    def __init__(
        self,
        name: str,
        call: StageCall,
        autocast: AutocastState,
        log: GeneratorLog,
        modules: StageModules,
        *,
        runs: int,
    ) -> None:
        self._name = name
        self._call = call
        self._autocast = autocast
        self._log = log
        self._modules = modules
        self._runs_left = runs
        self._has_run = False
        # What a repeated run finds: buffers, and the generators that it draws from.
        self._buffers: Buffers = ()
        self._drawn_from: GeneratorStates | None = None

    def set_drawn_from(self, states: GeneratorStates | None) -> None:
        """Take the states from which the first run has drawn; None if it has drawn nothing."""
        self._drawn_from = states

    def run(self, stage_input: Tensor) -> Tensor:
        """Return the output; `stage_input` is as in every other run of this step.

        Raises
        ------
        InputError
            If the stage will run again, and writes to its parameters.
        """
        if self._autocast.casts_nothing_now():
            return self._run(stage_input)
        with self._autocast.restored():
            return self._run(stage_input)

    def _run(self, stage_input: Tensor) -> Tensor:
        self._runs_left -= 1
        if self._has_run:
            return self._repeated(stage_input)
        self._has_run = True
        if self._runs_left > 0:
            return self._first_of_several(stage_input)
        self._log.settle()
        return self._call(stage_input)

    def _first_of_several(self, stage_input: Tensor) -> Tensor:
        parameters = self._modules.parameters
        versions = [parameter._version for parameter in parameters]
        devices = {tensor.device for tensor in parameters if tensor.is_cuda}
        if stage_input.is_cuda:
            devices.add(stage_input.device)
        self._log.begin(self, devices)
        self._buffers = copies_of(self._modules.buffers())
        try:
            output = self._call(stage_input)
        except BaseException:
            self._log.forget()
            raise
        if [parameter._version for parameter in parameters] != versions:
            raise InputError(
                "the stage writes to its parameters, so that it cannot run a second time",
                field=self._name,
                expected="write to them before or after the step, or make them buffers",
            )
        return output

    def _repeated(self, stage_input: Tensor) -> Tensor:
        self._log.settle()
        # Nobody reads again what the last run has written to.
        is_last = self._runs_left == 0
        buffers = self._buffers if is_last else copies_of(self._buffers)
        now = None if self._drawn_from is None else self._drawn_from.exchanged()
        try:
            with in_place_of(buffers):
                return self._call(stage_input)
        finally:
            if now is not None:
                now.put_back()

    def run_checked(self, stage_input: Tensor) -> Tensor:
        """Return the output, of which a schedule can make a checkpoint.

        Raises
        ------
        InputError
            If it is no dense tensor, or the stage writes into its input.
        """
        version = stage_input._version
        output: object = self.run(stage_input)
        if not isinstance(output, Tensor):
            raise InputError(
                f"the stage returns a {type(output).__name__}, not a tensor",
                field=self._name,
                expected="wrap it in a module that returns one tensor",
            )
        if output.layout != torch.strided:
            raise InputError(
                f"the stage returns a tensor of layout {output.layout}",
                field=self._name,
                expected="return a dense tensor",
            )
        if stage_input._version != version:
            raise InputError(
                "the stage modifies its input in place, so that its input cannot be a checkpoint",
                field=self._name,
                expected="set inplace=False, or merge the stage with the one before it",
            )
        return output
