"""Plan of one rank as text: operations, bounds, and the code of both passes.

Also a program, which prints the text and lets another process take a core meanwhile:
``python -m tests.torch.rank_plan mlp 75%``.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop

from jettison.torch import partitioner
from tests.compiled_models import build_compiled

# It ends by itself, should this program be killed.
_BUSY = "import time\nwhile time.process_time() < 30: pass"


def rank_plan(name: str, memory: str) -> str:
    """Return the plan of a model within a limit, and what it writes."""
    torch._dynamo.reset()
    model, x = build_compiled(name)
    cut = partitioner(memory, most_moves=100_000, time_limit=None)
    codes: list[str] = []

    def partition(*given: Any, **options: Any) -> Any:
        modules = cut(*given, **options)
        codes.extend(module.print_readable(print_output=False) for module in modules)
        return modules

    backend = aot_autograd(
        fw_compiler=boxed_nop,
        bw_compiler=boxed_nop,
        partition_fn=partition,
        keep_inference_input_mutations=True,
    )
    torch.compile(model, backend=backend, fullgraph=True, dynamic=False)(x)
    (plan,) = cut.plans
    assert plan.time_ns > plan.base_time_ns
    return "\n".join([repr(plan), *codes])


def main() -> None:
    """Print the plan that is made while other processes take the cores."""
    with subprocess.Popen([sys.executable, "-c", _BUSY]) as busy:
        try:
            torch.set_num_threads(1)
            text = rank_plan(*sys.argv[1:])
        finally:
            busy.kill()
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
