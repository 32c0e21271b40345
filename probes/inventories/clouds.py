"""Nodes that cloud tools know: AWS ParallelCluster, SkyPilot, Terraform and OpenTofu.

- `pcluster:NAME_OR_FILE[:QUEUE]` (AWS ParallelCluster 3 user guide, `pcluster
  describe-cluster-instances`): `instances`, each with `nodeType` (HeadNode, LoginNode or
  ComputeNode), `state`, `privateIpAddress`, `queueName`; more follow where `nextToken` is given.
- `sky:CLUSTER`: SkyPilot writes an SSH configuration for each cluster that is up into
  `~/.sky/generated/ssh`, which `~/.ssh/config` includes: hosts CLUSTER, CLUSTER-worker1, ... with
  addresses, users, ports, keys and proxies (`SSHConfigHelper`, sky/utils/cluster_utils.py;
  documentation, "SSH access").
- `terraform:FOLDER_OR_FILE[:OUTPUT]` (Terraform documentation, Command: output): `terraform output
  -json` prints an object of outputs, each with `sensitive`, `type` and `value`, and `terraform
  output -json NAME` a value alone. A value that lists hosts is a list of names or addresses, a list
  of objects, or a map of names to either.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plink.probes.errors import HostListError, clean, name_some
from plink.probes.hosts.address import is_address
from plink.probes.hosts.hostlist import ListedHost, check_hosts, is_host_name
from plink.probes.hosts.listing import at, entries, parse_listing_json
from plink.probes.inventories.inventory import InventoryHosts, ReadFile, file_and_part, run_program

PCLUSTER_FORM = "pcluster:NAME[:QUEUE]"
_HINT_PCLUSTER = (
    "pcluster list-clusters names clusters; pcluster describe-cluster-instances -n NAME lists nodes"
)
_PCLUSTER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,59}")
_MOST_PAGES = 100


def read_pcluster(where: str, read_file: ReadFile) -> InventoryHosts:
    """Return the running nodes of an AWS ParallelCluster, by `pcluster` or its output in a file."""
    name, queue = file_and_part(where)
    place = clean(f"pcluster:{where}")
    if not _PCLUSTER_NAME.fullmatch(name):
        content = read_file(name)
        instances, _ = parse_instances(content, place)
        return InventoryHosts(list_compute_nodes(instances, queue, place), content=content)
    instances, token = [], ""
    for _ in range(_MOST_PAGES):
        words = ["pcluster", "describe-cluster-instances", "--cluster-name", name]
        words += ["--node-type", "ComputeNode"] + (["--next-token", token] if token else [])
        more, token = parse_instances(run_program(words, place, _HINT_PCLUSTER), place)
        instances += more
        if not token:
            break
    return InventoryHosts(list_compute_nodes(instances, queue, place))


def parse_instances(content: bytes, place: str) -> tuple[list[Any], str]:
    """Return the instances on a page of pcluster's listing, and the next page's token. Pure."""
    data = parse_listing_json(content, place, _HINT_PCLUSTER)
    instances = at(data, "instances")
    if not isinstance(instances, list):
        raise HostListError(
            f"{place}: is not the JSON of pcluster describe-cluster-instances", _HINT_PCLUSTER
        )
    token = at(data, "nextToken")
    return instances, token if isinstance(token, str) else ""


def list_compute_nodes(instances: list[Any], queue: str, place: str) -> list[ListedHost]:
    """Return the running compute nodes of a queue, or of all, by private address. Pure."""
    nodes = [each for each in instances if at(each, "nodeType") == "ComputeNode"]
    running = [each for each in nodes if at(each, "state") == "running"]
    queues = {str(at(each, "queueName")) for each in running}
    if queue and queue not in queues:
        message = f"{place}: no node of the queue {clean(queue)!r} is running"
        raise HostListError(message, f"queues whose nodes run: {name_some(sorted(queues))}")
    if not running:
        raise HostListError(
            f"{place}: none of the {len(nodes)} compute nodes is running", _HINT_PCLUSTER
        )
    addresses = [
        at(each, "privateIpAddress")
        for each in running
        if not queue or at(each, "queueName") == queue
    ]
    for address in addresses:
        if not isinstance(address, str) or not is_address(address):
            raise HostListError(
                f"{place}: a node's address is {clean(str(address))!r}, expected an IP address",
                _HINT_PCLUSTER,
            )
    return check_hosts([ListedHost(address, place=place) for address in addresses], place)


SKYPILOT_FORM = "sky:CLUSTER"
_SKYPILOT_FOLDER = "~/.sky/generated/ssh"
_CLUSTER = re.compile(r"[A-Za-z]([-_.A-Za-z0-9]{0,200}[A-Za-z0-9])?")
_HOST = re.compile(r"^[ \t]*Host\s+(\S+)[ \t]*$", re.MULTILINE)


def read_skypilot(cluster: str, read_file: ReadFile) -> InventoryHosts:
    """Return the nodes of a SkyPilot cluster, by their names in the SSH configuration."""
    if not _CLUSTER.fullmatch(cluster):
        hint = "write sky:NAME; sky status lists the clusters"
        raise HostListError(
            f"sky: {clean(cluster)!r} is not a valid name of a SkyPilot cluster", hint
        )
    path = Path(_SKYPILOT_FOLDER).expanduser() / cluster
    if not path.is_file():
        raise HostListError(
            f"sky:{cluster}: there is no file {_SKYPILOT_FOLDER}/{cluster} of SkyPilot",
            f"sky status {cluster} writes it for a cluster that is up",
        )
    content = read_file(str(path))
    return InventoryHosts(parse_nodes(content.decode(errors="replace"), cluster), content=content)


def parse_nodes(text: str, cluster: str) -> list[ListedHost]:
    """Return the nodes in SkyPilot's SSH configuration, head first, workers by number. Pure."""
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


