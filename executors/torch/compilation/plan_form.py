"""Forms of plans under a compiler: which graph is planned, and who decides on layouts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlanForm:
    """Form of a plan.

    Attributes
    ----------
    is_fused
        Whether the graph that is planned is without the values that kernels have inside
        (`fused_graph`), where the compiler fuses; else it is the joint graph.
    keeps_layouts
        Whether convolutions have the layouts of the joint graph. Else Inductor decides for each
        pass, and a pass without a convolution keeps its layouts: once a plan computes one again in
        the backward pass, all of that pass has its channels last. There the gradient of a
        depthwise convolution runs in a kernel that unfolds its input, with 49 times its size for
        7 by 7 weights. Others need less memory with channels last.
    """

    is_fused: bool = True
    keeps_layouts: bool = False


# Plans of the first form are the fastest as a rule. The others are tried where none of it fits.
FIRST_FORM = PlanForm()
INDUCTOR_FORMS = (FIRST_FORM, PlanForm(keeps_layouts=True), PlanForm(is_fused=False))
