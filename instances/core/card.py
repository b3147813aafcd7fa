"""Card: the bytes of a device, some of which are resident and in no plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from jettison.instances.core.errors import InputError
from jettison.instances.core.named_cards import NAMED_CARDS
from jettison.instances.core.names import suggestion
from jettison.instances.core.units import checked_amount, format_bytes, parse_bytes

_PREFIX, _RESIDENT = "card=", ":resident="
_EXPECTED_SIZE = "the bytes of the card (96GiB), or its name (`jettison list cards`)"
_EXPECTED_RESIDENT = "write an amount (3GiB)"


class ResidentSource(StrEnum):
    """Source of the resident bytes of a card."""

    GIVEN = "given"
    """Somebody said how many there are."""

    INSTANCE = "instance"
    """The instance records weights, gradients and optimizer states, or their total."""

    ALL_PLANNED = "all-planned"
    """The problem plans all tensors that its instance knows, so that none is beside the plan."""

    NOT_RECORDED = "not-recorded"
    """The instance does not say, and 0 is taken."""


@dataclass(frozen=True, slots=True)
class Resident:
    """Resident bytes of a card, and where the number comes from.

    Attributes
    ----------
    size_bytes
        Bytes that are in memory all the time and no part of the plan.
    source
        What says so.
    """

    size_bytes: int
    source: ResidentSource

    @classmethod
    def recorded(cls, size_bytes: int | None) -> Resident:
        """Return the bytes that an instance records; 0, not recorded, for None."""
        if size_bytes is None:
            return cls(0, ResidentSource.NOT_RECORDED)
        return cls(size_bytes, ResidentSource.INSTANCE)

    @classmethod
    def all_planned(cls) -> Resident:
        """Return 0, for problems that plan all tensors of their instances."""
        return cls(0, ResidentSource.ALL_PLANNED)


@dataclass(frozen=True, slots=True)
class Card:
    """Card: the memory of a device, less the resident bytes that no plan can use.

    What is left is the memory limit of the problem. Resident are the context of CUDA, and whatever
    the problem does not plan: for recomputation on chains and graphs weights, their gradients and
    the states of the optimizer.

    Attributes
    ----------
    size_bytes
        Bytes of the card, an amount (``"96GiB"``), or a name (``"h100-80"``); a number afterwards.
    resident
        Bytes or an amount (``"3GiB"``); None for those that the instance of the problem records.
    name
        The name, if that is what was given.
    resident_source
        What says how many bytes are resident.
    uncounted_bytes
        What the instance counts and no device holds: the reserve of a chain as a graph.

    Raises
    ------
    InputError
        If an amount cannot be read, the name is unknown, or more is resident than the card has; the
        field is ``card`` or ``resident``.
    """

    size_bytes: int | str
    resident: int | str | None = None
    name: str = field(default="", kw_only=True)
    resident_source: ResidentSource = field(default=ResidentSource.GIVEN, kw_only=True)
    uncounted_bytes: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.size_bytes, str):
            name = self.size_bytes.strip()
            if name in NAMED_CARDS:
                object.__setattr__(self, "name", name)
            object.__setattr__(self, "size_bytes", _read_size(name))
        else:
            checked_amount(self.size_bytes, "card", "bytes")
        if isinstance(self.resident, str):
            object.__setattr__(self, "resident", _read_resident(self.resident))
        elif self.resident is not None:
            checked_amount(self.resident, "resident", "bytes")
        if self.resident_bytes > self.card_bytes:
            raise InputError(
                f"{format_bytes(self.resident_bytes)}{self._said_by}, and the card has "
                f"{format_bytes(self.card_bytes)}",
                field="resident",
                expected="write at most the bytes of the card, or take a larger card",
            )

    @property
    def card_bytes(self) -> int:
        """All bytes of the card."""
        assert isinstance(self.size_bytes, int)
        return self.size_bytes

    @property
    def resident_bytes(self) -> int:
        """The resident bytes; 0 as long as only the instance could say."""
        return self.resident if isinstance(self.resident, int) else 0

    @property
    def limit_bytes(self) -> int:
        """The memory limit of the problem."""
        return self.card_bytes - self.resident_bytes + self.uncounted_bytes

    def with_plan(self, plan_bytes: int) -> int:
        """Return the bytes of a card that a plan needs: its own beside the resident ones."""
        return max(0, plan_bytes - self.uncounted_bytes) + self.resident_bytes

    def on(self, recorded: Resident) -> Card:
        """Return the card with the recorded bytes as resident ones, if none were given.

        Raises
        ------
        InputError
            If more is resident than the card has.
        """
        if self.resident is not None:
            return self
        return replace(self, resident=recorded.size_bytes, resident_source=recorded.source)

    @property
    def _said_by(self) -> str:
        is_recorded = self.resident_source is ResidentSource.INSTANCE
        return " of weights, gradients and states in the instance" if is_recorded else ""

    def __str__(self) -> str:
        has_resident = self.resident_bytes > 0
        resident = f", resident {format_bytes(self.resident_bytes)}" if has_resident else ""
        return f"card {self.name or format_bytes(self.card_bytes)}{resident}"


def parse_card(text: str) -> Card | None:
    """Read a card as it is written where a memory may stand; None if the text is no card.

    ``card=96GiB`` or ``card=96GiB:resident=3GiB``.

    Raises
    ------
    InputError
        As `Card`.
    """
    if not text.startswith(_PREFIX):
        return None
    size, separator, resident = text.removeprefix(_PREFIX).partition(_RESIDENT)
    return Card(size, resident if separator else None)


def card_text(card: str, resident: str | None) -> str:
    """Return the text that `parse_card` reads."""
    return f"{_PREFIX}{card}" + ("" if resident is None else f"{_RESIDENT}{resident}")


def as_card(memory: object) -> Card | None:
    """Return the memory of a problem if it is that of a card."""
    return memory if isinstance(memory, Card) else None


def card_keys(
    memory: object, peak_bytes: int | None, least_memory_bytes: int | None
) -> dict[str, object]:
    """Return the JSON keys on the card of a problem; all are None without one.

    Parameters
    ----------
    memory
        The memory of the problem.
    peak_bytes
        The peak of the schedule, to which the resident bytes are added.
    least_memory_bytes
        The least memory of a proof that nothing fits: with the resident bytes, the least card.
    """
    card = as_card(memory)
    if card is None:
        return dict.fromkeys(CARD_KEYS)
    least = None if least_memory_bytes is None else card.with_plan(least_memory_bytes)
    return {
        "card_bytes": card.card_bytes,
        "resident_bytes": card.resident_bytes,
        "resident_source": str(card.resident_source),
        "card_peak_bytes": None if peak_bytes is None else card.with_plan(peak_bytes),
        "least_card_bytes": least,
    }


CARD_KEYS = (
    "card_bytes",
    "resident_bytes",
    "resident_source",
    "card_peak_bytes",
    "least_card_bytes",
)


def _read_size(text: str) -> int:
    if text in NAMED_CARDS:
        return NAMED_CARDS[text].usable_bytes
    try:
        return parse_bytes(text)
    except InputError as error:
        is_name = text[:1].isalpha()
        names = suggestion(text, list(NAMED_CARDS)) if is_name else ""
        raise InputError(
            f"there is no card {text[:40]!r}" if is_name else error.problem,
            field="card",
            expected=(names or "write ") + _EXPECTED_SIZE,
        ) from None


def _read_resident(text: str) -> int:
    try:
        return parse_bytes(text)
    except InputError as error:
        raise InputError(error.problem, field="resident", expected=_EXPECTED_RESIDENT) from None
