"""Hosts in JSON listings of clouds and Kubernetes. Pure.

- `kubectl get nodes -o json`, `kubectl get pods -o json` (Kubernetes API: NodeList, PodList)
- `aws ec2 describe-instances` (EC2 API: Reservations, Instances)
- `gcloud compute instances list --format=json` (Compute Engine API: instances)
- `mlx.launch --hostfile`'s list (MLX: `ssh`, `ips`), an entry for each rank
- `az vm list -d -o json` and `az vm list-ip-addresses -o json` (Azure CLI)

Machines that do not run are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.address import is_address
from plink.probes.hosts.hostlist import MAX_SLOTS, ListedHost, check_hosts, check_name, merge_ranks
from plink.probes.json_parsing import parse_json


def parse_listing_json(content: bytes, place: str, hint: str) -> Any:
    """Return the value in another program's JSON; `place` names it in errors.

    Raises:
        HostListError: it is not JSON as `plink.probes.json_parsing` takes it.
    """
    try:
        return parse_json(content)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else clean(str(error))
        raise HostListError(f"{place}: not valid JSON ({reason})", hint) from None


def at(value: Any, *path: str) -> Any:
    """Return the value at a path of keys in nested JSON objects; None if it does not exist."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def entries(value: Any) -> list[Any]:
    """Return the entries of a JSON list; empty if the value is not a list."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a JSON list; empty if the value is not a list."""
    return [entry for entry in entries(value) if isinstance(entry, dict)]


_GPUS = ("nvidia.com/gpu", "amd.com/gpu")


def is_ready(described: Mapping[str, Any]) -> bool:
    """Return whether a Kubernetes node or pod is ready; True if it does not say."""
    statuses = [
        at(condition, "status")
        for condition in objects(at(described, "status", "conditions"))
        if at(condition, "type") == "Ready"
    ]
    return not statuses or statuses[0] == "True"


def is_up(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod runs, is ready, and is not being deleted."""
    runs = at(pod, "status", "phase") in (None, "Running")
    return runs and is_ready(pod) and at(pod, "metadata", "deletionTimestamp") is None


def count_slots(described: Mapping[str, Any]) -> int:
    """Return the number of ranks for a Kubernetes node or pod: its GPUs, or 1 without any."""
    limits = [
        at(container, "resources", "limits")
        for container in objects(at(described, "spec", "containers"))
    ]
    counted = sum(
        _count(at(amounts, gpu))
        for amounts in (at(described, "status", "allocatable"), *limits)
        for gpu in _GPUS
    )
    return counted if 1 <= counted <= MAX_SLOTS else 1


def _count(text: Any) -> int:
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 5 else 0


_HINT = (
    "plink reads the JSON of kubectl get nodes, listings of AWS, GCP and Azure, and MLX's host file"
)

Machine = Mapping[str, Any]
# The name and the address of a machine, or None where it does not run.
Reader = Callable[[Machine], tuple[Any, Any] | None]


def parse_listing(content: bytes, source: str) -> list[ListedHost]:
    """Return the machines in a JSON listing, in its order.

    Raises:
        HostListError: it is not JSON or not a known listing, or a name in it is not a host name.
    """
    data = parse_listing_json(content, source, _HINT)
    hosts = _hosts(data, source)
    is_by_rank = any("ssh" in entry for entry in objects(data))
    return check_hosts(merge_ranks(hosts) if is_by_rank else hosts, source)


def _hosts(data: Any, source: str) -> Iterator[ListedHost]:
    for place, machine, read in _machines(data, source):
        name_and_address = read(machine)
        if name_and_address is None:
            continue
        name, address = name_and_address
        where = f"{source}: {place}"
        if not isinstance(name, str):
            raise HostListError(f"{where}: the listed machine has no name", _HINT)
        if ":" in name:
            raise HostListError(f"{where}: {name[:40]!r} is not a host name")
        check_name(name, where)
        known = address if isinstance(address, str) and is_address(address) else None
        yield ListedHost(name, slots=count_slots(machine), ssh_address=known, place=where)


def _machines(data: Any, source: str) -> Iterator[tuple[str, Machine, Reader]]:
    """Yield place, object and parser of every machine in a listing."""
    if isinstance(data, dict) and "Reservations" in data:
        for outer, reservation in _objects(data["Reservations"], "Reservations", source):
            instances = reservation.get("Instances")
            for inner, instance in _objects(instances, f"{outer}.Instances", source):
                yield inner, instance, _parse_aws
        return
    is_kubernetes = isinstance(data, dict)
    for place, item in _objects(data.get("items") if is_kubernetes else data, "items", source):
        yield place, item, _reader(item, data if is_kubernetes else {}, f"{source}: {place}")


def _objects(items: Any, name: str, source: str) -> Iterator[tuple[str, Machine]]:
    if not isinstance(items, list):
        raise HostListError(f"{source}: is not a JSON listing of machines of a known kind", _HINT)
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise HostListError(f"{source}: {name}[{index}] is not an object", _HINT)
        yield f"{name}[{index}]", item


def _reader(item: Machine, listing: Machine, where: str) -> Reader:
    kinds = {"Node": _parse_node, "Pod": _parse_pod}
    kind = item.get("kind") or str(listing.get("kind")).removesuffix("List")
    if isinstance(kind, str) and kind in kinds:
        return kinds[kind]
    fields = {
        "networkInterfaces": _parse_gcp,
        "virtualMachine": _parse_azure_addresses,
        "privateIps": _parse_azure,
        "ips": _parse_mlx,
    }
    for field, reader in fields.items():
        if field in item:
            return reader
    raise HostListError(f"{where} is not a machine of a known kind", _HINT)


def _parse_node(node: Machine) -> tuple[Any, Any] | None:
    if not is_ready(node):
        return None
    addresses = entries(at(node, "status", "addresses"))
    internal = [at(entry, "address") for entry in addresses if at(entry, "type") == "InternalIP"]
    return at(node, "metadata", "name"), internal[0] if internal else None


def _parse_pod(pod: Machine) -> tuple[Any, Any] | None:
    if not is_up(pod):
        return None
    return at(pod, "metadata", "name"), at(pod, "status", "podIP")


def _parse_aws(instance: Machine) -> tuple[Any, Any] | None:
    if at(instance, "State", "Name") not in (None, "running"):
        return None
    address = at(instance, "PrivateIpAddress")
    return at(instance, "PrivateDnsName") or address, address


def _parse_gcp(instance: Machine) -> tuple[Any, Any] | None:
    if at(instance, "status") not in (None, "RUNNING"):
        return None
    interfaces = entries(at(instance, "networkInterfaces"))
    return at(instance, "name"), at(interfaces[0], "networkIP") if interfaces else None


def _parse_azure(machine: Machine) -> tuple[Any, Any] | None:
    if at(machine, "powerState") not in (None, "VM running"):
        return None
    addresses = at(machine, "privateIps")
    first = addresses.partition(",")[0] if isinstance(addresses, str) else None
    return at(machine, "name"), first


def _parse_azure_addresses(machine: Machine) -> tuple[Any, Any] | None:
    described = at(machine, "virtualMachine")
    addresses = entries(at(described, "network", "privateIpAddresses"))
    return at(described, "name"), addresses[0] if addresses else None


def _parse_mlx(entry: Machine) -> tuple[Any, Any] | None:
    addresses = entries(at(entry, "ips"))
    return at(entry, "ssh"), addresses[0] if addresses else None
