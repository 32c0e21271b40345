"""Labelling of Kubernetes nodes with the network tiers in a cluster file.

What plink has written stands in an annotation of the node, so that it never changes or removes what
somebody else has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import field

from plink.base.errors import PlinkError, WrongUseError
from plink.deploy.kubernetes.api_server import (
    ANNOTATION,
    ApiServer,
    ConflictError,
    Labels,
    Node,
    NoNodeError,
)
from plink.deploy.kubernetes.tiers import assign_keys, assign_values, find_tiers
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.limits import Text, Whole
from plink.formats.structs import Output

# A node changes when its kubelet says something new, about once in five minutes.
_TRIES = 8
_HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Request:
    """Request to label Kubernetes nodes by network tier: label keys, and whether to overwrite.

    Args:
        keys: keys of labels, the finest tier first (`assign_keys`).
        overwrite: take over labels of these keys that something else wrote.
        dry_run: change nothing.
    """

    keys: Sequence[str]
    overwrite: bool = False
    dry_run: bool = False


class NodeLabels(Output, frozen=True):
    """Result of labelling nodes: their labels, and which nodes were changed or left alone.

    Attributes:
        dry_run: whether nothing was changed: then the rest would be
        keys: keys of the labels of each tier, the nearest first
        tiers: number of tiers that were found, which may exceed the number of keys
        labels: labels of each node, value by key
        changed: nodes with labels that changed, by name
        cleared: nodes that lost all labels of plink
        kept: nodes that were not measured and keep their labels
        conflicts: keys of labels that something else wrote, by node
        not_nodes: hosts that are not nodes
        gone: nodes that disappeared meanwhile
    """

    dry_run: bool
    keys: Sequence[str] = ()
    tiers: Whole = 0
    labels: dict[str, Mapping[str, Text]] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    conflicts: dict[str, Sequence[str]] = field(default_factory=dict)
    not_nodes: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


def write_labels(server: ApiServer, cluster: Cluster, request: Request) -> NodeLabels:
    """Label the Kubernetes nodes of a cluster's hosts by tier; remove plink's labels elsewhere.

    Nodes that plink labelled and that are not among the hosts lose those labels, unless they are
    among the hosts that could not be measured.

    Raises:
        PlinkError: the API server does not answer, or refuses.
        WrongUseError: the cluster's groups, or its hosts, do not fit nodes.
    """
    tiers = find_tiers(cluster)
    outcome = NodeLabels(request.dry_run, assign_keys(request.keys, len(tiers)), len(tiers))
    nodes = sorted(server.nodes(), key=lambda node: node.name)
    node_of = match_nodes(cluster, nodes)
    unknown = list_unmeasured(cluster)
    outcome.not_nodes.extend(
        name for name in cluster.names if name not in node_of and name not in unknown
    )
    wanted: dict[str, dict[str, str]] = {
        node: {} for host, node in node_of.items() if host not in unknown
    }
    by_name = {node.name: node for node in nodes}
    for key, tier in zip(outcome.keys, tiers, strict=False):
        present = {
            host: by_name[node].written[key]
            for host, node in node_of.items()
            if key in by_name[node].written
        }
        taken = {node.labels[key] for node in nodes if key in node.labels}
        for host, value in assign_values(tier, key, present, taken).items():
            if host in node_of and host not in unknown:
                wanted[node_of[host]][key] = value
    unknown_nodes = {node_of.get(host, host) for host in unknown}
    for node in nodes:
        if node.name in unknown_nodes:
            outcome.kept.extend([node.name] if node.written else [])
        else:
            _update_node(server, node, wanted.get(node.name, {}), request, outcome)
    return outcome


def remove_labels(server: ApiServer, *, dry_run: bool = False) -> NodeLabels:
    """Remove from all Kubernetes nodes the labels that plink wrote.

    Raises:
        PlinkError: the API server does not answer, or refuses.
    """
    outcome = NodeLabels(dry_run)
    for node in sorted(server.nodes(), key=lambda node: node.name):
        _update_node(server, node, {}, Request((), dry_run=dry_run), outcome)
    return outcome


def _update_node(
    server: ApiServer, node: Node, wanted: Mapping[str, str], request: Request, outcome: NodeLabels
) -> None:
    """Change one node's labels as wanted, and record the result in `outcome`."""
    try:
        change = _change(server, node, wanted, request)
    except NoNodeError:
        outcome.gone.append(node.name)
        return
    if wanted:
        outcome.labels[node.name] = {
            key: value for key, value in wanted.items() if key not in change.conflicts
        }
    if change.conflicts:
        outcome.conflicts[node.name] = change.conflicts
    if change.labels:
        (outcome.changed if wanted else outcome.cleared).append(node.name)


def _change(
    server: ApiServer, node: Node, wanted: Mapping[str, str], request: Request
) -> LabelChange:
    for _ in range(_TRIES):
        change = find_label_change(node, wanted, overwrite=request.overwrite)
        if change.patch is None or request.dry_run:
            return change
        try:
            server.patch(node.name, change.patch)
        except ConflictError:
            node = server.node(node.name)
        else:
            return change
    raise PlinkError(
        f"the node {node.name} was changed by others during each of {_TRIES} attempts to label it"
    )


@dataclass(frozen=True)
class LabelChange:
    """Change of a Kubernetes node's labels: labels to set or remove, conflicts, and the patch.

    Args:
        labels: the new value of each label that changes; None for one that is to go.
        conflicts: keys that have another value, which plink did not write.
        patch: the same as a merge patch (RFC 7386); None where nothing is to be done.
    """

    labels: Mapping[str, str | None]
    conflicts: Sequence[str]
    patch: Mapping[str, Any] | None


def find_label_change(node: Node, wanted: Labels, *, overwrite: bool = False) -> LabelChange:
    """Return the change after which a node has the wanted labels and no others of plink's.

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
        return LabelChange(labels, conflicts, None)
    metadata: dict[str, Any] = {"labels": labels, "annotations": {ANNOTATION: note}}
    if node.version:
        # Refused where somebody has changed the node meanwhile.
        metadata["resourceVersion"] = node.version
    return LabelChange(labels, conflicts, {"metadata": metadata})


def match_nodes(cluster: Cluster, nodes: Sequence[Node]) -> dict[str, str]:
    """Return the Kubernetes node of each host, by name or address; hosts without one are left out.

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
    """Return the hosts that could not be measured, whose nodes therefore keep their labels."""
    unplaced = () if cluster.grouping is None else cluster.grouping.unmeasured
    return {*unplaced, *(host.source for host in cluster.unreachable)}


def _find_by_address(host: Host, by_address: Mapping[str, str]) -> str | None:
    addresses = [address for address in (host.address, host.ssh_address) if address is not None]
    return next((by_address[each] for each in addresses if each in by_address), None)
