"""Hosts of an Ansible inventory, named `ansible:FILE` or `ansible:FILE:GROUP`.

Ansible documentation, "How to build your inventory": a group's variables hold for its hosts and
those of its children; a child's win over its parent's, of groups equally deep the alphabetically
last wins, and a host's own win over all. `all` holds every host.

Three forms are read. INI (ansible.builtin.ini): sections `[group]`, `[group:children]` and
`[group:vars]`; a line of hosts is `name[:port] key=value ...`, split as a shell splits it; `#` and
`;` begin comments; hosts before any section are in no group. YAML (ansible.builtin.yaml): groups by
name, each with `hosts` (a mapping of names, with ranges, to variables), `children` and `vars`. The
JSON of `ansible-inventory --list`: groups by name with lists of `hosts` and of `children`, and
`_meta.hostvars`.

Ranges in names (`www[01:50].example.com`, `n[1:9:2]`): both ends belong to the range, a leading
zero of the first says how wide numbers are, and a third part is the step.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import ast
import itertools
import re
import shlex
import string
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plink.probes.errors import HostListError, clean, name_some
from plink.probes.hosts.hostlist import MAX_NAMES, ListedHost, check_hosts
from plink.probes.hosts.listing import parse_listing_json
from plink.probes.inventories.inventory import InventoryHosts, ReadFile, file_and_part, parse_yaml

_OVER_SSH = re.compile(r"smart|(ansible\.builtin\.)?(ssh|paramiko(_ssh)?)")
_HERE = ("local", "ansible.builtin.local")
_KEYS = ("ansible_private_key_file", "ansible_ssh_private_key_file")
_USERS = ("ansible_user", "ansible_ssh_user")
_PORTS = ("ansible_port", "ansible_ssh_port")
_ADDRESSES = ("ansible_host", "ansible_ssh_host")
_PLAIN = frozenset([*_KEYS, *_USERS, *_PORTS, *_ADDRESSES, "ansible_connection"])
_CHECKING = ("ansible_host_key_checking", "ansible_ssh_host_key_checking")

# In the order in which ansible.builtin.ssh writes them into its command, host key checking between
# the first and the second: ssh takes the first value that it gets for an option.
_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")

_BECOME = re.compile(r"ansible_(become|sudo|su)(_.+)?")
# How long and how often Ansible tries, and how it moves files: plink has its own ways of both.
_OWN_WAYS = re.compile(
    r"ansible_((ssh_)?(timeout|pipelining|retries|reconnection_retries|transfer_method|use_tty|"
    r"verbosity|password_mechanism)|(ssh_)?control_path(_dir)?|(scp|sftp)_.+|shell_executable)"
)
_REFUSED = re.compile(
    r"ansible_(ssh_.+|paramiko_.+|pass(word)?|private_key(_passphrase)?|pkcs11_provider|"
    r"sshpass_prompt|proxy_command|socks_proxy|host_key_auto_add)"
)
_SHELL = "ansible_shell_type"
_OTHER_SHELLS = ("cmd", "powershell")

# Options of `ssh -o` that plink hands on, with the values that an inventory may give. Files of
# known keys are for the user's own configuration to name: keys that are new are written into them.
_NOWHERE = ("/dev/null", "none")
_SPELLINGS = {"true": "yes", "false": "no"}
_HANDED_ON = {
    "stricthostkeychecking": ("yes", "no", "off", "ask", "accept-new"),
    "identitiesonly": ("yes", "no"),
    "userknownhostsfile": _NOWHERE,
    "globalknownhostsfile": _NOWHERE,
}
# Options and flags that change neither the way to a host nor who it is.
_HARMLESS_OPTIONS = frozenset(
    [
        *["controlmaster", "controlpath", "controlpersist", "serveraliveinterval", "loglevel"],
        *["serveralivecountmax", "connecttimeout", "connectionattempts", "compression"],
        *["forwardagent", "tcpkeepalive", "batchmode", "requesttty", "updatehostkeys"],
        *["checkhostip", "gssapiauthentication", "passwordauthentication", "addkeystoagent"],
        *["forwardx11", "visualhostkey"],
    ]
)
_HARMLESS_FLAGS = frozenset(["-C", "-q", "-T", "-t", "-tt", "-A", "-a", "-x", "-v", "-vv", "-vvv"])
_IDENTITY = "identityfile"

_HINT_WAY = (
    "write it into an SSH configuration (Host {host}, in ~/.ssh/config or -F FILE) and "
    "list the hosts in a file of names"
)
_HINT_VALUE = "write its value without templates"
_FLAGS = {
    **dict.fromkeys(("y", "yes", "on", "1", "true", "t", "1.0"), True),
    **dict.fromkeys(("n", "no", "off", "0", "false", "f", "0.0"), False),
}


@dataclass(frozen=True)
class Connection:
    """Connection settings of a host in an Ansible inventory, and variables that plink ignores.

    Args:
        keys: files of private keys, in the order in which they are tried.
        unused, unused_become: ignored variables; those of privilege escalation.
    """

    host: ListedHost
    keys: Sequence[str]
    unused: Sequence[str] = ()
    unused_become: Sequence[str] = ()


def read_connection(name: str, values: Mapping[str, Any], source: str) -> Connection:
    """Return a host's connection settings from its Ansible variables; raise if one is unusable."""
    connection = values.get("ansible_connection")
    if connection is not None and not _OVER_SSH.fullmatch(str(connection)):
        raise HostListError(
            f"{source}: {clean(name)} is reached by {clean(str(connection))!r}, not over SSH",
            "name a group without it, as ansible:FILE:GROUP",
        )
    given = {key: value for key, value in values.items() if value not in (None, "", False)}
    for variable, value in given.items():
        _check_known(variable, value, name, source)
    port = _read_text(values, source, name, *_PORTS)
    if port is not None and not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise HostListError(
            f"{source}: the port of {clean(name)} is {clean(port)!r}, "
            "expected a number from 1 to 65535"
        )
    options, keys = _read_ssh_options(name, values, source)
    key = _read_text(values, source, name, *_KEYS)
    host = ListedHost(
        name,
        user=_read_text(values, source, name, *_USERS),
        port=None if port is None else int(port),
        connect_to=_read_text(values, source, name, *_ADDRESSES),
        ssh_options=tuple(options),
        place=source,
    )
    return Connection(
        host,
        keys if key is None else [key],
        [variable for variable in given if _OWN_WAYS.fullmatch(variable)],
        [variable for variable, value in given.items() if _is_become(variable, value)],
    )


