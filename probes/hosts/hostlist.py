"""Host lists in the syntaxes of common launchers, and the checks of all names of hosts. Pure.

A line is `[user@]host[:port]`, several of them with commas, then `slots=N`. The forms of Open MPI,
Horovod, DeepSpeed, MPICH and Slurm are understood, as are lists of `name,address`. `#` begins a
comment. Brackets are ranges (`gpu[01-16,20]`). An IPv6 address stands bare, or in brackets where a
port follows.

A number after a colon is an SSH port to people and a number of ranks to MPICH. It is a port after
`user@host`, after brackets, beside `slots=N`, and from 1024 on; it is a number of ranks below, but
for 22, 222 and 443: these are refused, because they may be either. `port=N` always is a port.

A host that stands on several lines has as many ranks (Open MPI's sequential files, Slurm's host
files, PBS_NODEFILE), if nothing but hosts is listed and its lines are adjacent, or every host has
as many.

SSH configurations hand names to shells (`Match exec`, `ProxyCommand`), known_hosts reads `*` in
them, and programs take a dash in front for an option: what could mean anything but a host is
refused before anything else sees it.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from plink.probes.errors import HostListError
from plink.probes.hosts.address import is_address


@dataclass(frozen=True)
class ListedHost:
    """Host as a host list names it: name, address, user, port and slots.

    Args:
        name: the name, alias or address as written, without user and port.
        user: the SSH user, or None to leave it to the SSH configuration.
        port: the SSH port, or None to leave it to the SSH configuration.
        slots: the number of ranks it takes.
        ssh_address: where SSH reached it before, for a name that cannot be resolved; or None.
        connect_to: the address to connect to in place of the name, which the list gives; or None.
        ssh_options: options of this host's SSH connection, as `ssh -o` takes them (`Key=value`).
        place: where it is listed (`hosts.txt:3`), for error messages.
    """

    name: str
    user: str | None = None
    port: int | None = None
    slots: int = 1
    ssh_address: str | None = None
    connect_to: str | None = None
    ssh_options: tuple[str, ...] = ()
    place: str = ""


MAX_PORT = 65535
MAX_NAME_LENGTH = 255
_MAX_LABEL_LENGTH = 63

HINT_NAME = "use the host's DNS name, its address, or an alias from the SSH configuration"

_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+@-]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_NUMERIC = re.compile(r"[0-9.]+")
_WHOLE = re.compile(r"[0-9]{1,9}")


def find_name_fault(name: str) -> str | None:
    """Return why a text is no valid host name, such as `is not a host name`; None if it is valid.

    Names are those of DNS, aliases (which may hold underscores), and IPv4 and IPv6 addresses, these
    perhaps with a zone.
    """
    if ":" in name:
        return None if is_address(name) else "is not an IPv6 address"
    labels = name.removesuffix(".").split(".")
    faults = {
        "begins with a dash, which programs take for an option": name.startswith("-"),
        "is not a host name": not _NAME.fullmatch(name),
        "is not an IPv4 address": bool(_NUMERIC.fullmatch(name)) and not is_address(name),
        "is too long for a host name": len(name) > MAX_NAME_LENGTH
        or max(map(len, labels)) > _MAX_LABEL_LENGTH,
        "has an empty part": not all(labels),
    }
    return next((fault for fault, is_found in faults.items() if is_found), None)


def is_host_name(name: str) -> bool:
    """Return whether a text can be a host's name or address."""
    return find_name_fault(name) is None


MAX_NAMES = 65_536
MAX_LENGTH = 253

_PIECE = re.compile(r"\[([^\]]*)\]|[^\[]+")
_OTHER = re.compile(r"[^\[\]]+")
# The first wrong place among the brackets of a text, and what is wrong there.
_FAULT = re.compile(r"\[\[|^\]|\]\]|\[$")
_FAULTS = {
    "[[": "brackets are nested",
    "]": "a bracket is closed that was not opened",
    "]]": "a bracket is closed that was not opened",
    "[": "a bracket is not closed",
}
_WITH_BRACKETS = re.compile(r"(\[[^\]]*\])")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


class RangeError(ValueError):
    """Error in a bracket expression of host names; the message does not repeat the expression."""


