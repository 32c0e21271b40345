"""Hosts of an Ansible inventory, named `ansible:FILE` or `ansible:FILE:GROUP`."""

from __future__ import annotations

import re
from pathlib import Path

from plink.probes.errors import HostListError
from plink.probes.inventories.ansible.connection import describe_unused
from plink.probes.inventories.ansible.ini import parse_ini
from plink.probes.inventories.ansible.inventory import ALL, Inventory, find_connections
from plink.probes.inventories.ansible.structured import parse_structured
from plink.probes.inventories.found import FoundHosts, ReadFile, file_and_part

FORM = "ansible:FILE[:GROUP]"
_YAML = re.compile(r"\s*(?:(?:#[^\n]*|---[^\n]*)\n\s*)*(?:\{|[\w.\-\"']+:(?:\s|$))")


def read(where: str, read_file: ReadFile) -> FoundHosts:
    """Return the hosts of a group of an inventory, or all of them if no group is named.

    Raises:
        HostListError: it is not an inventory, or does not have such hosts.
    """
    path, group = file_and_part(where)
    content = read_file(path)
    connections = find_connections(parse_inventory(content, path), group or ALL)
    keys = dict.fromkeys(key for found in connections for key in found.keys)
    return FoundHosts(
        [found.host for found in connections],
        identity_files=tuple(str(Path(key).expanduser()) for key in keys),
        content=content,
        notes=describe_unused(connections, path),
    )


def parse_inventory(content: bytes, source: str) -> Inventory:
    """Return an inventory in INI, YAML or JSON; `source` names it in errors. Pure.

    Raises:
        HostListError: it is not one.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HostListError(f"{source}: is not text in UTF-8") from None
    return parse_structured(text, source) if _YAML.match(text) else parse_ini(text, source)
