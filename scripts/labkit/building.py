"""Making the namespaces and cables of a lab, and removing them."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from ipaddress import IPv4Network

from labkit import namespaces, texts, wiring
from labkit.errors import LabError
from labkit.state import State
from labkit.system import run
from labkit.topology import Topology


def taken_networks() -> list[IPv4Network]:
    """Every IPv4 network that this machine has a route to, the default route apart."""
    routes = json.loads(run(["ip", "-4", "-json", "route", "show", "table", "all"]) or "[]")
    return [
        IPv4Network(route["dst"], strict=False) for route in routes if route["dst"] != "default"
    ]


def refuse_strangers(lab: str, elements: list[str]) -> None:
    """Make sure that nothing stands yet where the lab will.

    Raises:
        LabError: a namespace or the interface exists, made by somebody else.
    """
    for element in elements:
        name = wiring.namespace(lab, element)
        if (namespaces.FOLDER / name).exists():
            raise LabError(f"network namespace {name} exists and is no lab's", "choose a --name")
    links = json.loads(run(["ip", "-json", "link", "show"]))
    if wiring.machine_interface(lab) in {link["ifname"] for link in links}:
        raise LabError(
            f"interface {wiring.machine_interface(lab)} exists and is no lab's", "choose a --name"
        )


def build(topology: Topology, congestion_control: str | None) -> None:
    """Make every namespace and cable, with addresses, bridges and rates."""
    run(["ip", "-batch", "-"], texts.creation_batch(topology))
    ports: dict[str, list[str]] = defaultdict(list)
    rates: dict[str, list[str]] = defaultdict(list)
    for cable in wiring.cables(topology):
        for end, rate_bits in (
            (cable.lower, cable.lower_rate_bits),
            (cable.upper, cable.upper_rate_bits),
        ):
            if end.element is None:
                continue
            ports[end.element].append(end.interface)
            if rate_bits is not None:
                rates[end.element].append(texts.shaping_command(end.interface, rate_bits))
    for element in wiring.switch_elements(topology):
        with namespaces.inside(wiring.namespace(topology.lab, element)):
            # Switches speak no IP, and the firewall of the machine is none of their business.
            namespaces.configure_if_known("ipv6/conf/default/disable_ipv6", "1")
            namespaces.configure_if_known("bridge/bridge-nf-call-iptables", "0")
            run(["ip", "-batch", "-"], texts.switch_batch(ports[element]))
            shape(rates[element])
    for host in topology.hosts:
        with namespaces.inside(wiring.namespace(topology.lab, host.name)):
            if congestion_control is not None:
                namespaces.configure("ipv4/tcp_congestion_control", congestion_control)
            run(["ip", "link", "set", "lo", "up"])
            run(
                ["ip", "-batch", "-"],
                texts.station_batch(topology, wiring.HOST_INTERFACE, host.address),
            )
            shape(rates[host.name])
    interface = wiring.machine_interface(topology.lab)
    run(["ip", "-batch", "-"], texts.station_batch(topology, interface, topology.machine_address))


def shape(commands: list[str]) -> None:
    """Run `tc` in the present namespace."""
    if commands:
        run(["tc", "-batch", "-"], "\n".join(commands) + "\n")


def demolish(state: State) -> None:
    """End the lab's processes and remove what there is of its namespaces and interface."""
    names = [wiring.namespace(state.name, element) for element in wiring.elements(state.topology)]
    # Removed first and by name: with its namespace it would go too, but a moment later.
    with contextlib.suppress(LabError):
        run(["ip", "link", "delete", wiring.machine_interface(state.name)])
    namespaces.end_processes_in(names)
    standing = [name for name in names if (namespaces.FOLDER / name).exists()]
    run(["ip", "-batch", "-"], "".join(f"netns delete {name}\n" for name in standing))
