"""The port at which agents of a torchrun job call to be measured keeps strangers out."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from plink.renumber import measuring
from plink.renumber.echo_agent import MeasuringPort, admit, introduce
from plink.transport.frames import ProtocolError

SECRET = "0123456789abcdef0123456789abcdef"
SOON_S = 10.0


@contextlib.contextmanager
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def soon() -> float:
    return time.monotonic() + SOON_S


def call(port: MeasuringPort, number: int, connections: list[socket.socket]) -> None:
    connection = socket.create_connection((port.address, port.port), SOON_S)
    introduce(connection, port.secret, number, soon())
    connections.append(connection)


def test_both_ends_prove_the_secret_which_is_not_sent() -> None:
    with ends() as (caller, server):
        said: list[int] = []
        thread = threading.Thread(target=lambda: said.append(admit(server, SECRET, soon())))
        thread.start()
        introduce(caller, SECRET, 7, soon())
        thread.join()
        assert said == [7]
    with ends() as (caller, server):
        with contextlib.suppress(TimeoutError):
            introduce(caller, SECRET, 7, time.monotonic() + 0.01)
        assert SECRET.encode() not in server.recv(1 << 16)


def test_a_stranger_gets_no_proof_of_the_secret() -> None:
    with ends() as (caller, server):
        refused: list[Exception] = []

        def serve() -> None:
            try:
                admit(server, SECRET, soon())
            except ProtocolError as error:
                refused.append(error)
                server.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ConnectionError):
            introduce(caller, secrets.token_hex(16), 7, soon())
        thread.join()
        assert len(refused) == 1


def test_a_caller_refuses_a_port_of_somebody_else() -> None:
    with ends() as (caller, server):
        server.sendall(bytes(64))
        with pytest.raises(ProtocolError):
            introduce(caller, SECRET, 7, soon())


def test_bytes_that_come_slowly_do_not_put_off_the_deadline() -> None:
    with ends() as (caller, server):
        over = threading.Event()

        def drip() -> None:
            with contextlib.suppress(OSError):
                while not over.wait(0.02):
                    caller.sendall(b"p")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            with pytest.raises((TimeoutError, ProtocolError)):
                admit(server, SECRET, time.monotonic() + 0.3)
        finally:
            over.set()
            thread.join()


def test_mute_strangers_keep_no_agent_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "take_part", lambda _port, _number: None)
    strangers: list[socket.socket] = []
    connections: list[socket.socket] = []
    callers: list[threading.Thread] = []
    ports: list[MeasuringPort] = []

    def tell(port: MeasuringPort, _leaders: Sequence[int]) -> None:
        ports.append(port)
        for _ in range(20):
            strangers.append(socket.create_connection((port.address, port.port), SOON_S))
        for number in range(3):
            callers.append(threading.Thread(target=call, args=(port, number, connections)))
            callers[-1].start()

    began_s = time.monotonic()
    with measuring._calls([0, 1, 2], "127.0.0.1", tell, 0) as found:
        assert sorted(found) == [0, 1, 2]
    # One of them alone would have been waited for as long.
    assert time.monotonic() - began_s < measuring.HANDSHAKE_S
    for caller in callers:
        caller.join()
    for connection in (*strangers, *connections):
        connection.close()
