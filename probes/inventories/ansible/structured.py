"""Parser of Ansible inventories in YAML and in the JSON of `ansible-inventory --list`. Pure.

ansible.builtin.yaml: groups by name, each with `hosts` (a mapping of names, with ranges, to
variables), `children` and `vars`. The JSON: groups by name with lists of `hosts` and of `children`,
and `_meta.hostvars` (Ansible documentation, "Developing dynamic inventory").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.nested import parse_listing_json
from plink.probes.inventories.ansible.inventory import ALL, Inventory
from plink.probes.inventories.ansible.patterns import expand_pattern
from plink.probes.inventories.yaml_text import parse_yaml

_HINT = (
    "write an inventory as all: {hosts: {n1: {ansible_host: 10.0.0.1}}}; "
    "ansible-inventory --list converts any other form"
)
_MOST_DEEP = 100
_JSON = re.compile(r'\s*\{\s*"[^"]*"\s*:')


def parse_structured(text: str, source: str) -> Inventory:
    """Return the inventory in a YAML or JSON text.

    Raises:
        HostListError: it is neither YAML nor JSON, or not an inventory.
    """
    # What ansible-inventory --list prints; YAML in braces has names without quotes, mostly.
    if _JSON.match(text):
        data = parse_listing_json(text.encode(), source, _HINT)
    else:
        data = parse_yaml(text, source, _HINT)
    inventory = Inventory(source)
    if not isinstance(data, dict):
        raise HostListError(f"{source}: is not an inventory: expected groups", _HINT)
    variables = data.pop("_meta", None)
    for name, group in data.items():
        _take_group(inventory, name, group, 0)
    for name, values in _pairs(variables.get("hostvars") if isinstance(variables, dict) else None):
        if isinstance(values, dict):
            inventory.hosts.setdefault(name, {}).update(values)
    return inventory


def _take_group(inventory: Inventory, name: Any, group: Any, depth: int) -> None:
    source = inventory.source
    if not isinstance(name, str) or not isinstance(group, dict | None) or depth > _MOST_DEEP:
        raise HostListError(f"{source}: {clean(str(name))!r} is not a group of an inventory", _HINT)
    found = inventory.group(name)
    group = group or {}
    for host, values in _pairs(group.get("hosts")):
        for each in expand_pattern(host, source):
            inventory.add(each, None if name == ALL else name, values or {})
    for child, content in _pairs(group.get("children")):
        found.children[child] = None
        _take_group(inventory, child, content, depth + 1)
    if isinstance(group.get("vars"), dict):
        found.variables.update(group["vars"])


def _pairs(value: Any) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield name and value of a mapping's entries, or names alone of a list or a single name."""
    entries = value.items() if isinstance(value, dict) else _names(value)
    for name, content in entries:
        if isinstance(name, str | int | float):
            yield str(name), content if isinstance(content, dict) else None


def _names(value: Any) -> list[tuple[Any, None]]:
    names = value if isinstance(value, list) else [value]
    return [(name, None) for name in names if name is not None]
