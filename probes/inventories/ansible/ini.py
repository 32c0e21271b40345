"""Parser of Ansible inventories in INI form. Pure.

ansible.builtin.ini: sections `[group]`, `[group:children]` and `[group:vars]`; a line of hosts is
`name[:port] key=value ...`, split as a shell splits it; `#` and `;` begin comments; hosts before
any section are in no group.
"""

from __future__ import annotations

import ast
import re
import shlex

from plink.probes.errors import HostListError, clean
from plink.probes.inventories.ansible.inventory import Inventory
from plink.probes.inventories.ansible.patterns import expand_pattern

_SECTION = re.compile(r"\[([^:\]\s]+)(?::(children|vars|hosts))?\]\s*(?:[#;].*)?")
_PORT = re.compile(r"([^:]+):([0-9]{1,5})")
_LONGEST_LINE = 1 << 14
_HINT = "an inventory has lines [GROUP] and HOST key=value, or is YAML (ansible-inventory --list)"


def parse_ini(text: str, source: str) -> Inventory:
    """Return the inventory in an INI text.

    Raises:
        HostListError: a line is not understood.
    """
    inventory = Inventory(source)
    group: str | None = None
    kind = "hosts"
    for number, raw in enumerate(text.split("\n"), start=1):
        line, place = raw.strip(), f"{source}:{number}"
        if not line or line.startswith(("#", ";")):
            continue
        if len(line) > _LONGEST_LINE:
            raise HostListError(f"{place}: is longer than {_LONGEST_LINE:,} characters", _HINT)
        if line.startswith("["):
            found = _SECTION.fullmatch(line)
            if found is None:
                raise HostListError(f"{place}: {clean(line)!r} does not begin a section", _HINT)
            group, kind = found[1], found[2] or "hosts"
            inventory.group(group)
        elif kind == "hosts":
            _take_hosts(inventory, group, line, place)
        elif group is not None and kind == "children":
            child = line.partition("#")[0].strip()
            inventory.group(group).children[child] = None
            inventory.group(child)
        elif group is not None:
            key, equals, value = line.partition("=")
            if not equals:
                raise HostListError(f"{place}: {clean(line)!r} is not key=value", _HINT)
            inventory.group(group).variables[key.strip()] = _literal(value.strip())
    return inventory


def _literal(text: str) -> str:
    """Return a value as Ansible parses it: a Python literal, or plain text."""
    if text[:1] not in ("'", '"'):
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str) else text


def _take_hosts(inventory: Inventory, group: str | None, line: str, place: str) -> None:
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise HostListError(f"{place}: {str(error).lower()}", _HINT) from None
    if not words:
        return
    pattern, *pairs = words
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise HostListError(f"{place}: {clean(pair)!r} is not key=value", _HINT)
        values[key] = value
    for name in expand_pattern(pattern, place):
        # Where there are several colons, they are those of an IPv6 address.
        with_port = _PORT.fullmatch(name)
        if with_port is None:
            inventory.add(name, group, values)
        else:
            inventory.add(with_port[1], group, {"ansible_port": with_port[2], **values})
