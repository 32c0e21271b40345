"""Requests of `plink probe`, `plink check`, `plink doctor` and `plink import`.

Values that are not allowed raise `WrongUseError`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from plink.base.arguments import MAX_SEED, parse_size_argument
from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import given_names, option
from plink.base.text import brief, join_texts
from plink.measure.probing import tools
from plink.probes.options import Nic, parse_nics

with lazy_imports():
    from plink.formats import document, units

if TYPE_CHECKING:
    from plink.base.progress import OnProgress
    from plink.formats.cluster import Cluster
    from plink.formats.comparison import Comparison
    from plink.formats.hosts import Group
    from plink.formats.units import RateUnit, TimeUnit
    from plink.probes.hosts.address import IPNetwork
    from plink.probes.options import SshOptions

_WHAT = "What to measure"
_PAIRS = "Which pairs"
_HOSTS = "Hosts and their networks"
_DPDK = "dpdk"
_TRACE = "trace"
_TRANSFERS = "iperf3 and uplinks"
_LIVE = "Asking hosts"

_LEAST_ROUNDS = 2
_MAX_DIGITS = 9
# Words in place of a number of rounds, and of partners.
_ROUNDS = {"auto": tools.FOLLOWED_ROUNDS, "all": tools.ALL_ROUNDS}
_PARTNERS = {"all": tools.ALL_ROUNDS}


def _default(tool: str, name: str) -> Any:
    (found,) = (each.default for each in fields(tools.TOOLS[tool]) if each.name == name)
    return found


def _defaults(name: str, *tool_names: str) -> str:
    """Return an option's default of each tool as text: `5 for echo and dpdk, 2 for fping`."""
    named: dict[Any, list[str]] = {}
    for tool in tool_names:
        named.setdefault(_default(tool, name), []).append(tool)
    return ", ".join(f"{value} for {' and '.join(names)}" for value, names in named.items())


# Options of both `plink probe` and `plink check`, whose defaults may differ.
def _count_option(default: str) -> Any:
    return option(
        None,
        low=1,
        high=tools.MAX_COUNT,
        section=_WHAT,
        help=f"Probes per direction of a pair, each time it meets.  [default: {default}]",
    )


def _passes_option(default: str, more: str = "") -> Any:
    return option(
        None,
        low=1,
        high=tools.MAX_PASSES,
        section=_WHAT,
        help=f"How often a pair meets at most: the least reading counts.{more}  "
        f"[default: {default}]",
    )


def _precision_option(default: str) -> Any:
    return option(
        None,
        "--precision",
        low=0,
        high=100,
        metavar="PERCENT",
        section=_WHAT,
        help="Pairs whose passes disagree by no more meet twice; 0 for all passes of all.  "
        f"[default: {default}]",
    )


def _seed_option(decided: str, default: str) -> Any:
    return option(
        None,
        low=0,
        high=MAX_SEED,
        metavar="NUMBER",
        section=_PAIRS,
        help=f"Seed that decides {decided}.  [default: {default}]",
    )


_TIMEOUT_S: Any = option(
    2.0,
    "--timeout",
    low=0.05,
    high=600,
    section=_WHAT,
    help="Seconds without an answer after which a partner is given up.",
)
_CONCURRENCY: Any = option(
    None,
    low=1,
    high=1 << 16,
    section=_PAIRS,
    help="Pairs in flight.  [default: all, fewer where hosts share a machine or disturb each "
    "other]",
)
_NETWORK: Any = option(
    None, metavar="NETWORK", section=_HOSTS, help="Use the hosts' addresses in this network."
)
_INTERFACE: Any = option(
    None, metavar="NAME", section=_HOSTS, help="Use the hosts' addresses on this interface."
)
_PORT: Any = option(
    None,
    low=0,
    high=65_535,
    section=_HOSTS,
    help="UDP port of echo, dpdk and trace, TCP port of iperf3 and first port of uplinks, if a "
    "firewall requires a fixed one.  [default: any]",
)
_REMOTE_CACHE: Any = option(
    None,
    metavar="DIR",
    section=_HOSTS,
    help="Folder on the hosts for the agents of echo and dpdk.",
)
_NICS: Any = option(
    None,
    kind="parsed",
    metavar="FILE",
    section=_DPDK,
    help="File with the NICs that hosts dedicate to DPDK, a line each: HOST PCI-ADDRESS "
    "ADDRESS/PREFIX [GATEWAY].  [default: the interfaces that carry their traffic]",
)


