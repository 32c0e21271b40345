"""The cluster file: hosts, and what was measured between them (`docs/design.md`, Files)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from plink.base.errors import NotMeasuredError, WrongUseError
from plink.base.next_command import GivenWay
from plink.files import bandwidth as bandwidth_part
from plink.files import clients as clients_part
from plink.files import conditions as conditions_part
from plink.files import document, way_record
from plink.files import grouping as grouping_part
from plink.files import groups as groups_part
from plink.files import link_facts as link_facts_part
from plink.files import routes as routes_part
from plink.files import rtt as rtt_part
from plink.files.bandwidth import BandwidthMeasurement
from plink.files.binary_form import Content, is_binary
from plink.files.clients import ClientFit
from plink.files.conditions import ConditionMeasurement
from plink.files.document import Document
from plink.files.fields import Fields
from plink.files.grouping import Grouping
from plink.files.groups import Group, UplinkMeasurement
from plink.files.link_facts import LinkFacts
from plink.files.measurement import MAX_HOSTS, Failure, Measurement, without_nones
from plink.files.routes import RouteMeasurement
from plink.files.rtt import RttMeasurement
from plink.probes.hosts.names import HINT_NAME, MAX_PORT, fault_of_name, is_user

FORMAT = "plink.cluster"
VERSION = 1

# What a cluster file says that it is stands near its beginning.
_MOST_BEFORE_FORMAT = 4096

# Who has more hosts than this hardly writes JSON, whose hash would take longer than an order.
_MOST_IN_JSON = 2048

# What is measured of pairs of hosts: the member of a cluster that holds it.
Quantity = Literal["rtt", "bandwidth", "routes"]


@dataclass(frozen=True)
class Host:
    """A machine: its name, the address that traffic uses, how SSH reaches it, its slots (ranks)."""

    name: str
    address: str
    ssh_address: str | None = None
    user: str | None = None
    port: int | None = None
    slots: int = 1


@dataclass(frozen=True)
class Unreachable(Failure):
    """A listed host that was never reached, as it was listed, so that a later run can try again.

    `position` is its index in the host list, None where unknown.
    """

    user: str | None = None
    port: int | None = None
    slots: int = 1
    position: int | None = None


@dataclass(frozen=True)
class Cluster:
    """Hosts, and what was measured between them; None where nothing was measured.

    Args:
        unreachable: listed hosts that are not among `hosts`.
        made_from: the hash of the file that this was made from.
        file_hash: the hash of the file that this was read from, which whatever is made of it names;
            None where it is not in a file.
        source: what messages call it.
        groups: of hosts, where they are known.
        uplinks: what the groups' uplinks carry.
        grouping: how plink found the groups; None where they were given.
        way: how the hosts were reached, where more was said than SSH knows by itself.
        conditions: what the hosts say of their networks.
        links: what is known of links beside what was measured.
        clients: what clients' software costs (`plink fit`).
    """

    hosts: Sequence[Host]
    rtt: RttMeasurement | None = None
    unreachable: Sequence[Unreachable] = ()
    made_from: str | None = None
    bandwidth: BandwidthMeasurement | None = None
    routes: RouteMeasurement | None = None
    groups: Sequence[Group] = ()
    uplinks: UplinkMeasurement | None = None
    grouping: Grouping | None = None
    way: GivenWay | None = None
    conditions: ConditionMeasurement | None = None
    links: LinkFacts | None = None
    clients: Sequence[ClientFit] = ()
    file_hash: str | None = field(default=None, compare=False)
    source: str = field(default=document.NOT_A_FILE, compare=False)

    @property
    def names(self) -> list[str]:
        """The hosts' names, in file order: row and column i of every matrix is host i."""
        return [host.name for host in self.hosts]

    def measured(self, quantity: Quantity) -> Measurement | None:
        """What was measured of a quantity, or None."""
        known: dict[Quantity, Measurement | None] = {
            "rtt": self.rtt,
            "bandwidth": self.bandwidth,
            "routes": self.routes,
        }
        return known[quantity]


