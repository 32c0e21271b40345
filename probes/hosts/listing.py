"""Hosts in the JSON that clouds and Kubernetes print of their machines.

- `kubectl get nodes -o json`, `kubectl get pods -o json` (Kubernetes API: NodeList, PodList)
- `aws ec2 describe-instances` (EC2 API: Reservations, Instances)
- `gcloud compute instances list --format=json` (Compute Engine API: instances)
- `az vm list -d -o json` and `az vm list-ip-addresses -o json` (Azure CLI)

Machines that do not run are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from plink.probes.errors import HostListError
from plink.probes.hosts.address import is_address
from plink.probes.hosts.host import ListedHost
from plink.probes.hosts.hostlist import MAX_SLOTS, check_name, checked

_HINT = "kubectl get nodes -o json, or the listing of virtual machines of AWS, GCP or Azure"

Machine = Mapping[str, Any]
# The name and the address of a machine, or None where it does not run.
Reader = Callable[[Machine], tuple[Any, Any] | None]


def parse_listing(content: bytes, source: str) -> list[ListedHost]:
    """The machines that a JSON text lists, in its order.

    Raises:
        HostListError: it is not JSON or not a known listing, or a name in it is not a host name.
    """
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise HostListError(f"{source}: not valid JSON", _HINT) from None
    return checked(_hosts(data, source), source)


def _hosts(data: Any, source: str) -> Iterator[ListedHost]:
    for place, machine, read in _machines(data, source):
        found = read(machine)
        if found is None:
            continue
        name, address = found
        where = f"{source}: {place}"
        if not isinstance(name, str):
            raise HostListError(f"{where} has no name", _HINT)
        if ":" in name:
            raise HostListError(f"{where}: {name[:40]!r} is not a host name")
        check_name(name, where)
        known = address if isinstance(address, str) and is_address(address) else None
        yield ListedHost(name, slots=_gpus(machine), ssh_address=known, place=where)


def _machines(data: Any, source: str) -> Iterator[tuple[str, Machine, Reader]]:
    """Place, machine and reader of every entry."""
    if isinstance(data, dict) and "Reservations" in data:
        for outer, reservation in _objects(data["Reservations"], "Reservations", source):
            instances = reservation.get("Instances")
            for inner, instance in _objects(instances, f"{outer}.Instances", source):
                yield inner, instance, _of_aws
        return
    is_kubernetes = isinstance(data, dict)
    for place, item in _objects(data.get("items") if is_kubernetes else data, "items", source):
        yield place, item, _reader(item, data if is_kubernetes else {}, f"{source}: {place}")


def _objects(items: Any, name: str, source: str) -> Iterator[tuple[str, Machine]]:
    if not isinstance(items, list):
        raise HostListError(f"{source}: is not a list of machines that plink knows", _HINT)
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise HostListError(f"{source}: {name}[{index}] is not an object", _HINT)
        yield f"{name}[{index}]", item


def _reader(item: Machine, listing: Machine, where: str) -> Reader:
    kinds = {"Node": _of_node, "Pod": _of_pod}
    kind = item.get("kind") or str(listing.get("kind")).removesuffix("List")
    if isinstance(kind, str) and kind in kinds:
        return kinds[kind]
    fields = {
        "networkInterfaces": _of_gcp,
        "virtualMachine": _of_azure_addresses,
        "privateIps": _of_azure,
    }
    for field, reader in fields.items():
        if field in item:
            return reader
    raise HostListError(f"{where} is not a machine that plink knows", _HINT)


def _of_node(node: Machine) -> tuple[Any, Any] | None:
    conditions = _list(_get(node, "status", "conditions"))
    ready = [_get(entry, "status") for entry in conditions if _get(entry, "type") == "Ready"]
    if ready and ready[0] != "True":
        return None
    addresses = _list(_get(node, "status", "addresses"))
    internal = [
        _get(found, "address") for found in addresses if _get(found, "type") == "InternalIP"
    ]
    return _get(node, "metadata", "name"), internal[0] if internal else None


def _of_pod(pod: Machine) -> tuple[Any, Any] | None:
    if _get(pod, "status", "phase") not in (None, "Running"):
        return None
    return _get(pod, "metadata", "name"), _get(pod, "status", "podIP")


def _of_aws(instance: Machine) -> tuple[Any, Any] | None:
    if _get(instance, "State", "Name") not in (None, "running"):
        return None
    address = _get(instance, "PrivateIpAddress")
    return _get(instance, "PrivateDnsName") or address, address


def _of_gcp(instance: Machine) -> tuple[Any, Any] | None:
    if _get(instance, "status") not in (None, "RUNNING"):
        return None
    interfaces = _list(_get(instance, "networkInterfaces"))
    return _get(instance, "name"), _get(interfaces[0], "networkIP") if interfaces else None


def _of_azure(machine: Machine) -> tuple[Any, Any] | None:
    if _get(machine, "powerState") not in (None, "VM running"):
        return None
    addresses = _get(machine, "privateIps")
    first = addresses.partition(",")[0] if isinstance(addresses, str) else None
    return _get(machine, "name"), first


def _of_azure_addresses(machine: Machine) -> tuple[Any, Any] | None:
    found = _get(machine, "virtualMachine")
    addresses = _list(_get(found, "network", "privateIpAddresses"))
    return _get(found, "name"), addresses[0] if addresses else None


def _gpus(machine: Machine) -> int:
    """Ranks for a machine: the GPUs of a Kubernetes node; 1 without GPUs, and for others."""
    text = str(_get(machine, "status", "allocatable", "nvidia.com/gpu"))
    return (
        int(text)
        if text.isascii()
        and text.isdigit()
        and 1 <= len(text) <= 5
        and (1 <= int(text) <= MAX_SLOTS)
        else 1
    )


def _get(value: Any, *path: str) -> Any:
    """What stands at a path of nested objects; None where it does not exist."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
