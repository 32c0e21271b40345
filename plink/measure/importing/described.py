"""Networks described by their user in TOML: hosts, groups, rows of groups, rates and latencies.

latency_us = [10, 25, 60]     # one way: in a group, between groups, between rows
host_gbit_s = 25
uplink_gbit_s = 100           # of a group
burst_bytes = 262144

[[groups]]
name = "r1"
hosts = "n[01-04]"            # as in a host list
uplink_gbit_s = 50            # a group may differ

[[rows]]
name = "row1"
groups = ["r1", "r2"]
uplink_gbit_s = 200

[clients.openmpi]
overhead_us = 5
reduction_s_per_gb = 0.2
flow_share = 0.95
serialised = 0.75
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct
from msgspec.structs import asdict

from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.formats import document
from plink.formats.clients import (
    ClientFit,
    SizeSpread,
    Spread,
    build_exact_estimate,
    build_free_client,
    with_estimates,
)
from plink.formats.cluster import Cluster
from plink.formats.groups import (
    BurstBytes,
    GroupRow,
    HostLink,
    LimitedRate,
    LinkFacts,
    Uplink,
    UplinkMeasurement,
    check_rows,
)
from plink.formats.hosts import Group, Host
from plink.formats.limits import MAX_GBIT_S, MAX_RTT_US, Slots, Text, Word
from plink.formats.measurements import RttMeasurement
from plink.formats.structs import convert
from plink.measure.importing.pairs import MAX_HOSTS
from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost, parse_host_list

TOOL = "described"
SUFFIX = ".toml"
MOST_BYTES = 1 << 20

_LEVELS = 3
_HINT = "docs/predict.md has an example of a described network"

# One way, in µs.
_Latency = Annotated[float, Meta(ge=0, le=MAX_RTT_US / 2)]


class DescribedGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """Group of a description: its hosts as a host list, and what differs from the other groups."""

    name: Word
    hosts: Text
    slots: Slots | None = None
    host_gbit_s: LimitedRate | None = None
    uplink_gbit_s: LimitedRate | None = None


class DescribedRow(Struct, frozen=True, forbid_unknown_fields=True):
    """Row of groups of a description, with the rate of its link to other rows."""

    name: Word
    groups: Annotated[Sequence[str], Meta(min_length=1)]
    uplink_gbit_s: LimitedRate | None = None


class DescribedCosts(Struct, frozen=True, forbid_unknown_fields=True):
    """Costs of a client in a description; those left out are an ideal library's."""

    overhead_us: float | None = None
    rendezvous_us: float | None = None
    reduction_s_per_gb: float | None = None
    flow_share: float | None = None
    serialised: float | None = None
    spread: Spread = 0.1


class DescribedClients(Struct, frozen=True, forbid_unknown_fields=True):
    """Costs of the clients (communication libraries) that plink can predict."""

    engine: DescribedCosts | None = None
    gloo: DescribedCosts | None = None
    openmpi: DescribedCosts | None = None
    mpich: DescribedCosts | None = None


class Description(Struct, frozen=True, forbid_unknown_fields=True):
    """Content of a description: a network's hosts, groups, rates and latencies."""

    latency_us: Annotated[Sequence[_Latency], Meta(min_length=1, max_length=_LEVELS)] | None = None
    host_gbit_s: LimitedRate | None = None
    uplink_gbit_s: LimitedRate | None = None
    burst_bytes: BurstBytes = 0
    slots: Slots = 1
    hosts: Text | None = None
    groups: Sequence[DescribedGroup] = []
    rows: Sequence[DescribedRow] = []
    clients: DescribedClients = DescribedClients()


def is_described(source: str) -> bool:
    """Return whether a file's name ends in .toml, as those of network descriptions do."""
    return source.lower().endswith(SUFFIX)


def read_network(path: str) -> Cluster:
    """Read a cluster from a file in TOML that describes a network."""
    return import_network(document.read_bytes(path, MOST_BYTES), document.label(path))


def import_network(content: bytes, source: str) -> Cluster:
    """Return the cluster of a TOML description; if one host link has a rate, others have no limit.

    Raises:
        WrongUseError: it is not TOML, has a key that is not known, or a value that cannot be.
        PlinkError: this Python has no reader of TOML.
    """
    if len(content) > MOST_BYTES:
        raise WrongUseError(
            f"{source}: the description is larger than {MOST_BYTES >> 20} MiB", _HINT
        )
    try:
        data = _load_toml_reader().loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise WrongUseError(f"{source}:{line}: is not text in UTF-8", _HINT) from None
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else error
        raise WrongUseError(f"{source}: not valid TOML ({reason})", _HINT) from None
    network = convert(data, Description, source)
    hosts, groups, links, uplinks = _list_hosts(network, source)
    rows = [
        GroupRow(row.name, row.groups, row.uplink_gbit_s, row.uplink_gbit_s) for row in network.rows
    ]
    check_rows(rows, groups, source, "rows")
    facts = LinkFacts(network.burst_bytes, rows)
    try:
        return Cluster(
            hosts=hosts,
            rtt=_build_latencies(network, hosts, groups, is_limited=bool(links or uplinks)),
            made_from=document.digest(content),
            groups=groups,
            uplinks=UplinkMeasurement(uplinks=uplinks, links=links, tool=TOOL),
            links=facts if facts != LinkFacts() else None,
            clients=_build_clients(network.clients),
            source=source,
        )
    except ValueError as error:
        raise WrongUseError(f"{source}: {error}", _HINT) from None


def _load_toml_reader() -> Any:
    # Python 3.10 has none of its own; the tomli package is the same one.
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise PlinkError("this Python cannot read TOML", "pip install tomli") from None


