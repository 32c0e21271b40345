"""Making the namespaces and cables of a lab, and removing them."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections import defaultdict
from ipaddress import IPv4Network
from pathlib import Path

from labkit import delaybox, namespaces, routing, texts, wiring
from labkit.errors import LabError
from labkit.login import Login
from labkit.system import run
from labkit.topology import SPINE, Topology
from labkit.wan import box_text


def taken_networks() -> list[IPv4Network]:
    """Every IPv4 network that this machine has a route to, the default route apart."""
    routes = json.loads(run(["ip", "-4", "-json", "route", "show", "table", "all"]) or "[]")
    return [
        IPv4Network(route["dst"], strict=False) for route in routes if route["dst"] != "default"
    ]


def refuse_strangers(lab: str) -> None:
    """Check that nothing uses the lab's name yet, so that later everything that does is the lab's.

    Raises:
        LabError: a namespace or the interface exists, made by somebody else.
    """
    for name in _standing(lab):
        raise LabError(
            f"network namespace {name} exists and does not belong to a lab",
            "choose another --name",
        )
    links = json.loads(run(["ip", "-json", "link", "show"]))
    if wiring.machine_interface(lab) in {link["ifname"] for link in links}:
        raise LabError(
            f"interface {wiring.machine_interface(lab)} exists and does not belong to a lab",
            "choose another --name",
        )


def require_permission() -> None:
    """Check that this process may create network namespaces.

    Raises:
        LabError: the kernel refuses.
    """
    try:
        run(["unshare", "--net", "--mount", "true"])
    except LabError as error:
        raise LabError(
            f"this machine does not allow network namespaces: {error}",
            "in a container, allow them: docker run --privileged",
        ) from error


def build(topology: Topology, login: Login, congestion_control: str | None) -> None:
    """Make every namespace and cable, with addresses, bridges and rates."""
    run(["ip", "-batch", "-"], texts.creation_batch(topology))
    ports: dict[str, list[str]] = defaultdict(list)
    rates: dict[str, list[str]] = defaultdict(list)
    for cable in wiring.cables(topology):
        for end, rate_bits in (
            (cable.lower, cable.lower_rate_bits),
            (cable.upper, cable.upper_rate_bits),
        ):
            ports[end.element].append(end.interface)
            if rate_bits is not None:
                rates[end.element].append(texts.shaping_command(end.interface, rate_bits))
    routers = routing.routers(topology) if topology.is_routed else {}
    for element in wiring.switch_elements(topology):
        with namespaces.inside(wiring.namespace(topology.lab, element)):
            # Switches speak no IP, and the firewall of the machine is none of their business.
            namespaces.configure_if_known("ipv6/conf/default/disable_ipv6", "1")
            namespaces.configure_if_known("bridge/bridge-nf-call-iptables", "0")
            if element in routers:
                _set_up_router(routers[element], ports[element])
            elif element == SPINE and topology.wan:
                _set_up_wide_area(topology)
            else:
                run(["ip", "-batch", "-"], texts.switch_batch(ports[element]))
            _shape(rates[element])
    for host in topology.hosts:
        with namespaces.inside(wiring.namespace(topology.lab, host.name)):
            if congestion_control is not None:
                namespaces.configure("ipv4/tcp_congestion_control", congestion_control)
            if login.nested:
                # The user's sshd and fping have no privilege in this namespace.
                namespaces.configure("ipv4/ip_unprivileged_port_start", "0")
                namespaces.configure("ipv4/ping_group_range", "0 0")
            if host.further:
                # A reply may arrive by an interface that the main table would not send by.
                for which in ("all", "default"):
                    namespaces.configure(f"ipv4/conf/{which}/rp_filter", "0")
            run(["ip", "link", "set", "lo", "up"])
            run(["ip", "-batch", "-"], texts.host_batch(topology, host))
            _shape(rates[host.name])
    run(["ip", "-batch", "-"], texts.machine_batch(topology))


def _set_up_router(router: routing.Router, ports: list[str]) -> None:
    """Make a router of the present namespace. Ports without an address lead to a rack's hosts."""
    namespaces.configure("ipv4/ip_forward", "1")
    # A router says every time that a packet's time is up, and from the side that it came from.
    namespaces.configure("ipv4/icmp_ratemask", "0")
    namespaces.configure("ipv4/icmp_errors_use_inbound_ifaddr", "1")
    bridged = [port for port in ports if port not in router.addresses]
    bridge = texts.switch_batch(bridged) if bridged else ""
    run(["ip", "-batch", "-"], bridge + texts.router_batch(router))


def _set_up_wide_area(topology: Topology) -> None:
    """Join the ports of the present namespace by a delay box, which ends with the lab."""
    bridges = wiring.wan_bridges(topology)
    run(["ip", "-batch", "-"], texts.wan_batch(topology))
    ports = [port for _, port in bridges.values()]
    text = box_text(ports, topology.wan, topology.seed, bound=False)
    with tempfile.TemporaryDirectory(prefix="plink-delaybox-") as folder:
        delaybox.leave(delaybox.start(delaybox.build(Path(folder)), text))
    lines = [
        line for bridge, port in bridges.values() for line in delaybox.port_lines(port, bridge)
    ]
    run(["ip", "-batch", "-"], "".join(f"{line}\n" for line in lines))


def demolish(lab: str) -> None:
    """End a lab's processes and remove what there is of its namespaces and interface."""
    # Removed first and by name: with its namespace it would go too, but a moment later.
    with contextlib.suppress(LabError):
        run(["ip", "link", "delete", wiring.machine_interface(lab)])
    names = _standing(lab)
    namespaces.end_processes_in(names)
    run(["ip", "-batch", "-"], "".join(f"netns delete {name}\n" for name in names))


def _standing(lab: str) -> list[str]:
    return sorted(path.name for path in namespaces.FOLDER.glob(wiring.namespace(lab, "*")))


def _shape(commands: list[str]) -> None:
    if commands:
        run(["tc", "-batch", "-"], "".join(f"{command}\n" for command in commands))
