"""Input for other programs: batches for `ip` and `tc`, and files for SSH. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from labkit import routing, wiring
from labkit.rates import burst_bytes, format_rate
from labkit.topology import Host, Topology

# A network of two addresses has none left for broadcast (RFC 3021).
MAX_BROADCAST_PREFIX = 31
TRUTH_FILE = "truth.json"
# How long a packet may wait in a shaped link's queue before it is dropped.
QUEUE_MS = 50
# A day: a switch that forgot an idle host would flood every link to find it.
AGEING_CENTISECONDS = 24 * 3600 * 100
BRIDGE_OPTIONS = f"stp_state 0 mcast_snooping 0 ageing_time {AGEING_CENTISECONDS}"

# Of routes by a host's further interfaces.
FIRST_TABLE = 100

SSHD_CONFIG = """\
AuthorizedKeysFile {private}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 2000
MaxSessions 2000
UseDNS no
PrintMotd no
PrintLastLog no
Subsystem sftp internal-sftp
"""


def creation_batch(topology: Topology) -> str:
    """For `ip -batch` on the machine: every namespace and every cable."""
    lab = topology.lab
    addresses = _addresses(topology)
    lines = [f"netns add {wiring.namespace(lab, name)}" for name in wiring.elements(topology)]
    for cable in wiring.cables(topology):
        lower, upper = cable.lower, cable.upper
        lines.append(
            f"link add name {lower.interface}{_mac(addresses, lower)}{_place(lab, lower)} type veth"
            f" peer name {upper.interface}{_mac(addresses, upper)}{_place(lab, upper)}"
        )
    return _join_lines(lines)


def _addresses(topology: Topology) -> dict[wiring.End, str]:
    """The address at every end of a cable that has one."""
    known = {
        cable.lower: address
        for host in topology.hosts
        for cable, address in zip(wiring.host_cables(host), host.addresses, strict=True)
    }
    machine = wiring.End(wiring.MACHINE, wiring.machine_interface(topology.lab))
    known[machine] = topology.machine_address
    if topology.is_routed:
        for transfer in routing.transfers(topology):
            known[transfer.cable.lower] = str(transfer.lower.ip)
            known[transfer.cable.upper] = str(transfer.upper.ip)
    return known


def _mac(addresses: Mapping[wiring.End, str], end: wiring.End) -> str:
    return f" address {wiring.hardware_address(addresses[end])}" if end in addresses else ""


def switch_batch(ports: list[str]) -> str:
    """For `ip -batch` in a switch's namespace: a bridge over all its ports."""
    bridge = wiring.BRIDGE
    lines = [
        f"link add name {bridge} type bridge {BRIDGE_OPTIONS}",
        f"link set dev {bridge} up",
    ]
    return _join_lines(lines) + port_batch(ports)


def wan_batch(topology: Topology) -> str:
    """For `ip -batch` in the spine's namespace of a wide area: each port has its own bridge."""
    lines = []
    for port, (bridge, _) in wiring.wan_bridges(topology).items():
        lines += [
            f"link add name {bridge} type bridge {BRIDGE_OPTIONS}",
            f"link set dev {bridge} up",
            f"link set dev {port} master {bridge} up",
        ]
    return _join_lines(lines)


def port_batch(ports: list[str]) -> str:
    """For `ip -batch` in a switch's namespace: more ports for its bridge."""
    return _join_lines([f"link set dev {port} master {wiring.BRIDGE} up" for port in ports])


def router_batch(router: routing.Router) -> str:
    """For `ip -batch` in a router's namespace: addresses, neighbours and routes.

    A bridge among its interfaces, which a rack's router has, is there before.
    """
    lines = []
    for interface, address in router.addresses.items():
        if interface == wiring.BRIDGE:
            mac = wiring.hardware_address(str(address.ip))
            lines.append(f"link set dev {interface} address {mac}")
        lines += [
            f"address add {address} dev {interface}",
            f"link set dev {interface} up",
        ]
    lines += [_neighbour(address, behind) for address, behind in router.neighbours.items()]
    lines += [f"route add {network} via {via}" for network, via in router.routes.items()]
    return _join_lines(lines)


def host_batch(topology: Topology, host: Host) -> str:
    """For `ip -batch` in a host's namespace: address, neighbours and the route out of its rack.

    Neighbours are permanent: the kernel's neighbour table is one for all namespaces and holds
    1024 others, fewer than the pairs of 64 hosts. So a stopped host is silent, as across a
    routed network, and there is no `No route to host`.
    """
    others = [address for each in topology.hosts if each is not host for address in each.addresses]
    if not topology.is_routed:
        others.append(topology.machine_address)
        station = _station(wiring.HOST_INTERFACE, host.address, topology.subnet, others)
        further = (
            _further(number, address, topology.subnet, others)
            for number, address in enumerate(host.further, 1)
        )
        return station + "".join(further)
    subnet = topology.rack_subnet(host.rack)
    router = str(routing.gateway(subnet).ip)
    mates = [address for address in others if IPv4Address(address) in subnet]
    station = _station(wiring.HOST_INTERFACE, host.address, str(subnet), [*mates, router])
    return f"{station}route add {topology.subnet} via {router}\n"


