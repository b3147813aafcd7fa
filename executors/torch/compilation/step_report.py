"""Report on a compiled graph: the plans that were tried, and the one that runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.torch.compilation.plan_form import FIRST_FORM, PlanForm
from jettison.torch.compilation.solved_plan import SolvedPlan


@dataclass(frozen=True, slots=True)
class Attempt:
    """Plan that was compiled.

    Attributes
    ----------
    plan
        The plan.
    measured_peak_bytes
        The measured peak of its step; None where it was not measured.
    code_peak_bytes
        The peak by the code that the compiler generated; None where it generates none.
    replayed_peak_bytes
        The peak of the plan by the replay, with what the code tells of its operators.
    form
        The form of the plan.
    """

    plan: SolvedPlan
    measured_peak_bytes: int | None
    code_peak_bytes: int | None = None
    replayed_peak_bytes: int | None = None
    form: PlanForm = FIRST_FORM

    @property
    def predicted_peak_bytes(self) -> int:
        """The peak by the generated code, or by the replay of the plan where there is none."""
        code = self.code_peak_bytes
        return self.plan.predicted_peak_bytes if code is None else code

    @property
    def hidden_bytes(self) -> int:
        """Measured peak less that of the plan; negative where it is smaller."""
        replayed = self.replayed_peak_bytes
        known = self.plan.predicted_peak_bytes if replayed is None else replayed
        return (known if self.measured_peak_bytes is None else self.measured_peak_bytes) - known


@dataclass(slots=True)
class StepReport:
    """Report on one compiled graph.

    Attributes
    ----------
    limit_bytes
        The limit on the measured peak.
    reference_peak_bytes
        Measured peak of the same graph, compiled in the same way, without recomputation; None
        unless the limit is a share of it.
    attempts
        All plans that were compiled, in order.
    chosen
        The one that runs.
    """

    limit_bytes: int = 0
    reference_peak_bytes: int | None = None
    attempts: list[Attempt] = field(default_factory=list)
    chosen: Attempt | None = None

    @property
    def has_code(self) -> bool:
        """Whether the compiler generates code, which runs a plan in another way."""
        return any(item.code_peak_bytes is not None for item in self.attempts)

    @property
    def plan(self) -> SolvedPlan:
        """The plan that runs."""
        assert self.chosen is not None
        return self.chosen.plan

    @property
    def predicted_peak_bytes(self) -> int:
        """Predicted peak of the step that runs."""
        assert self.chosen is not None
        return self.chosen.predicted_peak_bytes

    @property
    def measured_peak_bytes(self) -> int | None:
        """Measured peak of the step that runs."""
        assert self.chosen is not None
        return self.chosen.measured_peak_bytes
