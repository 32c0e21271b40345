"""Fuzzes what a hub's server and its callers hear by control connections and in hand-shakes.

Invariants: a greeting or hello that is taken says what was sent, and nobody gets a session without
the proof; frames come out as they went in, with what is behind them, however they are cut; what a
message is refused for is one printable sentence, and what is taken says the same when it is sent
on. Needs Atheris; `scripts/fuzz` runs it.
"""

from __future__ import annotations

import sys
from typing import Any

import atheris

with atheris.instrument_imports(include=["plink"]):
    from plink.formats.outputs import HubService
    from plink.hub.manifest import Key, Manifest
    from plink.hub.placement import Port, Sites
    from plink.hub.service import ServiceOptions
    from plink.hub.session import messages as said
    from plink.hub.session.data import HELLO_BYTES, DataReception, Nonces, Opened, parse_hello
    from plink.hub.session.handshake import GREETING_BYTES, Reception, parse_greeting
    from plink.hub.session.messages import MOST_NUMBERS_BYTES, Message, from_json, to_json
    from plink.hub.session.roles import CALLERS
    from plink.transport.frames import DATA, Channel, ProtocolError, payload_of
    from plink.transport.proofs import ANSWER_BYTES, NONCE_BYTES, is_name

_KEY = b"k" * 32
_SERVICE = HubService("job", 3, 4, 9, 9, 0, 1, 64, 8, 4096, 2048, None)
_DIGEST = "0123456789abcdef" * 4
_SITES = Sites(((Port(2), Port(1, 2.5)), (Port(),)))
_OPTIONS = ServiceOptions("job", 4, "adamw", commit="step", on_loss="wait", grace_s=3.5)
_MANIFEST = Manifest((Key("w", (2, 3)), Key("b", (2,), 1, "bfloat16")), 2)
_ADDRESSES = (("10.0.0.9:7100", "10.0.1.9:7100"), ("[::1]:7100",))
_MOST_LETTERS = 1000

_HONEST: list[tuple[str, Message]] = [
    ("admin", said.Create(_OPTIONS, "5a" * 16, _SITES, _ADDRESSES, 1)),
    ("admin", said.Create(_OPTIONS, "5a" * 16, _SITES, _ADDRESSES, 0, _ADDRESSES, 1)),
    ("admin", said.Restore("job", "job-12.snapshot")),
    ("admin", said.Checkpoint("job", 7)),
    ("worker", said.Join(_DIGEST, _MANIFEST, 3, 2, is_back=True)),
    ("worker", said.Leave(12)),
    ("worker", said.Read(1, 40, 20)),
    ("worker", said.Write(2, 40, b"abcdefgh")),
    ("worker", said.Load(7, _DIGEST)),
    ("peer", said.PeerReady("job", 1, _DIGEST)),
    ("server", said.Joined(1, 2, 4, 9, True, _OPTIONS, _SITES, _ADDRESSES, _DIGEST)),
    ("server", said.Recalled(7, ((0, 40), (80, 20)))),
    ("server", said.Numbers(b"abcdefgh")),
    ("server", said.Saved("job-4.snapshot", 4, _DIGEST, 123)),
    ("server", said.Status(_SITES, _ADDRESSES[0], (_SERVICE,))),
    ("server", said.Failure("worker 3 is lost", "start it again", is_past=True)),
]
_ODD: list[Any] = [
    *(None, True, -1, 0, 0.5, 1 << 31, 1 << 53, 1 << 70, 1e308, float("inf"), float("nan")),
    *("", "\x1b[2J", "../../etc/passwd", "A" * 5000, b"", b"abc", b"abcd", [], [[]], {}),
]


def _greet(provider: atheris.FuzzedDataProvider) -> None:
    data = provider.ConsumeBytes(1 << 10)
    for words in (data, data.ljust(GREETING_BYTES, b"\0")[:GREETING_BYTES]):
        try:
            role, namespace, nonce = parse_greeting(words)
        except ProtocolError:
            continue
        assert role in CALLERS
        assert is_name(namespace)
        assert len(nonce) == NONCE_BYTES
    for words in (data, data.ljust(HELLO_BYTES, b"\0")[:HELLO_BYTES]):
        try:
            hello = parse_hello(words)
        except ProtocolError:
            continue
        assert is_name(hello.namespace)
        assert hello.pack() == words


