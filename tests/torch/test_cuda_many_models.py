"""Many models on the streams of a GPU; skipped without one."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch.multi_model", exc_type=ImportError)
nn, functional = torch.nn, torch.nn.functional

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_training_on_a_gpu_is_that_of_separate_trainings_within_the_limit() -> None:
    torch.manual_seed(0)
    device = torch.device("cuda", 0)
    models = [
        nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 8))
        .double()
        .to(device)
        for _ in range(4)
    ]
    batches = [
        [
            (
                torch.randn(512, 64, dtype=torch.float64, device=device),
                torch.randint(8, (512,), device=device),
            )
            for _ in models
        ]
        for _ in range(3)
    ]
    optimizers = [executor.SGD(0.1 * (1 + place), momentum=0.9) for place in range(4)]
    loss = functional.cross_entropy
    alone = [
        executor.train_separately(model, loss, [step[place] for step in batches], kind)
        for place, (model, kind) in enumerate(zip(models, optimizers, strict=True))
    ]
    batch, labels = batches[0][0]
    array = executor.profile_models(
        models,
        batch,
        loss=loss,
        sample_loss_arguments=(labels,),
        optimizers=optimizers,
        sizes=(2, 4),
    )
    trainer = executor.optimal_trainer(array, memory="60%", method="mu-two")
    report = trainer.train(batches)
    assert report.peak_bytes <= report.limit_bytes
    for place, model in enumerate(models):
        # Kernels of a stack of two may be others than those of a stack of one.
        wanted = torch.tensor(alone[place].losses, dtype=torch.float64)
        torch.testing.assert_close(report.losses[:, place], wanted, rtol=1e-12, atol=0)
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(
                parameter.detach(), alone[place].parameters[name], rtol=1e-10, atol=1e-12
            )