def describe_unused(connections: Sequence[Connection], source: str) -> list[str]:
    """Return sentences on inventory variables that plink ignores, and why; empty without any."""
    become = dict.fromkeys(each for connection in connections for each in connection.unused_become)
    others = dict.fromkeys(each for connection in connections for each in connection.unused)
    texts = []
    for variables, reason in (
        (become, "plink runs as the user who logs in"),
        (others, "plink has its own timeouts, retries and transfers of files"),
    ):
        if variables:
            texts.append(f"{source}: not used: {name_some(variables)} ({reason})")
    return texts


def _is_become(variable: str, value: Any) -> bool:
    match = _BECOME.fullmatch(variable)
    # The variable alone turns it on or off; the others say how.
    return match is not None and (match[2] is not None or _parse_flag(value) is not False)


def _check_known(variable: str, value: Any, name: str, source: str) -> None:
    is_used = variable in _PLAIN or variable in _ARGUMENTS or variable in _CHECKING
    if variable == _SHELL and str(value).lower() in _OTHER_SHELLS:
        raise HostListError(
            f"{source}: {_SHELL} of {clean(name)} is {clean(str(value))!r}, but plink needs a "
            "POSIX shell",
            "name a group without it, as ansible:FILE:GROUP",
        )
    if is_used or _OWN_WAYS.fullmatch(variable) or not _REFUSED.fullmatch(variable):
        return
    raise HostListError(
        f"{source}: {clean(variable)} of {clean(name)} cannot be used: plink logs in over SSH, "
        "with a key",
        "give the key with ansible_private_key_file or -i KEY, and a way to the host in "
        "~/.ssh/config",
    )


