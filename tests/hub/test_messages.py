"""Control messages come back as they were, from those who may send them, within their limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.control_messages import JSON, SPOKEN
from plink.hub.session import messages as said
from plink.hub.session.messages import Message, from_json, to_json
from plink.transport.frames import Channel, ProtocolError, payload_of

ROLES = ("admin", "worker", "peer", "server")


@pytest.mark.parametrize(("sender", "message"), SPOKEN)
def test_messages_come_back(sender: str, message: Message) -> None:
    assert from_json(travelled(to_json(message)), sender) == message


def travelled(values: dict[str, Any]) -> dict[str, Any]:
    """A message's object at the other end of a connection, and what is behind it."""
    one = Channel(b"k" * 32, is_server=False, takes_data=True)
    other = Channel(b"k" * 32, is_server=True, takes_data=True)
    (found,) = other.feed(one.pack(payload_of(values)))
    return found


def test_every_message_is_tried() -> None:
    kinds = Message.__subclasses__()
    assert set(kinds) == {type(message) for _, message in SPOKEN}
    assert set(kinds) == {kind for sent in said.SENT_BY.values() for kind in sent}


def test_nobody_says_what_is_not_theirs() -> None:
    for sender in ("worker", "peer", "server"):
        for kind in (said.Create, said.Delete, said.Restore):
            message = next(spoken for _, spoken in SPOKEN if isinstance(spoken, kind))
            with pytest.raises(ProtocolError, match=f"a message that no {sender} sends"):
                from_json(to_json(message), sender)
    for sender in ("admin", "peer", "server"):
        with pytest.raises(ProtocolError):
            from_json(to_json(said.Leave(12)), sender)


def test_a_kind_that_is_no_text_is_refused() -> None:
    kind: list[object] = []
    for _ in range(10_000):
        kind = [kind]
    with pytest.raises(ProtocolError):
        from_json({"what": kind}, "worker")


@given(st.sampled_from(SPOKEN), st.data())
def test_a_changed_field_is_read_or_refused(
    spoken: tuple[str, Message], data: st.DataObject
) -> None:
    sender, message = spoken
    values = travelled(to_json(message))
    names = sorted(values)
    changed = data.draw(st.sampled_from(names))
    values[changed] = data.draw(JSON)
    try:
        read = from_json(values, sender)
    except ProtocolError as error:
        sentence = str(error)
        if not sentence.isprintable() or len(sentence) > 1000:
            raise
    else:
        assert from_json(travelled(to_json(read)), sender) == read


@given(st.dictionaries(st.text(max_size=10), JSON, max_size=4), st.sampled_from(ROLES))
def test_any_object_is_read_or_refused(values: dict[str, Any], sender: str) -> None:
    with pytest.raises(ProtocolError):
        from_json(values, sender)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (said.Restore, {"snapshot": "../../etc/passwd"}),
        (said.Restore, {"snapshot": ".hidden"}),
        (said.Create, {"salt": "00"}),
        (said.Create, {"servers": ["nowhere"]}),
        (said.Create, {"servers": "h:1"}),
        (said.Delete, {"namespace": "a/b"}),
        (said.Delete, {"more": 1}),
        (said.Join, {"digest": "x" * 64}),
        (said.Joined, {"addresses": [[]]}),
        (said.Lead, {"manifest": None}),
        (said.Order, {"order": "stop"}),
        (said.Obeyed, {"first": -1}),
    ],
)
def test_what_is_out_of_bounds_is_refused(kind: type, changes: dict[str, Any]) -> None:
    sender, message = next(spoken for spoken in SPOKEN if isinstance(spoken[1], kind))
    with pytest.raises(ProtocolError):
        from_json({**to_json(message), **changes}, sender)


@pytest.mark.parametrize(
    "data",
    [b"abc", b"abcd" * ((1 << 18) + 1), "abcd", "YWJjZA==", None, [1.0]],
    ids=["part", "much", "text", "base64", "none", "list"],
)
def test_numbers_are_whole_and_not_too_many(data: object) -> None:
    for sender, message in (("server", said.Numbers(b"")), ("worker", said.Write(0, 0, b""))):
        with pytest.raises(ProtocolError):
            from_json({**to_json(message), "data": data}, sender)


@given(st.binary(max_size=40), st.booleans())
def test_numbers_travel_as_they_are_and_only_where_they_may(data: bytes, takes_data: bool) -> None:
    one = Channel(b"k" * 32, is_server=False)
    other = Channel(b"k" * 32, is_server=True, takes_data=takes_data)
    packed = one.pack(payload_of({"what": "numbers", "data": data}))
    if takes_data or not data:
        assert other.feed(packed) == [{"what": "numbers", **({"data": data} if data else {})}]
    else:
        with pytest.raises(ProtocolError, match="more behind it"):
            other.feed(packed)


def test_an_object_has_no_other_data_than_what_is_behind_it() -> None:
    one = Channel(b"k" * 32, is_server=False)
    other = Channel(b"k" * 32, is_server=True, takes_data=True)
    with pytest.raises(ProtocolError, match="more behind it"):
        other.feed(one.pack(payload_of({"data": "text"}) + b"more"))


def test_text_of_others_is_shown_plainly() -> None:
    values = to_json(said.Failure("\x1b[2Jbad\n", None))
    read = from_json(values, "server")
    assert isinstance(read, said.Failure)
    assert read.sentence.isprintable()