class _PairsRequest:
    """Base class of requests that measure pairs of hosts: network, NICs and tool options."""

    network: str | None
    nics: str | Sequence[Nic] | None

    @property
    def ip_network(self) -> IPNetwork | None:
        """Network to which hosts' traffic addresses are restricted; None for any."""
        if self.network is None:
            return None
        try:
            return ipaddress.ip_network(str(self.network), strict=False)
        except ValueError:
            raise WrongUseError(
                f"{{network}} is {brief(self.network)}, expected a network such as 10.0.0.0/16",
                arguments={"network": self.network},
            ) from None

    def tool_options(self, tool: str) -> dict[str, Any]:
        """Return the values of a tool's options that the user set, except the groups for uplinks.

        Raises:
            WrongUseError: the file with NICs cannot be read.
            OptionError: a line of it is wrong.
        """
        names = {each.name for each in fields(tools.TOOLS[tool])} - {"groups"}
        values = {name: getattr(self, name, None) for name in names}
        if self.nics is not None and "nics" in names:
            values["nics"] = _resolve_nics(self.nics)
        return {name: value for name, value in values.items() if value is not None}

    def refuse_unused(self, tool: str, why_this_tool: str) -> None:
        """Raise if an option is set that the tool does not use.

        Args:
            why_this_tool: how the tool was chosen, as the rest of a sentence.
        """
        for name in given_names(self):
            takers = tools.TAKEN_BY.get(name, list(tools.TOOLS))
            if tool not in takers:
                raise WrongUseError(
                    f"{{{name}}} applies to the tool {join_texts(takers, 'or')}, {why_this_tool}",
                    arguments={name: None},
                )


@dataclass(frozen=True, kw_only=True)
class MeasurementRequest(_PairsRequest):
    """Request to measure pairs of hosts: the tool, its options, and which pairs.

    Attributes:
        ssh: how hosts are reached; None for the user's own SSH configuration.
        via: command that leads into a host, in place of SSH, such as `kubectl exec -i {host} --`;
            None for SSH, or for what the host list says; `ssh` for SSH whatever it says.
        progress: called at every step, by any thread; None for no reports.
    """

    tool: str = option(
        tools.DEFAULT_TOOL,
        kind="choice",
        choices=tuple(tools.TOOLS),
        section=_WHAT,
        help="Measuring tool. Round-trip times: echo, plink's own UDP agent; dpdk, the "
        "same without the kernel, as root; fping, if the hosts have it. Bandwidths: "
        "iperf3, if they have it; uplinks, between groups of hosts. Routes: trace, as "
        "root, if Python there has scapy.",
    )
    count: int | None = _count_option(_defaults("count", "echo", "dpdk", "fping", "trace"))
    passes: int | None = _passes_option(
        _defaults("passes", "echo", "dpdk", "fping"),
        " If a file is continued, more than it has are so many more for every pair.",
    )
    precision_percent: float | None = _precision_option(
        f"{_default('echo', 'precision_percent'):g}"
    )
    percentile: float | None = option(
        None,
        low=0,
        high=100,
        section=_WHAT,
        help="Percentile of the round-trip times that stands for a pair.  "
        f"[default: {_default('echo', 'percentile'):g}]",
    )
    timeout_s: float = _TIMEOUT_S
    rounds: int | str | None = option(
        None,
        kind="parsed",
        metavar="K|auto|all",
        section=_PAIRS,
        help="Number of rounds of disjoint pairs, which is each host's number of partners; "
        "auto for few pairs of a large cluster that suffice to find its groups.  [default: "
        "all]",
    )
    seed: int | None = _seed_option(
        "which rounds are measured, if not all, and in which order pairs meet again", "0"
    )
    concurrency: int | None = _CONCURRENCY
    strict: bool = option(False, section=_HOSTS, help="Stop if any host cannot be reached.")
    network: str | None = _NETWORK
    interface: str | None = _INTERFACE
    port: int | None = _PORT
    remote_cache: str | None = _REMOTE_CACHE
    nics: str | Sequence[Nic] | None = _NICS
    max_hops: int | None = option(
        None,
        low=1,
        high=255,
        section=_TRACE,
        help=f"Largest number of hops to a host.  [default: {_default('trace', 'max_hops')}]",
    )
    remote_python: str | None = option(
        None,
        metavar="PATH",
        section=_TRACE,
        help=f"Python with scapy on the hosts.  [default: {_default('trace', 'remote_python')}]",
    )
    duration_s: int | None = option(
        None,
        "--duration",
        low=1,
        high=tools.MAX_DURATION_S,
        metavar="SECONDS",
        section=_TRANSFERS,
        help="Seconds of a transfer.  [default: 1 for iperf3, 2 for uplinks]",
    )
    streams: int | None = option(
        None,
        low=1,
        high=tools.MAX_STREAMS,
        section=_TRANSFERS,
        help="TCP connections of a transfer.  [default: 1]",
    )
    direction: str | None = option(
        None,
        kind="choice",
        choices=tools.DIRECTIONS,
        section=_TRANSFERS,
        help="Directions of a pair to measure: one after the other, or both at once.  "
        "[default: each]",
    )
    congestion: str | None = option(
        None,
        metavar="NAME",
        section=_TRANSFERS,
        help="Congestion control of the senders.  [default: the hosts' own]",
    )
    groups: str | Mapping[str, Sequence[str]] | Sequence[Group] | None = option(
        None,
        kind="parsed",
        metavar="FILE",
        section=_TRANSFERS,
        help="File with groups of hosts, a line `NAME: HOSTS` each, or a cluster file with groups.",
    )
    ssh: SshOptions | None = None
    via: str | None = None
    progress: OnProgress | None = field(default=None, compare=False, repr=False)

    def validate(self) -> None:
        """Raise if the number of rounds, the network or the congestion control is not valid."""
        _ = self.round_count, self.ip_network
        if self.congestion is not None and not re.fullmatch(tools.CONGESTION, self.congestion):
            raise WrongUseError(
                f"{{congestion}} is {brief(self.congestion)}, expected the name of a congestion "
                "control algorithm such as cubic",
                arguments={"congestion": self.congestion},
            )

    @property
    def round_count(self) -> int | None:
        """Number of rounds of disjoint pairs; `FOLLOWED_ROUNDS` for `auto`, None if not given."""
        return _parse_rounds("rounds", self.rounds, _ROUNDS)


