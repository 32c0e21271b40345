"""Decision which labels of Kubernetes nodes to change, from their present state.

What plink has written stands in an annotation of the node, so that it never changes or removes what
somebody else has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host

ANNOTATION = "plink/labels"

_HOSTNAME = "kubernetes.io/hostname"

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Node:
    """Kubernetes node as the API server describes it: name, addresses, labels.

    Args:
        name: its own.
        labels, annotations: its own.
        addresses: internal ones.
        version: `resourceVersion`, which changes whenever the node does.
    """

    name: str
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    addresses: Sequence[str] = ()
    version: str = ""

    @property
    def written(self) -> dict[str, str]:
        """Labels of the node that plink wrote and nobody has changed since."""
        try:
            noted = json.loads(self.annotations.get(ANNOTATION, "{}"))
        except (ValueError, RecursionError):
            return {}
        if not isinstance(noted, dict):
            return {}
        return {key: value for key, value in noted.items() if self.labels.get(key) == value}


@dataclass(frozen=True)
class LabelChange:
    """Change to the labels of a Kubernetes node: labels to set and to remove.

    Args:
        node: its name.
        labels: the new value of each label that changes; None for one that is to go.
        conflicts: keys that have another value, which plink did not write.
        patch: the same as a merge patch (RFC 7386); None where nothing is to be done.
    """

    node: str
    labels: Mapping[str, str | None]
    conflicts: Sequence[str]
    patch: Mapping[str, Any] | None


def find_label_change(node: Node, wanted: Labels, *, overwrite: bool = False) -> LabelChange:
    """Return the change that gives a node exactly the wanted labels of plink.

    Args:
        node: as it is.
        wanted: key to value; empty for a node that is to have none.
        overwrite: take over labels of these keys that plink did not write.
    """
    written = node.written
    labels: dict[str, str | None] = {}
    conflicts: list[str] = []
    noted: dict[str, str] = {}
    for key, value in wanted.items():
        present = node.labels.get(key)
        if present is None or key in written or (overwrite and present != value):
            noted[key] = value
            if present != value:
                labels[key] = value
        elif present != value:
            conflicts.append(key)
    labels |= {key: None for key in written if key not in wanted}
    note = json.dumps(noted, sort_keys=True) if noted else None
    if not labels and note == node.annotations.get(ANNOTATION):
        return LabelChange(node.name, labels, conflicts, None)
    metadata: dict[str, Any] = {"labels": labels, "annotations": {ANNOTATION: note}}
    if node.version:
        # Refused where somebody has changed the node meanwhile.
        metadata["resourceVersion"] = node.version
    return LabelChange(node.name, labels, conflicts, {"metadata": metadata})


def match_nodes(cluster: Cluster, nodes: Sequence[Node]) -> dict[str, str]:
    """Return the Kubernetes node of each host that is one, matched by name or address.

    Raises:
        WrongUseError: two hosts are one node.
    """
    by_name = {node.labels.get(_HOSTNAME, node.name): node.name for node in nodes}
    by_name |= {node.name: node.name for node in nodes}
    by_address = {address: node.name for node in nodes for address in node.addresses}
    found: dict[str, str] = {}
    host_of: dict[str, str] = {}
    for host in cluster.hosts:
        node = by_name.get(host.name) or _find_by_address(host, by_address)
        if node is None:
            continue
        if node in host_of:
            raise WrongUseError(
                f"{cluster.source}: {host_of[node]} and {host.name} are both on the node {node}",
                "measure one host on every node",
            )
        host_of[node] = host.name
        found[host.name] = node
    return found


def list_unmeasured(cluster: Cluster) -> set[str]:
    """Return the hosts without new measurements, whose nodes keep their labels."""
    unplaced = () if cluster.grouping is None else cluster.grouping.unmeasured
    return {*unplaced, *(host.source for host in cluster.unreachable)}


def _find_by_address(host: Host, by_address: Mapping[str, str]) -> str | None:
    addresses = [address for address in (host.address, host.ssh_address) if address is not None]
    return next((by_address[each] for each in addresses if each in by_address), None)