TERRAFORM_FORM = "terraform:FOLDER[:OUTPUT]"
_HINT_TERRAFORM = (
    "an output must list names or addresses, or objects with name and private_ip, "
    'as in output "hosts" { value = [for m in aws_instance.gpu : {name = m.id, '
    "private_ip = m.private_ip}] }"
)
_PROGRAMS = ("terraform", "tofu")
_NAMES = ("name", "hostname", "host", "instance_name", "private_dns", "id")
# Private ones first: other hosts reach them, and so does who works in the same network.
_ADDRESSES = (
    *("private_ip", "private_ip_address", "ipv4_address_private", "network_ip", "internal_ip"),
    *("ip", "ip_address", "address", "ipv4_address", "access_ip_v4"),
    *("public_ip", "public_ip_address", "external_ip"),
)


def read_terraform(where: str, read_file: ReadFile) -> InventoryHosts:
    """Return the hosts in a Terraform output: of a folder, or of `output -json` in a file."""
    path, name = file_and_part(where)
    if not Path(path).is_dir():
        content = read_file(path)
        return InventoryHosts(parse_outputs(content, f"terraform:{path}", name), content=content)
    place = clean(f"terraform:{path}")
    program = next((each for each in _PROGRAMS if shutil.which(each)), _PROGRAMS[0])
    output = run_program([program, f"-chdir={path}", "output", "-json"], place, _HINT_TERRAFORM)
    return InventoryHosts(parse_outputs(output, place, name))


def parse_outputs(content: bytes, place: str, name: str) -> list[ListedHost]:
    """Return the hosts in the named Terraform output, or in the only one that lists any. Pure."""
    data = parse_listing_json(content, place, _HINT_TERRAFORM)
    values = _read_output_values(data)
    if name and name not in values:
        known = f"outputs: {name_some(values)}"
        raise HostListError(f"{place}: there is no output {clean(name)!r}", known)
    chosen = {name: values[name]} if name else values
    lists = {each: hosts for each, value in chosen.items() if (hosts := find_hosts(value))}
    # Names without addresses may be those of anything: subnets, keys, disks.
    with_addresses = {
        each: hosts
        for each, hosts in lists.items()
        if any(known or is_address(host) for host, known in hosts)
    }
    lists = with_addresses or lists
    if len(lists) > 1:
        choice = f"choose one of {name_some(f'{place}:{each}' for each in lists)}"
        raise HostListError(f"{place}: {len(lists)} outputs list hosts, expected one", choice)
    if not lists:
        if name:
            message = f"{place}: the output {clean(name)!r} lists no hosts"
            raise HostListError(message, _HINT_TERRAFORM)
        raise HostListError(f"{place}: no output lists hosts", _HINT_TERRAFORM)
    (hosts,) = lists.values()
    return check_hosts(
        [ListedHost(each, ssh_address=known, place=place) for each, known in hosts], place
    )


def find_hosts(value: Any) -> list[tuple[str, str | None]]:
    """Return (name, address) of the hosts in a Terraform value; empty if it holds others."""
    if isinstance(value, Mapping):
        hosts = [_parse_named_host(name, item) for name, item in value.items()]
    else:
        hosts = [_parse_host(item) for item in entries(value)]
    return [] if None in hosts else [host for host in hosts if host is not None]


def _read_output_values(data: Any) -> dict[str, Any]:
    """Return the values of Terraform outputs by name; one bare value has the empty name."""
    is_outputs = isinstance(data, dict) and all(
        isinstance(output, dict)
        and "value" in output
        and ("type" in output or "sensitive" in output)
        for output in data.values()
    )
    if is_outputs:
        return {name: output["value"] for name, output in data.items()}
    return {"": data}


def _parse_named_host(name: str, item: Any) -> tuple[str, str | None] | None:
    if not is_host_name(name):
        return None
    if isinstance(item, str):
        return (name, item) if is_address(item) else None
    parsed = _parse_host(item)
    if parsed is None:
        return None
    return name, parsed[1] or (parsed[0] if is_address(parsed[0]) else None)


def _parse_host(item: Any) -> tuple[str, str | None] | None:
    if isinstance(item, str):
        return (item, None) if is_host_name(item) else None
    if not isinstance(item, dict):
        return None
    # Google's provider has the address at an interface.
    interfaces = entries(item.get("network_interface"))
    addresses = [
        *(item.get(key) for key in _ADDRESSES),
        *(at(interface, "network_ip") for interface in interfaces),
    ]
    names = [at(item, "tags", "Name"), *(item.get(key) for key in _NAMES)]
    address = next((text for text in addresses if isinstance(text, str) and is_address(text)), None)
    name = next((text for text in names if isinstance(text, str) and is_host_name(text)), address)
    return None if name is None else (name, address)