@dataclass(frozen=True, kw_only=True)
class CheckRequest(_PairsRequest):
    """Request for a drift check, which measures some pairs of a cluster again.

    Attributes:
        ssh: how hosts are reached; None for the user's own SSH configuration.
        via: command that leads into a host, in place of SSH, such as `kubectl exec -i {host} --`;
            None for SSH.
        progress: called at every step, by any thread; None for no reports.
    """

    count: int | None = _count_option("as the file has")
    passes: int | None = _passes_option(str(tools.CHECK_PASSES))
    precision_percent: float | None = _precision_option("as the file has")
    timeout_s: float = _TIMEOUT_S
    partners: int | str | None = option(
        None,
        kind="parsed",
        metavar="K|all",
        section=_PAIRS,
        help="Partners of every host to measure again, half of them its nearest.  "
        f"[default: {tools.CHECK_PARTNERS}]",
    )
    seed: int | None = _seed_option("which pairs are measured again", "a new one each time")
    concurrency: int | None = _CONCURRENCY
    transfers_s: float = option(
        tools.CHECK_TRANSFERS_S,
        "--transfers",
        low=0,
        high=3600,
        metavar="SECONDS",
        section=_TRANSFERS,
        help="Seconds for iperf3 transfers, if the file holds bandwidths or uplinks; 0 for "
        "none. Links that limit most come first; those that seem changed get as many "
        "seconds again.",
    )
    network: str | None = _NETWORK
    interface: str | None = _INTERFACE
    port: int | None = _PORT
    remote_cache: str | None = _REMOTE_CACHE
    nics: str | Sequence[Nic] | None = _NICS
    ssh: SshOptions | None = None
    via: str | None = None
    progress: OnProgress | None = field(default=None, compare=False, repr=False)

    def validate(self) -> None:
        """Raise if the number of partners or the network is not valid."""
        _ = self.partner_count, self.ip_network

    @property
    def partner_count(self) -> int:
        """Number of partners with which every host is measured again; 8 by default."""
        return _parse_rounds("partners", self.partners, _PARTNERS) or tools.CHECK_PARTNERS


