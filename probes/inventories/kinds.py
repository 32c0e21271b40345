"""Readers of host lists: files recognised by content, and inventories named `KIND:WHERE`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from plink.probes.hosts.hostlist import ListedHost, check_hosts, parse_host_list_bytes
from plink.probes.hosts.launcher_files import parse_launcher_file
from plink.probes.hosts.listing import parse_listing
from plink.probes.hosts.slurm import is_topology_conf, parse_topology_hosts
from plink.probes.inventories import (
    ansible,
    parallelcluster,
    pods,
    skypilot,
    slurm_jobs,
    terraform,
    topograph,
)
from plink.probes.inventories.inventory import InventoryHosts, ReadFile
from plink.probes.inventories.topologies import parse_topology

# In a host list, a bracket opens an IPv6 address.
_JSON = re.compile(rb"\s*(\{|\[\s*[\]{])")


def parse_hosts(content: bytes, source: str) -> list[ListedHost]:
    """Return the hosts in a host list, launcher's file, JSON listing or switch topology.

    Raises:
        HostListError: the content is none of these; `source` names it.
    """
    if _JSON.match(content):
        return parse_listing(content, source)
    text = content.decode("utf-8-sig", errors="replace")
    if is_topology_conf(text):
        return parse_topology_hosts(text, source)
    topology = parse_topology(content, source)
    if topology is not None:
        return check_hosts((ListedHost(name, place=source) for name in topology.paths), source)
    ranked = parse_launcher_file(text, source)
    return parse_host_list_bytes(content, source) if ranked is None else ranked


@dataclass(frozen=True)
class HostListKind:
    """Kind of inventory that a host list may be named by, such as `ansible:`, with its reader.

    Args:
        form: spelling on the command line, such as `slurm:JOB`.
        about: which hosts these are, in a line.
        read: finds them, from what follows the colon; raises `HostListError` where it cannot.
    """

    form: str
    about: str
    read: Callable[[str, ReadFile], InventoryHosts]


KINDS: dict[str, HostListKind] = {
    kind.form.partition(":")[0]: kind
    for kind in (
        HostListKind(slurm_jobs.FORM, "the nodes of a Slurm job", slurm_jobs.read),
        HostListKind(pods.FORM, "the pods that a selector names", pods.read),
        HostListKind(
            ansible.FORM, "the hosts of an Ansible inventory, or of a group there", ansible.read
        ),
        HostListKind(terraform.FORM, "the hosts that an output of Terraform lists", terraform.read),
        HostListKind(
            parallelcluster.FORM, "the nodes of AWS ParallelCluster", parallelcluster.read
        ),
        HostListKind(skypilot.FORM, "the nodes of a SkyPilot cluster", skypilot.read),
        HostListKind(
            topograph.FORM, "the hosts of a topology, which topograph knows", topograph.read
        ),
    )
}


# What of other programs a host list is given for, and the kind that reads it.
_LOOKS_LIKE = {
    "ansible": re.compile(
        rb"^[ \t]{0,8}\[[A-Za-z_][\w.-]*(:(children|vars))?\][ \t]*(#.*)?\r?$|"
        rb"\bansible_[a-z_]+[ \t]*[=:]|^all:[ \t]*\r?$",
        re.M,
    ),
    "terraform": re.compile(rb'^\s*\{\s*"[^"]+":\s*\{\s*"sensitive":'),
    "pcluster": re.compile(rb'"nodeType":\s*"(Compute|Head)Node"'),
}
_MOST_LOOKED_AT = 1 << 16


def guess_kind(content: bytes) -> str | None:
    """Return the kind of inventory, such as `ansible`, that a file looks like; None for others."""
    beginning = content[:_MOST_LOOKED_AT]
    return next((kind for kind, sign in _LOOKS_LIKE.items() if sign.search(beginning)), None)


def find_hosts(named: str, read_file: ReadFile) -> InventoryHosts | None:
    """Return the hosts of the inventory `KIND:WHERE`; None if the text names no kind.

    Raises:
        HostListError: the hosts cannot be found.
    """
    name, colon, where = named.partition(":")
    kind = KINDS.get(name) if colon else None
    return None if kind is None else kind.read(where, read_file)
