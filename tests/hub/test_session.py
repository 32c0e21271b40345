"""A session begins only between ends that know the secret of the caller's role, and only once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.hub.session.data import (
    HELLO_BYTES,
    DataHello,
    DataReception,
    Nonces,
    Opened,
    new_nonce,
    open_data,
    parse_hello,
)
from plink.hub.session.handshake import (
    GREETING_BYTES,
    NO_NAMESPACE,
    Reception,
    Session,
    authenticate,
    parse_greeting,
)
from plink.hub.session.roles import CALLERS, SALT_BYTES, namespace_secret, peer_secret
from plink.transport.frames import ProtocolError, payload_of
from plink.transport.proofs import ANSWER_BYTES, CHALLENGE_BYTES, PROOF_BYTES

ADMIN_SECRET = b"the admin's own secret"
SALT = b"s" * SALT_BYTES
SECRETS = {
    ("admin", NO_NAMESPACE): ADMIN_SECRET,
    ("peer", NO_NAMESPACE): peer_secret(ADMIN_SECRET),
    ("worker", "job"): namespace_secret(ADMIN_SECRET, "job", SALT),
    ("worker", "other"): namespace_secret(ADMIN_SECRET, "other", SALT),
}


def find_secret(role: str, namespace: str) -> bytes | None:
    return SECRETS.get((role, namespace))


def any_role(role: str, namespace: str) -> bytes:
    return ADMIN_SECRET


def always(opened: Opened) -> Callable[[DataHello], Opened]:
    def find(hello: DataHello) -> Opened:
        return opened

    return find


def both(call: Callable[[socket.socket], Any], serve: Callable[[socket.socket], Any]) -> list[Any]:
    """What both ends come to: a result or an error."""
    ours, theirs = socket.socketpair()
    found: list[Any] = [None, None]

    def run(place: int, work: Callable[[socket.socket], Any], end: socket.socket) -> None:
        try:
            found[place] = work(end)
        except Exception as error:
            found[place] = error
        finally:
            end.close()

    ours.settimeout(10)
    theirs.settimeout(10)
    thread = threading.Thread(target=run, args=(1, serve, theirs))
    thread.start()
    run(0, call, ours)
    thread.join()
    return found


def exactly(connection: socket.socket, size_bytes: int) -> bytes:
    data = connection.recv(size_bytes, socket.MSG_WAITALL)
    if len(data) != size_bytes:
        raise ConnectionResetError("the caller is gone")
    return data


def receive(connection: socket.socket) -> Session:
    reception = Reception(find_secret)
    connection.sendall(reception.greet(exactly(connection, GREETING_BYTES)))
    return reception.admit(exactly(connection, ANSWER_BYTES))


def call(role: str, namespace: str, secret: bytes) -> Callable[[socket.socket], Session]:
    return lambda connection: authenticate(connection, role, namespace, secret)


@pytest.mark.parametrize(("role", "namespace"), SECRETS)
def test_who_knows_the_secret_gets_a_session(role: str, namespace: str) -> None:
    ours, theirs = both(call(role, namespace, SECRETS[role, namespace]), receive)
    assert (theirs.role, theirs.namespace) == (role, namespace)
    assert ours.data_key == theirs.data_key
    assert theirs.channel.feed(ours.channel.pack(payload_of({"a": 1}))) == [{"a": 1}]
    assert ours.channel.feed(theirs.channel.pack(payload_of({"b": 2}))) == [{"b": 2}]


@pytest.mark.parametrize(
    ("role", "namespace", "secret"),
    [
        ("admin", NO_NAMESPACE, SECRETS["worker", "job"]),
        ("worker", "job", ADMIN_SECRET),
        ("worker", "job", SECRETS["worker", "other"]),
        ("worker", "gone", SECRETS["worker", "job"]),
        ("peer", NO_NAMESPACE, ADMIN_SECRET),
        ("admin", "job", ADMIN_SECRET),
    ],
)
def test_another_secret_gives_none(role: str, namespace: str, secret: bytes) -> None:
    ours, theirs = both(call(role, namespace, secret), receive)
    assert isinstance(ours, ProtocolError)
    assert "secret" in str(ours)
    assert isinstance(theirs, ConnectionResetError)


def test_a_namespace_that_is_not_there_looks_like_one_with_another_secret() -> None:
    said = []
    for namespace in ("job", "gone"):
        reception = Reception(find_secret)
        assert len(reception.greet(greeting_of("worker", namespace))) == CHALLENGE_BYTES
        with pytest.raises(ProtocolError) as caught:
            reception.admit(bytes(PROOF_BYTES))
        said.append(str(caught.value).replace(namespace, "it"))
    assert said[0] == said[1]


def greeting_of(role: str, namespace: str) -> bytes:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(10)
        thread = threading.Thread(target=swallow, args=(ours, role, namespace))
        thread.start()
        data = exactly(theirs, GREETING_BYTES)
        theirs.shutdown(socket.SHUT_RDWR)
        thread.join()
    return data


def swallow(connection: socket.socket, role: str, namespace: str) -> None:
    with pytest.raises(OSError, match="closed the connection"):
        authenticate(connection, role, namespace, b"x" * 32)


def test_an_answer_says_nothing_in_another_role_or_to_another_challenge() -> None:
    # The same secret in all roles: only the labels are different.
    heard: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        reception = Reception(any_role)
        heard.append(exactly(connection, GREETING_BYTES))
        connection.sendall(reception.greet(heard[0]))
        heard.append(exactly(connection, ANSWER_BYTES))
        reception.admit(heard[1])

    both(call("worker", "job", ADMIN_SECRET), serve)
    greeting, answer = heard
    again = Reception(any_role)
    again.greet(greeting)
    with pytest.raises(ProtocolError):
        again.admit(answer)
    for role in CALLERS:
        changed = Reception(any_role)
        changed.greet(greeting_of(role, "job")[:10] + greeting[10:])
        with pytest.raises(ProtocolError):
            changed.admit(answer)


def test_a_server_cannot_be_sent_its_own_proof() -> None:
    reception = Reception(find_secret)
    challenge = reception.greet(greeting_of("worker", "job"))
    with pytest.raises(ProtocolError):
        reception.admit(challenge[-PROOF_BYTES:])


def test_an_answer_without_a_greeting_is_none() -> None:
    with pytest.raises(ProtocolError):
        Reception(find_secret).admit(bytes(PROOF_BYTES))


@given(st.binary(max_size=GREETING_BYTES + 2))
def test_any_greeting_is_parsed_or_refused(data: bytes) -> None:
    for content in (data, b"plinkhub\x01w" + data, (b"plinkhub\x01a" + data)[:GREETING_BYTES]):
        try:
            role, namespace, nonce = parse_greeting(content)
        except ProtocolError:
            continue
        assert role in CALLERS
        assert namespace.isascii()
        assert len(nonce) == 32


def test_secrets_differ_by_namespace_salt_and_admin() -> None:
    found = {
        namespace_secret(ADMIN_SECRET, "job", SALT),
        namespace_secret(ADMIN_SECRET, "job2", SALT),
        namespace_secret(ADMIN_SECRET, "job", b"t" * SALT_BYTES),
        namespace_secret(b"another admin's one", "job", SALT),
        peer_secret(ADMIN_SECRET),
    }
    assert len(found) == 5
    assert ADMIN_SECRET not in found


HELLO = DataHello("worker", "job", 3, 1, 70_000, b"n" * 32)
KEY = b"k" * 32


def serve_data(
    opened: Opened | None, connection: socket.socket, seen: list[DataHello] | None = None
) -> DataHello:
    reception = DataReception(lambda hello: opened if hello.number == 3 else None)
    connection.sendall(reception.greet(exactly(connection, HELLO_BYTES)))
    hello = reception.admit(exactly(connection, ANSWER_BYTES))
    if seen is not None:
        seen.append(hello)
    return hello


def test_a_data_connection_is_proven_once() -> None:
    opened = Opened(KEY, Nonces())
    ours, theirs = both(lambda end: open_data(end, HELLO, KEY), lambda end: serve_data(opened, end))
    assert ours is None
    assert theirs == HELLO
    ours, theirs = both(lambda end: open_data(end, HELLO, KEY), lambda end: serve_data(opened, end))
    assert str(theirs) == "a connection's nonce was used before"


def test_a_data_connection_of_another_session_is_refused() -> None:
    opened = Opened(KEY, Nonces())
    stranger = DataHello("worker", "job", 4, 1, 0, new_nonce())
    for hello, key in ((HELLO, b"other" * 6), (stranger, KEY)):
        ours, theirs = both(
            lambda end, hello=hello, key=key: open_data(end, hello, key),  # type: ignore[misc]
            lambda end: serve_data(opened, end),
        )
        assert "knows nothing of this session" in str(ours)
        assert isinstance(theirs, ConnectionResetError)


def test_a_changed_hello_is_refused() -> None:
    """Who is on the path cannot make one worker's connection another's."""
    seen: list[DataHello] = []
    for place in range(len(b"plinkhubdata\x01") + 1, HELLO_BYTES):
        opened = Opened(KEY, Nonces())

        def serve(connection: socket.socket, place: int = place, opened: Opened = opened) -> None:
            reception = DataReception(always(opened))
            data = bytearray(exactly(connection, HELLO_BYTES))
            data[place] ^= 1
            connection.sendall(reception.greet(bytes(data)))
            seen.append(reception.admit(exactly(connection, ANSWER_BYTES)))

        ours, theirs = both(lambda end: open_data(end, HELLO, KEY), serve)
        assert isinstance(ours, ProtocolError | OSError)
        assert isinstance(theirs, ProtocolError | OSError)
    assert seen == []


def test_a_session_has_so_many_nonces_and_no_more() -> None:
    nonces = Nonces(2)
    nonces.take(b"a")
    nonces.take(b"b")
    with pytest.raises(ProtocolError, match="more than 2 connections"):
        nonces.take(b"c")


@given(
    st.builds(
        DataHello,
        st.sampled_from(["worker", "peer"]),
        st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", fullmatch=True),
        st.integers(0, 65_535),
        st.integers(0, 65_535),
        st.integers(0, (1 << 32) - 1),
        st.binary(min_size=32, max_size=32),
    )
)
def test_hellos_come_back(hello: DataHello) -> None:
    assert len(hello.pack()) == HELLO_BYTES
    assert parse_hello(hello.pack()) == hello


@given(st.binary(max_size=HELLO_BYTES + 2))
def test_any_hello_is_parsed_or_refused(data: bytes) -> None:
    for content in (data, (b"plinkhubdata\x01w" + data).ljust(HELLO_BYTES, b"\0")[:HELLO_BYTES]):
        try:
            hello = parse_hello(content)
        except ProtocolError:
            continue
        assert hello.pack() == content
