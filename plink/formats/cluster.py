"""The cluster file: hosts and the measurements between them (`docs/files.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from plink.base.errors import NotMeasuredError
from plink.base.given_way import GivenWay
from plink.base.text import brief
from plink.formats import document
from plink.formats.clients import ClientFit
from plink.formats.conditions import ConditionMeasurement
from plink.formats.document import Document
from plink.formats.groups import Grouping, LinkFacts, UplinkMeasurement, check_rows
from plink.formats.host_names import check_host_name, check_host_names
from plink.formats.hosts import Group, Host, check_groups, check_hosts, check_way
from plink.formats.limits import MAX_HOSTS, Port, Slots, Text, User, find_repeated
from plink.formats.measurements import (
    BandwidthMeasurement,
    Failure,
    Measurement,
    RouteMeasurement,
    RttMeasurement,
    check_matrices,
    check_routes,
    check_rtt,
)
from plink.formats.structs import FormatError, convert, encode
from plink.formats.unpacking import Content, is_binary

FORMAT: Final = "plink.cluster"
VERSION: Final = 1

# A cluster file names its format near its beginning.
_MAX_BEFORE_FORMAT = 4096
# Larger clusters are hardly written as JSON, whose hash would take longer than an order.
_MAX_IN_JSON = 2048

# What a cluster may lack: its name, what measures it, and the tool of `plink probe` for it.
_NOT_MEASURED: Mapping[str, tuple[str, str, str | None]] = {
    "rtt": (
        "round-trip times",
        "plink probe measures them, plink import takes them from a matrix",
        None,
    ),
    "bandwidth": ("bandwidths", "plink probe --tool iperf3 measures them", "iperf3"),
    "rates": (
        "rates of links",
        "plink probe --tool uplinks measures it, and plink import takes it from a description",
        "uplinks",
    ),
}

# What is measured of pairs of hosts: the member of a cluster that holds it.
Quantity = Literal["rtt", "bandwidth", "routes"]


class Unreachable(Failure, frozen=True, forbid_unknown_fields=True):
    """Host that could not be reached, with its user, port and slots, for a later run to retry.

    Attributes:
        user: user that SSH logs in as
        port: TCP port of SSH
        slots: number of ranks that the host takes
        position: index in the host list; absent if unknown
    """

    user: User | None = None
    port: Port | None = None
    slots: Slots = 1
    position: Annotated[int, Meta(ge=0, le=1 << 32)] | None = None


class Cluster(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Hosts of a cluster file, and the measurements between them.

    Attributes:
        hosts: all hosts; none has a name twice
        made_from: SHA-256 (`sha256:...`) of the file that this was made from
        way: what plink had to be told to reach the hosts, only to be printed
        unreachable: hosts that were listed but not reached
        groups: groups of hosts that are near each other; no host is in two
        grouping: how plink found the groups; absent if they were given
        uplinks: what the groups' uplinks carry
        conditions: what the hosts say of their networks
        links: what is known of links beside what was measured
        clients: what clients' software costs (`plink fit`)
        routes: paths between the hosts
        bandwidth: bandwidths
        rtt: round-trip times
        format: name of the format
        version: version of the format
    """

    hosts: Annotated[Sequence[Host], Meta(min_length=1, max_length=MAX_HOSTS)]
    rtt: RttMeasurement | None = None
    unreachable: Sequence[Unreachable] = []
    made_from: Text | None = None
    way: GivenWay | None = None
    groups: Sequence[Group] = []
    grouping: Grouping | None = None
    uplinks: UplinkMeasurement | None = None
    conditions: ConditionMeasurement | None = None
    links: LinkFacts | None = None
    clients: Sequence[ClientFit] = []
    routes: RouteMeasurement | None = None
    bandwidth: BandwidthMeasurement | None = None
    format: Literal["plink.cluster"] = FORMAT
    version: Literal[1] = VERSION
    # How the cluster came about and is to be read; not in the file itself.
    IN_MEMORY: ClassVar = frozenset({"file_hash", "source", "uses_readings"})
    file_hash: str | None = None
    source: str = document.NOT_A_FILE
    # Whether distances are the readings as they are, in place of the best estimate.
    uses_readings: bool = False

    def __post_init__(self) -> None:
        check_hosts(self.hosts, "hosts")
        names = set(self.names)
        check_groups(self.groups, names)
        twice = find_repeated(fit.client for fit in self.clients)
        if twice is not None:
            raise ValueError(f"clients: the communication library {twice} is listed twice")
        for part, hosts in self._hosts_of_parts():
            strange = find_repeated(hosts) or next((h for h in hosts if h not in names), None)
            if strange is not None:
                raise ValueError(
                    f"{part}: {brief(strange)} is listed twice, or is not one of the hosts"
                )
        check_way(self.way)

    def _hosts_of_parts(self) -> list[tuple[str, list[str]]]:
        """Return each part of the file that names hosts, with these names, to check them."""
        parts: list[tuple[str, list[str]]] = []
        if self.conditions is not None:
            parts.append(("conditions", [each.host for each in self.conditions.hosts]))
        if self.uplinks is not None:
            parts.append(("uplinks.links", [link.host for link in self.uplinks.links]))
        if self.grouping is not None:
            parts.append(("grouping", sorted(self.grouping.hosts)))
        return parts

    @property
    def names(self) -> list[str]:
        """Names of the hosts, in file order: row and column i of every matrix is host i."""
        return [host.name for host in self.hosts]

    def find_measurement(self, quantity: Quantity) -> Measurement | None:
        """Return the cluster's measurement of a quantity such as `rtt`, or None."""
        measurement: Measurement | None = getattr(self, quantity)
        return measurement


