"""The families of 3-PARTITION instances of known answer, by name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from jettison.instances.core.errors import InputError
from jettison.instances.core.generated import Generated
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import checked_amount
from jettison.instances.generators.farkas import farkas
from jettison.instances.generators.parity import parity
from jettison.instances.generators.planted import planted
from jettison.instances.generators.residue import residue
from jettison.instances.generators.split import split
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.generators.triplets import triplets
from jettison.instances.three_partition.certificate import Answer, Certificate
from jettison.instances.three_partition.instance import LARGEST_GROUPS, ThreePartition

GENERATOR_VERSION = 1


@dataclass(frozen=True, slots=True)
class Family:
    """A family of 3-PARTITION instances whose answer is known.

    Attributes
    ----------
    name
        Its name on the command line.
    answer
        The answer of all its instances.
    summary
        Kind of the proof, on one line.
    moduli
        The moduli that it takes, with their usual values.
    make
        From random integers, the number of groups, the target and the moduli: items and proof.

    Notes
    -----
    Another change than of the moduli must raise `GENERATOR_VERSION` if it changes any instance.
    """

    name: str
    answer: Answer
    summary: str
    moduli: tuple[int, ...]
    make: Callable[..., tuple[list[int], Certificate]]


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            Family("planted", Answer.YES, "random triples", (), planted),
            Family("triplets", Answer.YES, "Falkenauer's triplets", (), triplets),
            Family("split", Answer.NO, "the triple relaxation is feasible", (5, 7), split),
            Family("residue", Answer.NO, "too many or few items of a residue", (5,), residue),
            Family("parity", Answer.NO, "too few items of the target's parity", (), parity),
            Family("farkas", Answer.NO, "the triple relaxation is infeasible", (), farkas),
        )
    }
)


def family_of(name: str | None, answer: str | None) -> Family:
    """Return a family by its name or by an answer: planted for yes, residue for no.

    Raises
    ------
    InputError
        If neither is given, the name is unknown, or the family has another answer.
    """
    if answer not in {None, *Answer}:
        raise InputError(f"{answer!r}", field="answer", expected="write yes or no")
    if name is None:
        if answer is None:
            raise InputError(
                "neither an answer nor a family is given",
                field="answer",
                expected="write --answer yes or no, or a --family",
            )
        return FAMILIES["planted" if answer == Answer.YES else "residue"]
    if name not in FAMILIES:
        raise InputError(
            f"{name!r} is not a family", field="family", expected=f"write {', '.join(FAMILIES)}"
        )
    family = FAMILIES[name]
    if answer not in {None, family.answer}:
        others = [other.name for other in FAMILIES.values() if other.answer == answer]
        raise InputError(
            f"{answer}, but every instance of family {name} has the answer {family.answer}",
            field="answer",
            expected=f"write --answer {family.answer}, or --family {' or '.join(others)}",
        )
    return family


def generate_three_partition(
    family: Family,
    groups: int,
    target: int,
    *,
    seed: int,
    number: int = 0,
    moduli: Sequence[int] = (),
) -> ThreePartition:
    """Return instance `number` of a family: the same arguments give the same instance.

    Parameters
    ----------
    family
        One of `FAMILIES`.
    groups, target
        The number of groups m, from 1 to 1000, and the sum V of each.
    seed, number
        Which instance; the numbers of one seed are as random as seeds.
    moduli
        Moduli; empty for the usual ones of the family.

    Raises
    ------
    InputError
        If a parameter is out of range, or the family has no such instance.
    """
    if not 1 <= groups <= LARGEST_GROUPS:
        raise InputError(
            f"{groups}", field="groups", expected=f"write 1 to {LARGEST_GROUPS} groups"
        )
    for field, value in (("target", target), ("seed", seed), ("number", number)):
        checked_amount(value, field, "units")
    if moduli and len(moduli) != len(family.moduli):
        usual = ",".join(map(str, family.moduli))
        raise InputError(
            ",".join(map(str, moduli)),
            field="moduli",
            expected=f"family {family.name} takes "
            + (f"{len(family.moduli)}, such as {usual}" if usual else "none"),
        )
    used = tuple(moduli) or family.moduli
    for modulus in used:
        if checked_amount(modulus, "moduli", "units") < 2:
            raise InputError(f"{modulus}", field="moduli", expected="write at least 2")
    parameters = {"groups": groups, "target": target}
    parameters |= {f"modulus_{place}": modulus for place, modulus in enumerate(used, start=1)}
    generated = Generated(
        family=family.name,
        parameters=parameters,
        seed=seed,
        number=number,
        version=GENERATOR_VERSION,
    )
    values, certificate = family.make(_random_of(generated), groups, target, *used)
    return ThreePartition(
        name=f"{set_name(family, groups, target, moduli=used, seed=seed)}-{number}",
        values=tuple(values),
        target=target,
        certificate=certificate,
        generated=generated,
        provenance=Provenance(source="synthetic"),
    )


def set_name(family: Family, groups: int, target: int, *, moduli: Sequence[int], seed: int) -> str:
    """Return the common prefix of the names of a family's instances of one seed."""
    marks = "".join(f"-q{modulus}" for modulus in moduli or family.moduli)
    return f"{family.name}-m{groups}-v{target}{marks}-s{seed}"


def _random_of(generated: Generated) -> SplitMix64:
    """Return a random number generator whose seed is a hash of the whole record."""
    words = json.dumps(generated.to_json(), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(words.encode("ascii")).digest()
    return SplitMix64(int.from_bytes(digest[:8], "big"))
