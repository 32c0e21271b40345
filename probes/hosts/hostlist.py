"""Host lists as people have them.

A line is `[user@]host[:port]`, several of them with commas, then `slots=N`.

The forms of Open MPI, Horovod, DeepSpeed and Slurm are understood. `#` begins a comment.
Brackets are ranges (`gpu[01-16,20]`). An IPv6 address stands bare, or in brackets where a port
follows. `host:8` names port 8, never 8 ranks as MPICH reads it: ranks are `host slots=8`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator

from plink.probes.errors import HostListError
from plink.probes.hosts.address import is_address
from plink.probes.hosts.host import ListedHost
from plink.probes.hosts.names import HINT_NAME, MAX_PORT, fault_of_name, is_user
from plink.probes.hosts.ranges import MAX_NAMES, RangeError, expand, split_outside_brackets

MAX_SLOTS = 1 << 16

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_SLOT_KEYS = ("slots", "max_slots", "max-slots")

HINT_FORMS = "a line is [user@]host[:port] [slots=N], as in gpu[01-16] slots=8; # begins a comment"
HINT_SLOTS = "list a host once, and write `host slots=8` for eight ranks on it"
_HINT_PORT = "after a colon stands the SSH port; write `host slots=8` for eight ranks"
_HINT_IPV6 = "with a port it is written [2001:db8::1]:22"


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


def parse_host_list(text: str, source: str, *, least: int = 2) -> list[ListedHost]:
    """The hosts that `text` lists, in its order; `source` names it in errors.

    Raises:
        HostListError: a line is wrong, a host is listed twice, or there are too few.
    """
    return checked(_listed(text, source), source, least=least)


def checked(listed: Iterable[ListedHost], source: str, *, least: int = 2) -> list[ListedHost]:
    """The hosts that a list names, if they can be measured together; `source` names it in errors.

    Args:
        listed: what it names.
        source: of the list.
        least: how many there have to be; one is enough where nothing is measured.

    Raises:
        HostListError: a host is listed twice, or there are too few, or too many.
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
    if len(hosts) < least:
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


def parse_line(line: str, place: str) -> Iterator[ListedHost]:
    """The hosts that a line names; a blank line or a comment names no host.

    Args:
        line: the line without its end.
        place: where it stands (`hosts.txt:3`), for errors.

    Raises:
        HostListError: a part of the line is not understood.
        RangeError: a bracket is wrong.
    """
    control = _CONTROL.search(line)
    if control:
        message = f"{place}: contains the control character {control[0]!r}"
        raise HostListError(message, HINT_FORMS)
    words = _join_at("=", _join_at(",", line.partition("#")[0])).split()
    if not words:
        return
    slots = _parse_slots(words[1:], place)
    for item in split_outside_brackets(words[0]):
        if not item:
            raise HostListError(f"{place}: a comma has no host beside it", HINT_FORMS)
        user, host, port = _split_item(item, place)
        for name in [host] if ":" in host else expand(host):
            check_name(name, place)
            yield ListedHost(name=name, user=user, port=port, slots=slots, place=place)


def _join_at(separator: str, text: str) -> str:
    """Without the blanks around a separator: `a, b slots = 4` is `a,b slots=4`."""
    return separator.join(part.strip() for part in text.split(separator))


def _parse_slots(words: list[str], place: str) -> int:
    values: dict[str, int] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in _SLOT_KEYS:
            message = f"{place}: {_brief(word)} after the host is not understood"
            raise HostListError(message, HINT_FORMS)
        key = key.replace("-", "_")
        if key in values:
            raise HostListError(f"{place}: {key} is given twice", HINT_SLOTS)
        number = _parse_number(value, MAX_SLOTS)
        if number is None:
            message = f"{place}: {key} is {_brief(value)}, not a number from 1 to {MAX_SLOTS}"
            raise HostListError(message, HINT_SLOTS)
        values[key] = number
    slots = values.get("slots", 1)
    if values.get("max_slots", slots) < slots:
        raise HostListError(f"{place}: max_slots is less than slots", HINT_SLOTS)
    return slots


def _split_item(item: str, place: str) -> tuple[str | None, str, int | None]:
    """User, host (an IPv6 address without its brackets, or a name with ranges), port."""
    user, at, rest = item.rpartition("@")
    if at and not is_user(user):
        raise HostListError(f"{place}: {_brief(user)} is not a user name", HINT_FORMS)
    host, port = _split_port(rest, place)
    if not host:
        raise HostListError(f"{place}: {_brief(item)} names no host", HINT_FORMS)
    return user or None, host, port


def _split_port(text: str, place: str) -> tuple[str, int | None]:
    inside, bracket, after = text[1:].partition("]")
    if text.startswith("[") and bracket and ":" in inside:
        _check_ipv6(inside, place)
        if not after:
            return inside, None
        if not after.startswith(":"):
            raise HostListError(f"{place}: {_brief(after)} follows an address", HINT_FORMS)
        return inside, _parse_port(after[1:], place)
    if text.count(":") > 1:
        _check_ipv6(text, place)
        return text, None
    host, colon, port = text.partition(":")
    return host, _parse_port(port, place) if colon else None


def _parse_port(text: str, place: str) -> int:
    port = _parse_number(text, MAX_PORT)
    if port is None:
        message = f"{place}: {_brief(text)} is not a port (a number from 1 to {MAX_PORT})"
        raise HostListError(message, _HINT_PORT)
    return port


def _parse_number(text: str, high: int) -> int | None:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= high:
        return None
    return int(text)


def _check_ipv6(text: str, place: str) -> None:
    if not is_address(text):
        raise HostListError(f"{place}: {_brief(text)} is not an IPv6 address", _HINT_IPV6)


def check_name(name: str, place: str) -> None:
    """Refuse what is neither a host name nor an address.

    Raises:
        HostListError: it is not one; `place` says where it stands.
    """
    fault = fault_of_name(name)
    if fault is not None:
        raise HostListError(f"{place}: {_brief(name)} {fault}", HINT_NAME)


def check_host(host: ListedHost) -> None:
    """Refuse a host that no host list could name, wherever it comes from.

    Raises:
        HostListError: its name, user, port or address is not one; its place says where it stands.
    """
    place = host.place or "the list of hosts"
    check_name(host.name, place)
    if host.user is not None and not is_user(host.user):
        raise HostListError(f"{place}: {_brief(host.user)} is not a user name", HINT_FORMS)
    if host.port is not None and not 1 <= host.port <= MAX_PORT:
        raise HostListError(f"{place}: {host.port} is not a port", _HINT_PORT)
    if host.ssh_address is not None:
        check_name(host.ssh_address, place)


def _brief(text: str) -> str:
    found = repr(text)
    return found if len(found) <= 60 else found[:57] + "..."
