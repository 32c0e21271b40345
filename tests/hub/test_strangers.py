"""Strangers at a server's ports keep no worker out, and do not fill its log."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from hub.runs import ADMIN_SECRET, MANIFEST
from plink.hub.admin import create_service
from plink.hub.service import ServiceOptions
from plink.hub.serving import Server, ServerOptions, shell
from plink.hub.session.data import HELLO_BYTES, DataHello
from plink.hub.session.handshake import GREETING_BYTES
from plink.hub.worker import Worker
from plink.transport import folding
from plink.transport.proofs import NONCE_BYTES
from support.floods import flood, silent

pytestmark = pytest.mark.timing

# Neither ends within a test: strangers' own time, and the time for which drops are folded.
NEVER_S = 1000.0
MOST_WAITING = 512


def wrong(connection: socket.socket) -> None:
    connection.sendall(b"x" * GREETING_BYTES)


def greeted(connection: socket.socket) -> None:
    """As a worker does, and then no proof."""
    connection.sendall(b"plinkhub\x01w" + b"job".ljust(64, b"\0") + b"n" * NONCE_BYTES)


def data(connection: socket.socket) -> None:
    """As a worker's connection for data."""
    hello = DataHello("worker", "job", 0, 1, 0, b"n" * NONCE_BYTES).pack()
    assert len(hello) == HELLO_BYTES
    connection.sendall(hello)


@pytest.mark.parametrize("say", [silent, wrong, greeted, data])
def test_a_worker_gets_in_past_a_flood(
    say: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only a stranger that is dismissed for others makes room: none leaves by itself.
    monkeypatch.setattr(shell, "_HANDSHAKE_S", NEVER_S)
    monkeypatch.setattr(folding, "FOLD_S", NEVER_S)
    said: list[str] = []
    with Server(ServerOptions(["127.0.0.1:0"] * 2, ADMIN_SECRET, 1, ()), said.append) as server:
        address = server.addresses[0]
        secret = create_service([address], ADMIN_SECRET, ServiceOptions("job", 1))
        with flood(int(address.rpartition(":")[2]), say):
            with Worker([address], "job", secret, MANIFEST) as worker:
                worker.initialise(0.0)
            assert server.doors.dropped > 0
            assert (server.doors.mute > 0) == (say in (silent, wrong))
            assert server.doors.waiting <= MOST_WAITING
    assert len(said) < 30
    assert any("more connections from 127.0.0.2 dropped; the last: " in line for line in said)
