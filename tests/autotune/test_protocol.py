"""What travels: whole, in any pieces, and proven; and nothing else gets in."""

from __future__ import annotations

import contextlib
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.strategies import messages
from engine.forests import stars
from plink.autotune.protocol.handshake import GREETING_BYTES, Proofs, greeting, parse_greeting
from plink.autotune.protocol.identity import identity
from plink.autotune.protocol.messages import (
    Ask,
    Message,
    NewPlan,
    Paused,
    Release,
    Watch,
    from_json,
    to_json,
)
from plink.autotune.ranks.settings import Settings
from plink.transport.frames import Channel, ProtocolError, payload_of
from plink.transport.proofs import NONCE_BYTES, is_name

KEY = b"k" * 32

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def ends() -> tuple[Channel, Channel]:
    return Channel(KEY, is_server=True), Channel(KEY, is_server=False)


@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.integers(), max_size=3), max_size=4), st.data()
)
def test_messages_arrive_whole_in_any_pieces(
    sent: list[dict[str, int]], data: st.DataObject
) -> None:
    daemon, rank = ends()
    stream = b"".join(rank.pack(payload_of(message)) for message in sent)
    heard = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        heard += daemon.feed(stream[:size])
        stream = stream[size:]
    assert heard == sent


@given(st.data())
def test_a_changed_bit_is_noticed(data: st.DataObject) -> None:
    daemon, rank = ends()
    frame = bytearray(rank.pack(payload_of({"what": "ask"})))
    # A changed length may only keep the daemon waiting.
    place = data.draw(st.integers(4, len(frame) - 1))
    frame[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ProtocolError):
        daemon.feed(bytes(frame))


def test_a_message_cannot_be_repeated_or_sent_back() -> None:
    daemon, rank = ends()
    frame = rank.pack(payload_of({"a": 1}))
    assert daemon.feed(frame) == [{"a": 1}]
    with pytest.raises(ProtocolError, match="secret"):
        daemon.feed(frame)
    with pytest.raises(ProtocolError, match="secret"):
        rank.feed(frame)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_no_message(received: bytes) -> None:
    daemon, _ = ends()
    with contextlib.suppress(ProtocolError):
        assert daemon.feed(received) == []


@pytest.mark.parametrize(
    "payload",
    [
        b"no archive",
        zlib.compress(b"[1]"),
        zlib.compress(b"{"),
        zlib.compress(b"[" * 100_000),
        zlib.compress(b"{}") + b"more",
        zlib.compress(b" " * (65 << 20), 1),
    ],
)
def test_a_payload_that_is_no_object_is_refused(payload: bytes) -> None:
    daemon, rank = ends()
    with pytest.raises(ProtocolError):
        daemon.feed(rank.pack(payload))


@given(messages())
def test_every_message_is_parsed_as_it_was(given_message: tuple[Message, int]) -> None:
    message, ranks = given_message
    data = json.loads(json.dumps(to_json(message)))
    assert to_json(from_json(data, ranks)) == to_json(message)


def test_what_travels_keeps_its_names() -> None:
    forest = stars(2)
    plan = identity(3, forest)
    given = [Ask(plan), Paused(plan), Release(plan), Watch(), NewPlan(plan, forest, 2.5)]
    sent = [to_json(message) for message in given]
    assert [message["what"] for message in sent] == ["ask", "holding", "release", "watch", "plan"]
    assert sent[-1]["hold_s"] == 2.5
    assert Settings("h", 1, may_pause=False).to_json()["may_hold"] is False


@given(messages(), st.data())
def test_a_message_with_a_wrong_field_is_refused_or_still_one(
    given_message: tuple[Message, int], data: st.DataObject
) -> None:
    message, ranks = given_message
    values = to_json(message)
    name = data.draw(st.sampled_from(sorted(values)))
    values[name] = data.draw(json_values)
    try:
        parsed = from_json(values, ranks)
    except ProtocolError:
        return
    # JSON alone can have been put in, so that a daemon can log it.
    json.dumps(to_json(parsed))


@given(st.dictionaries(st.sampled_from(["what", "rank", "plan", "peers"]), json_values))
def test_arbitrary_objects_raise_nothing_else(values: dict[str, object]) -> None:
    with pytest.raises(ProtocolError):
        from_json(values, 4)


@given(st.binary(min_size=GREETING_BYTES, max_size=GREETING_BYTES))
def test_arbitrary_bytes_are_no_greeting(received: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_greeting(received)


@given(st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z"), st.binary(min_size=32, max_size=32))
def test_a_greeting_says_job_and_nonce(name: str, nonce: bytes) -> None:
    assert is_name(name)
    assert parse_greeting(greeting(name, nonce)) == (name, nonce)


def test_proofs_differ_by_role_job_secret_and_nonce() -> None:
    nonces = [b"a" * 2 * NONCE_BYTES, b"b" * 2 * NONCE_BYTES]
    all_proofs = [
        Proofs(secret, job, nonce)
        for secret in (b"one", b"two")
        for job in ("a", "b")
        for nonce in nonces
    ]
    said = {text for one in all_proofs for text in (one.of_daemon, one.of_rank, one.session_key)}
    assert len(said) == 3 * len(all_proofs)
