"""Host lists as people have them: read, and checked as a whole (`hostline` has the syntax)."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from pathlib import Path

from probes.errors import HostListError
from probes.hosts.host import ListedHost
from probes.hosts.hostline import HINT_FORMS, HINT_SLOTS, parse_line
from probes.hosts.ranges import MAX_NAMES, RangeError

STANDARD_INPUT = "-"
_MAX_BYTES = 16 << 20


def read_host_list(path: str) -> list[ListedHost]:
    """The hosts listed in the file `path`; `-` is standard input.

    Raises:
        HostListError: it cannot be read, is not text, or is no list of two or more hosts.
    """
    source = "standard input" if path == STANDARD_INPUT else path
    try:
        if path == STANDARD_INPUT:
            content = sys.stdin.buffer.read(_MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as stream:
                content = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise HostListError(f"{source}: {error.strerror or error}") from None
    except ValueError:
        raise HostListError(f"{source!r} is no file name") from None
    if len(content) > _MAX_BYTES:
        raise HostListError(f"{source}: is larger than {_MAX_BYTES >> 20} MiB", HINT_FORMS)
    return parse_host_list(_decode(content, source), source)


def parse_host_list(text: str, source: str) -> list[ListedHost]:
    """The hosts that `text` lists, in its order; `source` names it in errors.

    Raises:
        HostListError: a line is wrong, a host is listed twice, or there are fewer than two.
    """
    hosts: list[ListedHost] = []
    seen: dict[str, ListedHost] = {}
    for host in _listed(text, source):
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


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise HostListError(f"{source}:{line}: is not text in UTF-8", HINT_FORMS) from None


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