def _read_ssh_options(
    name: str, values: Mapping[str, Any], source: str
) -> tuple[list[str], list[str]]:
    """Return the `ssh -o` options and the private keys in a host's variables of SSH arguments."""
    options: list[str] = []
    keys: dict[str, None] = {}
    for variable in _ARGUMENTS:
        for option, value in _list_ssh_options(name, variable, values, source):
            keyword = option.lower()
            handed_on = _HANDED_ON.get(keyword, ())
            if keyword == _IDENTITY:
                keys[value] = None
            elif (usual := _SPELLINGS.get(value.lower(), value.lower())) in handed_on:
                options.append(f"{option}={usual}")
            else:
                shown = f"{option}={value}" if handed_on else option
                raise HostListError(
                    f"{source}: {variable} of {clean(name)} has {clean(shown)}, which plink "
                    "cannot use from an inventory",
                    _HINT_WAY.format(host=clean(name)),
                )
        if variable == _ARGUMENTS[0] and _is_unchecked(name, values, source):
            options.append("StrictHostKeyChecking=no")
    return options, list(keys)


def _is_unchecked(name: str, values: Mapping[str, Any], source: str) -> bool:
    """Return whether an Ansible variable turns off the check of SSH host keys."""
    given = [(key, values[key]) for key in _CHECKING if values.get(key) not in (None, "")]
    for variable, value in given[:1]:
        flag = _parse_flag(value)
        if flag is None:
            raise HostListError(
                f"{source}: {variable} of {clean(name)} is {clean(str(value))!r}, "
                "expected true or false",
                _HINT_VALUE,
            )
        return not flag
    return False


