"""Interface of a bench to a client, and of the client's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from plink.formats.comparison import ClientRecord
from plink.hub.planned import PlannedService
from plink.plans.forest import Forest
from plink.plans.names import ALL_REDUCE

FLOAT32_BYTES = 4

DEFAULT_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Workload:
    """A collective (float32, sum) and how often it runs in one launch.

    Args:
        size_bytes: bytes of the whole buffer, a multiple of 4: on each rank, before or after it.
        warmups: untimed repetitions at the start of a launch.
        repetitions: timed repetitions of a launch.
        timeout_s: the longest that one repetition may take.
        collective: of `plink.plans.names.COLLECTIVES`.
    """

    size_bytes: int
    warmups: int
    repetitions: int
    timeout_s: float = DEFAULT_TIMEOUT_S
    collective: str = ALL_REDUCE

    @property
    def elements(self) -> int:
        """The number of float32 elements."""
        return self.size_bytes // FLOAT32_BYTES

    @property
    def launch_limit_s(self) -> float:
        """The longest that the repetitions of one launch may take together."""
        return self.timeout_s * (self.warmups + self.repetitions)


@dataclass(frozen=True)
class Launch:
    """Start of a client's ranks.

    Args:
        seats: slot of every rank (`plink.deploy.remote.hosts.assign_slots`).
        workload: what they run.
        forest: the plan that the engine follows; None for a library.
        service: of the hub; None for others.
    """

    seats: Sequence[int]
    workload: Workload
    forest: Forest | None = None
    service: PlannedService | None = None


@dataclass(frozen=True)
class Traffic:
    """Bytes that ranks exchanged in one launch.

    Args:
        sent_bytes, received_bytes: [rank][peer], as the rank itself counted it, in all timed
            repetitions together.
    """

    sent_bytes: Sequence[Sequence[int]]
    received_bytes: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Measured:
    """Times of one launch.

    Args:
        seconds: per timed repetition, the longest time of any rank.
        cpu_s: per timed repetition, the CPU seconds of a rank's process within that time, the mean
            over ranks; empty where the client does not report it.
        traffic: None where the client does not report it.
    """

    seconds: Sequence[float]
    cpu_s: Sequence[float] = ()
    traffic: Traffic | None = None


class Client(Protocol):
    """A client on the seats of a cluster's hosts.

    Every method raises `plink.probes.errors.HostError` naming the host that failed, or
    `plink.base.errors.PlinkError` where no single host is at fault.
    """

    def start(self) -> ClientRecord:
        """Bring it up on every host; versions of its parts, and the switches that it was given."""

    def launch(self, launch: Launch) -> Measured:
        """Run the workload; every element of every result is checked."""

    def close(self) -> None:
        """End everything that it started, on every host."""
