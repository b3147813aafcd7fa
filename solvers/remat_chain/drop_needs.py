r"""Memory thresholds of sub-chains in the persistent program with drops, for its four tables.

With :math:`p = 1` where :math:`\bar a^t` is in memory already, and
:math:`b_p(t) = \delta^t + p\,\bar a^t` for what waits for the backward of :math:`t`,

.. math::

    \beta(s)    &= \bar a^s + \delta^s + [\delta^{s-1}] + o_b^s \\
    f_p(s,t)    &= b_p(t) + \bar a^s + \bar o_f^s \\
    n_p(s,t)    &= b_p(t) + \max\bigl(a^s + o_f^s,\;
                   \max_{s<j<t} (a^{j-1} + a^j + o_f^j)\bigr)

where the bracket is left out if :math:`o_b` holds it already. :math:`C_p(s,t)` begins with
:math:`F_{all}` from :math:`\max(f_p, \beta)` on and with :math:`F_{ck}` from :math:`n_p` on;
:math:`E_p(s,t)`, which counts its input, from :math:`f_p + a^{s-1}` and :math:`n_p + a^{s-1}` on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jettison.solvers.remat_chain.needs import NEVER_BYTES, ChainNeeds


@dataclass(frozen=True)
class DropNeeds(ChainNeeds):
    """The thresholds of :math:`C_0, E_0, C_1, E_1`, in this order; :math:`O(N^2)`."""

    @cached_property
    def forward_all(self) -> NDArray[np.int64]:
        r"""Least bytes to begin with :math:`F_{all}`, shape (4, N, N).

        On the diagonal they are what the whole sub-problem needs; :math:`E_1` has no meaning there.
        """
        saving = self.saving_bytes[:, None]
        backward = self.backward_bytes[:, None]
        dropping = saving + self.input_bytes[:, None]
        waiting = self.gradient_bytes + self.saved_bytes
        needs = np.stack(
            [
                np.maximum(self.gradient_bytes + saving, backward),
                self.gradient_bytes + dropping,
                np.maximum(waiting + saving, backward),
                waiting + dropping,
            ]
        )
        np.fill_diagonal(needs[2], self.backward_bytes)
        np.fill_diagonal(needs[3], NEVER_BYTES)
        return needs

    @cached_property
    def forward_none(self) -> NDArray[np.int64]:
        r"""Least bytes to begin with :math:`F_{ck}`, shape (4, N, N), for s < t."""
        plain = super().forward_none
        counted = self.input_bytes[:, None]
        needs: NDArray[np.int64] = np.stack(
            [plain, plain + counted, plain + self.saved_bytes, plain + self.saved_bytes + counted]
        )
        return needs
