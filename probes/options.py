"""Options of a run: those of each measuring tool, and those to reach its hosts.

A tool's options are one frozen class: the command line makes it, the cluster file records it, the
tool on the hosts gets it. Nothing heavy is imported, so that all tools can be listed at once.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

from plink.probes.errors import OptionError

HINT = "a line is HOST DEVICE ADDRESS/PREFIX [GATEWAY], as in gpu1 0000:00:06.0 10.0.0.7/24"

_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_VIRTUAL = re.compile(r"net_[a-z_]{1,30}[0-9]{0,3}(,[a-z_]{1,30}=[A-Za-z0-9_.:/-]{1,60}){0,8}")


@dataclass(frozen=True)
class Nic:
    """NIC of a host to be used by DPDK alone: its device, address and gateway.

    Args:
        device: a PCI address (0000:00:06.0), or a virtual device of DPDK (net_tap0,iface=tap0).
        address: its IPv4 address and the network on its link.
        gateway: the router to other networks, or None without one.
    """

    host: str
    device: str
    address: ipaddress.IPv4Interface
    gateway: ipaddress.IPv4Address | None = None

    def __str__(self) -> str:
        """Return the NIC as a line of a file of NICs: `HOST DEVICE ADDRESS/PREFIX GATEWAY`."""
        words = (self.host, self.device, self.address, self.gateway)
        return " ".join(str(word) for word in words if word is not None)


def parse_nics(lines: Sequence[str], source: str) -> tuple[Nic, ...]:
    """Parse lines `HOST DEVICE ADDRESS/PREFIX [GATEWAY]`; `source` names the file in errors.

    Raises:
        OptionError: a line is wrong, or a host or an address stands there twice.
    """
    nics: dict[str, Nic] = {}
    taken: set[ipaddress.IPv4Address] = set()
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        nic = _parse(words, f"{source}:{number}")
        if nic.host in nics or nic.address.ip in taken:
            raise OptionError(f"{source}:{number}: the host or the address is listed twice", HINT)
        nics[nic.host] = nic
        taken.add(nic.address.ip)
    return tuple(nics.values())


def _parse(words: Sequence[str], place: str) -> Nic:
    if len(words) not in (3, 4):
        raise OptionError(f"{place}: the line has {len(words)} words, expected 3 or 4", HINT)
    host, device, address, *gateway = words
    if not (_PCI.fullmatch(device) or _VIRTUAL.fullmatch(device)):
        raise OptionError(f"{place}: {device[:60]!r} is not a PCI address or virtual device", HINT)
    try:
        interface = ipaddress.IPv4Interface(address)
        router = ipaddress.IPv4Address(gateway[0]) if gateway else None
    except ValueError as error:
        raise OptionError(f"{place}: {error}", HINT) from None
    if "/" not in address:
        raise OptionError(f"{place}: {address} lacks the prefix length of its network", HINT)
    if router is not None and router not in interface.network:
        raise OptionError(f"{place}: the gateway {router} is not in {interface.network}", HINT)
    return Nic(host, device, interface, router)


@dataclass(frozen=True)
class SshOptions:
    """Options of SSH that apply to every host of a run: user, key, configuration.

    Args:
        config_file: an SSH configuration to use alone (`ssh -F`); None: the user's own.
        identity_file: a private key to use alone (`ssh -i`); None: configuration, agent, defaults.
        user: the user for hosts listed without one; None: configuration, then local user.
        accept_new_host_keys: trust and remember the key of a host that was never seen.
        concurrency: handshakes in flight; more overload a server's `MaxStartups` or our own cores.
        timeout_s: how long to wait for a connection, and again for its handshake.
    """

    config_file: str | None = None
    identity_file: str | None = None
    user: str | None = None
    accept_new_host_keys: bool = False
    concurrency: int = 16
    timeout_s: float = 15.0


# In place of a command: SSH itself, for a host list that would choose a command.
SSH = "ssh"


@dataclass(frozen=True)
class ViaOptions:
    """Command template with `{host}`, such as `kubectl exec`, that reaches every host of a run."""

    template: str
    concurrency: int = 16


@dataclass(frozen=True)
class ListenOptions:
    """Address at which plink listens for agents, and the secret they must prove.

    Args:
        host, port: address to listen on, empty for all of this machine's; port, 0 for a free one.
        wait_s: seconds to wait for the hosts that are expected.
        concurrency: handshakes in flight.
    """

    host: str
    port: int
    secret: bytes = field(repr=False)
    wait_s: float = 300.0
    concurrency: int = 16


STANDARD_PERCENTILES = (10.0, 50.0, 99.0)
# The first of the ports that traceroute uses, which firewalls know.
TRACE_PORT = 33434


@dataclass(frozen=True, kw_only=True)
class ToolOptions:
    """Base class of the options of a measuring tool, and of what else a tool has to say of itself.

    Attributes:
        quantity: what the tool measures.
        module: module of `plink.probes` with the tool's `measure(job, sink)`; empty for a tool that
            measures groups of hosts, not pairs.
        cores_per_pair: cores that a pair takes where hosts share a machine; 0 where pairs do not
            disturb each other.
        fixed: fields in which a resumed measurement must agree with its file.
    """

    tool: ClassVar[str]
    quantity: ClassVar[Literal["rtt", "bandwidth", "routes", "uplinks"]]
    module: ClassVar[str] = ""
    cores_per_pair: ClassVar[int] = 1
    fixed: ClassVar[tuple[str, ...]] = ()
    # The fields that the cluster file records: readings compare only where these are alike.
    recorded: ClassVar[tuple[str, ...]]
    # How the tool measures, formatted with the options.
    description: ClassVar[str]

    def describe(self) -> str:
        """Return the tool, with samples or seconds, in words such as `echo x 100`."""
        return self.description.format(self)

    def to_record(self) -> dict[str, Any]:
        """Return the options that a cluster file records, as JSON values by name."""
        return {name: getattr(self, name) for name in self.recorded}


@dataclass(frozen=True, kw_only=True)
class RttOptions(ToolOptions):
    """Options common to the tools that measure round-trip times.

    Args:
        count: probes per direction of a pair, each time it meets.
        passes: largest number of times that a pair meets.
        extra_passes: whole passes beside those that pairs had in an earlier run.
        precision_percent: a pair whose passes disagree by no more meets twice; 0 for all passes of
            all pairs.
        percentile: percentile of the samples that stands for a pair.
    """

    quantity = "rtt"
    recorded = ("count", "passes", "precision_percent", "percentile")
    description = "{0.tool} x {0.count}"
    # docs/benchmarks.md, Probing
    count: int = 100
    passes: int = 5
    extra_passes: int = 0
    precision_percent: float = 2.0
    percentile: float = 10.0

    @property
    def percentiles(self) -> tuple[float, ...]:
        """Percentiles of round-trip times to keep; the first is the pair's reading."""
        return (self.percentile, *sorted({*STANDARD_PERCENTILES} - {self.percentile}))


