"""Parameter server hosts of a cluster, and the rates of their ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.size import parse_rate
from plink.base.text import brief, format_count, format_names
from plink.formats.cluster import Cluster
from plink.formats.limits import is_word
from plink.formats.plan import MAX_PORTS, SERVER, PlanRank, Port
from plink.solvers.contention.network import Floats, Indices, Network

_HINT = "write HOST, HOST:PORTS or HOST=ADDRESS+ADDRESS, with @RATE at the end, as in box:4@25gbit"


@dataclass(frozen=True)
class ServerHost:
    """Parameter server: a host that only aggregates, with its interfaces' addresses and rates.

    Args:
        place: place of the host in the cluster.
        addresses: addresses of its ports; all that of the host where they are not known.
        has_own_addresses: whether the ports' own addresses are known.
        port_bytes_s: what each port carries either way; None for what the host's link does.
    """

    place: int
    addresses: tuple[str, ...]
    has_own_addresses: bool
    port_bytes_s: float | None


def parse_servers(texts: Sequence[str], cluster: Cluster) -> list[ServerHost]:
    """Parse servers, as `box`, `box:4` (ports), `box:4@25gbit` or `box=10.0.0.9+10.0.0.10`.

    A text may hold several, with commas.

    Raises:
        WrongUseError: a host that the cluster does not have, or named twice; no number of ports.
    """
    servers: list[ServerHost] = []
    for text in (part.strip() for each in texts for part in each.split(",")):
        server = _parse(text, cluster)
        if any(other.place == server.place for other in servers):
            name = cluster.names[server.place]
            raise WrongUseError(f"the server {name} is named twice", _HINT)
        servers.append(server)
    return servers


def _parse(text: str, cluster: Cluster) -> ServerHost:
    before, at, rate = text.partition("@")
    try:
        port_bytes_s = parse_rate(rate) / 8.0 if at else None
    except WrongUseError as error:
        raise WrongUseError(f"the server {brief(text)}: {error}", error.hint) from None
    name, is_told, listed = before.partition("=")
    addresses = tuple(listed.split("+")) if is_told else ()
    count = len(addresses) or 1
    # A host may be called by an address that has colons.
    if name not in cluster.names and not is_told:
        head, colon, number = name.rpartition(":")
        if colon and number.isascii() and number.isdigit() and len(number) <= 4:
            name, count = head, int(number)
    if name not in cluster.names:
        raise WrongUseError(
            f"the server {brief(text)}: {brief(name)} is not a host of {cluster.source}",
            f"its hosts are {format_names(cluster.names)}; {_HINT}",
        )
    if not 1 <= count <= MAX_PORTS:
        raise WrongUseError(
            f"the server {brief(text)} has {count:,} ports, expected 1 to {MAX_PORTS}", _HINT
        )
    for address in addresses:
        if not is_word(address):
            raise WrongUseError(
                f"the server {brief(text)}: {brief(address)} is not an IP address", _HINT
            )
    place = cluster.names.index(name)
    of_ports = addresses or (cluster.hosts[place].address,) * count
    return ServerHost(place, of_ports, bool(is_told) or count == 1, port_bytes_s)


def port_rates(servers: Sequence[ServerHost], network: Network) -> Floats:
    """Return the rate of each port in bytes/s, equal in both directions, server by server, (K,)."""
    links = network.link_bytes_s
    return np.array(
        [
            links[server.place] if server.port_bytes_s is None else server.port_bytes_s
            for server in servers
            for _ in server.addresses
        ]
    )


def members_network(
    network: Network, workers: Indices, servers: Sequence[ServerHost], rates: Floats
) -> Network:
    """Return a network whose nodes are the workers' hosts, followed by the servers' ports.

    `workers` are places of hosts, (W,); `rates` are what each port carries, (K,).
    """
    ports = [server.place for server in servers for _ in server.addresses]
    at = np.concatenate([workers, np.array(ports, dtype=np.intp)])
    return Network(
        latency_s=np.ascontiguousarray(network.latency_s[np.ix_(at, at)]),
        send_bytes_s=np.concatenate([network.send_bytes_s[workers], rates]),
        receive_bytes_s=np.concatenate([network.receive_bytes_s[workers], rates]),
        group_of=network.group_of[at],
        uplink_send_bytes_s=network.uplink_send_bytes_s,
        uplink_receive_bytes_s=network.uplink_receive_bytes_s,
    )


def server_ranks(servers: Sequence[ServerHost], cluster: Cluster, rates: Floats) -> list[PlanRank]:
    """Return the servers as ranks of a plan, each with its ports' addresses and relative rates."""
    ranks, first = [], 0
    most = float(rates.max())
    for server in servers:
        host, count = cluster.hosts[server.place], len(server.addresses)
        weights = rates[first : first + count] / most
        ports = tuple(map(Port, server.addresses, weights.tolist()))
        # An only port at the host's own address says no more than the rank does.
        is_plain = count == 1 and server.addresses[0] == host.address
        ranks.append(PlanRank(host.name, host.address, SERVER, () if is_plain else ports))
        first += count
    return ranks


def describe_port_assumptions(servers: Sequence[ServerHost], cluster: Cluster) -> list[str]:
    """Return the assumptions about the rates of servers' ports, one sentence each."""
    found = []
    for server in servers:
        name, ports = cluster.names[server.place], format_count(len(server.addresses), "port")
        if server.port_bytes_s is None and len(server.addresses) > 1:
            found.append(f"each of the {ports} of {name} is assumed to carry what its link does")
        if not server.has_own_addresses:
            found.append(
                f"the addresses of the {ports} of {name} are not known: its own stands for each"
            )
    return found