def _list_ssh_options(
    name: str, variable: str, values: Mapping[str, Any], source: str
) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of `ssh` options in an Ansible variable, without harmless ones."""
    text = _read_text(values, source, name, variable) or ""
    try:
        words = shlex.split(text)
    except ValueError as error:
        message = f"{source}: {variable} of {clean(name)}: {str(error).lower()}"
        raise HostListError(message, _HINT_VALUE) from None
    waiting = iter(words)
    for word in waiting:
        if word in _HARMLESS_FLAGS:
            continue
        if word.startswith("-o"):
            given = (word[2:] or next(waiting, "")).strip()
            option, _, value = given.replace("=", " ", 1).partition(" ")
            if option.lower() not in _HARMLESS_OPTIONS:
                yield option, value.strip().strip('"')
        elif word.startswith("-i"):
            yield "IdentityFile", word[2:] or next(waiting, "")
        else:
            yield word, ""


def _read_text(values: Mapping[str, Any], source: str, host: str, *names: str) -> str | None:
    """Return the value of the first of these variables that is set, as text; None if none is."""
    for name in names:
        value = values.get(name)
        if value is None or value == "":
            continue
        if not isinstance(value, str | int) or isinstance(value, bool) or "{{" in str(value):
            shown = clean(str(value))
            message = f"{source}: {name} of {clean(host)} is {shown!r}, which plink cannot use"
            raise HostListError(message, _HINT_VALUE)
        return str(value)
    return None


def _parse_flag(value: Any) -> bool | None:
    """Return the boolean that Ansible parses from a value; None if it is not one."""
    return _FLAGS.get(str(value).strip().lower())


_RANGE = re.compile(r"\[([0-9]{1,9}|[a-zA-Z]):([0-9]{1,9}|[a-zA-Z])(?::([0-9]{1,6}))?\]")
_HINT_RANGE = "a range is [01:50], [a:f] or [1:9:2]"


def expand_pattern(pattern: str, place: str) -> list[str]:
    """Expand an Ansible pattern of host names, such as `n[1:3]`, to all names."""
    # Text and the three parts of each range take turns.
    pieces = _RANGE.split(pattern)
    choices: list[list[str]] = [[pieces[0]]]
    count = 1
    for low, high, step, text in zip(*(pieces[part::4] for part in range(1, 5)), strict=True):
        options = _expand_range(low, high, int(step or 1), place)
        count *= len(options)
        if count > MAX_NAMES:
            message = f"{place}: {clean(pattern)!r} expands to more than {MAX_NAMES:,} names"
            raise HostListError(message)
        choices += [options, [text]]
    return ["".join(combination) for combination in itertools.product(*choices)]


def _expand_range(low: str, high: str, step: int, place: str) -> list[str]:
    if low.isdigit() and high.isdigit() and step:
        first, last = int(low), int(high)
        if first > last or (last - first) // step >= MAX_NAMES:
            raise HostListError(f"{place}: the range {low}:{high} runs backwards or is too long")
        width = len(low) if low.startswith("0") else 0
        return [str(number).zfill(width) for number in range(first, last + 1, step)]
    letters = string.ascii_letters
    if low.isalpha() and high.isalpha() and step and letters.index(low) <= letters.index(high):
        return list(letters[letters.index(low) : letters.index(high) + 1 : step])
    raise HostListError(
        f"{place}: the range {low}:{high} is not of two numbers, or two letters, that ascend",
        _HINT_RANGE,
    )


ALL = "all"
_MOST_DEEP = 100
# Groups and hosts that are gone through to find which groups' variables a host has.
_MOST_STEPS = 10_000_000


@dataclass
class AnsibleGroup:
    """Group of an Ansible inventory: its own hosts, child groups and variables."""

    hosts: dict[str, None] = field(default_factory=dict)
    children: dict[str, None] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass
class Inventory:
    """Parsed Ansible inventory: its hosts with variables, and its groups."""

    source: str
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, AnsibleGroup] = field(default_factory=dict)
    steps: int = 0

    def add(self, name: str, group: str | None, variables: Mapping[str, Any]) -> None:
        """Add a host, to a group if one is given, and set variables of the host."""
        self.hosts.setdefault(name, {}).update(variables)
        if len(self.hosts) > MAX_NAMES:
            raise HostListError(f"{self.source}: names more than {MAX_NAMES:,} hosts")
        if group is not None:
            self.group(group).hosts[name] = None

    def group(self, name: str) -> AnsibleGroup:
        """Return a group of the inventory by name, created if it does not exist."""
        return self.groups.setdefault(name, AnsibleGroup())

    def count_steps(self, steps: int) -> None:
        """Count groups and hosts that are gone through; raise if it is too many of them."""
        self.steps += steps
        if self.steps > _MOST_STEPS:
            raise HostListError(f"{self.source}: too many groups hold too many hosts")


def find_connections(inventory: Inventory, group: str) -> list[Connection]:
    """Return the connection settings of a group's hosts, except those on this machine itself.

    Hosts that Ansible does not leave this machine for are left out.
    """
    source = inventory.source
    if group != ALL and group not in inventory.groups:
        known = f"its groups: {name_some(sorted(inventory.groups))}"
        raise HostListError(f"{source}: has no group {clean(group)!r}", known)
    depths = _compute_depths(inventory)
    chosen = _list_members(inventory, group)
    variables: dict[str, dict[str, Any]] = {host: {} for host in chosen}
    # The variables of later ones win.
    for name in sorted(inventory.groups, key=lambda name: (depths[name], name)):
        given = _select_connecting(inventory.groups[name].variables)
        for host in _list_members(inventory, name) if given else ():
            if host in variables:
                variables[host].update(given)
    connections: list[Connection] = []
    for host in chosen:
        values = {**variables[host], **_select_connecting(inventory.hosts[host])}
        # Ansible runs those on this machine itself.
        if values.get("ansible_connection") not in _HERE:
            connections.append(read_connection(host, values, source))
    check_hosts([connection.host for connection in connections], source)
    return connections


def _list_members(inventory: Inventory, group: str) -> Mapping[str, object]:
    """Return the hosts of a group and its descendants, each once, the group's own first."""
    if group == ALL:
        inventory.count_steps(len(inventory.hosts))
        return inventory.hosts
    waiting, seen = [group], {group}
    hosts: dict[str, None] = {}
    for name in waiting:
        parsed = inventory.groups[name]
        inventory.count_steps(1 + len(parsed.hosts) + len(parsed.children))
        hosts |= parsed.hosts
        waiting += [child for child in parsed.children if child not in seen]
        seen.update(parsed.children)
    return hosts


