"""Options and jobs of the iperf3 tools: between pairs of hosts, and between groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from plink.base.errors import WrongUseError
from plink.measure.probing.limits import DIRECTIONS, MAX_DURATION_S, MAX_STREAMS
from plink.measure.probing.tools.base import MeasuringJob, Tool, ToolOptions, option_changed_error

if TYPE_CHECKING:
    from typing_extensions import Self

    from plink.files.hosts import Group
    from plink.probes.hosts.host import ListedHost
    from plink.probes.samples import BandwidthReading, Sink


@dataclass(frozen=True, kw_only=True)
class _TransferOptions(ToolOptions):
    """Options common to the tools that transfer data.

    Args:
        duration_s: whole seconds a transfer; None for the tool's own.
        streams: TCP connections a transfer.
        congestion: the senders' congestion control, None for the hosts' own.
        port: the TCP port, of uplinks the first one; 0 for any.
    """

    duration_s: int | None = None
    streams: int = 1
    congestion: str | None = None
    port: int = 0

    @classmethod
    def resume(cls, given: Mapping[str, Any], recorded: Mapping[str, Any], source: str) -> Self:
        """Return the options to resume with; only the duration may differ."""
        known = {field.name for field in fields(cls)}
        before = {
            name: value
            for name, value in _check_recorded_options(recorded, source).items()
            if name in known
        }
        for name, value in before.items():
            if name != "duration_s" and given.get(name, value) != value:
                raise option_changed_error(source, name, value, given[name])
        return cls(**{**before, **given})

    def to_record(self) -> dict[str, Any]:
        """Return the options as the cluster file records them."""
        return {
            "duration_s": self.duration_s,
            "streams": self.streams,
            "congestion": self.congestion,
        }


@dataclass(frozen=True, kw_only=True)
class Iperf3Options(_TransferOptions):
    """Options of iperf3, which must be installed on the hosts.

    Args:
        direction: `each` direction of a pair by itself, or `both` at once.
    """

    tool: ClassVar[str] = "iperf3"
    duration_s: int = 1
    direction: str = "each"

    def describe(self) -> str:
        """Return a short description of how the tool measures with these options."""
        return f"iperf3 for {self.duration_s} s"

    def to_record(self) -> dict[str, Any]:
        """Return the options as the cluster file records them."""
        return {**super().to_record(), "direction": self.direction}


@dataclass(frozen=True, kw_only=True)
class UplinkOptions(_TransferOptions):
    """Options of uplinks: transfers between groups, all their hosts at once.

    Args:
        groups: groups of hosts, two at least.
    """

    tool: ClassVar[str] = "uplinks"
    groups: Sequence[Group] = ()

    # TCP connections that share an uplink need longer to settle than one by itself.
    @property
    def group_duration_s(self) -> int:
        """Whole seconds of a transfer between groups."""
        return self.duration_s or 2

    @property
    def link_duration_s(self) -> int:
        """Whole seconds of a transfer that measures one host's link."""
        return self.duration_s or 1

    def describe(self) -> str:
        """Return a short description of how the tool measures with these options."""
        return f"uplinks for {self.group_duration_s} s"

    def to_record(self) -> dict[str, Any]:
        """Return the options as the cluster file records them."""
        return {**super().to_record(), "duration_s": self.group_duration_s}


def _check_recorded_options(recorded: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the options that an earlier measurement records, if all are valid."""
    names = ("duration_s", "streams", "direction", "congestion")
    duration_s, streams, direction, congestion = map(recorded.get, names)
    for name, value, high in (
        ("duration_s", duration_s, MAX_DURATION_S),
        ("streams", streams, MAX_STREAMS),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high:
            raise WrongUseError(f"{source}: options.{name} is not a whole number from 1 to {high}")
    if direction is not None and direction not in DIRECTIONS:
        raise WrongUseError(f"{source}: options.direction is not one of {', '.join(DIRECTIONS)}")
    if congestion is not None and not (isinstance(congestion, str) and congestion.isalnum()):
        raise WrongUseError(f"{source}: options.congestion is not a name")
    return dict(zip(names, (duration_s, streams, direction, congestion), strict=True))


def _check_groups(options: UplinkOptions, hosts: Sequence[ListedHost]) -> None:
    del hosts
    hint = "the uplink of a group is its connection to the hosts of other groups"
    if not options.groups:
        raise WrongUseError("measuring uplinks needs groups of hosts", hint)
    if len(options.groups) == 1:
        raise WrongUseError(
            f"measuring uplinks needs at least two groups, found only {options.groups[0].name}",
            hint,
        )


def _measure_iperf3(job: MeasuringJob[Iperf3Options], sink: Sink[BandwidthReading]) -> None:
    from plink.probes.iperf3 import tool  # noqa: PLC0415  imports paramiko
    from plink.probes.iperf3.commands import TransferSettings  # noqa: PLC0415

    options = job.options
    transfer = TransferSettings(
        options.duration_s, options.streams, job.timeout_s, options.congestion, job.left_s
    )
    tool.measure(
        job.hosts,
        job.wanted,
        job.rounds,
        tool.Iperf3Settings(transfer, options.direction == "both", options.port),
        sink,
        concurrency=job.concurrency,
        ssh_concurrency=job.ssh_concurrency,
    )


IPERF3 = Tool(Iperf3Options, "bandwidth", _measure_iperf3)
UPLINKS = Tool(UplinkOptions, "uplinks", None, check=_check_groups)
