"""A rank that speaks the protocol wrongly, played by hand: rank 1 of 2, along two stars."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from engine.forests import stars
from engine.group import QUICK
from engine.verdict import agree
from plink.base.replacing import replace
from plink.engine import DirectoryStore, Engine, EngineError, _native
from plink.engine.forest import native

pytestmark = pytest.mark.timing

# Four chunks: 0 and 2 have rank 0 as their root, 1 and 3 rank 1.
ITEMS = 256
OPTIONS = replace(QUICK, workers=1, chunk_bytes=256)
PAYLOAD = np.full(64, 2.0, dtype=np.float32).tobytes()


@dataclass
class Fake:
    """Rank 1: its connections to rank 0, and rank 0's call of an all-reduce."""

    data: socket.socket
    control: socket.socket
    engine: Engine
    array: np.ndarray[tuple[int], np.dtype[np.float32]]

    def receive(self, size: int) -> bytes:
        heard = b""
        while len(heard) < size:
            piece = self.data.recv(size - len(heard))
            assert piece
            heard += piece
        return heard

    def send(self, chunk: int, *, is_broadcast: bool = False, payload: bytes = PAYLOAD) -> None:
        frame = _native.encode_frame(0, self.signature, chunk, is_broadcast)
        self.data.sendall(frame + payload)

    def agree(self) -> None:
        agree(self.control)

    def begin(self) -> None:
        """Rank 0 calls; it sends what rank 1 is the root of, from which its signature is learnt."""
        self.work = self.engine.allreduce(self.array)
        sent = self.receive(2 * (8 + len(PAYLOAD)))
        _, self.signature, first, _ = _native.decode_frame(sent[:8])
        assert first == 1


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    store = DirectoryStore(tmp_path)
    with ThreadPoolExecutor(1) as threads, contextlib.ExitStack() as stack:
        waiting = threads.submit(Engine, 0, 2, store, stars(2), OPTIONS)
        store.set("plink/0/1", json.dumps([[["127.0.0.1", 1]], None]).encode())
        table = json.loads(store.get("plink/0/table", 10))
        connections = []
        for channel in range(2):
            connection = socket.create_connection(table["endpoints"][0][0], timeout=100)
            stack.enter_context(connection)
            hello = _native.Hello(
                channel=channel,
                rank=1,
                ranks=2,
                workers=1,
                job=bytes.fromhex(table["job"]),
                plan=_native.agreement(native(stars(2)), 256, False),
            )
            connection.sendall(hello.encode())
            answer = connection.recv(_native.ANSWER_BYTES)
            assert _native.parse_answer(answer) == (True, 0)
            connections.append(connection)
        engine = stack.enter_context(waiting.result())
        yield Fake(*connections, engine, np.ones(ITEMS, dtype=np.float32))


def failure_of(fake: Fake, *, agrees: bool = True) -> str:
    if agrees:
        fake.agree()
    with pytest.raises(EngineError) as failed:
        fake.work.wait(20)
    assert failed.value.rank == 1
    return str(failed.value)


def test_who_speaks_it_rightly_gets_the_sum(fake: Fake) -> None:
    fake.begin()
    for chunk in (2, 0):
        fake.send(chunk)
    for chunk in (1, 3):
        fake.send(chunk, is_broadcast=True, payload=PAYLOAD.replace(b"\x40", b"\x41"))
    fake.work.wait(20)
    expected = np.repeat([3.0, 8.0, 3.0, 8.0], 64)
    np.testing.assert_array_equal(fake.array, expected)


def test_bytes_may_come_one_by_one(fake: Fake) -> None:
    fake.begin()
    words = b"".join(
        _native.encode_frame(0, fake.signature, chunk, chunk % 2 == 1) + PAYLOAD
        for chunk in range(4)
    )
    fake.data.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in words:
        fake.data.sendall(bytes([byte]))
    fake.work.wait(20)
    np.testing.assert_array_equal(fake.array, np.repeat([3.0, 2.0, 3.0, 2.0], 64))


@pytest.mark.parametrize(
    ("frames", "sentence"),
    [
        ([(4, False)], "chunk 4, that does not belong on this connection"),
        ([(1, False)], "chunk 1, that is not its to send"),
        ([(0, True)], "chunk 0, that is not its to send"),
        ([(0, False), (0, False)], "chunk 0, that comes a second time"),
        ([(1, True), (1, True)], "chunk 1, that comes out of turn"),
    ],
)
def test_frames_out_of_place_are_refused(
    fake: Fake, frames: list[tuple[int, bool]], sentence: str
) -> None:
    fake.begin()
    for chunk, is_broadcast in frames:
        fake.send(chunk, is_broadcast=is_broadcast)
    assert (
        f"rank 1 (127.0.0.1) broke the protocol: it sent a frame of collective 0, {sentence}"
        in (failure_of(fake))
    )


def test_a_frame_of_a_collective_long_over(fake: Fake) -> None:
    fake.begin()
    fake.data.sendall(_native.encode_frame(65535, 0, 0, False))
    assert "collective 65535, which is over" in failure_of(fake)


def test_more_of_a_collective_than_there_is_here_is_of_another_one(fake: Fake) -> None:
    fake.begin()
    for chunk in range(4):
        fake.send(chunk, is_broadcast=chunk % 2 == 1)
    fake.work.wait(20)
    fake.send(0)
    fake.work = fake.engine.allreduce(fake.array)
    assert "its collective 0 has another length, type, operation or plan" in failure_of(fake)


def test_a_frame_with_another_signature(fake: Fake) -> None:
    fake.begin()
    fake.signature ^= 1
    fake.send(0)
    assert "called another collective" in failure_of(fake)


def test_half_a_frame_and_the_end(fake: Fake) -> None:
    fake.begin()
    fake.send(0, payload=PAYLOAD[:100])
    fake.data.close()
    fake.control.close()
    assert "rank 1 (127.0.0.1) is lost" in failure_of(fake, agrees=False)


def test_only_a_data_connection_breaks(fake: Fake) -> None:
    fake.begin()
    # Closed with a linger of nothing, it is reset.
    fake.data.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    fake.data.close()
    assert "rank 1 (127.0.0.1) is lost" in failure_of(fake)


@pytest.mark.parametrize("noise", [b"\xff" * 12, bytes(12), _native.encode_message(3, 9, 0, "")])
def test_noise_on_the_control_connection(fake: Fake, noise: bytes) -> None:
    fake.begin()
    fake.control.sendall(noise)
    assert "rank 1 (127.0.0.1) broke the protocol: it" in failure_of(fake, agrees=False)


def test_what_a_rank_reports_is_shown_without_what_steers_a_terminal(fake: Fake) -> None:
    fake.begin()
    said = bytearray(_native.encode_message(3, 1, 0, "rank 1 ends: ...."))
    said[-4:] = b"\x1b[\xff\n"
    fake.control.sendall(said)
    assert failure_of(fake, agrees=False) == "rank 1 ends: ?[??"


def test_what_another_rank_reports_is_believed(fake: Fake) -> None:
    fake.begin()
    fake.control.sendall(_native.encode_message(3, 1, 0, "rank 1 is about to end"))
    assert failure_of(fake, agrees=False) == "rank 1 is about to end"
