"""Groups of hosts as a user gives them: a line `NAME: HOSTS` each, or a cluster file with groups.

HOSTS is as in a host list: several with commas, ranges such as gpu[01-16]; `#` begins a comment.
A topology.conf of Slurm is understood, too: its leaf switches, or its blocks.
"""

from __future__ import annotations

from collections.abc import Collection

from plink.base.errors import WrongUseError
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.document import brief
from plink.files.fields import WORD, is_word
from plink.files.groups import Group
from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import parse_line
from plink.probes.hosts.ranges import RangeError
from plink.probes.hosts.slurm import is_topology_conf, parse_topology_groups

_HINT = "a line is NAME: HOSTS, as in rack1: gpu[01-16]; # begins a comment"


def read_groups(path: str, hosts: Collection[str], listed_in: str) -> list[Group]:
    """The groups in a file.

    Args:
        path: the file, or `-`.
        hosts: the names that groups may hold.
        listed_in: where those are listed, for errors.

    Raises:
        WrongUseError: a line is not valid, a group or a host stands there twice, or a host is not
            listed.
    """
    source = document.label(path)
    content = document.read_bytes(path, document.MOST_LIST_BYTES)
    if content.lstrip().startswith(b"{"):
        return _of_cluster(content, source, hosts, listed_in)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WrongUseError(f"{source}: is not text in UTF-8", _HINT) from None
    if is_topology_conf(text):
        return _of_topology(text, source, hosts, listed_in)
    return parse_groups(text, source, hosts, listed_in)


def parse_groups(text: str, source: str, hosts: Collection[str], listed_in: str) -> list[Group]:
    """The groups that a text lists, in its order. The arguments are those of `read_groups`.

    Raises:
        WrongUseError: as `read_groups`.
    """
    groups: dict[str, tuple[str, list[str]]] = {}
    places: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        place = f"{source}:{number}"
        content = line.partition("#")[0].strip()
        if not content:
            continue
        name, colon, listed = content.partition(":")
        name = name.strip()
        if not colon:
            raise WrongUseError(f"{place}: has no colon after the name of a group", _HINT)
        if not is_word(name):
            raise WrongUseError(f"{place}: {brief(name)} is not the name of a group: {WORD}", _HINT)
        if name in groups:
            raise WrongUseError(f"{place}: group {name} is already at {groups[name][0]}")
        members = _members(listed, place)
        for host in members:
            _check_host(host, place, hosts, listed_in)
            if host in places:
                raise WrongUseError(f"{place}: {host} is already in a group at {places[host]}")
            places[host] = place
        groups[name] = (place, members)
    if not groups:
        raise WrongUseError(f"{source}: lists no group", _HINT)
    return [Group(name, members) for name, (_, members) in groups.items()]


def _members(listed: str, place: str) -> list[str]:
    try:
        members = [host.name for host in parse_line(listed, place)]
    except RangeError as error:
        raise WrongUseError(f"{place}: {error}", _HINT) from None
    except HostListError as error:
        raise WrongUseError(str(error), error.hint) from None
    if not members:
        raise WrongUseError(f"{place}: the group has no host", _HINT)
    return members


def _of_cluster(content: bytes, source: str, hosts: Collection[str], listed_in: str) -> list[Group]:
    groups = list(cluster_file.parse(content, source).groups)
    if not groups:
        raise WrongUseError(f"{source}: holds no groups", "give a file of lines NAME: HOSTS")
    for group in groups:
        for host in group.hosts:
            _check_host(host, f"{source}: group {group.name}", hosts, listed_in)
    return groups


def _of_topology(text: str, source: str, hosts: Collection[str], listed_in: str) -> list[Group]:
    """As `read_groups`; the file is the whole cluster's, so other nodes are left out."""
    try:
        found = parse_topology_groups(text, source)
    except HostListError as error:
        raise WrongUseError(str(error), error.hint) from None
    grouped: dict[str, str] = {}
    groups: list[Group] = []
    for name, (place, nodes) in found.items():
        members = [node for node in nodes if node in hosts]
        for node in members:
            if node in grouped:
                raise WrongUseError(f"{place}: {node} is already in a group at {grouped[node]}")
            grouped[node] = place
        if members:
            groups.append(Group(name, members))
    if not groups:
        raise WrongUseError(f"{source}: names none of the hosts of {listed_in}")
    return groups


def _check_host(host: str, place: str, hosts: Collection[str], listed_in: str) -> None:
    if host not in hosts:
        hint = "a group holds hosts by the names that the host list has for them"
        raise WrongUseError(f"{place}: {brief(host)} is not one of the hosts of {listed_in}", hint)