def split_outside_brackets(text: str) -> list[str]:
    """Return the comma-separated items of `text`; raise RangeError for wrong brackets."""
    _check_brackets(text)
    if "[" not in text or "," not in text:
        return text.split(",")
    items: list[list[str]] = [[]]
    # Text and brackets take turns.
    for place, piece in enumerate(_WITH_BRACKETS.split(text)):
        first, *others = [piece] if place % 2 else piece.split(",")
        items[-1].append(first)
        items += [[other] for other in others]
    return ["".join(pieces) for pieces in items]


def _check_brackets(text: str) -> None:
    fault = _FAULT.search(_OTHER.sub("", text))
    if fault is not None:
        raise RangeError(_FAULTS[fault[0]])


def expand(pattern: str) -> list[str]:
    """Expand brackets in a host name, `gpu[01-16]`, to all names, the last bracket varying fastest.

    A bracket is a comma-separated list of numbers and of ranges `low-high`, padded to the width of
    their lower ends: `[08-10]` is 08, 09, 10.

    Raises:
        RangeError: a bracket is not such a list, or the names are more than `MAX_NAMES` or longer
            than `MAX_LENGTH`.
    """
    _check_brackets(pattern)
    choices: list[list[str]] = []
    count, length = 1, 0
    for match in _PIECE.finditer(pattern):
        options = [match[0]] if match[1] is None else _expand_bracket(match[1])
        count *= len(options)
        if count > MAX_NAMES:
            raise RangeError(f"the brackets expand to more than {MAX_NAMES:,} names")
        length += max(map(len, options))
        if length > MAX_LENGTH:
            raise RangeError(f"a name is longer than {MAX_LENGTH} characters")
        choices.append(options)
    return ["".join(combination) for combination in itertools.product(*choices)]


def _expand_bracket(inside: str) -> list[str]:
    numbers: list[str] = []
    for part in inside.split(","):
        numbers += _expand_part(part)
        if len(numbers) > MAX_NAMES:
            raise RangeError(f"the brackets expand to more than {MAX_NAMES:,} names")
    return numbers


def _expand_part(part: str) -> list[str]:
    match = _RANGE.fullmatch(part)
    if match is None:
        shown = part if len(part) <= 40 else part[:37] + "..."
        raise RangeError(f"{shown!r} in a bracket is neither a number nor a range")
    low, high = match[1], match[2] or match[1]
    first, last = int(low), int(high)
    if first > last:
        raise RangeError(f"the range {part} runs backwards")
    if high.startswith("0") and len(high) != len(low):
        raise RangeError(f"the ends of the range {part} are padded with zeros differently")
    if last - first >= MAX_NAMES:
        raise RangeError(f"the range {part} expands to more than {MAX_NAMES:,} names")
    return [str(number).zfill(len(low)) for number in range(first, last + 1)]


MAX_SLOTS = 1 << 16

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")

# Keys behind a host: Open MPI's hostfile_lex.l has these spellings of slots and their bound.
_KEYS = {
    **dict.fromkeys(("slots", "slot", "count", "cpu"), "slots"),
    **dict.fromkeys(("max_slots", "max-slots", "slots_max", "slots-max"), "max_slots"),
    **dict.fromkeys(("max_count", "max-count", "count_max", "count-max"), "max_slots"),
    **dict.fromkeys(("user", "username", "user_name", "user-name"), "user"),
    "port": "port",
}

_FIRST_HIGH_PORT = 1024
# Ports below it at which SSH listens in practice, and which may be numbers of ranks.
_EITHER = (22, 222, 443)

_HEADINGS = frozenset(
    [
        *["name", "host", "hostname", "host_name", "node", "nodename", "machine", "server"],
        *["address", "ip", "ipaddress", "ip_address", "ipaddr", "addr", "ipv4", "ipv6"],
    ]
)

HINT_FORMS = "a line is [user@]host[:port] [slots=N], as in gpu[01-16] slots=8; # begins a comment"
HINT_SLOTS = "list a host once, and write `host slots=8` for eight ranks on it"
_HINT_PORT = "a number after a colon is the SSH port; write `host slots=8` for eight ranks"
_HINT_IPV6 = "write an IPv6 address with a port as [2001:db8::1]:22"


