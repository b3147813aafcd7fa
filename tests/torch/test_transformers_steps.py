"""Steps of models of transformers, where it is installed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from jettison import RematGraph
from jettison.remat_graph import GraphSchedule

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_memory import TracedMemory  # noqa: E402

pytestmark = pytest.mark.torch

SIZES = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    # The other kernel takes another mask for compilers, and rounds otherwise.
    "attn_implementation": "eager",
}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("Llama", {"tie_word_embeddings": True}),
        ("Mixtral", {"num_local_experts": 2, "experts_implementation": "batched_mm"}),
    ],
)
def test_a_language_model_with_its_own_loss_has_the_gradients_of_eager(
    name: str, more: dict[str, Any]
) -> None:
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**SIZES, **more)
    model = getattr(transformers, f"{name}ForCausalLM")(config).double().train()
    text = torch.randint(3, 32, (2, 8))
    batch = {"input_ids": text, "labels": text.clone(), "use_cache": False}
    plain = copy.deepcopy(model)
    plain(**batch).loss.backward()
    program = executor.trace_step_program(
        model, batch, loss=None, cost=Roofline(), memory=TracedMemory()
    )
    nodes = program.graph.nodes
    first = [place for place, node in enumerate(nodes) if not node.backward]
    again = [place for place in first if not nodes[place].keep]
    rest = [place for place, node in enumerate(nodes) if node.backward]
    schedule = GraphSchedule.from_computations(program.graph, [*first, *again, *rest])
    step = executor.CheckpointedStep(program, RematGraph(program.graph, 10**9), schedule)
    step(**batch).backward()
    for key, parameter in plain.named_parameters():
        found = model.get_parameter(key).grad
        assert torch.equal(found, parameter.grad), key
