"""Training step of a GPT as a sharded graph, with strategies that were measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jettison.instances.importers.superscaler_mesh.measured_strategies import (
    MeasuredStrategies,
    reads_hidden,
)
from jettison.instances.importers.superscaler_mesh.transformer_layers import (
    FIRST,
    Placed,
    Saved,
    Split,
    operators_of,
)
from jettison.instances.remat_sharding.operator import Operator, Role, Strategy
from jettison.instances.remat_sharding.sharded_graph import Resharding, ShardedGraph

_TOKENS = "tokens"


def sharded_step(name: str, measured: MeasuredStrategies, layers: int) -> ShardedGraph:
    """Return the step of a model with so many layers on a mesh of one dimension.

    First the tokens and all weights, then the forward operators, then the backward ones in reverse;
    the loss is part of the last forward operator.

    Raises
    ------
    InputError
        If sizes in the profiles do not fit together, or more is sent than was measured.
    """
    step = _Step(measured, tuple(operators_of(layers)))
    return ShardedGraph(
        name=name,
        operators=(*step.given(), *step.forward(), *step.backward()),
        resharding=tuple(step.resharding()),
        mesh=(1, measured.devices),
    )


class _Step:
    """Forward operators by name, with the operators that read each."""

    def __init__(self, measured: MeasuredStrategies, operators: tuple[Placed, ...]) -> None:
        self.measured = measured
        self.operators = operators
        self.by_name = {placed.name: placed for placed in operators}
        self.readers: dict[str, list[Placed]] = {placed.name: [] for placed in operators}
        for placed in operators:
            for source in placed.reads:
                self.readers[source].append(placed)

    def given(self) -> Iterator[Operator]:
        """Yield the tokens and the weights."""
        tokens = self.measured.profiles[0][FIRST].input_bytes
        yield Operator(
            name=_TOKENS,
            role=Role.INPUT,
            strategies=(Strategy(name="whole", compute_ns=0, memory_bytes=tokens),),
        )
        for placed in self.operators:
            if self.measured.has_weights(placed):
                yield Operator(
                    name=_weight(placed),
                    role=Role.PARAMETER,
                    strategies=self.measured.weights(placed),
                    operation="weight",
                    scope=placed.scope,
                )

    def forward(self) -> Iterator[Operator]:
        """Yield the forward operators."""
        for placed in self.operators:
            weights = self._weights(placed)
            yield Operator(
                name=placed.name,
                role=Role.FORWARD,
                strategies=self.measured.forward(placed),
                inputs=(*self._reads(placed), *weights),
                follows=weights[0] if weights else placed.follows,
                operation=placed.row,
                scope=placed.scope,
            )

    def backward(self) -> Iterator[Operator]:
        """Yield the backward operators; before each, what it writes for later, in no time."""
        for placed in reversed(self.operators):
            gradients = self._gradients(placed)
            weights = self._weights(placed)
            extra = [] if not weights else [("weight gradient", self.measured.weights(placed))]
            if len(placed.reads) > 1 and placed.kind.hidden_carried:
                qkv = self.by_name[placed.reads[1]]
                extra.append(("values gradient", self.measured.values_gradient(placed, qkv)))
            for what, strategies in extra:
                yield Operator(
                    name=f"{placed.name} {what}",
                    role=Role.BACKWARD,
                    strategies=strategies,
                    inputs=gradients or (placed.name,),
                    follows=placed.name,
                    keep=what == "weight gradient",
                    operation=what,
                    scope=placed.scope,
                )
            saved = (
                self._reads(placed)
                if placed.kind.saves is not Saved.OUTPUT or not placed.reads
                else ()
            )
            own = (placed.name,) if placed.kind.saves is not Saved.INPUT else ()
            written = tuple(f"{placed.name} {what}" for what, _ in extra)
            yield Operator(
                name=_backward(placed),
                role=Role.BACKWARD,
                strategies=self.measured.backward(placed, self._source(placed)),
                inputs=tuple(
                    dict.fromkeys(
                        (*saved, *own, *weights, *gradients, *self._residual(placed), *written)
                    )
                ),
                follows=placed.name,
                operation=f"{placed.row} backward",
                scope=placed.scope,
            )

    def resharding(self) -> Iterator[Resharding]:
        """Yield the tables in which something is gathered."""
        for placed in self.operators:
            for read in placed.reads:
                source = self.by_name[read]
                gathered = self._table(source, placed, _gathered_value)
                targets = [placed.name]
                if placed.kind.saves is not Saved.OUTPUT:
                    targets.append(_backward(placed))
                for target in targets:
                    if gathered is not None:
                        yield Resharding(source.name, target, gathered)
        for placed in self.operators:
            for reader in self.readers[placed.name]:
                gradient = self._gradient_from(placed, reader)
                table = self._table(placed, reader, _gathered_gradient)
                if gradient in self._gradients(placed) and table is not None:
                    # The rows are those of the reader, which makes the gradient.
                    yield Resharding(gradient, _backward(placed), tuple(zip(*table, strict=True)))

    def _table(
        self, source: Placed, target: Placed, is_gathered: Callable[[Split, Split], bool]
    ) -> tuple[tuple[int, ...], ...] | None:
        """Return the costs by the strategies of a source and of what reads it; None if all 0."""
        needed = [
            [is_gathered(made, read) for read in target.kind.splits] for made in source.kind.splits
        ]
        if not any(map(any, needed)):
            return None
        gathering_ns = self.measured.gathering_ns(target, source)
        return tuple(tuple(gathering_ns * each for each in row) for row in needed)

    def _reads(self, placed: Placed) -> tuple[str, ...]:
        return placed.reads or (_TOKENS,)

    def _weights(self, placed: Placed) -> tuple[str, ...]:
        return (_weight(placed),) if self.measured.has_weights(placed) else ()

    def _source(self, placed: Placed) -> Placed | None:
        return self.by_name[placed.reads[0]] if placed.reads else None

    def _gradients(self, placed: Placed) -> tuple[str, ...]:
        """Return the operators that make the gradient of what an operator makes.

        That of the hidden state is made by the normalisation that reads it, which adds what
        comes past it.
        """
        readers = self.readers[placed.name]
        normalised = [reader for reader in readers if reads_hidden(reader)]
        return tuple(self._gradient_from(placed, reader) for reader in (normalised or readers))

    def _gradient_from(self, placed: Placed, reader: Placed) -> str:
        if placed.name == reader.reads[0]:
            return _backward(reader)
        return f"{reader.name} values gradient"

    def _residual(self, placed: Placed) -> tuple[str, ...]:
        """Return what makes the gradient that comes past a normalisation."""
        if not reads_hidden(placed):
            return ()
        past = [
            reader
            for reader in self.readers[placed.reads[0]]
            if reader is not placed and not reads_hidden(reader)
        ]
        return tuple(name for reader in past for name in self._gradients(reader))


def _gathered_value(made: Split, read: Split) -> bool:
    return made.output_is_split and not read.input_is_split


def _gathered_gradient(made: Split, read: Split) -> bool:
    """Whether a gradient that is split, as its maker reads its input, is whole for the other."""
    return read.input_is_split and not made.output_is_split


def _weight(placed: Placed) -> str:
    return f"{placed.name} weight"


def _backward(placed: Placed) -> str:
    return f"{placed.name} backward"
