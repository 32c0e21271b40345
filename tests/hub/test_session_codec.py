"""Control messages come back as they were, from those who may send them, within their limits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.control_messages import JSON, SPOKEN
from plink.hub.session import leading, recall
from plink.hub.session import messages as said
from plink.hub.session.codec import from_json, to_json
from plink.hub.session.messages import Message
from plink.transport.frames import ProtocolError

ROLES = ("admin", "worker", "peer", "server")


@pytest.mark.parametrize(("sender", "message"), SPOKEN)
def test_messages_come_back(sender: str, message: Message) -> None:
    assert from_json(json.loads(json.dumps(to_json(message))), sender) == message


def test_every_message_is_tried() -> None:
    modules = (said, recall, leading)
    kinds = {kind for one in modules for kind in vars(one).values() if isinstance(kind, type)}
    ours = {kind for kind in kinds if kind.__module__ in {one.__name__ for one in modules}}
    assert ours == {type(message) for _, message in SPOKEN}


def test_nobody_says_what_is_not_theirs() -> None:
    for sender in ("worker", "peer", "server"):
        for kind in (said.Create, said.Delete, said.Restore):
            message = next(spoken for _, spoken in SPOKEN if isinstance(spoken, kind))
            with pytest.raises(ProtocolError, match=f"a message that no {sender} sends"):
                from_json(to_json(message), sender)
    for sender in ("admin", "peer", "server"):
        with pytest.raises(ProtocolError):
            from_json(to_json(said.Leave()), sender)


@given(st.sampled_from(SPOKEN), st.data())
def test_a_changed_field_is_read_or_refused(
    spoken: tuple[str, Message], data: st.DataObject
) -> None:
    sender, message = spoken
    values: dict[str, Any] = json.loads(json.dumps(to_json(message)))
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
        assert from_json(json.loads(json.dumps(to_json(read))), sender) == read


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
        (leading.Lead, {"manifest": None}),
        (leading.Order, {"order": "stop"}),
        (leading.Obeyed, {"first": -1}),
    ],
)
def test_what_is_out_of_bounds_is_refused(kind: type, changes: dict[str, Any]) -> None:
    sender, message = next(spoken for spoken in SPOKEN if isinstance(spoken[1], kind))
    with pytest.raises(ProtocolError):
        from_json({**to_json(message), **changes}, sender)


def test_text_of_others_is_shown_plainly() -> None:
    values = to_json(said.Failure("\x1b[2Jbad\n", None))
    read = from_json(values, "server")
    assert isinstance(read, said.Failure)
    assert read.sentence.isprintable()