@dataclass(frozen=True)
class _Item:
    """Host on a line of a host list, and whether the number after its colon is a port or ranks.

    Args:
        is_plain: nothing else stands on its line, but perhaps a number after a colon.
        number: what that number is, where its size alone decides.
    """

    host: ListedHost
    is_plain: bool
    number: Literal["port", "ranks"] | None


def parse_host_list_bytes(content: bytes, source: str) -> list[ListedHost]:
    """Return the hosts in a host list of UTF-8 bytes; `source` names it in errors."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise HostListError(f"{source}:{line}: is not text in UTF-8", HINT_FORMS) from None
    return parse_host_list(text, source)


def parse_host_list(text: str, source: str, *, least: int = 2) -> list[ListedHost]:
    """Return the hosts in the text of a host list, in its order; `source` names it in errors."""
    pairs = _parse_named_addresses(text, source)
    return check_hosts(_parse_hosts(text, source) if pairs is None else pairs, source, least=least)


def check_hosts(listed: Iterable[ListedHost], source: str, *, least: int = 2) -> list[ListedHost]:
    """Return the hosts unchanged; raise if one is not valid or there are too few or too many.

    No host may be listed twice, nor be one that `check_host` refuses.

    Args:
        least: smallest number of hosts; one is enough where nothing is measured.
    """
    hosts: list[ListedHost] = []
    seen: dict[str, ListedHost] = {}
    for host in listed:
        check_host(host)
        place = seen.setdefault(_normalize_name(host.name), host).place
        if seen[_normalize_name(host.name)] is not host:
            where = "twice on this line" if place == host.place else f"already at {place}"
            raise HostListError(f"{host.place}: {host.name} is listed {where}", HINT_SLOTS)
        hosts.append(host)
        if len(hosts) > MAX_NAMES:
            message = f"{host.place}: the list has more than {MAX_NAMES:,} hosts"
            raise HostListError(message, "measure some of the hosts")
    if not hosts:
        raise HostListError(f"{source}: lists no host", HINT_FORMS)
    if len(hosts) < least:
        message = f"{hosts[0].place}: {hosts[0].name} is the only host listed"
        raise HostListError(message, "probing needs at least two hosts")
    return hosts


def merge_ranks(hosts: Iterable[ListedHost]) -> list[ListedHost]:
    """Merge repeated hosts: each once, in order of first appearance, its slots added up."""
    merged: dict[str, ListedHost] = {}
    for host in hosts:
        before = merged.get(host.name)
        slots = host.slots + (before.slots if before else 0)
        if slots > MAX_SLOTS:
            raise HostListError(f"{host.place}: a host has more than {MAX_SLOTS} slots")
        merged[host.name] = replace(before or host, slots=slots)
    return list(merged.values())


def _parse_hosts(text: str, source: str) -> list[ListedHost]:
    items: list[_Item] = []
    numbers: dict[str, _Item] = {}
    for number, line in enumerate(_split_lines(text), start=1):
        place = f"{source}:{number}"
        try:
            for item in itertools.islice(_parse_items(line, place), MAX_NAMES + 1 - len(items)):
                items.append(item)
                if item.number is not None:
                    numbers.setdefault(item.number, item)
        except RangeError as error:
            raise HostListError(f"{place}: {error}", HINT_FORMS) from None
        if len(numbers) > 1:
            ranks, port = numbers["ranks"].host, numbers["port"].host
            raise HostListError(
                f"{place}: {ranks.name}:{ranks.slots} looks like a number of ranks, and "
                f"{port.name}:{port.port} like an SSH port",
                f"write `{ranks.name} slots={ranks.slots}` for ranks, "
                f"`{port.name} port={port.port}` for a port",
            )
        if len(items) > MAX_NAMES:
            break
    hosts = [item.host for item in items]
    are_plain = all(item.is_plain for item in items)
    return merge_ranks(hosts) if are_plain and _are_ranks(hosts) else hosts


def _split_lines(text: str) -> Iterator[str]:
    return (line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n"))


def _are_ranks(hosts: list[ListedHost]) -> bool:
    """Return whether repeated hosts in a list mean one line per rank rather than a mistake."""
    keys = [(host.name, host.user, host.port) for host in hosts]
    counts = Counter(keys)
    runs = sum(1 for _ in itertools.groupby(keys))
    is_one_spelling = len({_normalize_name(name) for name, _, _ in counts}) == len(counts)
    is_regular = runs == len(counts) or len(set(counts.values())) == 1
    return 1 < len(counts) < len(hosts) and is_one_spelling and is_regular


def _parse_named_addresses(text: str, source: str) -> list[ListedHost] | None:
    """Return the hosts of a list that has `name,address` on each line; None for another list."""
    pairs: list[ListedHost] = []
    others: list[str] = []
    is_first = True
    for number, line in enumerate(_split_lines(text), start=1):
        fields = line.partition("#")[0].replace(",", " ").replace(";", " ").split()
        if not fields:
            continue
        if is_first and len(fields) == 2 and _HEADINGS.issuperset(map(str.lower, fields)):
            continue
        is_first = False
        place = f"{source}:{number}"
        addresses = [field for field in fields if is_address(field)]
        if len(fields) != 2 or len(addresses) != 1 or _CONTROL.search(line):
            others.append(place)
            if not pairs:
                return None
            continue
        (name,) = (field for field in fields if field != addresses[0])
        if find_name_fault(name) is not None:
            return None
        pairs.append(ListedHost(name, connect_to=addresses[0], place=place))
        if len(pairs) > MAX_NAMES:
            break
    if len(pairs) < 2:
        return None
    if others:
        raise HostListError(
            f"{others[0]}: the line is not a name and its address, as the line {pairs[0].place} is",
            "write `name,address` on every line, or one host on each line",
        )
    return pairs


def _normalize_name(name: str) -> str:
    """Return a host name in lower case or an IPv6 address in its standard form, for comparison."""
    if ":" in name:
        return str(ipaddress.IPv6Address(name))
    return name.lower().removesuffix(".")


def parse_line(line: str, place: str) -> Iterator[ListedHost]:
    """Yield the hosts on one line of a host list; none for a blank line or a comment.

    Raises:
        RangeError: a bracket is wrong.
    """
    return (item.host for item in _parse_items(line, place))


def _parse_items(line: str, place: str) -> Iterator[_Item]:
    """Yield the hosts on one line of a host list, with how to read a number after the colon."""
    control = _CONTROL.search(line)
    if control:
        message = f"{place}: contains the control character {control[0]!r}"
        raise HostListError(message, HINT_FORMS)
    # Blanks around a comma and an equals sign count for nothing: `a, b slots = 4`.
    text = line.partition("#")[0]
    for separator in ",=":
        text = separator.join(part.strip() for part in text.split(separator))
    words = text.split()
    if not words:
        return
    values = _parse_values(words[1:], place)
    items = split_outside_brackets(words[0])
    for item in items:
        if not item:
            raise HostListError(f"{place}: a comma has no host before or after it", HINT_FORMS)
        user, host, port = _split_item(item, place)
        number: Literal["port", "ranks"] | None = None
        slots = 1
        if port is not None and not (user is not None or "slots" in values or item[0] == "["):
            number = "ranks" if _is_rank_count(host, port, place) else "port"
            if number == "ranks":
                slots, port = port, None
        for key, before in (("port", port), ("user", user)):
            if key in values and before is not None:
                raise HostListError(f"{place}: the {key} is given twice", HINT_FORMS)
        port = _parse_port(values["port"], place) if "port" in values else port
        user = _check_user(values["user"], place) if "user" in values else user
        slots = _parse_slots(values, slots, place)
        names = [host] if ":" in host else expand(host)
        for name in names:
            check_name(name, place)
            listed = ListedHost(name=name, user=user, port=port, slots=slots, place=place)
            yield _Item(listed, len(items) == len(names) == 1 and not values, number)


def _is_rank_count(host: str, number: int, place: str) -> bool:
    """Return whether a number after a host's colon counts ranks (below 1024) or is a port."""
    if number in _EITHER:
        raise HostListError(
            f"{place}: {number} after {_brief(host)} may be an SSH port or a number of ranks",
            f"write `{host} port={number}` or `{host} slots={number}`",
        )
    return number < _FIRST_HIGH_PORT


