"""Groups of hosts that the user gives: lines `NAME: HOSTS`, a topology, or a cluster file.

HOSTS is as in a host list: several with commas, ranges such as gpu[01-16]; `#` begins a comment.
A topology is understood, too (`plink.probes.inventories.topologies`): its lowest switches, or its
blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import brief
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats.hosts import Group
from plink.formats.limits import WORD_EXPECTED, is_word
from plink.measure.errors import to_plink_error
from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import RangeError, parse_line

with lazy_imports():
    from plink.probes.inventories import topologies

_HINT = "a line is NAME: HOSTS, as in rack1: gpu[01-16]; # begins a comment"


def read_groups(
    path: str, hosts: Collection[str], listed_in: str, *, are_positions: bool = False
) -> list[Group]:
    """Return the groups of hosts in a file: lines `NAME: HOSTS`, a topology or a cluster file.

    Args:
        path: the file, or `-`; `topograph:URL` for what a server answers.
        hosts: the names that groups may hold.
        listed_in: where those are listed, for errors.
        are_positions: a group of a topology is named after all switches above it, the widest first
            (`row1/rack3`), not after its own alone.

    Raises:
        WrongUseError: something in it is not valid, or a host is not listed.
    """
    return read_given_groups(path, hosts, listed_in, are_positions=are_positions)[0]


def read_given_groups(
    path: str, hosts: Collection[str], listed_in: str, *, are_positions: bool = False
) -> tuple[list[Group], Mapping[str, str]]:
    """Return the groups in a file, and each host's NVLink domain if it is a topology with them.

    The arguments and errors are those of `read_groups`.
    """
    source = document.label(path)
    try:
        if path.startswith(topologies.PREFIX):
            where = path.removeprefix(topologies.PREFIX)
            topology: topologies.Topology | None = topologies.read_topology(where, _read)[0]
        else:
            content = _read(path)
            topology = topologies.parse_topology(content, source)
    except HostListError as error:
        raise to_plink_error(error) from None
    if topology is not None:
        groups = _build_topology_groups(topology, hosts, listed_in, are_positions=are_positions)
        wrong = next((name for name in topology.domains.values() if not is_word(name)), None)
        if wrong is not None:
            raise WrongUseError(
                f"{source}: {brief(wrong)} is not a valid domain name: {WORD_EXPECTED}"
            )
        return groups, topology.domains
    if content.lstrip().startswith(b"{"):
        return _read_cluster_groups(content, source, hosts, listed_in), {}
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WrongUseError(f"{source}: is not text in UTF-8", _HINT) from None
    return parse_groups(text, source, hosts, listed_in), {}


def parse_groups(text: str, source: str, hosts: Collection[str], listed_in: str) -> list[Group]:
    """Parse groups from lines `NAME: HOSTS`, in their order; raise if a host is unknown."""
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
            raise WrongUseError(f"{place}: expected NAME: HOSTS, found no colon", _HINT)
        if not is_word(name):
            raise WrongUseError(
                f"{place}: {brief(name)} is not a valid group name: {WORD_EXPECTED}", _HINT
            )
        if name in groups:
            raise WrongUseError(
                f"{place}: the group {name} is already defined at {groups[name][0]}"
            )
        try:
            members = [host.name for host in parse_line(listed, place)]
        except RangeError as error:
            raise WrongUseError(f"{place}: {error}", _HINT) from None
        except HostListError as error:
            raise to_plink_error(error) from None
        if not members:
            raise WrongUseError(f"{place}: the group has no host", _HINT)
        for host in members:
            _check_host(host, place, hosts, listed_in)
            if host in places:
                raise WrongUseError(f"{place}: {host} is already in a group at {places[host]}")
            places[host] = place
        groups[name] = (place, members)
    if not groups:
        raise WrongUseError(f"{source}: has no line NAME: HOSTS", _HINT)
    return [Group(name, members) for name, (_, members) in groups.items()]


def _read_cluster_groups(
    content: bytes, source: str, hosts: Collection[str], listed_in: str
) -> list[Group]:
    groups = list(cluster_file.parse_cluster(content, source).groups)
    if not groups:
        raise WrongUseError(
            f"{source}: the cluster file has no groups", "give a file of lines NAME: HOSTS"
        )
    for group in groups:
        for host in group.hosts:
            _check_host(host, f"{source}: group {group.name}", hosts, listed_in)
    return groups


def _build_topology_groups(
    topology: topologies.Topology, hosts: Collection[str], listed_in: str, *, are_positions: bool
) -> list[Group]:
    """Return a group per lowest switch or block, with those of its hosts that are in `hosts`."""
    members: dict[tuple[str, ...], list[str]] = {}
    for host, path in topology.paths.items():
        if host not in hosts:
            continue
        if host in topology.doubles:
            first, second = (brief(name) for name in topology.doubles[host])
            raise WrongUseError(
                f"{topology.source}: {host} is below two switches, {first} and {second}",
                "correct the file, or give a line NAME: HOSTS for each group",
            )
        members.setdefault(path, []).append(host)
    if not members:
        raise WrongUseError(f"{topology.source}: the topology has none of the hosts in {listed_in}")
    groups: dict[str, Group] = {}
    for path, names in members.items():
        # A slash parts the levels of a position.
        name = "/".join(part.replace("/", "_") for part in path) if are_positions else path[-1]
        if name in groups or not is_word(name):
            why_not = (
                "is the name of two switches"
                if name in groups
                else f"is not a valid group name: {WORD_EXPECTED}"
            )
            raise WrongUseError(
                f"{topology.source}: groups are named after switches, but {brief(name)} {why_not}"
            )
        groups[name] = Group(name, names)
    return list(groups.values())


def _read(path: str) -> bytes:
    return document.read_bytes(path, document.MOST_LIST_BYTES)


def _check_host(host: str, place: str, hosts: Collection[str], listed_in: str) -> None:
    if host not in hosts:
        hint = "name hosts in groups as the host list does"
        raise WrongUseError(f"{place}: {brief(host)} is not one of the hosts in {listed_in}", hint)
