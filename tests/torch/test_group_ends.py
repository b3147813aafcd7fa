"""Products of groups on made-up contents are of groups that are equally long."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
pytest.importorskip("jettison.torch", exc_type=ImportError)

from jettison.instances.profilers.kernels.kernel_call import (  # noqa: E402
    KernelCall,
    PreparedCall,
)

pytestmark = pytest.mark.torch

GROUPED = torch.ops.aten._grouped_mm.default
CPU = torch.device("cpu")

# Shapes of the operands, and the size of the dimension that groups divide.
FORMS = {
    "rows": ((96, 16), (4, 16, 8), 96),
    "few rows": ((6, 16), (4, 16, 8), 6),
    "columns": ((4, 8, 16), (16, 96), 96),
    "shared": ((8, 128), (128, 16), 128),
}


@pytest.mark.parametrize("named", [False, True], ids=["by place", "by name"])
@pytest.mark.parametrize("form", FORMS)
def test_groups_of_made_up_products_are_even(form: str, named: bool) -> None:
    one, other, size = FORMS[form]
    ends = torch.zeros(4, dtype=torch.int32)
    given: tuple[Any, ...] = (torch.zeros(one), torch.zeros(other))
    options = {"offs": ends} if named else {}
    arguments = given if named else (*given, ends)
    described = KernelCall.of(GROUPED, arguments, options)
    assert described is not None
    for call in (PreparedCall.filled(GROUPED, arguments, options, CPU), described.prepared()):
        made = call.options["offs"] if named else call.arguments[2]
        lengths = torch.diff(made, prepend=torch.zeros(1, dtype=made.dtype)).tolist()
        assert sum(lengths) == size
        assert min(lengths) >= 1
        # Ends are rounded to multiples of 16 at most.
        assert max(lengths) - min(lengths) <= (32 if size >= 64 else 1)
        # No row and no column of the result is left out by the groups.
        result = call.run()
        assert result.abs().sum(-1).count_nonzero() == result[..., 0].numel()
    assert not ends.any()


def test_calls_of_other_operators_keep_their_integers() -> None:
    place = torch.zeros(3, dtype=torch.int64)
    target = torch.ops.aten.index_select.default
    call = PreparedCall.filled(target, (torch.zeros(5, 2), 0, place), {}, CPU)
    assert not call.arguments[2].any()