def _parse_values(words: list[str], place: str) -> dict[str, str]:
    """Return the `key=value` words after a host, with Open MPI's spellings of keys unified."""
    values: dict[str, str] = {}
    for word in words:
        given, equals, value = word.partition("=")
        key = _KEYS.get(given)
        if not equals or key is None:
            message = f"{place}: {_brief(word)} after the host is not understood"
            raise HostListError(message, HINT_FORMS)
        if key in values:
            raise HostListError(f"{place}: {key} is given twice for a host", HINT_SLOTS)
        values[key] = value
    return values


def _parse_slots(values: dict[str, str], otherwise: int, place: str) -> int:
    """Return a host's slots from `slots=N`, else `otherwise`; raise if max_slots contradicts."""
    parsed: dict[str, int] = {}
    for key in ("slots", "max_slots"):
        number = _parse_number(values.get(key, "1"), MAX_SLOTS)
        if number is None:
            message = f"{place}: {key} is {_brief(values[key])}, not a number from 1 to {MAX_SLOTS}"
            raise HostListError(message, HINT_SLOTS)
        parsed[key] = number
    most = parsed["max_slots"]
    if "max_slots" in values and "slots" not in values:
        raise HostListError(
            f"{place}: max_slots without slots leaves the number of ranks to Open MPI, which "
            "takes 1 or counts cores",
            f"write `slots={most} max_slots={most}` for {most} ranks",
        )
    if "max_slots" in values and most < parsed["slots"]:
        raise HostListError(f"{place}: max_slots is less than slots", HINT_SLOTS)
    return parsed["slots"] if "slots" in values else otherwise


