"""Hosts in JSON listings of clouds and Kubernetes. Pure.

- `kubectl get nodes -o json`, `kubectl get pods -o json` (Kubernetes API: NodeList, PodList)
- `aws ec2 describe-instances` (EC2 API: Reservations, Instances)
- `gcloud compute instances list --format=json` (Compute Engine API: instances)
- `mlx.launch --hostfile`'s list (MLX: `ssh`, `ips`), an entry for each rank
- `az vm list -d -o json` and `az vm list-ip-addresses -o json` (Azure CLI)

Machines that do not run are left out.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.address import is_address
from plink.probes.hosts.hostlist import MAX_SLOTS, ListedHost, check_hosts, merge_ranks
from plink.probes.json_parsing import parse_json


def parse_listing_json(content: bytes, place: str, hint: str) -> Any:
    """Parse JSON that another program wrote; `place` names it in errors."""
    try:
        return parse_json(content)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else clean(str(error))
        raise HostListError(f"{place}: not valid JSON ({reason})", hint) from None


def at(value: Any, *path: str | int) -> Any:
    """Return the value at a path of keys and indices in nested JSON; None if it does not exist."""
    for key in path:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def entries(value: Any) -> list[Any]:
    """Return the entries of a JSON list; empty if the value is not a list."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the JSON objects in a list, without other entries; empty if the value is no list."""
    return [entry for entry in entries(value) if isinstance(entry, dict)]


_COUNT = re.compile(r"[0-9]{1,5}")
_GPUS = ("nvidia.com/gpu", "amd.com/gpu")


def is_ready(described: Mapping[str, Any]) -> bool:
    """Return whether a Kubernetes node or pod is ready; True if it has no condition Ready."""
    statuses = [
        at(condition, "status")
        for condition in objects(at(described, "status", "conditions"))
        if at(condition, "type") == "Ready"
    ]
    return not statuses or statuses[0] == "True"


def is_up(pod: Mapping[str, Any]) -> bool:
    """Return whether a Kubernetes pod runs, is ready, and is not being deleted."""
    runs = at(pod, "status", "phase") in (None, "Running")
    return runs and is_ready(pod) and at(pod, "metadata", "deletionTimestamp") is None


def count_slots(described: Mapping[str, Any]) -> int:
    """Return the number of ranks for a Kubernetes node or pod: its GPUs, or 1 without any."""
    allocatable = at(described, "status", "allocatable")
    limits = [
        at(container, "resources", "limits")
        for container in objects(at(described, "spec", "containers"))
    ]
    amounts = [str(at(each, gpu)) for each in (allocatable, *limits) for gpu in _GPUS]
    counted = sum(int(amount) for amount in amounts if _COUNT.fullmatch(amount))
    return counted if 1 <= counted <= MAX_SLOTS else 1


_HINT = (
    "plink reads the JSON of kubectl get nodes, listings of AWS, GCP and Azure, and MLX's host file"
)

Machine = Mapping[str, Any]


def _find_internal_ip(node: Machine) -> Any:
    addresses = entries(at(node, "status", "addresses"))
    internal = [at(entry, "address") for entry in addresses if at(entry, "type") == "InternalIP"]
    return at(internal, 0)


@dataclass(frozen=True)
class _MachineForm:
    """Paths to a machine's name and address, and test of its state, in one kind of listing."""

    name: Sequence[str]
    address: Sequence[str | int] | Callable[[Machine], Any]
    is_running: Callable[[Machine], bool] = lambda _: True


_AWS = _MachineForm(
    ("PrivateDnsName",),
    ("PrivateIpAddress",),
    lambda machine: at(machine, "State", "Name") in (None, "running"),
)
_KUBERNETES = {
    "Node": _MachineForm(("metadata", "name"), _find_internal_ip, is_ready),
    "Pod": _MachineForm(("metadata", "name"), ("status", "podIP"), is_up),
}
# By a key that no other kind of machine has.
_FORMS = {
    # Google's cloud
    "networkInterfaces": _MachineForm(
        ("name",),
        ("networkInterfaces", 0, "networkIP"),
        lambda machine: at(machine, "status") in (None, "RUNNING"),
    ),
    # az vm list-ip-addresses
    "virtualMachine": _MachineForm(
        ("virtualMachine", "name"), ("virtualMachine", "network", "privateIpAddresses", 0)
    ),
    # az vm list
    "privateIps": _MachineForm(
        ("name",),
        lambda machine: str(at(machine, "privateIps")).partition(",")[0],
        lambda machine: at(machine, "powerState") in (None, "VM running"),
    ),
    # mlx.launch
    "ips": _MachineForm(("ssh",), ("ips", 0)),
}


def parse_listing(content: bytes, source: str) -> list[ListedHost]:
    """Return the running machines in a JSON listing of a cloud, Kubernetes or MLX, in order."""
    data = parse_listing_json(content, source, _HINT)
    hosts = _list_hosts(data, source)
    is_by_rank = any("ssh" in entry for entry in objects(data))
    return check_hosts(merge_ranks(hosts) if is_by_rank else hosts, source)


def _list_hosts(data: Any, source: str) -> Iterator[ListedHost]:
    for place, machine, form in _list_machines(data, source):
        if not form.is_running(machine):
            continue
        find = form.address
        address = find(machine) if callable(find) else at(machine, *find)
        name, where = at(machine, *form.name), f"{source}: {place}"
        if form is _AWS:
            name = name or address
        if not isinstance(name, str):
            raise HostListError(f"{where}: the listed machine has no name", _HINT)
        if ":" in name:
            raise HostListError(f"{where}: {name[:40]!r} is not a host name")
        known = address if isinstance(address, str) and is_address(address) else None
        yield ListedHost(name, slots=count_slots(machine), ssh_address=known, place=where)


def _list_machines(data: Any, source: str) -> Iterator[tuple[str, Machine, _MachineForm]]:
    """Yield (place in the JSON, object, form) for every machine in a listing."""
    if isinstance(data, dict) and "Reservations" in data:
        for outer, reservation in _list_objects(data["Reservations"], "Reservations", source):
            instances = reservation.get("Instances")
            for inner, instance in _list_objects(instances, f"{outer}.Instances", source):
                yield inner, instance, _AWS
        return
    listing = data if isinstance(data, dict) else {"items": data}
    for place, item in _list_objects(listing.get("items"), "items", source):
        kind = item.get("kind") or str(listing.get("kind")).removesuffix("List")
        form = _KUBERNETES.get(str(kind))
        form = form or next((known for key, known in _FORMS.items() if key in item), None)
        if form is None:
            message = f"{source}: {place} is not a machine of a known kind"
            raise HostListError(message, _HINT)
        yield place, item, form


def _list_objects(items: Any, name: str, source: str) -> Iterator[tuple[str, Machine]]:
    if not isinstance(items, list):
        raise HostListError(f"{source}: is not a JSON listing of machines that plink knows", _HINT)
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise HostListError(f"{source}: {name}[{index}] is not a JSON object", _HINT)
        yield f"{name}[{index}]", item
