"""Forms of plans: the others are tried where no plan of the first one fits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jettison import InputError

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
pytest.importorskip("jettison.torch", exc_type=ImportError)

from jettison.instances.core.memory import Amount  # noqa: E402
from jettison.torch.compilation import fitted_graph  # noqa: E402
from jettison.torch.compilation.code_memory import CodeMemory  # noqa: E402
from jettison.torch.compilation.measured_workspaces import MeasuredWorkspaces  # noqa: E402
from jettison.torch.compilation.memory_proof import MemoryProof  # noqa: E402
from jettison.torch.compilation.plan_form import INDUCTOR_FORMS, PlanForm  # noqa: E402

pytestmark = pytest.mark.torch
FUSED, OWN_LAYOUTS, JOINT = INDUCTOR_FORMS


class Search:
    """Search with a compiler whose code needs what it is told, by the form of the plan."""

    def __init__(
        self, peaks: dict[PlanForm, int], *, proved: int = 0, has_convolutions: bool = True
    ) -> None:
        self._peaks, self._proved = peaks, proved
        self._has_convolutions = has_convolutions
        self.tried: list[PlanForm] = []
        self.known: list[dict[str, int]] = []
        self.report = fitted_graph.StepReport()

    def run(self, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
        """Look for a plan within a limit."""
        monkeypatch.setattr(
            fitted_graph, "measured_peak_bytes", lambda compiled, arguments, reserved: compiled
        )
        graph = fitted_graph.FittedGraph(
            torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph()),
            Amount(limit),
            lambda module, inputs, partitioner: (
                self._peaks[partitioner.form],
                CodeMemory(self._peaks[partitioner.form], (), (), {}),
            ),
            self._partitioner,
            INDUCTOR_FORMS,
            fitted_graph.Fitting(most_plans=3),
            self.report,
        )
        graph._fit(())

    def _partitioner(self, memory: Any, workspaces: Any, form: PlanForm) -> Any:
        self.tried.append(form)
        self.known.append(dict(workspaces))
        size = memory.size_bytes
        plan = SimpleNamespace(predicted_peak_bytes=size, time_ns=2, base_time_ns=1)
        return SimpleNamespace(
            form=form,
            plans=[plan],
            has_convolutions=self._has_convolutions,
            proof=lambda code: MemoryProof(self._proved, "a product"),
            measured=lambda code: MeasuredWorkspaces({"mm": len(self.tried)}, size),
        )


def test_a_form_is_tried_where_no_plan_of_those_before_it_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = Search({FUSED: 300, OWN_LAYOUTS: 200, JOINT: 100})
    search.run(monkeypatch, 100)
    assert list(dict.fromkeys(search.tried)) == list(INDUCTOR_FORMS)
    assert search.report.chosen is not None
    assert search.report.chosen.form == JOINT
    # What was measured of other code is not known to the first plan of a form.
    first = [search.known[search.tried.index(form)] for form in INDUCTOR_FORMS]
    assert first == [{}, {}, {}]
    assert len(search.tried) <= 3 + 2 + 2


def test_the_first_form_that_fits_is_the_last_that_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = Search({FUSED: 100, OWN_LAYOUTS: 1, JOINT: 1})
    search.run(monkeypatch, 100)
    assert set(search.tried) == {FUSED}


def test_layouts_are_no_matter_without_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search({FUSED: 300, OWN_LAYOUTS: 1, JOINT: 100}, has_convolutions=False)
    search.run(monkeypatch, 100)
    assert list(dict.fromkeys(search.tried)) == [FUSED, JOINT]


def test_no_other_form_is_tried_for_a_limit_that_is_impossible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = Search({FUSED: 300, OWN_LAYOUTS: 200, JOINT: 150}, proved=101)
    with pytest.raises(InputError, match=r"give at least 300 B .* less than 101 B .* impossible"):
        search.run(monkeypatch, 100)
    assert set(search.tried) == {FUSED}
    search = Search({FUSED: 300, OWN_LAYOUTS: 200, JOINT: 150}, proved=99)
    with pytest.raises(InputError, match=r"give at least 150 B .* nothing is proved between"):
        search.run(monkeypatch, 100)
    assert list(dict.fromkeys(search.tried)) == list(INDUCTOR_FORMS)
