r"""Rules of the class "persistent with drops" of chain schedules, and their check.

A persistent schedule keeps each checkpoint :math:`a^{\ell-1}` up to :math:`B^\ell`. Where
:math:`\bar a^\ell` is in memory already, its input is of no use before :math:`B^\ell`; it can be
dropped, and computed again in time. The class holds the schedules that are persistent but for such
drops. With :math:`g` the index of the gradient in memory, its rules are:

1. Every :math:`\bar a^\ell` stays until :math:`B^\ell`, and is made once up to then.
2. A value that :math:`F_{ck}^\ell` or :math:`F_{all}^\ell` reads (a *checkpoint*
   :math:`a^{\ell-1}`) stays until :math:`B^\ell`, or is dropped while :math:`\bar a^\ell` is in
   memory and made again before :math:`B^\ell`.
3. :math:`F_\emptyset` reads only a value that is no checkpoint. It may be written as
   :math:`F_{ck}` and a drop: one :math:`F_{ck}^\ell` alone is no obstacle to :math:`D^{\ell-1}`.
4. :math:`F^j` runs for :math:`j \le g` only, and only from the newest value below the gradient:
   nothing of the stages :math:`j, \dots, g-1` is stored when it starts.

Where no checkpoint is dropped, rule 4 costs nothing as long as gradients are no larger than
outputs: :math:`B^k` puts :math:`\delta^{k-1}` in the place of :math:`a^{k-1}`, so that work below
:math:`k` can wait for it. With drops, or larger gradients, it costs a little (the tests have
cases), and makes the class one of a dynamic program over three indices.
"""

from __future__ import annotations

from enum import Enum, auto

from jettison.schedules.remat_chain.contents import ChainContents, Tensor, TensorKind


class Reading(Enum):
    """Kind of a forward operation by what it keeps of its input and output.

    ``SAVES``
        It keeps its input, and its output is all that the backward needs.
    ``KEEPS``
        It keeps its input.
    ``DROPS``
        It drops its input.
    """

    SAVES = auto()
    KEEPS = auto()
    DROPS = auto()


class DropRules:
    """Check of the rules: told of each operation, and of the memory, before it runs.

    Time and memory linear in the number of operations.

    Attributes
    ----------
    kept
        Whether all rules have been kept so far. A value that is not made again in time is for the
        replay to find: its backward lacks its input.
    """

    def __init__(self) -> None:
        self.kept = True
        # Forward operations that have read the present copy of each activation and kept it.
        self._readings: dict[int, list[Reading]] = {}
        # The stages of what is stored below the gradient, the newest last. Rule 4 keeps them in
        # order; what has been dropped, or has met the gradient, is taken off when it is on top.
        self._stored = [0]

    def forward(self, number: int, contents: ChainContents, reading: Reading) -> None:
        """Watch a forward."""
        source = number - 1
        while self._stored and not self._is_below_gradient(self._stored[-1], contents):
            self._stored.pop()
        in_order = number <= contents.gradient and self._stored[-1:] == [source]
        made_twice = Tensor(TensorKind.SAVED, number) in contents.tensors
        if not in_order or (reading is Reading.SAVES and made_twice):
            self.kept = False
        if reading is Reading.DROPS:
            is_saved = Tensor(TensorKind.SAVED, source) in contents.tensors
            if is_saved or self._readings.pop(source, []):
                self.kept = False
        else:
            self._readings.setdefault(source, []).append(reading)
        self._readings.pop(number, None)
        self._stored.append(number)

    def backward(self, number: int) -> None:
        """Watch a backward."""
        self._readings.pop(number, None)
        self._readings.pop(number - 1, None)

    def drop(self, number: int, contents: ChainContents) -> None:
        """Watch a drop."""
        readings = self._readings.pop(number, [])
        if Tensor(TensorKind.SAVED, number) in contents.tensors:
            self.kept = False
        elif readings not in ([], [Reading.KEEPS]):
            self.kept = self.kept and Tensor(TensorKind.SAVED, number + 1) in contents.tensors

    @staticmethod
    def _is_below_gradient(number: int, contents: ChainContents) -> bool:
        return number < contents.gradient and any(
            Tensor(kind, number) in contents.tensors
            for kind in (TensorKind.PLAIN, TensorKind.SAVED)
        )
