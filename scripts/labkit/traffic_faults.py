"""Faults of the traffic of a lab's hosts. Each returns its remedy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from labkit import operations, texts
from labkit.namespaces import inside
from labkit.registry import ROOT_REGISTRY, Registry
from labkit.state import State
from labkit.system import run
from labkit.wiring import HOST_INTERFACE, namespace


def silence(state: State, host: str, seconds: float | None = None) -> Callable[[], None]:
    """Cut a host off at its switch; for a while only where `seconds` is given."""
    _set_silent(state, host, silent=True)
    if seconds is not None:
        time.sleep(seconds)
        _set_silent(state, host, silent=False)
    return lambda: _set_silent(state, host, silent=False)


def interface_down(state: State, host: str) -> Callable[[], None]:
    """Take a host's interface down. The kernel forgets the neighbours that it had there."""
    _on(state, host, [f"link set dev {HOST_INTERFACE} down"])

    def remedy() -> None:
        lines = texts.host_batch(state.topology, state.topology.host(host)).splitlines()
        _on(state, host, [line for line in lines if not line.startswith("address")])

    return remedy


def blackhole(
    state: State, sources: Sequence[str], destinations: Sequence[str] | None = None
) -> Callable[[], None]:
    """Let nothing go from some hosts to others, by default to all others.

    The machine, and so SSH from there, is not concerned.
    """
    hosts = state.topology.hosts
    to = [
        f"blackhole {host.address}/32"
        for host in hosts
        if (host.name not in sources if destinations is None else host.name in destinations)
    ]
    for source in sources:
        _on(state, source, [f"route add {route}" for route in to])

    def remedy() -> None:
        for source in sources:
            _on(state, source, [f"route del {route}" for route in to])

    return remedy


def _set_silent(state: State, host: str, *, silent: bool) -> None:
    registry = Registry(ROOT_REGISTRY)
    with registry.locked():
        operations.set_silent(registry, registry.find(state.name), host, silent=silent)


def _on(state: State, host: str, lines: Sequence[str]) -> None:
    with inside(namespace(state.name, host)):
        run(["ip", "-batch", "-"], "\n".join([*lines, ""]))
