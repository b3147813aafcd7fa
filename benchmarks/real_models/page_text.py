"""Words of the page of real models, between its tables."""

HEAD = """# Real models

Training steps of models as people write them (timm, torchvision, transformers, diffusers) that
run by a schedule: what was predicted, what was measured, and what no schedule can avoid. Weights
are random and configurations small, such that a step takes some tens of MiB and less than a
second.

<!-- not run: needs timm, torchvision, transformers and diffusers, and takes an hour -->
```sh
python -m benchmarks.real_models.table                # measures what is missing, writes this page
python -m benchmarks.real_models.table --again llama  # one model anew
```

Each model runs in a process of its own, on one thread of a CPU, in single precision, with limits
of time and memory. What fails has a line at the end. Every figure, and the versions of the
libraries, stand in `benchmarks/real_models/rows.csv`.

A *peak* is that of PyTorch's allocator above what is there before the step; gradients of
parameters are a part of it. A *slowdown* is the CPU time of a step by that of the plain one; both
take turns, and the median of their ratios counts, of 5 turns in older rows and of 15 in newer ones.
The machine was shared and busy: second decimals of measured slowdowns are noise.
"""

COLUMNS = """\
Steps run operator by operator, from Python. The limit is 60 % of the peak of the traced graph
without recomputation, which is more than that of the plain step where the trace takes other
kernels. Predicted slowdowns and the *least possible*, the bound of any schedule in the same memory
as proved by the solver in its time limit, are on the costs of the operators alone. What Python
adds is measured by the same executor where nothing is computed again, in the same turns; *without
dispatch* is the measured slowdown by that, which stands beside the prediction."""

BESIDE = """\
*Blocks*: each block of the model in `torch.utils.checkpoint` (not reentrant). *Budget*:
`activation_memory_budget = 0.5` under `torch.compile`, with the graph run operator by operator
where the schedule is. *Ours* is the schedule in the measured peak of the other planner, dispatch
included. A compiled plan counts a gradient for each output of the model: where the loss is one of
them, that of the logits is never made, and the step stays below the peak by about as much."""

COMPILED = """\
`jettison.torch.compiled` with these backends. The limit is 60 % of the measured peak of what the
same backend compiles without recomputation, which under Inductor may be more than that of the plain
step. *Without dispatch* is the measured slowdown by that of what the same backend compiles without
a plan."""

TRACED = """Three ways are tried, from the one that changes least (`step_fronts`):

1. *as it runs*: Python code of the model takes the branches that it takes in plain PyTorch;
2. *exported*: ``torch.export`` runs it once more, and tells it that a compiler is at work;
   models that ask (most of transformers do, before they look into a mask) then read no values of
   tensors. The loss is compared with that of the plain step, and a step that differs is refused;
3. *interpreted*: Dynamo reads the byte code.

Where a model takes other kernels for compilers (attention with a mask, where plain PyTorch calls
the kernel for causal attention without one), gradients differ by roundings. So they do under
aot_eager where PyTorch takes an operator apart before anything is planned: ``torch.compile`` with
that backend and without a plan is as far from plain PyTorch for fcn_resnet, lraspp, segformer
(bilinear interpolation) and unet2d, and an LSTM becomes a part of the one graph as its products.
Everywhere else they are equal to the bit; under Inductor they differ as those of `torch.compile`
do.

No way leads past values that decide on sizes. The loss of connectionist temporal classification
(speech) is of this kind: what it saves for the backward pass is as long as the longest row of
labels. It is refused by name; Wav2Vec2 stands in the table with its other loss, that of a word."""

DETAILS = """\
*Gradients* are compared with those of plain PyTorch on the same random numbers; a number is the
largest difference by the largest gradient."""
