"""Who knows the secret can neither exhaust the daemon's memory nor fill its log."""

from __future__ import annotations

import json
import tracemalloc
import zlib

import pytest

from autotune.serving import HOST, SECRET, serving, switching
from autotune.test_server import RANKS, admitted, closed
from plink.autotune.daemon.server import Served
from plink.transport import folding
from plink.transport.frames import Channel, ProtocolError, payload_of

KEY = b"k" * 32
MOST_BYTES = 300 << 20


@pytest.mark.parametrize("value", ["0", '"é"', '{"a":0}'])
def test_a_small_message_takes_no_gigabyte(value: str) -> None:
    text = '{"what":[' + ",".join([value] * ((60 << 20) // (1 + len(value.encode())))) + "]}"
    payload = zlib.compress(text.encode())
    frame = Channel(KEY, is_server=False).pack(payload)
    server = Channel(KEY, is_server=True)
    del text
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            server.feed(frame)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def test_large_texts_and_many_values_pass() -> None:
    message = {"text": "x" * 30_000_000, "numbers": list(range(100_000))}
    frame = Channel(KEY, is_server=False).pack(payload_of(message))
    (heard,) = Channel(KEY, is_server=True).feed(frame)
    assert heard == json.loads(json.dumps(message))


def test_a_rank_that_errs_again_and_again_is_counted_not_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # However long 30 round trips take.
    monkeypatch.setattr(folding, "FOLD_S", 1e6)
    said: list[str] = []
    with serving({"job": Served(switching(RANKS), SECRET)}, said) as port:
        for _ in range(30):
            found = admitted(port)
            assert found is not None
            connection, channel = found
            connection.sendall(channel.pack(payload_of({"what": "nonsense"})))
            assert closed(connection)
            connection.close()
    assert sum("dropped" in sentence for sentence in said) <= 2
    assert any("29 more connections" in sentence for sentence in said)
    assert HOST in said[0]