def require_rtt(cluster: Cluster, source: str | None = None) -> RttMeasurement:
    """Return the cluster's round-trip times, or raise NotMeasuredError if it has none."""
    if cluster.rtt is None:
        raise build_not_measured_error(cluster, "rtt", source)
    return cluster.rtt


def require_bandwidth(cluster: Cluster) -> BandwidthMeasurement:
    """Return the cluster's bandwidths, or raise NotMeasuredError if it has none."""
    if cluster.bandwidth is None:
        raise build_not_measured_error(cluster, "bandwidth")
    return cluster.bandwidth


def build_not_measured_error(
    cluster: Cluster, what: Literal["rtt", "bandwidth", "rates"], source: str | None = None
) -> NotMeasuredError:
    """Return the error for a cluster without round-trip times, bandwidths or rates of links."""
    quantity, hint, tool = _NOT_MEASURED[what]
    source = source or cluster.source
    return NotMeasuredError(
        f"{source}: holds no {quantity}", hint, source=source, tool=tool, way=cluster.way
    )


def encode_cluster(cluster: Cluster) -> dict[str, Any]:
    """Return a cluster as the JSON object of its file, with arrays for matrices."""
    data: dict[str, Any] = encode(cluster, with_arrays=True)
    if cluster.rtt is not None:
        data["rtt"]["rtt_us"] = {f"{p:g}": m for p, m in sorted(cluster.rtt.rtt_us.items())}
    if cluster.links is not None:
        known = {group.name for group in cluster.groups}
        rows = [row for row in cluster.links.rows if known.issuperset(row.groups)]
        data["links"]["rows"] = encode(rows)
    # A person who opens the file sees the hosts and not a matrix of thousands of rows.
    for name in ("routes", "bandwidth", "rtt"):
        if name in data:
            data[name] = data.pop(name)
    return data


def read_cluster(path: str) -> Cluster:
    """Read a cluster file (`-`: standard input), or raise WrongUseError if it is none."""
    return open_cluster(document.read(path))


def write_cluster(path: str, cluster: Cluster) -> None:
    """Write a cluster file, whole or not at all: the binary form if its name ends in `.npz`."""
    document.write(path, encode_cluster(cluster))


def parse_cluster(content: Content, source: str) -> Cluster:
    """Parse the content of a cluster file, JSON or binary; raise WrongUseError naming `source`."""
    return open_cluster(document.load_document(content, source))


def open_cluster(found: Document) -> Cluster:
    """Return the cluster in a parsed document with the file's hash, or raise WrongUseError."""
    return replace(decode_cluster(found.data, found.source), file_hash=found.file_hash)


def decode_cluster(data: Mapping[str, Any], source: str) -> Cluster:
    """Return the cluster in the JSON object of file `source`, or raise WrongUseError."""
    document.check_format(data, source, FORMAT, VERSION)
    cluster = convert(data, Cluster, source)
    check_host_names(cluster.hosts, source)
    if cluster.links is not None:
        check_rows(cluster.links.rows, cluster.groups, source)
    names = set(cluster.names)
    for index, failure in enumerate(cluster.unreachable):
        check_host_name(failure.source, source, f"unreachable[{index}].source")
        if failure.source in names:
            fault = f"{failure.source} is one of the hosts, expected one that was not reached"
            raise FormatError(source, f"unreachable[{index}]", fault)
    if cluster.uplinks is not None:
        _check_uplinks(cluster.uplinks, cluster.groups, source)
    size = len(cluster.hosts)
    if cluster.rtt is not None:
        if len(cluster.rtt.rtt_us) < len(data["rtt"]["rtt_us"]):
            raise FormatError(source, "rtt.rtt_us", "has a percentile in two spellings")
        check_rtt(cluster.rtt, size, source)
        by_percentile = dict(sorted(cluster.rtt.rtt_us.items()))
        cluster = replace(cluster, rtt=replace(cluster.rtt, rtt_us=by_percentile))
    if cluster.bandwidth is not None:
        check_matrices(cluster.bandwidth, size, source, "bandwidth")
    if cluster.routes is not None:
        check_routes(cluster.routes, size, source)
    return replace(cluster, source=source)


def _check_uplinks(measured: UplinkMeasurement, groups: Sequence[Group], source: str) -> None:
    known = {group.name for group in groups}
    names = [uplink.group for uplink in measured.uplinks]
    twice = find_repeated(names)
    if twice is not None:
        raise FormatError(source, "uplinks", f"lists the uplink of {brief(twice)} twice")
    strange = next((name for name in names if name not in known), None)
    if strange is not None:
        raise FormatError(source, "uplinks", f"{brief(strange)} is not a group of the file")


def is_cluster(content: Content) -> bool:
    """Return whether content looks like a cluster file, JSON or binary, by its beginning."""
    start = content[:_MAX_BEFORE_FORMAT].lstrip()
    is_named = start.startswith(b"{") and f'"{FORMAT}"'.encode() in start
    return is_named or is_binary(content)


def content_hash(cluster: Cluster) -> str:
    """Return the SHA-256 of a cluster's file: as JSON, or in binary form above 2,048 hosts."""
    return document.compute_digest(
        encode_cluster(cluster), is_binary=len(cluster.hosts) > _MAX_IN_JSON
    )
