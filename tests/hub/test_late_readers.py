"""What a worker gets that reads late: whole frames and whole values, in the clear and by TLS."""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import struct
import time
from collections.abc import Iterator

import numpy as np
import pytest

from engine.certificates import job
from hub.runs import ADMIN_SECRET, Service, service
from hub.vanishing import vanish
from plink.hub.admin import delete_service, server_status
from plink.hub.hyper import Hyper
from plink.hub.joining import Place, connect
from plink.hub.manifest import Key, Manifest
from plink.transport.encryption import context_of
from plink.transport.tls import Tls

# Of what the native code sends: kind, flags, incarnation, chunk, iteration, bytes.
FRAME = struct.Struct("<BBHIII")
VALUE, ERROR, PULL = 3, 7, 8
# More than connections have room for.
KEYS = Manifest((Key("a", (4_000_000,)),))
CHUNKS = len(KEYS.chunks().items)


@pytest.fixture(scope="module", params=[True, False], ids=["tls", "clear"])
def tls(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tls | None:
    if not request.param:
        return None
    return Tls.of_folder(job(tmp_path_factory.mktemp("tls") / "job") + "/host")


@contextlib.contextmanager
def late(served: Service) -> Iterator[socket.socket]:
    """A worker's connection for data: it has asked for all values, and waits before it reads."""
    place = Place(served.addresses, "job", served.secret, KEYS, 20.0, served.tls)
    connected = connect(place)
    connection = connected.sockets[0]
    if served.tls is not None:
        connection = context_of(served.tls, is_server=False).wrap_socket(connection)
    with connection:
        connection.sendall(FRAME.pack(PULL, 0, connected.joined.incarnation, 0, 0, 0))
        # Something is on its way, and the rest waits.
        assert connection.recv(1)
        time.sleep(0.2)
        yield connection
    for control in connected.controls:
        control.close()


def frames(connection: socket.socket, most: int) -> Iterator[tuple[int, bytes]]:
    """Kinds and payloads of so many frames, or of those until the end; one byte was read."""
    head = bytes([VALUE]) + read(connection, FRAME.size - 1)
    for _ in range(most):
        kind, _, _, _, _, size = FRAME.unpack(head)
        yield kind, read(connection, size)
        head = read(connection, FRAME.size) if kind != ERROR else b""
        if not head:
            return


def read(connection: socket.socket, size: int) -> bytes:
    data = b""
    with contextlib.suppress(ssl.SSLEOFError):
        while len(data) < size:
            part = connection.recv(size - len(data))
            if not part:
                return b""
            data += part
    return data


def test_who_is_told_why_it_ends_gets_whole_frames_before(tls: Tls | None) -> None:
    """What TLS has encrypted must go before what takes the place of the rest."""
    with service(2, manifest=KEYS, tls=tls) as served, served.worker() as first:
        first.initialise(np.ones(KEYS.items, np.float32))
        with late(served) as connection:
            vanish(first)
            until_s = time.monotonic() + 20.0
            while time.monotonic() < until_s:
                (found,) = server_status(served.addresses[0], ADMIN_SECRET, tls=tls).services
                if found.failure:
                    break
            said = list(frames(connection, CHUNKS + 1))
    kinds = [kind for kind, _ in said]
    assert 1 < len(kinds) < CHUNKS
    assert kinds == [VALUE] * (len(kinds) - 1) + [ERROR]
    assert said[-1][1].endswith(b" is lost: it closed the connection")


def test_who_is_told_that_its_service_was_deleted_gets_whole_frames_before(
    tls: Tls | None,
) -> None:
    with service(2, manifest=KEYS, tls=tls) as served, served.worker() as first:
        first.initialise(np.ones(KEYS.items, np.float32))
        with late(served) as connection:
            delete_service(served.addresses, ADMIN_SECRET, "job", tls=tls)
            time.sleep(0.2)
            said = list(frames(connection, CHUNKS + 1))
    assert said[-1] == (ERROR, b"service job was deleted")


def test_values_that_change_while_they_wait_are_not_torn(tls: Tls | None) -> None:
    """A chunk is wholly before or wholly after any step of another worker."""
    with (
        service(2, manifest=KEYS, tls=tls, mode="async") as served,
        served.worker() as first,
    ):
        first.initialise(np.ones(KEYS.items, np.float32))
        with late(served) as connection:
            first.gradients[:] = 1.0
            first.push_pull([Hyper(lr=0.25)])
            said = list(itertools.islice(frames(connection, CHUNKS), CHUNKS - 1))
    assert {kind for kind, _ in said} == {VALUE}
    chunks = [np.unique(np.frombuffer(payload, np.float32)).tolist() for _, payload in said]
    assert chunks[0] == [1.0]
    assert chunks[-1] == [0.75]
    assert all(chunk in ([1.0], [0.75]) for chunk in chunks)
