"""Readers of host lists: files recognised by content, and inventories named `KIND:WHERE`.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost, check_hosts, parse_host_list_bytes
from plink.probes.hosts.launcher_files import parse_launcher_file
from plink.probes.hosts.listing import parse_listing
from plink.probes.inventories import ansible, clouds, pods, slurm_jobs, topologies
from plink.probes.inventories.inventory import InventoryHosts, ReadFile

# In a host list, a bracket opens an IPv6 address.
_JSON = re.compile(rb"\s*(\{|\[\s*[\]{])")
# What only Ansible inventories have: section headings in INI, keys in YAML, variables in both.
_ANSIBLE = re.compile(
    rb"^(\[[A-Za-z_][\w.-]*(:(children|vars|hosts))?\]|[ \t]*(hosts|children|vars):)[ \t\r]*$"
    rb"|^[^#\n]*\bansible_[a-z_]+[ \t]*[=:]",
    re.MULTILINE,
)


def parse_hosts(content: bytes, source: str) -> list[ListedHost]:
    """Return the hosts in a host list, launcher's file, JSON listing or switch topology."""
    if _JSON.match(content):
        return parse_listing(content, source)
    topology = topologies.parse_topology(content, source)
    if topology is not None:
        return check_hosts((ListedHost(name, place=source) for name in topology.paths), source)
    ranked = parse_launcher_file(content.decode("utf-8-sig", errors="replace"), source)
    if ranked is not None:
        return ranked
    try:
        return parse_host_list_bytes(content, source)
    except HostListError as error:
        if not _ANSIBLE.search(content):
            raise
        raise HostListError(str(error), f"for an Ansible inventory write {ansible.FORM}") from None


@dataclass(frozen=True)
class HostListKind:
    """Kind of inventory: its form such as `slurm:JOB`, which hosts these are, and its reader."""

    form: str
    about: str
    read: Callable[[str, ReadFile], InventoryHosts]


KINDS: dict[str, HostListKind] = {
    form.partition(":")[0]: HostListKind(form, about, read)
    for form, about, read in (
        (slurm_jobs.FORM, "the nodes of a Slurm job", slurm_jobs.read),
        (pods.FORM, "the pods that a selector names", pods.read),
        (ansible.FORM, "the hosts of an Ansible inventory, or of a group there", ansible.read),
        (
            clouds.TERRAFORM_FORM,
            "the hosts that an output of Terraform lists",
            clouds.read_terraform,
        ),
        (clouds.PCLUSTER_FORM, "the nodes of AWS ParallelCluster", clouds.read_pcluster),
        (clouds.SKYPILOT_FORM, "the nodes of a SkyPilot cluster", clouds.read_skypilot),
        (
            topologies.FORM,
            "the hosts of a topology, which topograph knows",
            topologies.read_topograph,
        ),
    )
}


def find_hosts(named: str, read_file: ReadFile) -> InventoryHosts | None:
    """Return the hosts of the inventory `KIND:WHERE`; None if the text names no kind."""
    name, colon, where = named.partition(":")
    kind = KINDS.get(name) if colon else None
    return None if kind is None else kind.read(where, read_file)