def _select_connecting(variables: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the variables that may say something of the connection."""
    return {
        name: value
        for name, value in variables.items()
        if isinstance(name, str) and name.startswith("ansible_")
    }


def _compute_depths(inventory: Inventory) -> dict[str, int]:
    """Return each group's greatest depth below the group `all`, for variables' precedence."""
    depths = {name: 0 if name == ALL else 1 for name in inventory.groups}
    waiting = deque(depths)
    while waiting:
        name = waiting.popleft()
        inventory.count_steps(1 + len(inventory.groups[name].children))
        for child in inventory.groups[name].children:
            if child in depths and child != ALL and depths[child] <= depths[name]:
                depths[child] = depths[name] + 1
                waiting.append(child)
                if depths[child] > _MOST_DEEP:
                    message = f"{inventory.source}: the group {clean(child)!r} contains itself"
                    raise HostListError(message)
    return depths


_SECTION = re.compile(r"\[([^:\]\s]+)(?::(children|vars|hosts))?\]\s*(?:[#;].*)?")
_WITH_PORT = re.compile(r"([^:]+):([0-9]{1,5})")
_LONGEST_LINE = 1 << 14
_HINT_INI = (
    "an inventory has lines [GROUP] and HOST key=value, or is YAML (ansible-inventory --list)"
)


def parse_ini(text: str, source: str) -> Inventory:
    """Parse an Ansible inventory in INI format."""
    inventory = Inventory(source)
    group: str | None = None
    kind = "hosts"
    for number, raw in enumerate(text.split("\n"), start=1):
        line, place = raw.strip(), f"{source}:{number}"
        if not line or line.startswith(("#", ";")):
            continue
        if len(line) > _LONGEST_LINE:
            raise HostListError(
                f"{place}: the line is longer than {_LONGEST_LINE:,} characters", _HINT_INI
            )
        if line.startswith("["):
            section = _SECTION.fullmatch(line)
            if section is None:
                raise HostListError(
                    f"{place}: {clean(line)!r} is not a section heading, such as [GROUP], "
                    "[GROUP:children] or [GROUP:vars]",
                    _HINT_INI,
                )
            group, kind = section[1], section[2] or "hosts"
            inventory.group(group)
        elif kind == "hosts":
            _take_hosts(inventory, group, line, place)
        elif group is not None and kind == "children":
            child = line.partition("#")[0].strip()
            inventory.group(group).children[child] = None
            inventory.group(child)
        elif group is not None:
            key, value = (part.strip() for part in _split_assignment(line, place))
            # Ansible takes a quoted value for a Python literal.
            if value[:1] in ("'", '"'):
                with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                    literal = ast.literal_eval(value)
                    value = literal if isinstance(literal, str) else value
            inventory.group(group).variables[key] = value
    return inventory


def _split_assignment(text: str, place: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise HostListError(f"{place}: {clean(text)!r} is not key=value", _HINT_INI)
    return key, value


def _take_hosts(inventory: Inventory, group: str | None, line: str, place: str) -> None:
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise HostListError(
            f"{place}: the line cannot be split into words ({str(error).lower()})", _HINT_INI
        ) from None
    if not words:
        return
    pattern, *pairs = words
    values = dict(_split_assignment(pair, place) for pair in pairs)
    for name in expand_pattern(pattern, place):
        # Where there are several colons, they are those of an IPv6 address.
        with_port = _WITH_PORT.fullmatch(name)
        if with_port is None:
            inventory.add(name, group, values)
        else:
            inventory.add(with_port[1], group, {"ansible_port": with_port[2], **values})


_HINT_STRUCTURED = (
    "write an inventory as all: {hosts: {n1: {ansible_host: 10.0.0.1}}}; "
    "ansible-inventory --list converts any other form"
)
_JSON = re.compile(r'\s*\{\s*"[^"]*"\s*:')


def parse_structured(text: str, source: str) -> Inventory:
    """Parse an Ansible inventory in YAML, or in the JSON of `ansible-inventory --list`."""
    # What ansible-inventory --list prints; YAML in braces has names without quotes, mostly.
    if _JSON.match(text):
        data = parse_listing_json(text.encode(), source, _HINT_STRUCTURED)
    else:
        data = parse_yaml(text, source, _HINT_STRUCTURED)
    inventory = Inventory(source)
    if not isinstance(data, dict):
        raise HostListError(
            f"{source}: is not an Ansible inventory, expected groups by name", _HINT_STRUCTURED
        )
    variables = data.pop("_meta", None)
    for name, group in data.items():
        _take_group(inventory, name, group, 0)
    for name, values in _list_named(
        variables.get("hostvars") if isinstance(variables, dict) else None
    ):
        if isinstance(values, dict):
            inventory.hosts.setdefault(name, {}).update(values)
    return inventory


def _take_group(inventory: Inventory, name: Any, group: Any, depth: int) -> None:
    source = inventory.source
    if not isinstance(name, str) or not isinstance(group, dict | None) or depth > _MOST_DEEP:
        raise HostListError(
            f"{source}: {clean(str(name))!r} is not a group with hosts, children or vars",
            _HINT_STRUCTURED,
        )
    parsed = inventory.group(name)
    group = group or {}
    for host, values in _list_named(group.get("hosts")):
        for each in expand_pattern(host, source):
            inventory.add(each, None if name == ALL else name, values or {})
    for child, content in _list_named(group.get("children")):
        parsed.children[child] = None
        _take_group(inventory, child, content, depth + 1)
    if isinstance(group.get("vars"), dict):
        parsed.variables.update(group["vars"])


def _list_named(value: Any) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield (name, mapping or None) for the entries of a mapping or list, or for a single name."""
    if not isinstance(value, dict):
        names = value if isinstance(value, list) else [value]
        value = {name: None for name in names if isinstance(name, str | int | float)}
    for name, content in value.items():
        if isinstance(name, str | int | float):
            yield str(name), content if isinstance(content, dict) else None


FORM = "ansible:FILE[:GROUP]"
_YAML = re.compile(r"\s*(?:(?:#[^\n]*|---[^\n]*)\n\s*)*(?:\{|[\w.\-\"']+:(?:\s|$))")


def read(where: str, read_file: ReadFile) -> InventoryHosts:
    """Return the hosts of `FILE:GROUP` in an Ansible inventory, or all hosts without a group."""
    path, group = file_and_part(where)
    content = read_file(path)
    connections = find_connections(parse_inventory(content, path), group or ALL)
    keys = dict.fromkeys(key for connection in connections for key in connection.keys)
    return InventoryHosts(
        [connection.host for connection in connections],
        identity_files=tuple(str(Path(key).expanduser()) for key in keys),
        content=content,
        notes=describe_unused(connections, path),
    )


def parse_inventory(content: bytes, source: str) -> Inventory:
    """Parse an Ansible inventory in INI, YAML or JSON; `source` names it in errors. Pure."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HostListError(f"{source}: is not text in UTF-8") from None
    return parse_structured(text, source) if _YAML.match(text) else parse_ini(text, source)
