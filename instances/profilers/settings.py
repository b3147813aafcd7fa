"""Settings of a profile: device, runs, threads, gradients."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.device.rates import A100, DeviceRates


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSettings:
    """Settings of a profile: where and how often operations run.

    Attributes
    ----------
    device
        ``cpu`` or ``cuda``, which is the first GPU.
    warmup, repeats
        Runs of each operation before, and for, the measurement.
    threads
        Number of threads of PyTorch on the CPU, for the whole process.
    gradients
        Treatment of parameter gradients, where a chain is measured or modelled.
    rates
        Rates of the device of a roofline, where nothing is measured.
    check
        What becomes of measured costs that are in doubt.

    Raises
    ------
    InputError
        If `warmup`, `repeats` or `threads` is out of range.
    """

    device: str = "cpu"
    warmup: int = 2
    repeats: int = 7
    threads: int = 1
    gradients: ParameterGradients = ParameterGradients.NEW
    rates: DeviceRates = A100
    check: CostCheck = CostCheck.WARN

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise InputError(
                f"{self.threads}", field="threads", expected="write a whole number from 1"
            )
        if self.repeats < 1 or self.warmup < 0:
            raise InputError(
                f"warmup={self.warmup} and repeats={self.repeats}",
                field="repeats",
                expected="repeat at least once, after 0 or more runs of warm-up",
            )