def machine_batch(topology: Topology) -> str:
    """For `ip -batch` on the machine: the same for its own interface."""
    interface = wiring.machine_interface(topology.lab)
    if not topology.is_routed:
        others = [address for host in topology.hosts for address in host.addresses]
        return _station(interface, topology.machine_address, topology.subnet, others)
    transfer = routing.transfers(topology)[0]
    spine = str(transfer.upper.ip)
    station = _station(interface, topology.machine_address, str(transfer.network), [spine])
    return f"{station}route add {topology.subnet} via {spine}\n"


def _station(interface: str, address: str, subnet: str, neighbours: Iterable[str]) -> str:
    length = IPv4Network(subnet).prefixlen
    broadcast = " broadcast +" if length < MAX_BROADCAST_PREFIX else ""
    lines = [
        f"address add {address}/{length}{broadcast} dev {interface}",
        f"link set dev {interface} up",
        *(_neighbour(other, interface) for other in neighbours),
    ]
    return _join_lines(lines)


def _further(number: int, address: str, subnet: str, neighbours: Iterable[str]) -> str:
    """Another interface of a host, by which it sends what it sends from that address.

    What names no address of its own leaves by the first one, which alone knows the subnet.
    """
    interface, table = wiring.host_interface(number), FIRST_TABLE + number
    lines = [
        f"address add {address}/32 dev {interface}",
        f"link set dev {interface} up",
        *(_neighbour(other, interface) for other in neighbours),
        f"route add {subnet} dev {interface} src {address} table {table}",
        f"rule add from {address} table {table}",
    ]
    return _join_lines(lines)


def _neighbour(address: str, interface: str) -> str:
    mac = wiring.hardware_address(address)
    return f"neigh replace {address} lladdr {mac} dev {interface} nud permanent"


def shaping_command(interface: str, rate_bits: int) -> str:
    """For `tc`: shape what leaves an interface."""
    return (
        f"qdisc replace dev {interface} root tbf rate {rate_bits}bit"
        f" burst {burst_bytes(rate_bits)} latency {QUEUE_MS}ms"
    )


def hosts_txt(topology: Topology) -> str:
    """The host list, in the given order."""
    return _join_lines([host.name for host in topology.hosts])


def ssh_config(topology: Topology, directory: Path, user: str) -> str:
    """The configuration for ssh: one entry per host."""
    entries = [f"Host {host.name}\n  HostName {host.address}\n" for host in topology.hosts]
    every = (
        f"Host {' '.join(host.name for host in topology.hosts)}\n"
        f"  User {user}\n"
        f'  IdentityFile "{directory}/id_ed25519"\n'
        "  IdentitiesOnly yes\n"
        f'  UserKnownHostsFile "{directory}/known_hosts"\n'
        "  GlobalKnownHostsFile /dev/null\n"
        "  StrictHostKeyChecking yes\n"
    )
    return "\n".join([*entries, every])


def known_hosts(topology: Topology, public_keys: Mapping[str, str]) -> str:
    """Every host's own key, under its name and its address."""
    return _join_lines(
        [f"{host.name},{host.address} {public_keys[host.name]}" for host in topology.hosts]
    )


def etc_hosts(topology: Topology, machine_name: str) -> str:
    """The hosts' /etc/hosts: all hosts, and the machine."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    lines.append(f"{topology.machine_address} {machine_name}")
    lines += [f"{host.address} {host.name}" for host in topology.hosts]
    return _join_lines(lines)


def truth_json(topology: Topology) -> str:
    """The truth for tests and benchmarks only: the rack of every host, and the wiring."""
    truth = {
        "hosts": {host.name: host.rack for host in topology.hosts},
        "addresses": {host.name: host.address for host in topology.hosts},
        "ports": {host.name: host.addresses for host in topology.hosts if host.further},
        "rates": {host.name: format_rate(host.rate_bits) for host in topology.hosts},
        "routes": routing.paths(topology),
        "switches": [asdict(switch) for switch in topology.switches],
        "wan": [asdict(path) for path in topology.wan],
        "subnet": topology.subnet,
        "machine_address": topology.machine_address,
        "seed": topology.seed,
    }
    return json.dumps(truth, indent=1) + "\n"


def sshd_config(private: Path, environment: Mapping[str, str]) -> str:
    """The part of the `sshd` configuration that all hosts share.

    `environment` is set in every session; on one line, since `sshd` reads only the first.
    """
    config = SSHD_CONFIG.format(private=private)
    if not environment:
        return config
    pairs = [f'"{name}={value}"' for name, value in environment.items()]
    return f"{config}SetEnv {' '.join(pairs)}\n"


def sshd_options(host: Host, private: Path) -> list[str]:
    """The options for `sshd` that differ from host to host."""
    return [
        *("-o", f"ListenAddress={host.address}"),
        *("-o", f"HostKey={private}/{host.name}.key"),
        *("-o", f"PidFile={private}/{host.name}.pid"),
        *("-E", f"{private}/{host.name}.log"),
    ]


def _place(lab: str, end: wiring.End) -> str:
    return "" if end.element == wiring.MACHINE else f" netns {wiring.namespace(lab, end.element)}"


def _join_lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