def _split_item(item: str, place: str) -> tuple[str | None, str, int | None]:
    """Split an item such as `user@host:port` into user, host and port."""
    user, at, rest = item.rpartition("@")
    if at:
        _check_user(user, place)
    inside, bracket, after = rest[1:].partition("]")
    if rest.startswith("[") and bracket and ":" in inside:
        host, colon, port = inside, after[:1], after[1:]
        if colon not in ("", ":"):
            raise HostListError(
                f"{place}: {_brief(after)} follows [ADDRESS], expected nothing or :PORT", HINT_FORMS
            )
    elif rest.count(":") > 1:
        host, colon, port = rest, "", ""
    else:
        host, colon, port = rest.partition(":")
    if ":" in host and not is_address(host):
        raise HostListError(f"{place}: {_brief(host)} is not an IPv6 address", _HINT_IPV6)
    number = _parse_port(port, place) if colon else None
    if not host:
        raise HostListError(f"{place}: {_brief(item)} names no host", HINT_FORMS)
    return user or None, host, number


def _parse_port(text: str, place: str) -> int:
    port = _parse_number(text, MAX_PORT)
    if port is None:
        message = f"{place}: {_brief(text)} is not a port (a number from 1 to {MAX_PORT})"
        raise HostListError(message, _HINT_PORT)
    return port


def _parse_number(text: str, high: int) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) and 1 <= int(text) <= high else None


def _check_user(user: str, place: str) -> str:
    if not _USER.fullmatch(user):
        raise HostListError(f"{place}: {_brief(user)} is not a user name", HINT_FORMS)
    return user


def check_name(name: str, place: str) -> None:
    """Raise if a text is neither a host name nor an address."""
    why_invalid = find_name_fault(name)
    if why_invalid is not None:
        raise HostListError(f"{place}: {_brief(name)} {why_invalid}", HINT_NAME)


def check_host(host: ListedHost) -> None:
    """Raise if a host's name, user, port or address is one that no host list may contain."""
    place = host.place or "the list of hosts"
    check_name(host.name, place)
    if host.user is not None:
        _check_user(host.user, place)
    if host.port is not None and not 1 <= host.port <= MAX_PORT:
        raise HostListError(
            f"{place}: the port of {host.name} is {host.port}, expected 1 to {MAX_PORT}", _HINT_PORT
        )
    for address in (host.ssh_address, host.connect_to):
        if address is not None:
            check_name(address, place)


def _brief(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."
