"""Changing a lab while it stands: rates, and hosts that fall silent."""

from __future__ import annotations

from dataclasses import replace

from labkit import namespaces, texts, wiring
from labkit.registry import Registry
from labkit.state import State
from labkit.system import run

# States of a bridge's port, as the kernel numbers them (linux/if_bridge.h).
PORT_DISABLED = 0
PORT_FORWARDING = 3


def missing_namespaces(state: State) -> list[str]:
    """What a whole lab would have and this one lacks: after a crash, or a restart."""
    names = [wiring.namespace(state.name, element) for element in wiring.elements(state.topology)]
    return [name for name in names if not (namespaces.FOLDER / name).exists()]


def set_rate(registry: Registry, state: State, element: str, rate_bits: int | None) -> None:
    """Shape a host's link, or the uplink of a rack or row, to a rate in bit/s; None: unshaped.

    Raises:
        WrongUseError: there is no such host, rack or row.
    """
    topology = state.topology.with_rate(element, rate_bits)
    for end in wiring.shaped_ends(topology, element):
        with namespaces.inside(wiring.namespace(state.name, end.element)):
            if rate_bits is not None:
                run(["tc", "-batch", "-"], texts.shaping_command(end.interface, rate_bits))
            elif "tbf" in run(["tc", "qdisc", "show", "dev", end.interface]):
                run(["tc", "qdisc", "delete", "dev", end.interface, "root"])
    registry.write(replace(state, topology=topology))


def set_silent(registry: Registry, state: State, host: str, *, silent: bool) -> None:
    """Cut a host off, or let it speak again. The host itself sees a healthy link.

    Raises:
        WrongUseError: there is no such host.
    """
    port = wiring.host_cable(state.topology.host(host)).upper
    number = PORT_DISABLED if silent else PORT_FORWARDING
    with namespaces.inside(wiring.namespace(state.name, state.topology.host(host).rack)):
        run(["bridge", "link", "set", "dev", port.interface, "state", str(number)])
    registry.write(state.with_stopped(host, silent))
