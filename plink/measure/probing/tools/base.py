"""Interface between a probe run and a measuring tool: options, job and entry in the table.

A tool imports what measures only when it measures, so that the command line can list all tools at
once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from plink.base.errors import WrongUseError
from plink.base.finite import finite_number
from plink.measure.probing.limits import MAX_COUNT, MAX_PASSES
from plink.probes.samples import More, Rounds, Wanted, no_more

if TYPE_CHECKING:
    from typing_extensions import Self

    from plink.probes.hosts.host import ListedHost
    from plink.probes.reach import ReachedHost


@dataclass(frozen=True, kw_only=True)
class ToolOptions(ABC):
    """Base class of the options of one tool."""

    tool: ClassVar[str]

    @classmethod
    def resume(cls, given: Mapping[str, Any], recorded: Mapping[str, Any], source: str) -> Self:
        """Return the options to resume an earlier measurement with.

        Args:
            given: the fields that were asked for now.
            recorded: the options of the earlier measurement, as its file has them.
            source: what errors call that file.

        Raises:
            WrongUseError: readings with the options that are asked for do not compare with the
                earlier ones, or a recorded option is not valid.
        """
        del recorded, source
        return cls(**given)

    @abstractmethod
    def describe(self) -> str:
        """Return a short description of how the tool measures with these options."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """Return the options as JSON values, as the cluster file records them."""


Options = TypeVar("Options", bound=ToolOptions)


def no_limit() -> float:
    """Return infinity: the default limit of a search for readings."""
    return math.inf


@dataclass(frozen=True)
class MeasuringJob(Generic[Options]):
    """Everything that a measuring tool is given for one run.

    Args:
        hosts: the N hosts of the run, all reached.
        wanted: directed pairs of them, by index.
        rounds: disjoint pairs that may meet at the same time.
        options: the tool's own.
        timeout_s: how long a host may be silent before it is given up.
        concurrency: pairs in flight.
        ssh_concurrency: hosts worked on at once over SSH.
        adaptive: whether fewer pairs may be in flight where they disturb each other.
        more: the rounds of the next pass, asked once all of those before is measured.
        left_s: how many seconds are left for transfers, asked by any thread.
    """

    hosts: Sequence[ReachedHost]
    wanted: Wanted
    rounds: Rounds
    options: Options
    timeout_s: float
    concurrency: int
    ssh_concurrency: int = 16
    adaptive: bool = False
    more: More = no_more
    left_s: Callable[[], float] = no_limit


# Measures a job into a sink (`plink.probes.samples.Sink`).
Measure = Callable[[MeasuringJob[Any], Any], None]


@dataclass(frozen=True)
class Tool:
    """A measuring tool: its entry in `plink.measure.probing.tools.TOOLS`.

    Args:
        options: the class of its options.
        quantity: what it measures, and so what gathers its readings.
        measure: carries a job out; None for `uplinks`, which measures groups and not pairs.
        cores_per_pair: how many cores a pair takes where hosts share a machine; 0 where pairs do
            not disturb each other.
        check: raises a WrongUseError where options do not fit the hosts that are listed.
    """

    options: type[ToolOptions]
    quantity: Literal["rtt", "bandwidth", "routes", "uplinks"]
    measure: Measure | None
    cores_per_pair: int = 1
    check: Callable[[Any, Sequence[ListedHost]], None] | None = None

    @property
    def name(self) -> str:
        """Name by which users call the tool."""
        return self.options.tool


def recorded_count(recorded: Mapping[str, Any]) -> int | None:
    """Return the recorded number of probes per direction and meeting, or None.

    Before there were passes, a meeting with a precision was so long at most, and mostly shorter.
    """
    count = recorded.get("count")
    if recorded_passes(recorded) is None and recorded_precision(recorded):
        return None
    return count if type(count) is int and 1 <= count <= MAX_COUNT else None


def recorded_passes(recorded: Mapping[str, Any]) -> int | None:
    """Return the recorded number of passes, or None where none is recorded."""
    passes = recorded.get("passes")
    return passes if type(passes) is int and 1 <= passes <= MAX_PASSES else None


def recorded_precision(recorded: Mapping[str, Any]) -> float | None:
    """Return the recorded precision in per cent, or None."""
    precision_percent = finite_number(recorded.get("precision_percent"))
    if precision_percent is None or not 0.0 <= precision_percent <= 100.0:
        return None
    return precision_percent


def option_changed_error(source: str, option: str, before: object, given: object) -> WrongUseError:
    """Return the error for an option that differs from the earlier measurement's."""
    how = f"without {option}" if before is None else f"with {option}={before}"
    hint = f"leave out {option}={given}, or write a new measurement to another file"
    return WrongUseError(f"{source}: was measured {how}, not {given}", hint)
