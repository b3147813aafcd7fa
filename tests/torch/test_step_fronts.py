"""Steps of models as people write them: their arguments, their outputs, and what compilers see."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from jettison import InputError, RematGraph
from jettison.remat_graph import GraphSchedule

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn
checkpoint = torch.utils.checkpoint.checkpoint

from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_memory import TracedMemory  # noqa: E402

pytestmark = pytest.mark.torch


def program_of(model: Any, sample: Any, *loss_arguments: Any, loss: Any = None) -> Any:
    return executor.trace_step_program(
        model,
        sample,
        loss=loss,
        sample_loss_arguments=loss_arguments,
        cost=Roofline(),
        memory=TracedMemory(),
    )


def scheduled(program: Any) -> Any:
    """Return the step that computes each forward operation twice, if that is not kept."""
    nodes = program.graph.nodes
    first = [place for place, node in enumerate(nodes) if not node.backward]
    again = [place for place in first if not nodes[place].keep]
    rest = [place for place, node in enumerate(nodes) if node.backward]
    schedule = GraphSchedule.from_computations(program.graph, [*first, *again, *rest])
    return executor.CheckpointedStep(program, RematGraph(program.graph, 10**9), schedule)


def plain_gradients(model: Any, step: Callable[[Any], Any]) -> dict[str, Any]:
    twin = copy.deepcopy(model)
    torch.manual_seed(3)
    step(twin).backward()
    return {name: item.grad for name, item in twin.named_parameters() if item.grad is not None}


def assert_equal(model: Any, run: Callable[[], Any], expected: dict[str, Any]) -> None:
    torch.manual_seed(3)
    run().backward()
    found = {name: item.grad for name, item in model.named_parameters() if item.grad is not None}
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        assert torch.equal(found[name], gradient), name


class Blocks(nn.Module):
    """Three layers with dropout, two of which share their weights, and a mask."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
        self.layers[2].weight = self.layers[0].weight
        self.dropout = nn.Dropout(0.2)
        self.double()

    def hidden(self, x: Any, mask: Any | None) -> Any:
        for layer in self.layers:
            x = self.dropout(layer(x).tanh())
            if mask is not None:
                x = x * mask
        return x


def batch() -> Any:
    return torch.linspace(-1, 1, 24, dtype=torch.float64).reshape(4, 6)


def mask() -> Any:
    return torch.tensor([1.0, 1, 1, 1, 0, 1], dtype=torch.float64)


class WithLabels(Blocks):
    """Takes keywords, some of which hold no tensors, and returns a mapping with its loss."""

    def forward(
        self, x: Any, labels: Any = None, mask: Any = None, options: Any = None, scaled: bool = True
    ) -> Any:
        logits = self.hidden(x, mask)
        wanted = logits if not scaled else logits * options["scale"]
        loss = None if labels is None else ((wanted - labels) ** 2).mean()
        return {"loss": loss, "logits": logits}


def keywords() -> dict[str, Any]:
    return {
        "x": batch(),
        "labels": batch().flip(0),
        "mask": mask(),
        "options": {"scale": mask() + 1, "unused": None},
        "scaled": True,
    }


def test_a_model_of_keyword_arguments_that_returns_a_mapping_with_its_loss_runs_by_a_schedule() -> (
    None
):
    model = WithLabels()
    expected = plain_gradients(model, lambda twin: twin(**keywords())["loss"])
    step = scheduled(program_of(model, keywords()))
    # In another order as well.
    assert_equal(model, lambda: step(**dict(reversed(keywords().items()))), expected)


def test_a_loss_takes_the_mapping_that_the_model_returns() -> None:
    model = WithLabels()

    def loss(output: Any, labels: Any) -> Any:
        return ((output["logits"] - labels) ** 2).sum()

    sample = {"x": batch(), "mask": mask(), "scaled": False}
    expected = plain_gradients(model, lambda twin: loss(twin(**sample), batch()))
    step = scheduled(program_of(model, sample, batch(), loss=loss))
    assert_equal(model, lambda: step(batch(), **sample), expected)


@dataclass
class Output:
    logits: Any
    loss: Any