def _list_hosts(
    network: Description, source: str
) -> tuple[list[Host], list[Group], list[HostLink], list[Uplink]]:
    """Return the hosts, groups, links of hosts and uplinks of groups that have a rate."""
    hosts: list[Host] = []
    groups: list[Group] = []
    links: list[HostLink] = []
    uplinks: list[Uplink] = []

    def add_hosts(listed: Sequence[ListedHost], slots: int, gbit_s: float | None) -> None:
        for host in listed:
            # A line of the list may say it of its hosts.
            own_slots = host.slots if host.slots > 1 else slots
            hosts.append(Host(host.name, host.name, None, host.user, host.port, own_slots))
            if gbit_s is not None:
                links.append(HostLink(host.name, gbit_s, gbit_s))

    in_order = [] if network.hosts is None else _parse_hosts(network.hosts, f"{source}: hosts")
    listed_by_name = {host.name: host for host in in_order}
    for index, group in enumerate(network.groups):
        place = f"{source}: groups[{index}].hosts"
        listed = [
            _merge_lines(host, listed_by_name.get(host.name), place)
            for host in _parse_hosts(group.hosts, place)
        ]
        gbit_s = group.host_gbit_s or network.host_gbit_s
        add_hosts(listed, group.slots or network.slots, gbit_s)
        groups.append(Group(group.name, [host.name for host in listed]))
        gbit_s = group.uplink_gbit_s or network.uplink_gbit_s
        if gbit_s is not None:
            uplinks.append(Uplink(group.name, gbit_s, gbit_s))
    grouped = {host.name for host in hosts}
    others = [host for host in in_order if host.name not in grouped]
    add_hosts(others, network.slots, network.host_gbit_s)
    # Those that the list of all hosts leaves out come last.
    place_of = {name: place for place, name in enumerate(listed_by_name)}
    hosts.sort(key=lambda host: place_of.get(host.name, len(place_of)))
    if not hosts:
        raise WrongUseError(f"{source}: the description names no hosts", _HINT)
    if len(hosts) > MAX_HOSTS:
        raise WrongUseError(f"{source}: the description names more than {MAX_HOSTS:,} hosts")
    if links:
        # Others are not limited, where a file without their links would leave that open.
        limited = {link.host for link in links}
        unlimited = [host.name for host in hosts if host.name not in limited]
        links += [HostLink(name, MAX_GBIT_S, MAX_GBIT_S) for name in unlimited]
    return hosts, groups, links, uplinks


def _merge_lines(host: ListedHost, other: ListedHost | None, place: str) -> ListedHost:
    """Return a group's host with what its line in the list of all hosts says beside that.

    Raises:
        WrongUseError: the two lines contradict each other.
    """
    if other is None:
        return host
    merged = {}
    for name, unsaid in (("slots", 1), ("user", None), ("port", None)):
        one, two = getattr(host, name), getattr(other, name)
        if unsaid not in (one, two) and one != two:
            raise WrongUseError(
                f"{place}: {name} of {host.name} is {one}, but {two} in the list of all hosts",
                _HINT,
            )
        merged[name] = two if one == unsaid else one
    return replace(host, **merged)


def _parse_hosts(text: str, place: str) -> list[ListedHost]:
    try:
        return parse_host_list(text, place, least=1)
    except HostListError as error:
        raise WrongUseError(str(error), error.hint) from None


def _build_latencies(
    network: Description, hosts: Sequence[Host], groups: Sequence[Group], *, is_limited: bool
) -> RttMeasurement | None:
    """Return round-trip times (N, N), twice the described latencies; None if none are described.

    An omitted latency is zero where rates of links are described (`is_limited`).
    """
    if network.latency_us is None and not is_limited:
        return None
    levels = network.latency_us or [0.0]
    levels = [*levels, *[levels[-1]] * (_LEVELS - len(levels))]
    group, row = _number_groups_and_rows(hosts, groups, network.rows)
    alike, same_row = group[:, None] == group, row[:, None] == row
    rtt_us = 2.0 * np.where(alike, levels[0], np.where(same_row, levels[1], levels[2]))
    np.fill_diagonal(rtt_us, np.nan)
    return RttMeasurement(
        rtt_us={10.0: rtt_us},
        reading=10.0,
        samples=np.isfinite(rtt_us).view(np.int8),
        losses=np.zeros(rtt_us.shape, dtype=np.int8),
        tool=TOOL,
        notes=["described, not measured"],
    )


def _number_groups_and_rows(
    hosts: Sequence[Host], groups: Sequence[Group], rows: Sequence[DescribedRow]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return each host's group number and row number, (H,) each; a host in none has its own.

    What is in no group or no row is alone, but where there are no groups, or no rows, at all.
    """
    group_of = {host: number for number, group in enumerate(groups) for host in group.hosts}
    row_of = {name: number for number, row in enumerate(rows) for name in row.groups}
    alone = len(groups)
    in_group = [
        group_of.get(host.name, alone + place if groups else 0) for place, host in enumerate(hosts)
    ]
    row_of_group = [row_of.get(group.name, len(rows) + n) for n, group in enumerate(groups)]
    in_row = [
        (row_of_group[group] if group < alone else len(rows) + group) if rows else 0
        for group in in_group
    ]
    return np.array(in_group, dtype=np.intp), np.array(in_row, dtype=np.intp)


def _build_clients(described: DescribedClients) -> list[ClientFit]:
    """Return the costs of the described clients; ValueError if one is outside its range."""
    clients = []
    for name, costs in asdict(described).items():
        if costs is not None:
            given = {key: value for key, value in asdict(costs).items() if value is not None}
            spreads = [SizeSpread(1, given.pop("spread"))]
            exact = {key: build_exact_estimate(value) for key, value in given.items()}
            clients.append(replace(with_estimates(build_free_client(name), exact), spreads=spreads))
    return clients
