"""Fuzzes what a daemon hears before it knows who speaks, and the frames of who knows the secret.

Invariants: a greeting that is taken says what was sent; frames come out as they went in, however
they are cut, and nothing else does; whatever a payload unpacks to, it is an object or refused.
Needs Atheris; `scripts/fuzz` runs it.
"""

from __future__ import annotations

import json
import sys
import zlib

import atheris

with atheris.instrument_imports(include=["plink"]):
    from plink.autotune.protocol.handshake import GREETING_BYTES, greeting, parse_greeting
    from plink.transport.frames import Channel, ProtocolError, payload_of
    from plink.transport.proofs import NONCE_BYTES, is_name

_KEY = b"k" * 32


def _greet(data: bytes) -> None:
    for words in (data, data.ljust(GREETING_BYTES, b"\0")[:GREETING_BYTES]):
        try:
            job, nonce = parse_greeting(words)
        except ProtocolError:
            continue
        assert is_name(job)
        assert len(nonce) == NONCE_BYTES
        assert greeting(job, nonce) == words


def _frames(provider: atheris.FuzzedDataProvider) -> None:
    """Payloads in honest frames, with some bytes of the stream changed or added."""
    sender, daemon = Channel(_KEY, is_server=False), Channel(_KEY, is_server=True)
    stream = bytearray()
    sent: list[object] = []
    while provider.ConsumeBool() and len(sent) < 4:
        text = provider.ConsumeUnicodeNoSurrogates(provider.ConsumeIntInRange(0, 200))
        message = {"what": text, "number": provider.ConsumeInt(8)}
        stream += sender.pack(payload_of(message))
        sent.append(message)
    is_honest = provider.ConsumeBool()
    if not is_honest and stream:
        place = provider.ConsumeIntInRange(0, len(stream) - 1)
        stream[place] ^= 1 << provider.ConsumeIntInRange(0, 7)
    if not is_honest:
        stream += provider.ConsumeBytes(provider.ConsumeIntInRange(0, 64))
    heard: list[object] = []
    try:
        while stream:
            size = provider.ConsumeIntInRange(1, len(stream))
            heard += daemon.feed(bytes(stream[:size]))
            del stream[:size]
    except ProtocolError:
        pass
    assert heard == sent[: len(heard)]
    assert not is_honest or len(heard) == len(sent)


def _payload(provider: atheris.FuzzedDataProvider) -> None:
    """Anything at all under a right proof."""
    sender, daemon = Channel(_KEY, is_server=False), Channel(_KEY, is_server=True)
    is_text = provider.ConsumeBool()
    payload = provider.ConsumeBytes(1 << 16)
    frame = sender.pack(zlib.compress(payload, 1) if is_text else payload)
    try:
        (heard,) = daemon.feed(frame)
    except ProtocolError:
        return
    assert isinstance(heard, dict)
    if is_text:
        assert repr(heard) == repr(json.loads(payload))


def _test(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    kind = provider.ConsumeIntInRange(0, 2)
    if kind == 0:
        _greet(data[:-1])
    elif kind == 1:
        _frames(provider)
    else:
        _payload(provider)


if __name__ == "__main__":
    atheris.Setup(sys.argv, _test)
    atheris.Fuzz()