class Returning(Blocks):
    """Takes its input and its mask by position, and returns what it was made with."""

    def __init__(self, wrap: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.wrap = wrap

    def forward(self, x: Any, mask: Any) -> Any:
        logits = self.hidden(x, mask)
        return self.wrap(logits, (logits * logits).mean())


@pytest.mark.parametrize(
    ("wrap", "loss_of"),
    [
        (Output, lambda output: output.loss),
        (lambda logits, loss: (loss, logits), lambda output: output[0]),
    ],
    ids=["dataclass", "tuple"],
)
def test_the_loss_is_found_in_a_dataclass_and_at_the_head_of_a_tuple(
    wrap: Any, loss_of: Any
) -> None:
    model = Returning(wrap)
    expected = plain_gradients(model, lambda twin: loss_of(twin(batch(), mask())))
    step = scheduled(program_of(model, (batch(), mask())))
    assert_equal(model, lambda: step(batch(), mask()), expected)


def test_an_output_without_a_loss_is_an_error_that_names_the_labels() -> None:
    with pytest.raises(
        InputError, match=r"loss: the model returns a dict without a loss; .*labels"
    ):
        program_of(WithLabels(), {"x": batch(), "scaled": False})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scaled": False}, "scaled: False, and True in the trace"),
        ({"scaled": 1}, "scaled: 1, and True in the trace"),
        ({"mask": None}, "mask: a NoneType is not a dense tensor"),
        ({"options": {"scale": mask()}}, "options: a dict of other contents"),
        ({"more": mask()}, "0 inputs and labels, mask, more, options, scaled, x, and 0 and labels"),
        ({"labels": batch()[:2]}, "labels: a tensor .*size \\(2, 6\\)"),
        ({"options": {"scale": mask().float(), "unused": None}}, r"options\['scale'\]: a tensor"),
    ],
)
def test_a_step_with_other_arguments_than_the_sample_is_refused_by_name(
    change: dict[str, Any], message: str
) -> None:
    step = scheduled(program_of(WithLabels(), keywords()))
    with pytest.raises(InputError, match=message):
        step(**{**keywords(), **change})


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_both_biases_of_a_recurrent_layer_have_their_gradients(dtype: Any) -> None:
    # One node of the trace is the gradient of b_ih and of b_hh. In single precision oneDNN has a
    # kernel for the whole layer, which asks whether gradients are enabled.
    torch.manual_seed(0)
    model = nn.LSTM(4, 5, batch_first=True).to(dtype)
    x = torch.randn(2, 3, 4, dtype=dtype)

    def loss(output: Any) -> Any:
        return (output[0] ** 2).sum()

    expected = plain_gradients(model, lambda twin: loss(twin(x)))
    assert {"bias_ih_l0", "bias_hh_l0"} <= expected.keys()
    step = scheduled(program_of(model, x, loss=loss))
    assert_equal(model, lambda: step(x), expected)


class AsksForCompilers(Blocks):
    """Skips a mask of ones where it may read it, as models of transformers do."""

    def forward(self, x: Any, mask: Any) -> Any:
        if not torch.compiler.is_compiling() and bool(mask.all()):
            return (self.hidden(x, None) ** 2).mean()
        return (self.hidden(x, mask) ** 2).mean()


@pytest.mark.parametrize("values", [mask(), torch.ones(6, dtype=torch.float64)])
def test_a_model_that_asks_for_compilers_is_traced_as_it_is_exported(values: Any) -> None:
    model = AsksForCompilers()
    expected = plain_gradients(model, lambda twin: twin(batch(), values))
    program = program_of(model, (batch(), values))
    assert program.traced.front == "exported"
    # Shared weights are one parameter, under its first name.
    assert {name for name in program.traced.gradients if "layers.2" in name} == {
        "model.layers.2.bias"
    }
    step = scheduled(program)
    assert_equal(model, lambda: step(batch(), values), expected)


def test_a_model_without_such_branches_is_traced_as_it_runs() -> None:
    assert program_of(WithLabels(), keywords()).traced.front == "as_it_runs"


class OtherForCompilers(Blocks):
    def forward(self, x: Any) -> Any:
        if torch.compiler.is_compiling():
            return (self.hidden(x, None) ** 2).mean() * 2
        return (self.hidden(x, None) ** 2).mean() + 0 * float(x.sum())


def test_a_model_that_computes_something_else_for_compilers_is_refused() -> None:
    with pytest.raises(InputError, match=r"its loss is 0\.\d+ where it runs, and 0\.\d+ where"):
        program_of(OtherForCompilers(), batch())


