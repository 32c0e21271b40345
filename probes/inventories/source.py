"""Host lists of every kind that plink reads, recognised by content."""

from __future__ import annotations

import re

from plink.probes.hosts.host import ListedHost
from plink.probes.hosts.hostlist import check_hosts, parse_host_list_bytes
from plink.probes.hosts.launcher_files import parse_launcher_file
from plink.probes.hosts.listing import parse_listing
from plink.probes.hosts.slurm import is_topology_conf, parse_topology_hosts
from plink.probes.inventories.topologies import parse_topology

# In a host list, a bracket opens an IPv6 address.
_JSON = re.compile(rb"\s*(\{|\[\s*[\]{])")


def parse_hosts(content: bytes, source: str) -> list[ListedHost]:
    """Return the hosts in a host list, launcher's file, JSON listing or Slurm topology.

    Raises:
        HostListError: the content is none of these; `source` names it.
    """
    if _JSON.match(content):
        return parse_listing(content, source)
    text = content.decode("utf-8-sig", errors="replace")
    if is_topology_conf(text):
        return parse_topology_hosts(text, source)
    found = parse_topology(content, source)
    if found is not None:
        return check_hosts((ListedHost(name, place=source) for name in found.paths), source)
    ranked = parse_launcher_file(text, source)
    return parse_host_list_bytes(content, source) if ranked is None else ranked
