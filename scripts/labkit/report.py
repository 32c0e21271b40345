"""What `lab up` and `lab status` print."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.rates import format_rate
from labkit.state import State
from labkit.wan import WanPath


def summary(state: State) -> str:
    """The lab, and how to use it, in a few lines."""
    topology = state.topology
    racks = len({host.rack for host in topology.hosts})
    directory = _as_typed(state.directory)
    inside = f"lab exec --name {state.name} . -- " if state.login.nested else ""
    return (
        f"lab {state.name}: {len(topology.hosts)} hosts in {racks} racks on {topology.subnet}"
        f"{', routed' if topology.is_routed else ''}\n"
        f"{inside}plink probe {directory}/hosts.txt -F {directory}/ssh_config"
    )


def _as_typed(path: Path) -> Path:
    """The path as typed here: relative if it is below the current folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def table(state: State, whole: bool) -> str:
    """A lab, one line per switch and host. `whole` tells whether no part of it is missing."""
    topology = state.topology
    subnet = f"{topology.subnet}{', routed' if topology.is_routed else ''}"
    lines = [f"lab {state.name} in {state.directory}, {subnet}, seed {topology.seed}"]
    if not whole:
        lines.append(f"incomplete after a crash or a restart: lab down --name {state.name}")
    in_rack = defaultdict(list)
    for host in sorted(topology.hosts, key=lambda host: host.name):
        in_rack[host.rack].append(host)
    for switch in topology.switches:
        rate = format_rate(switch.uplink_rate_bits)
        lines.append(f"{switch.name} under {switch.parent}: uplink {rate}, {switch.hops} hops")
        for host in in_rack[switch.name]:
            silent = ", stopped" if host.name in state.stopped else ""
            addresses = "+".join(host.addresses)
            lines.append(f"  {host.name} {addresses} {format_rate(host.rate_bits)}{silent}")
    lines += map(_path_line, topology.wan)
    return "\n".join(lines)


def _path_line(path: WanPath) -> str:
    one, other = (region + 1 for region in path.regions)
    figures = f"{path.rtt_ms:g} ms there and back, {format_rate(path.rate_bits)}"
    if path.jitter_ms:
        figures += f", jitter {path.jitter_ms:g} ms"
    if path.loss:
        figures += f", loses {100 * path.loss:g} %"
    return f"r{one} - r{other}: {figures}"


def as_json(state: State, whole: bool) -> dict[str, Any]:
    """The same for programs."""
    topology = state.topology
    return {
        "name": state.name,
        "whole": whole,
        "dir": str(state.directory),
        "subnet": topology.subnet,
        "routed": topology.is_routed,
        "seed": topology.seed,
        "switches": [
            {
                "name": switch.name,
                "parent": switch.parent,
                "uplink_rate": format_rate(switch.uplink_rate_bits),
                "hops": switch.hops,
            }
            for switch in topology.switches
        ],
        "hosts": [
            {
                "name": host.name,
                "address": host.address,
                "addresses": list(host.addresses),
                "rack": host.rack,
                "rate": format_rate(host.rate_bits),
                "stopped": host.name in state.stopped,
            }
            for host in topology.hosts
        ],
        "wan": [asdict(path) for path in topology.wan],
    }