def measured_rtt(cluster: Cluster, source: str | None = None) -> RttMeasurement:
    """The cluster's round-trip times.

    Raises:
        WrongUseError: it holds none; `source` names the file, if another than the cluster's.
    """
    if cluster.rtt is None:
        raise nothing_measured(cluster, source)
    return cluster.rtt


def measured_bandwidth(cluster: Cluster, source: str | None = None) -> BandwidthMeasurement:
    """The cluster's bandwidths.

    Raises:
        WrongUseError: it holds none; `source` names the file, if another than the cluster's.
    """
    if cluster.bandwidth is None:
        raise no_bandwidth_measured(cluster, source)
    return cluster.bandwidth


def nothing_measured(cluster: Cluster, source: str | None = None) -> NotMeasuredError:
    """The error that says that a cluster file, by default the cluster's, holds hosts only."""
    source = source or cluster.source
    return NotMeasuredError(
        f"{source}: holds no round-trip times",
        "plink probe measures them, plink import takes them from a matrix",
        source=source,
        way=cluster.way,
    )


def no_bandwidth_measured(cluster: Cluster, source: str | None = None) -> NotMeasuredError:
    """The error that says that a cluster file (by default the cluster's) holds no bandwidths."""
    source = source or cluster.source
    return NotMeasuredError(
        f"{source}: holds no bandwidths",
        "plink probe tool=iperf3 measures them",
        source=source,
        tool="iperf3",
        way=cluster.way,
    )


def read(path: str) -> Cluster:
    """The cluster in a file.

    Raises:
        WrongUseError: not a cluster file, or one with invalid values.
    """
    return from_document(document.read(path))


def write(path: str, cluster: Cluster) -> None:
    """Write a cluster file, whole or not at all: the binary form where its name ends in `.npz`."""
    document.write(path, to_data(cluster))


def parse(content: Content, source: str) -> Cluster:
    """The cluster in a file's `content`; `source` names it in errors."""
    return from_document(document.loaded(content, source))


def is_cluster(content: Content) -> bool:
    """Whether a file's content begins as a cluster file does, in either form."""
    start = content[:_MOST_BEFORE_FORMAT].lstrip()
    named = start.startswith(b"{") and f'"{FORMAT}"'.encode() in start
    return named or is_binary(content)


def from_document(found: Document) -> Cluster:
    """The cluster in a file that was read.

    Raises:
        WrongUseError: not a cluster file, or one with values that cannot be.
    """
    return replace(from_json(found.data, found.source), file_hash=found.file_hash)


def content_hash(cluster: Cluster) -> str:
    """The hash of the file that `cluster` would be: of JSON, or where it is large, of `.npz`."""
    data = to_data(cluster)
    return document.digest_of(data, is_binary=len(cluster.hosts) > _MOST_IN_JSON)


def from_json(data: Mapping[str, Any], source: str) -> Cluster:
    """The cluster in a JSON object; `source` names the file in errors."""
    document.check_format(data, source, FORMAT, VERSION)
    fields = Fields(data, source)
    hosts = parse_hosts(fields)
    size = len(hosts)
    names = [host.name for host in hosts]
    rtt, bandwidth, routes, uplinks, grouping, conditions, links = map(
        fields.optional_object,
        ("rtt", "bandwidth", "routes", "uplinks", "grouping", "conditions", "links"),
    )
    groups = groups_part.parse_groups(fields, names)
    return Cluster(
        hosts=hosts,
        rtt=None if rtt is None else rtt_part.parse(rtt, size),
        unreachable=[
            _parse_unreachable(item) for item in fields.objects("unreachable", optional=True)
        ],
        made_from=fields.optional_text("made_from"),
        bandwidth=None if bandwidth is None else bandwidth_part.parse(bandwidth, size),
        routes=None if routes is None else routes_part.parse(routes, size),
        groups=groups,
        uplinks=None if uplinks is None else groups_part.parse_uplinks(uplinks, names),
        grouping=None if grouping is None else grouping_part.parse(grouping, names),
        way=way_record.parse(fields),
        conditions=None if conditions is None else conditions_part.parse(conditions, names),
        links=None
        if links is None
        else link_facts_part.parse(links, [group.name for group in groups]),
        clients=clients_part.parse_all(fields.objects("clients", optional=True)),
        source=source,
    )


