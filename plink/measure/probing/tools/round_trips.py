"""Options and jobs of the tools for round-trip times: echo, dpdk and fping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from plink.base.errors import WrongUseError
from plink.measure.probing.tools.base import (
    MeasuringJob,
    Tool,
    ToolOptions,
    recorded_count,
    recorded_passes,
    recorded_precision,
)
from plink.probes.dpdk.nics import Nic, parse_nics

if TYPE_CHECKING:
    from typing_extensions import Self

    from plink.probes.hosts.host import ListedHost
    from plink.probes.samples import RemarkableSink, RttReading, Sink

STANDARD_PERCENTILES = (10.0, 50.0, 99.0)
# Both ends of a pair poll.
_DPDK_CORES_PER_PAIR = 2


@dataclass(frozen=True, kw_only=True)
class RttOptions(ToolOptions):
    """Options common to the tools for round-trip times.

    Args:
        count: probes per direction of a pair, each time it meets.
        passes: how often a pair meets at most.
        extra_passes: whole passes beside those that pairs had in an earlier run.
        precision_percent: a pair whose passes disagree by no more meets twice; 0 for all passes of
            all pairs.
        percentile: of the samples, the one that stands for a pair.
    """

    # docs/benchmarks.md, Probing
    count: int = 100
    passes: int = 5
    extra_passes: int = 0
    precision_percent: float = 2.0
    percentile: float = 10.0

    @classmethod
    def resume(cls, given: Mapping[str, Any], recorded: Mapping[str, Any], source: str) -> Self:
        """Return the options to resume with; additional passes count for every pair."""
        del source
        before = {
            "count": recorded_count(recorded),
            "passes": recorded_passes(recorded),
            "precision_percent": recorded_precision(recorded),
        }
        known = {name: value for name, value in before.items() if value is not None}
        extra = max(0, given["passes"] - (before["passes"] or 1)) if "passes" in given else 0
        return cls(**{**known, **given, "extra_passes": extra})

    @property
    def percentiles(self) -> tuple[float, ...]:
        """Percentiles to keep; the first stands for a pair."""
        return (self.percentile, *sorted({*STANDARD_PERCENTILES} - {self.percentile}))

    def describe(self) -> str:
        """Return a short description of how the tool measures with these options."""
        return f"{self.tool} x {self.count}"

    def to_record(self) -> dict[str, Any]:
        """Return the options as the cluster file records them."""
        return {
            "count": self.count,
            "passes": self.passes,
            "precision_percent": self.precision_percent,
            "percentile": self.percentile,
        }


@dataclass(frozen=True, kw_only=True)
class EchoOptions(RttOptions):
    """Options of echo, plink's own UDP agent.

    Args:
        port: the UDP port of the agents; 0 for any.
        remote_cache: where the agents are put on the hosts, or None for the user's cache.
    """

    tool: ClassVar[str] = "echo"
    port: int = 0
    remote_cache: str | None = None


@dataclass(frozen=True, kw_only=True)
class DpdkOptions(EchoOptions):
    """Options of dpdk, the echo agent with packets that bypass the kernel.

    Args:
        nics: those that hosts give to DPDK altogether; where a host has none here, the interface
            that carries its traffic is used.
    """

    tool: ClassVar[str] = "dpdk"
    nics: Sequence[Nic] = ()

    @classmethod
    def resume(cls, given: Mapping[str, Any], recorded: Mapping[str, Any], source: str) -> Self:
        """Return the options to resume with, which keep the same NICs."""
        nics = _same_nics(recorded, given.get("nics", ()), source)
        return super().resume({**given, "nics": nics}, recorded, source)

    def to_record(self) -> dict[str, Any]:
        """Return the options as the cluster file records them."""
        nics = {"nics": [str(nic) for nic in self.nics]} if self.nics else {}
        return {**super().to_record(), **nics}


@dataclass(frozen=True, kw_only=True)
class FpingOptions(RttOptions):
    """Options of fping, which must be installed on the hosts."""

    tool: ClassVar[str] = "fping"
    count: int = 10
    passes: int = 2


def _same_nics(recorded: Mapping[str, Any], given: Sequence[Nic], source: str) -> Sequence[Nic]:
    lines = recorded.get("nics", [])
    if not (isinstance(lines, list) and all(isinstance(line, str) for line in lines)):
        raise WrongUseError(f"{source}: options.nics is not a list of lines")
    before = parse_nics(lines, f"{source}: options.nics")
    if given and tuple(given) != before:
        raise WrongUseError(
            f"{source}: was measured with other NICs",
            "leave out the NICs, or write a new measurement to another file",
        )
    return before


def _check_nics(options: DpdkOptions, hosts: Sequence[ListedHost]) -> None:
    names = {host.name for host in hosts}
    for nic in options.nics:
        if nic.host not in names:
            raise WrongUseError(f"nics: {nic.host} is not in the host list")


def _measure_echo(job: MeasuringJob[EchoOptions], sink: RemarkableSink[RttReading]) -> None:
    from plink.probes.echo import coordinator  # noqa: PLC0415  imports paramiko

    _measure_with_agents(job, sink, coordinator.measure)


def _measure_dpdk(job: MeasuringJob[DpdkOptions], sink: RemarkableSink[RttReading]) -> None:
    from plink.probes.dpdk import tool  # noqa: PLC0415  imports paramiko

    _measure_with_agents(job, sink, partial(tool.measure, nics=job.options.nics))


def _measure_with_agents(
    job: MeasuringJob[Any], sink: RemarkableSink[RttReading], conduct: Callable[..., None]
) -> None:
    from plink.probes.echo import protocol  # noqa: PLC0415

    options = job.options
    conduct(
        job.hosts,
        job.wanted,
        job.rounds,
        protocol.EchoSettings(options.count, options.percentiles, job.timeout_s, options.port),
        sink,
        concurrency=job.concurrency,
        adaptive=job.adaptive,
        ssh_concurrency=job.ssh_concurrency,
        cache_folder=options.remote_cache,
        more=job.more,
    )


def _measure_fping(job: MeasuringJob[FpingOptions], sink: Sink[RttReading]) -> None:
    from plink.probes.fping import tool  # noqa: PLC0415  imports paramiko

    options = job.options
    tool.measure(
        job.hosts,
        job.wanted,
        job.rounds,
        tool.FpingSettings(options.count, options.percentiles, job.timeout_s),
        sink,
        concurrency=job.concurrency,
        ssh_concurrency=job.ssh_concurrency,
        more=job.more,
    )


ECHO = Tool(EchoOptions, "rtt", _measure_echo)
DPDK = Tool(DpdkOptions, "rtt", _measure_dpdk, _DPDK_CORES_PER_PAIR, _check_nics)
FPING = Tool(FpingOptions, "rtt", _measure_fping)
