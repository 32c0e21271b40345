"""Compute nodes of AWS ParallelCluster, named `pcluster:NAME_OR_FILE[:QUEUE]`.

AWS ParallelCluster 3 user guide, `pcluster describe-cluster-instances`: `instances`, each with
`nodeType` (HeadNode, LoginNode or ComputeNode), `state`, `privateIpAddress`, `queueName`; more
follow where `nextToken` is given.
"""

from __future__ import annotations

import re
from typing import Any

from plink.probes.errors import HostListError, clean, name_some
from plink.probes.hosts.address import is_address
from plink.probes.hosts.hostlist import ListedHost, check_hosts
from plink.probes.hosts.listing import at, parse_listing_json
from plink.probes.inventories.inventory import InventoryHosts, ReadFile, file_and_part, run_program

FORM = "pcluster:NAME[:QUEUE]"
_HINT = (
    "pcluster list-clusters names clusters; pcluster describe-cluster-instances -n NAME lists nodes"
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,59}")
_MOST_PAGES = 100


def read(where: str, read_file: ReadFile) -> InventoryHosts:
    """Return the running compute nodes of `NAME_OR_FILE:QUEUE`, or of all queues without one.

    Args:
        where: the name of a cluster, or a file with what `pcluster` printed of one; then, behind a
            colon, the queue.
    """
    name, queue = file_and_part(where)
    place = clean(f"pcluster:{where}")
    if not _NAME.fullmatch(name):
        content = read_file(name)
        instances, _ = parse_instances(content, place)
        return InventoryHosts(list_compute_nodes(instances, queue, place), content=content)
    instances, token = [], ""
    for _ in range(_MOST_PAGES):
        words = ["pcluster", "describe-cluster-instances", "--cluster-name", name]
        words += ["--node-type", "ComputeNode"] + (["--next-token", token] if token else [])
        more, token = parse_instances(run_program(words, place, _HINT), place)
        instances += more
        if not token:
            break
    return InventoryHosts(list_compute_nodes(instances, queue, place))


def parse_instances(content: bytes, place: str) -> tuple[list[Any], str]:
    """Return the instances in one page of pcluster's output, and the next page's token. Pure.

    Raises:
        HostListError: it is no such page.
    """
    data = parse_listing_json(content, place, _HINT)
    instances = at(data, "instances")
    if not isinstance(instances, list):
        raise HostListError(
            f"{place}: is not the JSON of pcluster describe-cluster-instances", _HINT
        )
    token = at(data, "nextToken")
    return instances, token if isinstance(token, str) else ""


def list_compute_nodes(instances: list[Any], queue: str, place: str) -> list[ListedHost]:
    """Return the running compute nodes of a queue, or of all, named by private address. Pure.

    Args:
        queue: queue whose nodes are meant; empty for all.

    Raises:
        HostListError: fewer than two of them run.
    """
    nodes = [each for each in instances if at(each, "nodeType") == "ComputeNode"]
    running = [each for each in nodes if at(each, "state") == "running"]
    queues = {str(at(each, "queueName")) for each in running}
    if queue and queue not in queues:
        message = f"{place}: no node of the queue {clean(queue)!r} is running"
        raise HostListError(message, f"queues whose nodes run: {name_some(sorted(queues))}")
    if not running:
        raise HostListError(f"{place}: none of the {len(nodes)} compute nodes is running", _HINT)
    addresses = [
        at(each, "privateIpAddress")
        for each in running
        if not queue or at(each, "queueName") == queue
    ]
    for address in addresses:
        if not isinstance(address, str) or not is_address(address):
            raise HostListError(
                f"{place}: a node's address is {clean(str(address))!r}, expected an IP address",
                _HINT,
            )
    return check_hosts([ListedHost(address, place=place) for address in addresses], place)
