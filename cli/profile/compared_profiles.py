"""Profiles that other programs have left in files, which a new one is compared with."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from jettison.instances.catalog import Instance, load
from jettison.instances.core.errors import InputError
from jettison.instances.profilers.cost_check import DoubtfulCostsError
from jettison.instances.profilers.profile_comparison import ProfileComparison, compare_profiles

_FIELD = "compare-with"


@dataclass(frozen=True, slots=True)
class ComparedProfiles:
    """Profiles that a new one is compared with: one that was named, and one in the output file.

    Attributes
    ----------
    path, named
        A file that was named, and the instance in it; None if there is none.
    is_measured
        Whether the new profile has measured durations.
    trust
        Whether durations that are apart are written all the same.
    """

    path: Path | None
    named: Instance | None
    is_measured: bool
    trust: bool

    @classmethod
    def of(cls, path: Path | None, *, is_measured: bool, trust: bool) -> ComparedProfiles:
        """Read the file that was named.

        Raises
        ------
        InputError
            If it holds no instance.
        """
        return cls(path, None if path is None else load(path), is_measured, trust)

    def settle(self, profile: Instance, output: Path) -> None:
        """Compare a profile, and say what was found on standard error.

        Raises
        ------
        DoubtfulCostsError
            If it is more than 10 % apart from another one, and is not trusted.
        InputError
            If the file that was named is a profile of other operations.
        """
        if not self.is_measured:
            return
        if self.path is not None and self.named is not None:
            found = compare_profiles(self.named, profile, _FIELD)
            self._say(found, self.path, profile.name)
        if not self.trust and (self.path is None or self.path.resolve() != output.resolve()):
            self._settle_output(profile, output)

    def _settle_output(self, profile: Instance, output: Path) -> None:
        if not output.is_file():
            return
        try:
            found = compare_profiles(load(output), profile, _FIELD)
        except InputError:
            # Nobody has said that the file to be written over is a profile of the same operations.
            return
        if found.is_apart:
            self._say(found, output, profile.name)

    def _say(self, found: ProfileComparison, path: Path, name: str) -> None:
        if not found.is_apart:
            sys.stderr.write(f"{path} agrees within 10 %: {found.figures()}\n")
            return
        message = f"{name} is more than 10 % apart from {path}: {found.figures()}"
        if not self.trust:
            raise DoubtfulCostsError(
                message,
                field="costs",
                expected="measure on a quieter machine, both anew if need be, or write --trust to"
                " take this profile as it is",
            )
        sys.stderr.write(f"{message}\n")
