"""Demonstration: networks of the zoo trained by a schedule, and compared with separate trainings.

>>> python -m jettison.torch.multi_model --memory 60%
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections import Counter
from collections.abc import Sequence

import torch

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import exact_bytes, format_bytes, format_ns
from jettison.instances.profilers.torch_graphs.fused.optimizers import Adam
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.workload import CrossEntropy
from jettison.torch.multi_model.model_array import profile_models
from jettison.torch.multi_model.optimal_trainer import optimal_trainer
from jettison.torch.multi_model.separate_training import train_separately

_NETWORK = {"hidden": 64, "heads": 4, "vocabulary": 200}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; return the exit status.

    It is 0 if all is equal, 1 if not, 2 for bad input, 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(
        prog="python -m jettison.torch.multi_model",
        description="Train small GPT-2s together by a multi-model schedule, in double precision, "
        "and compare each bit with separate trainings.",
    )
    parser.add_argument("--models", type=int, default=4, help="how many (4)")
    parser.add_argument("--memory", default="60%", help="amount, or share of the peak (60%%)")
    parser.add_argument("--method", default="mu-two", help="of multi-model (mu-two)")
    parser.add_argument("--steps", type=int, default=3, help="steps of training (3)")
    parser.add_argument("--depth", type=int, default=2, help="layers of a network (2)")
    parser.add_argument("--batch", type=int, default=8, help="sequences in a batch (8)")
    parser.add_argument("--dropout", type=float, default=0.0, help="dropout, which is refused (0)")
    options = parser.parse_args(arguments)
    try:
        return _demonstrate(options)
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130


def _demonstrate(options: argparse.Namespace) -> int:
    for name in ("models", "steps"):
        if getattr(options, name) < 1:
            raise InputError(
                f"{getattr(options, name)}", field=f"--{name}", expected="write a number from 1"
            )
    torch.set_num_threads(1)
    works = [
        build(
            "gpt2",
            batch=options.batch,
            input_size=16,
            seed=seed,
            depth=options.depth,
            dropout=options.dropout,
            **_NETWORK,
        )
        for seed in range(options.models * options.steps)
    ]
    models = [work.model.double() for work in works[: options.models]]
    samples = []
    for work in works:
        assert isinstance(work.loss, CrossEntropy)
        samples.append((work.sample_input, work.loss.labels))
    batches = [
        samples[step * options.models : (step + 1) * options.models]
        for step in range(options.steps)
    ]
    before = copy.deepcopy(models)
    optimizers = [Adam(lr=1e-3 * (1 + number)) for number in range(options.models)]
    size = max(1, options.models // 2)
    array = profile_models(
        models,
        samples[0][0],
        loss=_words_loss,
        sample_loss_arguments=samples[0][1:],
        optimizers=optimizers,
        sizes=sorted({size, options.models - size, options.models} - {0}),
    )
    trainer = optimal_trainer(array, memory=options.memory, method=options.method)
    report = trainer.train(batches)
    differing = [
        f"model {place}: {name}"
        for place, model in enumerate(models)
        for name in train_separately(
            before[place], _words_loss, [step[place] for step in batches], optimizers[place]
        ).differences(model, report.losses[:, place].tolist())
    ]
    actions = Counter(
        operation.action.name.lower()
        for unit in trainer.schedule.units
        for operations in unit.rounds
        for operation in operations
    )
    rows = [
        ("units", "; ".join("+".join(map(str, unit.sizes)) for unit in trainer.schedule.units)),
        ("operations", ", ".join(f"{count} {name}" for name, count in sorted(actions.items()))),
        ("peak", f"{exact_bytes(report.peak_bytes)} of {exact_bytes(report.limit_bytes)}"),
        ("predicted peak", exact_bytes(report.predicted_peak_bytes)),
        ("on the host", format_bytes(report.host_bytes)),
        ("iteration", f"{format_ns(report.time_ns)}, {format_ns(report.stall_ns)} stalled"),
        (
            "predicted",
            f"{format_ns(report.predicted_time_ns)}, "
            f"{format_ns(report.predicted_stall_ns)} stalled",
        ),
        ("losses", ", ".join(f"{loss:.6f}" for loss in report.losses[-1].tolist())),
        ("equal to separate trainings", "; ".join(differing[:3]) or "yes, to the bit"),
    ]
    for label, text in rows:
        sys.stdout.write(f"{label:28} {text}\n")
    return 1 if differing else 0


def _words_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())


if __name__ == "__main__":
    sys.exit(main())
