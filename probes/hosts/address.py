"""Choice of the address for a host's traffic, in one address family for all hosts. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plink.probes.errors import HostError, OptionError, name_some

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

# Bridges and their ends that container and virtual machine software makes: their addresses
# are the same on every host, or are for the pods of one, and reach no other one.
_VIRTUAL = re.compile(
    r"(docker|br-|virbr|veth|cni|cali|flannel|podman|lxcbr|lxdbr|incusbr|kube-|cilium|lxc[0-9a-f_]|"
    r"weave|datapath|vxlan|vethwe|geneve|genev_|ovn|ovs-|antrea|nodelocaldns|tunl|dummy|nerdctl|"
    r"vnet|vmnet|vboxnet|ip6tnl|sit|gre|egw)"
)
_VIRTUAL_KINDS = ("vxlan", "geneve")

# Private networks over others: they may lead to every host, but on a detour.
_OVERLAY = re.compile(
    r"(tailscale|ts[0-9]|wg|wt[0-9]|tun|tap|utun|zt|nebula|netbird|ppp|ipsec|xfrm|vti|nordlynx|"
    r"warp|CloudflareWARP|ham[0-9])"
)
_OVERLAY_KINDS = ("wireguard", "tun", "ppp")

# A zone names an interface; `ipaddress` takes any text for one.
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]{1,15})?")

# RFC 1918 and RFC 4193.
_PRIVATE = [
    ipaddress.ip_network(text)
    for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
]

_HINT = "choose a network, such as 10.0.0.0/16, or the name of an interface"
_OPTIONS = ("network", "interface")


@dataclass(frozen=True)
class InterfaceAddress:
    """Address that a host reports, with its interface, prefix length and kind of interface.

    Args:
        interface: the interface it is on; empty where the host did not say.
        address: IPv4 or IPv6, as text.
        prefix: length of its network's prefix, or None where the host did not say.
        kind: DEVTYPE of the interface in Linux (vlan, bridge, wireguard, ...); empty for none.
        has_route: the default route leaves by its interface.
    """

    interface: str
    address: str
    prefix: int | None = field(default=None, compare=False)
    kind: str = field(default="", compare=False)
    has_route: bool = field(default=False, compare=False)

    @property
    def ip(self) -> IPAddress:
        """Address as an object of the module `ipaddress`."""
        return ipaddress.ip_address(self.address)


def is_address(text: str) -> bool:
    """Return whether `text` is an IPv4 or IPv6 address, perhaps with a zone."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return _ADDRESS.fullmatch(text) is not None


def choose_address(
    candidates: Sequence[InterfaceAddress],
    ssh_address: str,
    network: IPNetwork | None = None,
    interface: str | None = None,
    host: str | None = None,
) -> InterfaceAddress:
    """Choose the address of a host for traffic between hosts, from those that it reports.

    With `network`, the one address inside it. With `interface`, the first address there, IPv4
    before IPv6. With neither, the address that SSH reached, if it is the host's own and of a real
    interface; else (it is a public address that is translated, or a tunnel) that of the interface
    with the default route, the host's only private address, or its only address.
    Loopback, link-local and container addresses are passed over unless they are asked for;
    addresses without a network (/32) and those of VPNs are taken where there is no other.

    Raises:
        HostError: no address fits, or several do.
    """
    name = host or ssh_address
    if interface is not None:
        there = [candidate for candidate in candidates if candidate.interface == interface]
        if not there:
            raise _build_error(name, f"has no address on interface {interface}", candidates)
        candidates = there
    if network is not None:
        return _in_network(name, candidates, network, interface)
    if interface is not None:
        by_family = sorted(candidates, key=lambda candidate: candidate.ip.version)
        usable = [candidate for candidate in by_family if not candidate.ip.is_link_local]
        return (usable or by_family)[0]
    return _default(name, candidates, ssh_address)


def _in_network(
    name: str, candidates: Sequence[InterfaceAddress], network: IPNetwork, interface: str | None
) -> InterfaceAddress:
    inside = [candidate for candidate in candidates if candidate.ip in network]
    if interface is None and not network.is_loopback and not network.is_link_local:
        inside = [candidate for candidate in inside if _reaches_others(candidate)]
    if not inside:
        raise _build_error(name, f"has no address in {network}", candidates)
    if len(inside) > 1:
        raise HostError(
            name, f"has several addresses in {network}: {_listing(inside)}", _HINT, _OPTIONS
        )
    return inside[0]


