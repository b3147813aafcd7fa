r"""Chain that lends gradients no more memory than outputs, for bounds on persistent schedules.

The persistent programs let work on the stages below :math:`k` wait for :math:`B^k`, which puts
:math:`\delta^{k-1}` in the place of :math:`a^{k-1}`. That costs nothing where
:math:`\delta^{k-1} \le a^{k-1}`. A larger gradient may leave too little room for a forward that
would still have fitted before :math:`B^k`, so that a persistent schedule can be faster than the
programs find, or fit where they find none: ``tests/remat_chain/test_larger_gradients.py`` has one.

The chain returned here has gradients of :math:`\min(\delta^k, a^k)` bytes. What is beyond that is
an overhead of the two backward operations that have the gradient as input or output, which need as
much memory as before; forward operations need no more. So whatever fits on the given chain fits on
this one, with the same times, and belongs to the same class. Bounds of the programs on this chain
hold for the given one.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_chain.chain import Chain, Stage


def has_larger_gradients(chain: Chain) -> bool:
    """Tell whether the gradient of some output is larger than the output."""
    return any(_excess_bytes(stage) for stage in chain)


def with_smaller_gradients(chain: Chain) -> Chain:
    """Return the chain with gradients no larger than outputs, itself if they are so; O(N)."""
    if not has_larger_gradients(chain):
        return chain
    stages: list[Stage] = []
    below_bytes = 0
    for stage in chain:
        excess_bytes = _excess_bytes(stage)
        beyond_bytes = excess_bytes
        if not chain.backward_overhead_holds_gradient:
            beyond_bytes += below_bytes
        stages.append(
            replace(
                stage,
                backward_overhead_bytes=stage.backward_overhead_bytes + beyond_bytes,
                output_gradient_bytes=stage.gradient_bytes - excess_bytes,
            )
        )
        below_bytes = excess_bytes
    return replace(chain, stages=tuple(stages))


def _excess_bytes(stage: Stage) -> int:
    return max(0, stage.gradient_bytes - stage.output_bytes)