def _intrude(provider: atheris.FuzzedDataProvider) -> None:
    """Whoever does not know the secret proves nothing, whatever is said."""
    answer = provider.ConsumeBytes(ANSWER_BYTES)
    reception: Reception | DataReception
    for reception in (
        Reception(lambda role, _: _KEY if role == "worker" else None),
        DataReception(lambda hello: Opened(_KEY, Nonces()) if hello.number else None),
    ):
        try:
            reception.greet(provider.ConsumeBytes(1 << 9))
            reception.admit(answer)
        except ProtocolError as error:
            _check_sentence(error)
        else:
            raise AssertionError("a session without the secret")


def _frames(provider: atheris.FuzzedDataProvider) -> None:
    """Honest frames, with bytes behind some, and maybe a bit of the stream changed."""
    takes_data = provider.ConsumeBool()
    sender = Channel(_KEY, is_server=False)
    server = Channel(_KEY, is_server=True, takes_data=takes_data)
    stream, sent = bytearray(), []
    while provider.ConsumeBool() and len(sent) < 4:
        message: dict[str, Any] = {"what": provider.ConsumeUnicodeNoSurrogates(40)}
        data = provider.ConsumeBytes(provider.ConsumeIntInRange(0, 40)) if takes_data else b""
        if data:
            message[DATA] = data
        stream += sender.pack(payload_of(message))
        sent.append(message)
    is_honest = provider.ConsumeBool()
    if not is_honest and stream:
        stream[provider.ConsumeIntInRange(0, len(stream) - 1)] ^= 1 << (len(sent) % 8)
    heard: list[dict[str, Any]] = []
    try:
        while stream:
            size = provider.ConsumeIntInRange(1, len(stream))
            heard += server.feed(bytes(stream[:size]))
            del stream[:size]
    except ProtocolError as error:
        _check_sentence(error)
    assert heard == sent[: len(heard)]
    assert not is_honest or len(heard) == len(sent)


def _speak(provider: atheris.FuzzedDataProvider) -> None:
    """An honest message, with some of it changed to anything."""
    sender, message = provider.PickValueInList(_HONEST)
    words = to_json(message)
    for _ in range(provider.ConsumeIntInRange(0, 3)):
        words = _changed(provider, words)
    if provider.ConsumeBool():
        sender = provider.PickValueInList([*CALLERS, "server"])
    if not isinstance(words, dict):
        return
    try:
        found = from_json(words, sender)
    except ProtocolError as error:
        _check_sentence(error)
        return
    again = to_json(found)
    assert from_json(again, sender) == found
    data = again.get(DATA)
    assert not isinstance(data, bytes) or len(data) <= MOST_NUMBERS_BYTES


def _changed(provider: atheris.FuzzedDataProvider, value: Any) -> Any:
    """`value` with one thing in it replaced, or put twice."""
    if isinstance(value, dict) and value and provider.ConsumeIntInRange(0, 7):
        name = provider.PickValueInList(sorted(value))
        return {**value, name: _changed(provider, value[name])}
    if isinstance(value, (list, tuple)) and value and provider.ConsumeIntInRange(0, 3):
        place = provider.ConsumeIntInRange(0, len(value) - 1)
        if not provider.ConsumeIntInRange(0, 4):
            return [*value, *value]
        return [*value[:place], _changed(provider, value[place]), *value[place + 1 :]]
    kind = provider.ConsumeIntInRange(0, 3)
    if kind == 0:
        return provider.PickValueInList(_ODD)
    if kind == 1:
        return provider.ConsumeInt(10)
    return provider.ConsumeFloat() if kind == 2 else provider.ConsumeUnicodeNoSurrogates(40)


def _check_sentence(error: ProtocolError) -> None:
    assert str(error).isprintable()
    assert len(str(error)) <= _MOST_LETTERS


def _test(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    (_greet, _intrude, _frames, _speak)[provider.ConsumeIntInRange(0, 3)](provider)


if __name__ == "__main__":
    atheris.Setup(sys.argv, _test)
    atheris.Fuzz()
