"""Control messages to JSON objects and back: every field has its limits, and unknown ones none."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from plink.base.errors import WrongUseError
from plink.base.text import printable
from plink.formats.fields import Fields
from plink.formats.limits import is_namespace
from plink.formats.structs import convert
from plink.hub.manifest import MOST_ITEMS, Manifest
from plink.hub.placement import MOST_PORTS, MOST_SERVERS, Sites
from plink.hub.service import MOST_WORKERS, ServiceOptions
from plink.hub.session import leading, recall
from plink.hub.session import messages as said
from plink.hub.session.data import MOST_NUMBER
from plink.hub.session.messages import Message
from plink.hub.session.roles import ADMIN, PEER, SALT_BYTES, SERVER, WORKER
from plink.transport.addresses import parse_address
from plink.transport.frames import DATA, ProtocolError

MOST_ITERATION = (1 << 53) - 1
MOST_SENTENCE_LETTERS = 1000
MOST_SNAPSHOT_LETTERS = 200
_DIGEST_LETTERS = 64
_MOST_SERVICES = 1 << 16
MOST_NUMBERS_BYTES = 1 << 20
_MOST_PIECES = 1 << 17
_MOST_ARRAYS = 3

_PLACE = "a message"

Read = Callable[[Fields, str], Any]


def to_json(message: Message) -> dict[str, Any]:
    """The JSON object that stands for a message; numbers in it are bytes, and travel behind it."""
    values: dict[str, Any] = {"what": _NAMES[type(message)]}
    for field in dataclasses.fields(message):
        value = getattr(message, field.name)
        is_text = isinstance(value, bytes) and field.name != DATA
        values[field.name] = value.hex() if is_text else _plain(value)
    return values


def from_json(data: Mapping[str, Any], sender: str) -> Message:
    """Return the message that a JSON object stands for.

    Args:
        data: from the other end.
        sender: what the other end has proven to be: admin, worker, peer or server.

    Raises:
        ProtocolError: it is not a valid message, or not one that the sender may send.
    """
    fields = Fields(data, _PLACE)
    what = data.get("what")
    kind = _KINDS.get(what) if isinstance(what, str) else None
    if kind is None or sender not in _SENDERS[kind]:
        raise ProtocolError(f"a message that no {sender} sends")
    form = _FORMS[kind]
    for name in data:
        if name != "what" and name not in form:
            raise ProtocolError(f"{_PLACE}: {printable(name[:40])!r} is not known")
    try:
        return kind(**{name: read(fields, name) for name, read in form.items()})  # type: ignore[no-any-return]
    except WrongUseError as error:
        # Only its first letters: the rest may be whatever somebody has put into a field.
        raise ProtocolError(printable(str(error))[:MOST_SENTENCE_LETTERS]) from None


def _plain(value: Any) -> Any:
    if isinstance(value, ServiceOptions | Manifest | Sites):
        return msgspec.to_builtins(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _whole(low: int, high: int) -> Read:
    return lambda fields, name: fields.integer(name, low, high)


def _optional_whole(low: int, high: int) -> Read:
    return lambda fields, name: fields.optional_integer(name, low, high)


def _flag(fields: Fields, name: str) -> bool:
    return fields.flag(name)


def _namespace(fields: Fields, name: str) -> str:
    value = fields.text(name)
    if not is_namespace(value):
        raise fields.error(name, "a namespace")
    return value


def _namespace_or_all(fields: Fields, name: str) -> str:
    return "" if fields.values.get(name) == "" else _namespace(fields, name)


def _file_name(fields: Fields, name: str) -> str:
    value = fields.text(name)
    is_plain = value.isascii() and all(letter.isalnum() or letter in "_.-" for letter in value)
    if not is_plain or value.startswith(".") or len(value) > MOST_SNAPSHOT_LETTERS:
        raise fields.error(name, "the name of a file, of letters, digits, _, . and -")
    return value


def _sentence(fields: Fields, name: str) -> str:
    return printable(fields.text(name))[:MOST_SENTENCE_LETTERS]


def _sentence_or_none(fields: Fields, name: str) -> str:
    return "" if fields.values.get(name) == "" else _sentence(fields, name)


def _hint(fields: Fields, name: str) -> str | None:
    return None if fields.values.get(name) is None else _sentence(fields, name)


def _digest(fields: Fields, name: str) -> str:
    value = fields.text(name)
    if len(value) != _DIGEST_LETTERS or set(value) - set("0123456789abcdef"):
        raise fields.error(name, f"{_DIGEST_LETTERS} hexadecimal digits")
    return value


def _salt(fields: Fields, name: str) -> bytes:
    value = fields.text(name)
    if len(value) != 2 * SALT_BYTES or set(value) - set("0123456789abcdef"):
        raise fields.error(name, f"{2 * SALT_BYTES} hexadecimal digits")
    return bytes.fromhex(value)


def _numbers(fields: Fields, name: str) -> bytes:
    value = fields.values.get(name)
    # Of whole float32.
    if not isinstance(value, bytes) or len(value) > MOST_NUMBERS_BYTES or len(value) % 4:
        raise fields.error(name, f"numbers of {MOST_NUMBERS_BYTES} bytes at most")
    return value


def _pieces(fields: Fields, name: str) -> tuple[tuple[int, int], ...]:
    values = fields.values.get(name)
    if not isinstance(values, list) or len(values) > _MOST_PIECES:
        raise fields.error(name, f"at most {_MOST_PIECES} pieces")
    for value in values:
        is_pair = isinstance(value, list) and len(value) == 2
        if not is_pair or not all(type(one) is int and 0 <= one <= MOST_ITEMS for one in value):
            raise fields.error(name, "pairs of a place and a length")
    return tuple((first, items) for first, items in values)


def _options(fields: Fields, name: str) -> ServiceOptions:
    return convert(fields.object(name).values, ServiceOptions, f"{_PLACE}: {name}")


def _manifest(fields: Fields, name: str) -> Manifest | None:
    return None if fields.values.get(name) is None else _whole_manifest(fields, name)


def _whole_manifest(fields: Fields, name: str) -> Manifest:
    return convert(fields.object(name).values, Manifest, f"{_PLACE}: {name}")


def _order(fields: Fields, name: str) -> str:
    value = fields.text(name)
    if value not in leading.ORDERS:
        raise fields.error(name, "an order of a service's first server")
    return value


def _sites(fields: Fields, name: str) -> Sites:
    return convert(fields.object(name).values, Sites, f"{_PLACE}: {name}")


def _addresses(values: Any, place: str, most: int) -> tuple[str, ...]:
    if not isinstance(values, list) or not 0 < len(values) <= most:
        raise WrongUseError(f"{place}: expected 1 to {most} addresses")
    for value in values:
        if not isinstance(value, str) or len(value) > 300 or not value.isprintable():
            raise WrongUseError(f"{place}: expected addresses as HOST:PORT")
        parse_address(value, place)
    return tuple(values)


def _own_ports(fields: Fields, name: str) -> tuple[str, ...]:
    return _addresses(fields.values.get(name), f"{_PLACE}: {name}", MOST_PORTS)


def _ports(fields: Fields, name: str) -> tuple[tuple[str, ...], ...]:
    values = fields.values.get(name)
    if not isinstance(values, list) or not 0 < len(values) <= MOST_SERVERS:
        raise fields.error(name, f"addresses of 1 to {MOST_SERVERS} servers")
    return tuple(_addresses(value, f"{_PLACE}: {name}", MOST_PORTS) for value in values)


def _servers(fields: Fields, name: str) -> tuple[str, ...]:
    values = fields.values.get(name)
    return () if values == [] else _addresses(values, f"{_PLACE}: {name}", MOST_SERVERS)


def _racks(fields: Fields, name: str) -> tuple[tuple[str, ...], ...]:
    return () if fields.values.get(name) == [] else _ports(fields, name)


def _services(fields: Fields, name: str) -> tuple[Mapping[str, Any], ...]:
    found = fields.objects(name)
    if len(found) > _MOST_SERVICES:
        raise fields.error(name, f"at most {_MOST_SERVICES} services")
    for service in found:
        try:
            json.dumps(service.values, allow_nan=False)
        except (ValueError, RecursionError):
            raise fields.error(name, "objects with finite numbers only") from None
    return tuple(service.values for service in found)


_ITERATION = _whole(0, MOST_ITERATION)
_NUMBER = _whole(0, MOST_NUMBER)
_SERVER = _whole(0, MOST_SERVERS - 1)
_ARRAY = _whole(0, _MOST_ARRAYS - 1)

_SPOKEN: list[tuple[type[Any], str, tuple[str, ...], Mapping[str, Read]]] = [
    (said.Create, "create", (ADMIN,), {
        "options": _options, "salt": _salt, "sites": _sites, "addresses": _ports,
        "server": _SERVER, "racks": _racks, "rack": _SERVER, "servers": _servers,
    }),
    (said.Delete, "delete", (ADMIN,), {"namespace": _namespace}),
    (said.Ask, "ask", (ADMIN, WORKER), {"namespace": _namespace_or_all}),
    (said.Checkpoint, "checkpoint", (ADMIN, WORKER, PEER), {
        "namespace": _namespace, "iteration": _optional_whole(0, MOST_ITERATION),
    }),
    (said.Restore, "restore", (ADMIN,), {"namespace": _namespace, "snapshot": _file_name}),
    (said.Join, "join", (WORKER,), {
        "digest": _digest, "manifest": _manifest, "worker": _optional_whole(0, MOST_NUMBER),
        "incarnation": _NUMBER, "is_back": _flag,
    }),
    (said.Leave, "leave", (WORKER,), {"iteration": _ITERATION}),
    (recall.Recall, "recall", (WORKER,), {"iteration": _ITERATION}),
    (recall.Read, "read", (WORKER,), {
        "array": _ARRAY, "first": _whole(0, MOST_ITEMS),
        "items": _whole(1, MOST_NUMBERS_BYTES // 4),
    }),
    (recall.Write, "write", (WORKER,), {
        "array": _ARRAY, "first": _whole(0, MOST_ITEMS), "data": _numbers,
    }),
    (recall.Load, "load", (WORKER,), {"steps": _ITERATION, "digest": _digest}),
    (said.PeerReady, "peer-ready", (PEER, SERVER), {
        "namespace": _namespace, "server": _SERVER, "placement": _digest,
    }),
    (leading.Lead, "lead", (PEER,), {"namespace": _namespace, "manifest": _whole_manifest}),
    (leading.Order, "order", (PEER,), {
        "order": _order, "worker": _NUMBER, "incarnation": _NUMBER, "iteration": _ITERATION,
        "revision": _ITERATION, "sentence": _sentence_or_none,
    }),
    (leading.Obeyed, "obeyed", (SERVER,), {
        "is_done": _flag, "first": _optional_whole(0, MOST_ITERATION),
        "last": _optional_whole(0, MOST_ITERATION),
    }),
    (leading.Listen, "listen", (PEER,), {"namespace": _namespace}),
    (leading.Lost, "lost", (SERVER,), {
        "worker": _NUMBER, "incarnation": _NUMBER, "sentence": _sentence_or_none,
    }),
    (said.Done, "done", (SERVER, PEER), {}),
    (said.NeedManifest, "need-manifest", (SERVER,), {}),
    (said.Joined, "joined", (SERVER,), {
        "worker": _NUMBER, "incarnation": _NUMBER, "workers": _whole(1, MOST_WORKERS),
        "iteration": _ITERATION, "source": _flag, "options": _options,
        "sites": _sites, "addresses": _ports, "placement": _digest,
    }),
    (recall.Recalled, "recalled", (SERVER,), {"steps": _ITERATION, "pieces": _pieces}),
    (recall.Numbers, "numbers", (SERVER,), {"data": _numbers}),
    (said.Saved, "saved", (SERVER, PEER), {
        "snapshot": _file_name, "iteration": _ITERATION, "sha256": _digest,
        "size_bytes": _whole(0, MOST_ITERATION),
    }),
    (said.Status, "status", (SERVER,), {
        "site": _sites, "addresses": _own_ports, "services": _services,
    }),
    (said.Failure, "failure", (SERVER, PEER), {
        "sentence": _sentence, "hint": _hint, "is_final": _flag,
    }),
]  # fmt: skip

_NAMES = {kind: name for kind, name, _, _ in _SPOKEN}
_KINDS = {name: kind for kind, name, _, _ in _SPOKEN}
_SENDERS = {kind: senders for kind, _, senders, _ in _SPOKEN}
_FORMS = {kind: form for kind, _, _, form in _SPOKEN}
