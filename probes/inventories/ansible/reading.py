"""The hosts of an Ansible inventory: `ansible:FILE`, or `ansible:FILE:GROUP`."""

from __future__ import annotations

import re
from pathlib import Path

from plink.probes.errors import HostListError
from plink.probes.inventories.ansible.ini import parse_ini
from plink.probes.inventories.ansible.inventory import ALL, Inventory, listed_hosts
from plink.probes.inventories.ansible.structured import parse_structured
from plink.probes.inventories.found import FoundHosts, ReadFile, file_and_part

FORM = "ansible:FILE[:GROUP]"
_YAML = re.compile(r"\s*(?:(?:#[^\n]*|---[^\n]*)\n\s*)*(?:\{|[\w.\-\"']+:(?:\s|$))")


def read(where: str, read_file: ReadFile) -> FoundHosts:
    """The hosts of an inventory's group, all of them if none is named.

    Raises:
        HostListError: it is not an inventory, or does not have such hosts.
    """
    path, group = file_and_part(where)
    content = read_file(path)
    hosts, keys = listed_hosts(parse_inventory(content, path), group or ALL)
    files = tuple(str(Path(key).expanduser()) for key in keys)
    return FoundHosts(hosts, identity_files=files, content=content)


def parse_inventory(content: bytes, source: str) -> Inventory:
    """An inventory of either form; `source` names it. Pure.

    Raises:
        HostListError: it is not one.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HostListError(f"{source}: is not text in UTF-8") from None
    return parse_structured(text, source) if _YAML.match(text) else parse_ini(text, source)
