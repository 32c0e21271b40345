"""Topology files for Slurm and topograph, from the network tiers in a cluster file. Pure.

Slurm, topology.conf(5): leaf switches have nodes, the others have switches; one is above all.
topograph, graph engine: `instances`, each with `id` and `network_layers`, the nearest switch first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from plink.base.errors import WrongUseError
from plink.deploy.kubernetes.tiers import find_tiers
from plink.deploy.launchers import slurm
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group

# What people call the tiers of a network, the nearest first; those above have numbers.
_STEMS = ("leaf", "spine", "core")


def list_switches(cluster: Cluster) -> list[dict[str, Sequence[str]]]:
    """Return, per network tier, nearest first, its switches by name with the hosts below.

    Raises:
        WrongUseError: there are no groups, or domains that lie in two wider ones.
    """
    tiers = find_tiers(cluster)
    if not tiers:
        raise WrongUseError(
            f"{cluster.source}: has no groups, from which a topology could be made",
            "plink group finds them and writes them into a cluster file",
        )
    switches = []
    for number, tier in enumerate(tiers):
        stem = _STEMS[number] if number < len(_STEMS) else f"tier{number}"
        named = {
            tier.names.get(place, f"{stem}-{place + 1}"): hosts
            for place, hosts in enumerate(tier.domains)
        }
        switches.append(named)
    return switches


def render_slurm(cluster: Cluster) -> str:
    """Return a Slurm topology.conf with a switch for each set of near hosts in every tier.

    Raises:
        WrongUseError: as `list_switches`, or Slurm cannot take a name.
    """
    below, *wider = list_switches(cluster)
    slurm.check_names([Group(name, hosts) for name, hosts in below.items()])
    lines = [f"SwitchName={name} Nodes={','.join(hosts)}\n" for name, hosts in below.items()]
    for tier in wider:
        for name, hosts in tier.items():
            inside = [each for each, few in below.items() if set(few) <= set(hosts)]
            lines.append(f"SwitchName={name} Switches={','.join(inside)}\n")
        below = tier
    if len(below) > 1:
        lines.append(f"SwitchName={slurm.ROOT} Switches={','.join(below)}\n")
    return "".join(lines)


def render_topograph(cluster: Cluster) -> str:
    """Return topograph's JSON: each host with the switches above it, the nearest first.

    Raises:
        WrongUseError: as `list_switches`.
    """
    layers: dict[str, list[str]] = {}
    for tier in list_switches(cluster):
        for name, hosts in tier.items():
            for host in hosts:
                layers.setdefault(host, []).append(name)
    instances = [
        {"id": name, "network_layers": layers[name]} for name in cluster.names if name in layers
    ]
    return json.dumps({"instances": instances}, indent=2) + "\n"


FORMATS = {"slurm-topology": render_slurm, "topograph": render_topograph}