@dataclass(frozen=True, kw_only=True)
class DiagnosisRequest:
    """Request for a diagnosis: an earlier file to compare with, and whether to ask hosts.

    Attributes:
        before: the same hosts, or the same comparison, when all was well; None without one.
        ssh: with `live`: how hosts are reached; None for the user's own SSH configuration.
        via: with `live`: command that leads into a host, in place of SSH, such as
            `kubectl exec -i {host} --`; None for SSH.
        progress: with `live`: called at every step, by any thread; None for no reports.
    """

    live: bool = option(
        False,
        section=_LIVE,
        help="Ask the hosts of the cluster file for MTU, congestion control, rates of NICs, "
        "counters, clocks and load, and measure round trips, hosts' links and groups' uplinks "
        "anew.",
    )
    transfers_s: float = option(
        60.0,
        "--transfers",
        low=0,
        high=3600,
        metavar="SECONDS",
        section=_LIVE,
        needs=("live", "True"),
        help="Seconds after which no further iperf3 transfer begins; 0 for no transfers.",
    )
    timeout_s: float = option(
        2.0,
        "--timeout",
        low=0.05,
        high=600,
        section=_LIVE,
        needs=("live", "True"),
        help="Seconds without an answer after which a host is given up.",
    )
    before: Cluster | Comparison | None = None
    ssh: SshOptions | None = None
    via: str | None = None
    progress: OnProgress | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """Request to import other programs' measurements: unit, percentile and message size."""

    unit: str | None = option(
        None,
        metavar="UNIT",
        help="Unit of the numbers where a table names none: ns, us, ms, s, Gbit/s, MB/s, ...",
    )
    percentile: float = option(
        10.0, low=0, high=100, help="Percentile of a pair's samples that the numbers are."
    )
    size: str | int | None = option(
        None,
        kind="size",
        help="Message size to take bandwidths from, such as 32MiB (default: the fastest).",
    )

    @property
    def size_bytes(self) -> int | None:
        """Message size in bytes whose bandwidths are imported; None for the fastest of any size."""
        return None if self.size is None else parse_size_argument(self.size)

    @property
    def parsed_unit(self) -> RateUnit | TimeUnit | None:
        """Unit of time or bandwidth for numbers without one; None if the user named none."""
        if self.unit is None:
            return None
        name = units.find_time_unit_by_name(self.unit)
        if name is not None:
            return units.TimeUnit(name, units.TIMES[name])
        rate_unit = units.find_rate_unit(self.unit)
        if rate_unit is None:
            known_units = join_texts([*sorted(units.TIMES), "Gbit/s", "GB/s"], "or")
            raise WrongUseError(
                f"{{unit}} is {self.unit!r}, expected {known_units}", arguments={"unit": self.unit}
            )
        return rate_unit


def _parse_rounds(name: str, value: int | str | None, words: Mapping[str, int]) -> int | None:
    if value is None:
        return None
    text = str(value)
    if text in words:
        return words[text]
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    if not is_number or int(text) < _LEAST_ROUNDS:
        raise WrongUseError(
            f"{{{name}}} is {brief(value)}, expected "
            f"{join_texts([f'a whole number from {_LEAST_ROUNDS}', *words], 'or')}",
            arguments={name: value},
        )
    return int(text)


def _resolve_nics(nics: object) -> Sequence[Nic]:
    if isinstance(nics, str):
        return read_nics(nics)
    if isinstance(nics, Sequence) and all(isinstance(nic, Nic) for nic in nics):
        return tuple(nics)
    raise WrongUseError(
        f"{{nics}} is {brief(nics)}, expected the path of a file or a list of NICs",
        arguments={"nics": None},
    )


def read_nics(path: str) -> tuple[Nic, ...]:
    """Read the NICs that hosts dedicate to DPDK from a file with one per line.

    Raises:
        WrongUseError: the file cannot be read, or is not text.
        OptionError: a line is wrong.
    """
    try:
        text = document.read_bytes(path, document.MOST_LIST_BYTES).decode()
    except UnicodeDecodeError:
        raise WrongUseError(f"{path}: is not text in UTF-8") from None
    return parse_nics(text.splitlines(), document.label(path))
