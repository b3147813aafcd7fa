"""Public names that serve every problem: links, replays and their verdicts, provenance, errors."""

from jettison.certificates.errors import CertificateError
from jettison.instances.core.card import Card, Resident, ResidentSource
from jettison.instances.core.errors import InputError, JettisonError, MissingExtraError
from jettison.instances.core.link import FullDuplex, Link, SharedTotal
from jettison.instances.core.provenance import Provenance
from jettison.schedules.core.replay import Replay, Transfer, Violation
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.studies.batch_series import BatchSeries, BatchThroughput, solve_batches
from jettison.studies.largest_batch import BatchTrial, LargestBatch, largest_batch

__all__ = [
    "BatchSeries",
    "BatchThroughput",
    "BatchTrial",
    "Card",
    "CertificateError",
    "FullDuplex",
    "InputError",
    "JettisonError",
    "LargestBatch",
    "Link",
    "MissingExtraError",
    "Provenance",
    "Replay",
    "Resident",
    "ResidentSource",
    "ScheduleClass",
    "SharedTotal",
    "Transfer",
    "Violation",
    "largest_batch",
    "solve_batches",
]
