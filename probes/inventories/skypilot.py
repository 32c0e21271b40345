"""Nodes of a SkyPilot cluster, named `sky:CLUSTER`.

SkyPilot writes an SSH configuration for each cluster that is up into `~/.sky/generated/ssh`, which
`~/.ssh/config` includes: hosts CLUSTER, CLUSTER-worker1, ... with addresses, users, ports, keys and
proxies (`SSHConfigHelper`, sky/utils/cluster_utils.py; documentation, "SSH access").
"""

from __future__ import annotations

import re
from pathlib import Path

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.hostlist import ListedHost, check_hosts
from plink.probes.inventories.inventory import InventoryHosts, ReadFile

FORM = "sky:CLUSTER"
FOLDER = "~/.sky/generated/ssh"
_CLUSTER = re.compile(r"[A-Za-z]([-_.A-Za-z0-9]{0,200}[A-Za-z0-9])?")
_HOST = re.compile(r"^[ \t]*Host\s+(\S+)[ \t]*$", re.MULTILINE)


def read(cluster: str, read_file: ReadFile) -> InventoryHosts:
    """Return the nodes of a SkyPilot cluster by their names in the SSH configuration it wrote."""
    if not _CLUSTER.fullmatch(cluster):
        hint = "write sky:NAME; sky status lists the clusters"
        raise HostListError(
            f"sky: {clean(cluster)!r} is not a valid name of a SkyPilot cluster", hint
        )
    path = Path(FOLDER).expanduser() / cluster
    if not path.is_file():
        raise HostListError(
            f"sky:{cluster}: there is no file {FOLDER}/{cluster} of SkyPilot",
            f"sky status {cluster} writes it for a cluster that is up",
        )
    content = read_file(str(path))
    return InventoryHosts(parse_nodes(content.decode(errors="replace"), cluster), content=content)


def parse_nodes(text: str, cluster: str) -> list[ListedHost]:
    """Return the nodes in SkyPilot's SSH configuration, head first, then workers by number. Pure.

    Raises:
        HostListError: it has fewer than two.
    """
    place = f"sky:{cluster}"
    worker = re.compile(re.escape(cluster) + r"-worker([0-9]{1,6})")
    names: dict[int, str] = {}
    for name in _HOST.findall(text):
        match = worker.fullmatch(name)
        if match is not None or name == cluster:
            names[0 if match is None else int(match[1])] = name
    if not names:
        raise HostListError(
            f"{place}: SkyPilot's SSH configuration names no node of the cluster",
            f"sky status {cluster}",
        )
    return check_hosts([ListedHost(names[number], place=place) for number in sorted(names)], place)