def to_data(cluster: Cluster) -> dict[str, Any]:
    """`cluster` as a JSON object whose matrices are arrays (`plink.files.document.write`)."""
    data: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if cluster.made_from is not None:
        data["made_from"] = cluster.made_from
    data["hosts"] = hosts_to_json(cluster.hosts)
    data |= way_record.to_json(cluster.way)
    data["unreachable"] = [without_nones(vars(failure)) for failure in cluster.unreachable]
    if cluster.groups:
        data["groups"] = groups_part.groups_to_json(cluster.groups)
    if cluster.grouping is not None:
        data["grouping"] = grouping_part.to_json(cluster.grouping)
    if cluster.uplinks is not None:
        data["uplinks"] = groups_part.uplinks_to_json(cluster.uplinks)
    if cluster.conditions is not None:
        data["conditions"] = conditions_part.to_json(cluster.conditions)
    if cluster.links is not None:
        data["links"] = link_facts_part.to_json(
            cluster.links, [group.name for group in cluster.groups]
        )
    if cluster.clients:
        data["clients"] = [clients_part.to_json(fit) for fit in cluster.clients]
    if cluster.routes is not None:
        data["routes"] = routes_part.to_data(cluster.routes)
    if cluster.bandwidth is not None:
        data["bandwidth"] = bandwidth_part.to_data(cluster.bandwidth)
    if cluster.rtt is not None:
        data["rtt"] = rtt_part.to_data(cluster.rtt)
    return data


def to_json(cluster: Cluster) -> dict[str, Any]:
    """`cluster` as a JSON object, as its file holds it."""
    return document.parse(document.dump(to_data(cluster)), cluster.source)


def parse_hosts(fields: Fields, name: str = "hosts") -> list[Host]:
    """A list of hosts in a file: at least one host, no name twice."""
    listed = fields.objects(name)
    if len(listed) > MAX_HOSTS:
        raise WrongUseError(f"{fields.place}: {name} lists more than {MAX_HOSTS:,} hosts")
    hosts = [_parse_host(item) for item in listed]
    _check_hosts(hosts, name, fields.place)
    return hosts


def hosts_to_json(hosts: Sequence[Host]) -> list[dict[str, Any]]:
    """`hosts` as a JSON list."""
    return [without_nones(vars(host)) for host in hosts]


def _parse_host(fields: Fields) -> Host:
    return Host(
        name=_name(fields, "name"),
        address=_name(fields, "address"),
        ssh_address=None
        if fields.values.get("ssh_address") is None
        else _name(fields, "ssh_address"),
        user=_user(fields),
        port=fields.optional_integer("port", low=1, high=MAX_PORT),
        slots=fields.integer("slots", low=1, high=1 << 16, default=1),
    )


def _check_hosts(hosts: Sequence[Host], name: str, source: str) -> None:
    if not hosts:
        raise WrongUseError(f"{source}: {name} is empty")
    seen: set[str] = set()
    for host in hosts:
        if host.name in seen:
            raise WrongUseError(f"{source}: host {document.brief(host.name)} is listed twice")
        seen.add(host.name)


def _parse_unreachable(fields: Fields) -> Unreachable:
    return Unreachable(
        source=_name(fields, "source"),
        reason=fields.text("reason"),
        user=_user(fields),
        port=fields.optional_integer("port", low=1, high=MAX_PORT),
        slots=fields.integer("slots", low=1, high=1 << 16, default=1),
        position=fields.optional_integer("position", low=0, high=1 << 32),
    )


def _name(fields: Fields, field: str) -> str:
    """A host's name or address, as host lists allow it: it is given to SSH, and SSH to shells."""
    value = fields.text(field)
    fault = fault_of_name(value)
    if fault is not None:
        raise WrongUseError(
            f"{fields.place}: {field} is {document.brief(value)}, which {fault}", HINT_NAME
        )
    return value


def _user(fields: Fields) -> str | None:
    user = fields.optional_text("user")
    if user is not None and not is_user(user):
        raise fields.error("user", "the name of a user")
    return user
