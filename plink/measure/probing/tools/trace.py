"""Options and job of the tool for routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from plink.measure.probing.tools.base import MeasuringJob, Tool, ToolOptions, recorded_count

if TYPE_CHECKING:
    from typing_extensions import Self

    from plink.probes.samples import RouteReading, Sink


@dataclass(frozen=True, kw_only=True)
class TraceOptions(ToolOptions):
    """Options of trace, which needs root and a Python with scapy on the hosts.

    Args:
        count: probes per direction of a pair.
        max_hops: how many hops away a host may be.
        remote_python: the Python on the hosts that has scapy.
        port: the UDP port that probes go to; 0 for any.
    """

    tool: ClassVar[str] = "trace"
    count: int = 3
    max_hops: int = 30
    remote_python: str = "python3"
    port: int = 0

    @classmethod
    def resume(cls, given: Mapping[str, Any], recorded: Mapping[str, Any], source: str) -> Self:
        """Return the options to resume an earlier measurement with."""
        del source
        count = recorded_count(recorded)
        return cls(**{**({} if count is None else {"count": count}), **given})

    def describe(self) -> str:
        """Return a short description of how the tool measures with these options."""
        return f"trace x {self.count}"

    def to_record(self) -> dict[str, Any]:
        """Return the options as the cluster file records them."""
        return {"count": self.count, "max_hops": self.max_hops}


def _measure(job: MeasuringJob[TraceOptions], sink: Sink[RouteReading]) -> None:
    from plink.probes.trace import tool  # noqa: PLC0415  imports paramiko

    options = job.options
    tool.measure(
        job.hosts,
        job.wanted,
        job.rounds,
        tool.TraceSettings(
            options.count, job.timeout_s, options.max_hops, options.remote_python, options.port
        ),
        sink,
        concurrency=job.concurrency,
        ssh_concurrency=job.ssh_concurrency,
    )


TRACE = Tool(TraceOptions, "routes", _measure, cores_per_pair=0)
