"""Host lists as people have them, checked as a whole (`hostline` has the syntax)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

from probes.errors import HostListError
from probes.hosts.host import ListedHost
from probes.hosts.hostline import HINT_FORMS, HINT_SLOTS, parse_line
from probes.hosts.ranges import MAX_NAMES, RangeError


def parse_host_list_bytes(content: bytes, source: str) -> list[ListedHost]:
    """The hosts that the content of a file lists; `source` names it in errors.

    Raises:
        HostListError: it is not text in UTF-8, or as `parse_host_list`.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise HostListError(f"{source}:{line}: is not text in UTF-8", HINT_FORMS) from None
    return parse_host_list(text, source)


def parse_host_list(text: str, source: str) -> list[ListedHost]:
    """The hosts that `text` lists, in its order; `source` names it in errors.

    Raises:
        HostListError: a line is wrong, a host is listed twice, or there are fewer than two.
    """
    return checked(_listed(text, source), source)


def checked(listed: Iterable[ListedHost], source: str) -> list[ListedHost]:
    """The hosts that a list names, if they can be measured together; `source` names it in errors.

    Raises:
        HostListError: a host is listed twice, or there are fewer than two, or too many.
    """
    hosts: list[ListedHost] = []
    seen: dict[str, ListedHost] = {}
    for host in listed:
        key = _identity(host.name)
        if key in seen:
            where = "twice on this line" if seen[key].place == host.place else ""
            where = where or f"already at {seen[key].place}"
            raise HostListError(f"{host.place}: {host.name} is listed {where}", HINT_SLOTS)
        seen[key] = host
        hosts.append(host)
        if len(hosts) > MAX_NAMES:
            message = f"{host.place}: the list is longer than {MAX_NAMES:,} hosts"
            raise HostListError(message, "measure a part of them")
    if not hosts:
        raise HostListError(f"{source}: lists no host", HINT_FORMS)
    if len(hosts) == 1:
        message = f"{hosts[0].place}: {hosts[0].name} is the only host listed"
        raise HostListError(message, "probing needs at least two hosts")
    return hosts


def _listed(text: str, source: str) -> Iterator[ListedHost]:
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        place = f"{source}:{number}"
        try:
            yield from parse_line(line.removesuffix("\r"), place)
        except RangeError as error:
            raise HostListError(f"{place}: {error}", HINT_FORMS) from None


def _identity(name: str) -> str:
    """What two spellings of one host have in common: case, IPv6 form, the final dot."""
    if ":" in name:
        return str(ipaddress.IPv6Address(name))
    return name.lower().removesuffix(".")