@dataclass(frozen=True, kw_only=True)
class EchoOptions(RttOptions):
    """Options of echo, plink's own UDP agent.

    Args:
        port: the UDP port of the agents; 0 for any.
        remote_cache: folder for the agents on the hosts, or None for the user's cache.
    """

    tool: ClassVar[str] = "echo"
    module = "echo.coordinator"
    port: int = 0
    remote_cache: str | None = None


@dataclass(frozen=True, kw_only=True)
class DpdkOptions(EchoOptions):
    """Options of dpdk, plink's echo agent with DPDK, which bypasses the kernel.

    Args:
        nics: NICs that hosts give to DPDK altogether; a host that has none here uses the interface
            that carries its traffic, beside the kernel.
    """

    tool: ClassVar[str] = "dpdk"
    module = "dpdk.tool"
    # Each end of a pair polls: on one core they would wait for each other's time slice.
    cores_per_pair = 2
    nics: Sequence[Nic] = ()

    def to_record(self) -> dict[str, Any]:
        """Return the options that a cluster file records, as JSON values by name, with NICs."""
        nics = {"nics": [str(nic) for nic in self.nics]} if self.nics else {}
        return {**super().to_record(), **nics}


@dataclass(frozen=True, kw_only=True)
class FpingOptions(RttOptions):
    """Options of fping, which must be installed on the hosts."""

    tool: ClassVar[str] = "fping"
    module = "fping"
    count: int = 10
    passes: int = 2


@dataclass(frozen=True, kw_only=True)
class TraceOptions(ToolOptions):
    """Options of trace, which needs root and a Python with scapy on the hosts.

    Args:
        count: number of times that a hop without an answer is probed.
        remote_python: the Python on the hosts that has scapy.
        port: the UDP port that probes go to, where nothing should listen; 0 for `TRACE_PORT`.
    """

    tool: ClassVar[str] = "trace"
    quantity = "routes"
    module = "trace.tool"
    cores_per_pair = 0
    recorded = ("count", "max_hops")
    description = "trace x {0.count}"
    count: int = 3
    max_hops: int = 30
    remote_python: str = "python3"
    port: int = 0


@dataclass(frozen=True, kw_only=True)
class TransferOptions(ToolOptions):
    """Options common to the tools that transfer data: iperf3 and uplinks.

    Args:
        duration_s: whole seconds of a transfer; None for the tool's own.
        streams: TCP connections of a transfer.
        congestion: the senders' congestion control, None for the hosts' own.
        port: the TCP port of the servers, of uplinks the first one; 0 for any.
    """

    recorded: ClassVar[tuple[str, ...]] = ("duration_s", "streams", "congestion")
    fixed: ClassVar[tuple[str, ...]] = ("streams", "congestion")
    duration_s: int | None = None
    streams: int = 1
    congestion: str | None = None
    port: int = 0


@dataclass(frozen=True, kw_only=True)
class Iperf3Options(TransferOptions):
    """Options of iperf3, which must be installed on the hosts.

    Args:
        direction: `each` direction of a pair by itself, or `both` at once.
    """

    tool: ClassVar[str] = "iperf3"
    quantity = "bandwidth"
    module = "iperf3.tool"
    recorded = (*TransferOptions.recorded, "direction")
    fixed = (*TransferOptions.fixed, "direction")
    description = "iperf3 for {0.duration_s} s"
    duration_s: int = 1
    direction: str = "each"


Options = TypeVar("Options", bound=ToolOptions)
