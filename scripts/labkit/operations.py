"""Change a lab while it is up: rates, disconnected hosts, hosts that move."""

from __future__ import annotations

import time
from dataclasses import replace

from labkit import namespaces, texts, wiring
from labkit.registry import Registry
from labkit.state import State
from labkit.system import run

# States of a bridge's port, as the kernel numbers them (linux/if_bridge.h).
PORT_DISABLED = 0
PORT_FORWARDING = 3
# A port opens a moment after its link is up, and later on a busy machine.
_OPENS_WITHIN_S = 5.0


def missing_namespaces(state: State) -> list[str]:
    """The parts of the lab that are missing, after a crash or a restart."""
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
    """Disconnect a host, or connect it again. The host itself sees a healthy link.

    Raises:
        WrongUseError: there is no such host.
    """
    ports = [cable.upper for cable in wiring.host_cables(state.topology.host(host))]
    number = PORT_DISABLED if silent else PORT_FORWARDING
    with namespaces.inside(wiring.namespace(state.name, state.topology.host(host).rack)):
        for port in ports:
            _set_port(port, number)
    registry.write(state.with_stopped(host, silent))


def move(registry: Registry, state: State, host: str, rack: str) -> None:
    """Plug a host into another rack's switch. Its link keeps its rate, the host its address.

    Raises:
        WrongUseError: there is no such host or rack.
    """
    topology = state.topology.with_rack(host, rack)
    old = state.topology.host(host)
    if old.rack == rack:
        return
    there = wiring.namespace(state.name, rack)
    with namespaces.inside(wiring.namespace(state.name, old.rack)):
        for cable in wiring.host_cables(old):
            run(["ip", "link", "set", "dev", cable.upper.interface, "netns", there])
    with namespaces.inside(there):
        ports = [cable.upper for cable in wiring.host_cables(topology.host(host))]
        run(["ip", "-batch", "-"], texts.port_batch([port.interface for port in ports]))
        for port in ports:
            if old.rate_bits is not None:
                run(["tc", "-batch", "-"], texts.shaping_command(port.interface, old.rate_bits))
            if host in state.stopped:
                _wait_until_forwarding(port)
                _set_port(port, PORT_DISABLED)
    # Every switch has learned where the host was, and would not forget for a day.
    for element in wiring.switch_elements(topology):
        with namespaces.inside(wiring.namespace(state.name, element)):
            run(["ip", "link", "set", "dev", wiring.BRIDGE, "type", "bridge", "fdb_flush"])
    registry.write(replace(state, topology=topology))
    (state.directory / texts.TRUTH_FILE).write_text(texts.truth_json(topology))


def _set_port(port: wiring.End, number: int) -> None:
    run(["bridge", "link", "set", "dev", port.interface, "state", str(number)])


def _wait_until_forwarding(port: wiring.End) -> None:
    """Wait until the kernel has opened a port that came up; it would undo an earlier `disabled`.

    A port whose host has no link is never opened.
    """
    deadline = time.monotonic() + _OPENS_WITHIN_S
    while "state forwarding" not in run(["bridge", "link", "show", "dev", port.interface]):
        if time.monotonic() > deadline:
            return
        time.sleep(0.005)