class Decides(Blocks):
    def forward(self, x: Any) -> Any:
        y = self.hidden(x, None).mean()
        return y if y > 0 else -y  # the line that the message names


def test_a_decision_by_a_value_is_an_error_that_names_the_line_of_the_model() -> None:
    with pytest.raises(
        InputError,
        match=r"needs the value of a tensor .*test_step_fronts\.py:\d+, forward: .*# the line that",
    ):
        program_of(Decides(), batch())


class ReadsAValue(Blocks):
    def forward(self, x: Any) -> Any:
        return (self.hidden(x, None) * x.max().item()).mean()


def test_a_value_that_becomes_a_number_is_an_error() -> None:
    with pytest.raises(InputError, match="value of a tensor"):
        program_of(ReadsAValue(), batch())


class Checkpointed(Blocks):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.reentrant = reentrant

    def forward(self, x: Any) -> Any:
        run = partial(self.hidden, mask=None)
        given = x.clone().requires_grad_() if self.reentrant else x
        return checkpoint(run, given, use_reentrant=self.reentrant).square().mean()


def test_a_model_with_checkpointed_parts_runs_by_a_schedule_as_without_them() -> None:
    model = Checkpointed(reentrant=False)
    expected = plain_gradients(model, lambda twin: twin(batch()))
    step = scheduled(program_of(model, batch()))
    assert_equal(model, lambda: step(batch()), expected)


def test_reentrant_checkpoints_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"reentrant backward passes.*use_reentrant=False"):
        program_of(Checkpointed(reentrant=True), batch())


class Experts(nn.Module):
    """Rows that are sorted by expert, and a product for each group of them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.gate = nn.Linear(8, 2)
        self.up = nn.Parameter(torch.randn(2, 12, 8))
        self.down = nn.Parameter(torch.randn(2, 8, 12))

    def forward(self, x: Any) -> Any:
        scores = self.gate(x)
        order = torch.sort(scores.argmax(-1)).indices
        counts = torch.histc(scores.argmax(-1).float(), bins=2, min=0, max=1)
        offsets = torch.cumsum(counts, 0, dtype=torch.int32)
        hidden = torch._grouped_mm(x[order], self.up.transpose(1, 2), offs=offsets).relu()
        made = torch._grouped_mm(hidden, self.down.transpose(1, 2), offs=offsets)
        return (made * scores.amax(-1)[order].unsqueeze(-1)).square().mean()


def test_a_mixture_of_experts_in_single_precision_is_traced_as_it_runs() -> None:
    model, x = Experts(), torch.randn(10, 8)
    expected = plain_gradients(model, lambda twin: twin(x))
    program = program_of(model, x)
    assert program.traced.front == "as_it_runs"
    step = scheduled(program)
    assert_equal(model, lambda: step(x), expected)


@pytest.mark.parametrize("columns", [3, 4, 8])
def test_grouped_products_of_fake_tensors_have_the_layout_of_the_kernel(columns: int) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    from jettison.instances.profilers.fronts.grouped_products import (
        grouped_products_of_floats,
    )

    offsets = torch.tensor([3, 8], dtype=torch.int32)
    rows = torch.randn(8, 16)
    pairs = [
        (rows, torch.randn(2, columns, 16).transpose(1, 2), offsets),
        (torch.randn(2, columns, 16), rows.t(), offsets),
        (torch.randn(8, 4 * columns).t(), rows, offsets),
        (torch.randn(2, columns, 16), torch.randn(2, 16, 16), None),
    ]
    with FakeTensorMode() as mode, grouped_products_of_floats():
        for one, other, groups in pairs:
            fake = torch._grouped_mm(
                mode.from_tensor(one),
                mode.from_tensor(other),
                offs=None if groups is None else mode.from_tensor(groups),
            )
            with torch._C._DisableTorchDispatch():
                real = torch._grouped_mm(one, other, offs=groups)
            assert (fake.shape, fake.stride()) == (real.shape, real.stride())


def test_the_rule_for_grouped_products_is_gone_after_a_trace() -> None:
    from torch._subclasses import fake_impls

    before = dict(fake_impls.op_implementations_dict)
    program_of(Experts(), torch.randn(10, 8))
    assert fake_impls.op_implementations_dict == before
