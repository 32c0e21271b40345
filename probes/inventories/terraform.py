"""Hosts in Terraform or OpenTofu outputs, named `terraform:FOLDER_OR_FILE[:OUTPUT]`.

`terraform output -json` prints an object of outputs, each with `sensitive`, `type` and `value`, and
`terraform output -json NAME` a value alone (Terraform documentation, Command: output). A value that
lists hosts is a list of names or addresses, a list of objects, or a map of names to either; what
the providers call a machine's name and addresses is below.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plink.probes.errors import HostListError, clean, name_some
from plink.probes.hosts.address import is_address
from plink.probes.hosts.hostlist import ListedHost, check_hosts, is_host_name
from plink.probes.hosts.listing import at, entries, parse_listing_json
from plink.probes.inventories.inventory import InventoryHosts, ReadFile, file_and_part, run_program

FORM = "terraform:FOLDER[:OUTPUT]"
_HINT = (
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


def read(where: str, read_file: ReadFile) -> InventoryHosts:
    """Return the hosts in the named output of Terraform, or in the only one that lists hosts.

    Args:
        where: the folder of a configuration that was applied, or a file with what `terraform
            output -json` printed; then, behind a colon, which output.
    """
    path, name = file_and_part(where)
    if not Path(path).is_dir():
        content = read_file(path)
        return InventoryHosts(parse_outputs(content, f"terraform:{path}", name), content=content)
    place = clean(f"terraform:{path}")
    program = next((each for each in _PROGRAMS if shutil.which(each)), _PROGRAMS[0])
    output = run_program([program, f"-chdir={path}", "output", "-json"], place, _HINT)
    return InventoryHosts(parse_outputs(output, place, name))


def parse_outputs(content: bytes, place: str, name: str) -> list[ListedHost]:
    """Return the hosts in one output of `terraform output -json`. Pure.

    Args:
        name: name of the output; empty for the only one that lists hosts.

    Raises:
        HostListError: no output lists hosts, or several do.
    """
    data = parse_listing_json(content, place, _HINT)
    values = _values(data)
    if name and name not in values:
        known = f"outputs: {name_some(values)}"
        raise HostListError(f"{place}: there is no output {clean(name)!r}", known)
    chosen = {name: values[name]} if name else values
    lists = {each: hosts for each, value in chosen.items() if (hosts := parse_hosts(value))}
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
        raise HostListError(
            f"{place}: the output {clean(name)!r} lists no hosts"
            if name
            else f"{place}: no output lists hosts",
            _HINT,
        )
    (hosts,) = lists.values()
    return check_hosts(
        [ListedHost(each, ssh_address=known, place=place) for each, known in hosts], place
    )


def parse_hosts(value: Any) -> list[tuple[str, str | None]]:
    """Return (name, address) of each host in an output's value; empty if an item is no host."""
    if isinstance(value, Mapping):
        hosts = [_parse_named_host(name, item) for name, item in value.items()]
    else:
        hosts = [_parse_host(item) for item in entries(value)]
    return [] if None in hosts else [host for host in hosts if host is not None]


def _values(data: Any) -> dict[str, Any]:
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