def _default(
    name: str, candidates: Sequence[InterfaceAddress], ssh_address: str
) -> InterfaceAddress:
    reached = _parse_ip(ssh_address)
    usable = [candidate for candidate in candidates if _reaches_others(candidate)]
    real = [candidate for candidate in usable if _is_real(candidate)]
    for candidate in real or candidates:
        # Loopback is every host's own: SSH came through a tunnel that ends here.
        if candidate.ip == reached and not candidate.ip.is_loopback:
            return candidate
    preferred = real or [candidate for candidate in usable if not _is_overlay(candidate)] or usable
    routed = [candidate for candidate in preferred if candidate.has_route]
    private = [
        candidate for candidate in preferred if any(candidate.ip in network for network in _PRIVATE)
    ]
    for group in (routed, private, preferred):
        for version in (4, 6):
            choice = [candidate for candidate in group if candidate.ip.version == version]
            if len(choice) == 1:
                return choice[0]
            if choice and group is not routed:
                raise HostError(
                    name,
                    f"was reached at {ssh_address} and has several addresses of its own: "
                    f"{_listing(choice)}",
                    _HINT,
                    _OPTIONS,
                )
    raise _build_error(name, "has no address that other hosts can reach", candidates)


def _reaches_others(candidate: InterfaceAddress) -> bool:
    address = candidate.ip
    is_local = address.is_loopback or address.is_link_local or candidate.interface == "lo"
    if candidate.has_route and not is_local:
        # A bridge may have taken over the address of the host (br-ex of OVN-Kubernetes).
        return True
    is_virtual = _VIRTUAL.match(candidate.interface) or candidate.kind in _VIRTUAL_KINDS
    return not is_local and not is_virtual


def _is_overlay(candidate: InterfaceAddress) -> bool:
    return candidate.kind in _OVERLAY_KINDS or _OVERLAY.match(candidate.interface) is not None


def _is_real(candidate: InterfaceAddress) -> bool:
    """Return whether an address is not of a VPN and has a network (no /32) or the default route."""
    has_network = candidate.prefix is None or candidate.prefix < candidate.ip.max_prefixlen
    return not _is_overlay(candidate) and (has_network or candidate.has_route)


def describe_choices(
    chosen: Mapping[str, str], candidates: Mapping[str, Sequence[InterfaceAddress]]
) -> str | None:
    """Return a sentence on which interfaces traffic uses, if hosts have others too; else None."""
    taken: dict[str, None] = {}
    left: dict[str, None] = {}
    hosts = 0
    for name, address in chosen.items():
        own = [candidate for candidate in candidates[name] if candidate.address == address]
        others = [
            candidate
            for candidate in candidates[name]
            if candidate.address != address
            and _reaches_others(candidate)
            and candidate.ip.version == ipaddress.ip_address(address).version
        ]
        hosts += bool(others)
        if others:
            for labels, some in ((taken, own[:1]), (left, others)):
                labels.update(dict.fromkeys(each.interface or each.address for each in some))
    if not hosts:
        return None
    noun = "host has" if hosts == 1 else "hosts have"
    return (
        f"traffic uses {name_some(taken)}; {hosts} {noun} other addresses, too "
        f"({name_some(left)}): "
        "choose an interface or a network"
    )


def _build_error(name: str, reason: str, candidates: Sequence[InterfaceAddress]) -> HostError:
    has = f"it has {_listing(candidates)}" if candidates else "it reports no address"
    return HostError(name, f"{reason} ({has})", _HINT, _OPTIONS)


def _listing(candidates: Sequence[InterfaceAddress]) -> str:
    shown = [f"{candidate.interface} {candidate.address}".strip() for candidate in candidates[:3]]
    return ", ".join(shown) + (", ..." if len(candidates) > 3 else "")


def _parse_ip(text: str) -> IPAddress | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


@dataclass(frozen=True)
class Candidates:
    """Addresses that a host reports, and the address at which SSH reached it."""

    addresses: Sequence[InterfaceAddress]
    ssh_address: str


def choose_addresses(
    hosts: Mapping[str, Candidates],
    network: IPNetwork | None = None,
    interface: str | None = None,
) -> tuple[dict[str, str], list[HostError]]:
    """Choose every host's address for traffic, all IPv4 or all IPv6; return failures too.

    All are of one family. Where the choices are of both, that of most of them (IPv4 if equal) is
    taken, or the other, if every host has such an address.

    Raises:
        OptionError: no family serves all hosts that have an address.
    """

    def choose(name: str, version: int | None = None) -> str:
        addresses = [
            candidate
            for candidate in hosts[name].addresses
            if version is None or candidate.ip.version == version
        ]
        reached_at = hosts[name].ssh_address
        return choose_address(addresses, reached_at, network, interface, name).address

    chosen: dict[str, str] = {}
    failures: list[HostError] = []
    for name in hosts:
        try:
            chosen[name] = choose(name)
        except HostError as error:
            failures.append(error)
    by_version: dict[int, list[str]] = {4: [], 6: []}
    for name, address in chosen.items():
        by_version[ipaddress.ip_address(address).version].append(name)
    if not all(by_version.values()):
        return chosen, failures
    for version in sorted(by_version, key=lambda version: -len(by_version[version])):
        try:
            return {name: choose(name, version) for name in chosen}, failures
        except HostError:
            continue
    first4, first6 = by_version[4][0], by_version[6][0]
    raise OptionError(
        f"the traffic addresses are of both IPv4 and IPv6: {chosen[first4]} of {first4}, "
        f"{chosen[first6]} of {first6}",
        "choose a network that every host has, such as 10.0.0.0/16",
        ["network"],
    )
