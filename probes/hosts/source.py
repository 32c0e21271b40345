"""Host lists of every kind that plink reads, told apart by their content."""

from __future__ import annotations

import re

from plink.probes.hosts.host import ListedHost
from plink.probes.hosts.hostlist import parse_host_list_bytes
from plink.probes.hosts.listing import parse_listing
from plink.probes.hosts.slurm import is_topology_conf, parse_topology_hosts

# In a host list, a bracket opens an IPv6 address.
_JSON = re.compile(rb"\s*(\{|\[\s*[\]{])")


def parse_hosts(content: bytes, source: str) -> list[ListedHost]:
    """The hosts in a host list, in a JSON listing of machines or in a topology.conf.

    Raises:
        HostListError: the content is neither of these; `source` names it.
    """
    if _JSON.match(content):
        return parse_listing(content, source)
    text = content.decode("utf-8-sig", errors="replace")
    if is_topology_conf(text):
        return parse_topology_hosts(text, source)
    return parse_host_list_bytes(content, source)
