"""What the bench asks of a client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

FLOAT32_BYTES = 4

DEFAULT_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Workload:
    """An allreduce (float32, sum) and how often it runs in one launch.

    Args:
        algorithm: the collective algorithm to force (`plink.bench.algorithms`).
        size_bytes: bytes of the buffer on each rank, a multiple of 4.
        warmups: untimed repetitions at the start of a launch.
        repetitions: timed repetitions of a launch.
        timeout_s: the longest that one repetition may take.
    """

    algorithm: str
    size_bytes: int
    warmups: int
    repetitions: int
    timeout_s: float = DEFAULT_TIMEOUT_S

    @property
    def elements(self) -> int:
        """The number of float32 elements."""
        return self.size_bytes // FLOAT32_BYTES

    @property
    def launch_limit_s(self) -> float:
        """The longest that the repetitions of one launch may take together."""
        return self.timeout_s * (self.warmups + self.repetitions)


@dataclass(frozen=True)
class ClientFacts:
    """For the record: what runs, and how.

    Args:
        versions: of its parts (`torch`: `2.13.0`), the one that people name first.
        settings: the switches that it was given, by its own names for them.
    """

    versions: Mapping[str, str]
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Traffic:
    """What ranks exchanged in one launch.

    Args:
        sent_bytes, received_bytes: [rank][peer], as the rank itself counted it, in all timed
            repetitions together.
    """

    sent_bytes: Sequence[Sequence[int]]
    received_bytes: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Measured:
    """One launch.

    Args:
        seconds: per timed repetition, the longest time of any rank.
        cpu_s: per timed repetition, the CPU seconds of a rank's process within that time, the mean
            over ranks; empty where the client does not tell.
        traffic: None where the client does not tell.
    """

    seconds: Sequence[float]
    cpu_s: Sequence[float] = ()
    traffic: Traffic | None = None


class Client(Protocol):
    """A client on the seats of a cluster's hosts (`plink.deploy.remote.hosts.seats`).

    Every method raises `probes.errors.HostError` naming the host that failed, or
    `plink.base.errors.PlinkError` where no single host is at fault.
    """

    def start(self) -> ClientFacts:
        """Bring it up on every host."""

    def measure(self, order: Sequence[int]) -> list[float]:
        """Run the workload with rank r on seat `order[r]`; seconds per repetition.

        Each is the longest time of any rank, and every element of every result was checked.
        """

    def close(self) -> None:
        """End everything that it started, on every host."""
