"""Ranks of one host share memory, and only with those that may."""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from engine.forests import stars
from engine.group import QUICK, group
from engine.verdict import agree
from plink.base.replacing import replace
from plink.engine import DirectoryStore, Engine, EngineError, _native
from plink.engine.forest import native
from support.require import require_root

pytestmark = pytest.mark.timing

OPTIONS = replace(QUICK, workers=1, chunk_bytes=256)
# As the native part lays it out: for each way marks, then for each way a ring.
MARKS_BYTES = 64 << 10
RING_BYTES = 64 << 10
WRITTEN = 0
READER_WAITS = 128
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
NOBODY = 65534


def memory(size_bytes: int = 2 * (MARKS_BYTES + RING_BYTES), seals: int = SEALS) -> int:
    handle = os.memfd_create("test", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(handle, size_bytes)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, seals)
    return handle


def shared_with(engine: Engine) -> list[int]:
    return [c.peer for c in engine.statistics().connections if c.is_shared_memory]


def test_ranks_share_memory_unless_one_of_two_does_not_want_it() -> None:
    with group(stars(4), tcp_ranks=(2,), workers=1) as ranks:
        assert [shared_with(engine) for engine in ranks.engines] == [[1, 3], [0, 3], [], [0, 1]]
        arrays = [np.ones(300_000) for _ in range(4)]
        ranks.on_all(lambda engine: engine.allreduce(arrays[engine.rank]).wait(20))
        sent = [c.bytes_sent for c in ranks.engines[0].statistics().connections]
    assert all(np.all(array == 4.0) for array in arrays)
    assert min(sent) > 300_000 * 8 // 4


def open_files() -> list[str]:
    return [str(f.readlink()) for f in Path("/proc/self/fd").iterdir() if f.is_symlink()]


def test_nothing_of_it_is_left_behind() -> None:
    def traces() -> list[str]:
        maps = Path("/proc/self/maps").read_text().splitlines()
        names = Path("/proc/net/unix").read_text().splitlines()
        files = open_files()
        found = [line for line in maps + files if "memfd:plink" in line]
        # Engines of other processes have theirs.
        own = {file[len("socket:[") : -1] for file in files if file.startswith("socket:[")}
        return found + [line for line in names if "@plink/" in line and line.split()[6] in own]

    before = traces()
    with group(stars(3)) as ranks:
        during = traces()
        # Who has mapped it needs no file of it.
        assert not [line for line in during if line.startswith("/memfd")]
        assert len(during) > len(before)
        ranks.on_all(lambda engine: engine.allreduce(np.ones(1000)).wait(20))
    assert traces() == before


@dataclass
class Meeting:
    """Rank 0 of 2 waits for rank 1, whom the test plays."""

    address: tuple[str, int]
    job: bytes
    engine: Future[Engine]

    def call(self, channel: int, handles: list[int]) -> socket.socket:
        """By a Unix socket, with these descriptors."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(20)
        connection.connect(f"\0plink/{self.address[0]}/{self.address[1]}".encode())
        socket.send_fds(connection, [self.hello(channel)], handles)
        for handle in handles:
            os.close(handle)
        return connection

    def call_by_tcp(self, channel: int) -> socket.socket:
        connection = socket.create_connection(self.address, timeout=100)
        connection.sendall(self.hello(channel))
        return connection

    def hello(self, channel: int) -> bytes:
        plan = _native.agreement(native(stars(2)), 256, False)
        return _native.Hello(
            channel=channel, rank=1, ranks=2, workers=1, job=self.job, plan=plan
        ).encode()


def welcomed(connection: socket.socket) -> socket.socket:
    assert _native.parse_answer(connection.recv(_native.ANSWER_BYTES)) == (True, 0)
    return connection


@contextlib.contextmanager
def meeting(folder: Path) -> Iterator[Meeting]:
    store = DirectoryStore(folder)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(Engine, 0, 2, store, stars(2), OPTIONS)
        store.set("plink/0/1", json.dumps([[["127.0.0.1", 1]], None]).encode())
        table = json.loads(store.get("plink/0/table", 10))
        yield Meeting(tuple(table["endpoints"][0][0]), bytes.fromhex(table["job"]), waiting)


@dataclass
class Played:
    """Rank 0, the memory that it shares with rank 1, and the sockets between them."""

    engine: Engine
    shared: mmap.mmap
    bell: socket.socket
    control: socket.socket

    def put(self, place: int, number: int) -> None:
        self.shared[place : place + 8] = number.to_bytes(8, "little")

    def agree(self) -> None:
        agree(self.control)


@contextlib.contextmanager
def played_through_memory(folder: Path) -> Iterator[Played]:
    with meeting(folder) as rank_0, contextlib.ExitStack() as stack:
        handle = memory()
        shared = stack.enter_context(mmap.mmap(handle, 0))
        bell = stack.enter_context(welcomed(rank_0.call(0, [handle])))
        control = stack.enter_context(welcomed(rank_0.call_by_tcp(1)))
        yield Played(stack.enter_context(rank_0.engine.result()), shared, bell, control)


def test_who_speaks_it_rightly_through_memory_gets_the_sum(tmp_path: Path) -> None:
    with played_through_memory(tmp_path) as played:
        array = np.ones(128, dtype=np.float32)
        played.put(MARKS_BYTES + READER_WAITS, 1)
        work = played.engine.allreduce(array)
        played.bell.recv(1)
        # Rank 0 sends what rank 1 is the root of.
        sent = played.shared[2 * MARKS_BYTES + RING_BYTES :][: 8 + 256]
        _, signature, chunk, _ = _native.decode_frame(sent[:8])
        assert (chunk, sent[8:]) == (1, np.ones(64, dtype=np.float32).tobytes())
        words = b"".join(
            _native.encode_frame(0, signature, chunk, chunk == 1)
            + np.full(64, 2.0, dtype=np.float32).tobytes()
            for chunk in (0, 1)
        )
        for count, byte in enumerate(words):
            played.shared[2 * MARKS_BYTES + count] = byte
            played.put(WRITTEN, count + 1)
            played.bell.sendall(b"\0")
        work.wait(20)
    np.testing.assert_array_equal(array, np.repeat([3.0, 2.0], 64).astype(np.float32))


@pytest.mark.parametrize("written", [RING_BYTES + 1, 2**63, 2**64 - 1])
def test_positions_that_cannot_be_are_no_way_out_of_the_ring(written: int, tmp_path: Path) -> None:
    with played_through_memory(tmp_path) as played:
        work = played.engine.allreduce(np.ones(128, dtype=np.float32))
        played.put(WRITTEN, written)
        played.bell.sendall(b"\0")
        played.agree()
        with pytest.raises(EngineError) as failed:
            work.wait(20)
    assert failed.value.rank == 1
    assert "broke the protocol: its shared memory says what cannot be" in str(failed.value)


def test_memory_that_could_be_taken_away_again_is_refused(tmp_path: Path) -> None:
    size_bytes = 2 * (MARKS_BYTES + RING_BYTES)
    with meeting(tmp_path) as rank_0, (tmp_path / "file").open("wb+") as file:
        file.truncate(size_bytes)
        for handles in (
            [],
            [memory(seals=fcntl.F_SEAL_GROW)],
            [os.dup(file.fileno())],
            [memory(size_bytes + 4096)],
            [memory(100)],
            [memory(2 * (MARKS_BYTES + 3 * RING_BYTES))],
            # Only the first is taken; the other must not stay open.
            [memory(100), memory()],
        ):
            with rank_0.call(0, handles) as connection:
                assert connection.recv(1) == b""
        with rank_0.call(1, [memory()]) as control:
            assert control.recv(1) == b""
        # It still takes the same rank's calls.
        with welcomed(rank_0.call_by_tcp(0)), welcomed(rank_0.call_by_tcp(1)):
            engine = rank_0.engine.result()
            assert shared_with(engine) == []
            engine.close()
    assert "/memfd:test (deleted)" not in open_files()


CALL = """
import fcntl, os, socket, sys
handle = os.memfd_create("test", os.MFD_ALLOW_SEALING)
os.ftruncate(handle, int(sys.argv[3]))
fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
with socket.socket(socket.AF_UNIX) as caller:
    caller.connect(b"\\0" + sys.argv[1].encode())
    print("connected")
    try:
        socket.send_fds(caller, [bytes.fromhex(sys.argv[2])], [handle])
        print("heard", len(caller.recv(100)))
    except OSError:
        print("heard 0")
"""

LISTEN = """
import socket, sys
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(b"\\0" + sys.argv[1].encode())
    listener.listen()
    print("listening", flush=True)
    sys.stdin.read()
"""


def by_nobody(program: str, *arguments: str) -> list[str]:
    return ["setpriv", f"--reuid={NOBODY}", sys.executable, "-c", program, *arguments]


def test_other_users_are_not_listened_to(tmp_path: Path) -> None:
    require_root()
    with meeting(tmp_path) as rank_0:
        name = f"plink/{rank_0.address[0]}/{rank_0.address[1]}"
        size_bytes = 2 * (MARKS_BYTES + RING_BYTES)
        said = subprocess.run(
            by_nobody(CALL, name, rank_0.hello(0).hex(), str(size_bytes)),
            check=True,
            capture_output=True,
            text=True,
            cwd="/",
        )
        assert said.stdout.split() == ["connected", "heard", "0"]
        with welcomed(rank_0.call_by_tcp(0)), welcomed(rank_0.call_by_tcp(1)):
            rank_0.engine.result().close()


@contextlib.contextmanager
def squatter(name: str) -> Iterator[None]:
    """Another user, who listens there."""
    with subprocess.Popen(
        by_nobody(LISTEN, name), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.communicate()


@contextlib.contextmanager
def closer(name: str) -> Iterator[None]:
    """This user, who listens there and answers nobody."""

    def close_all() -> None:
        with contextlib.suppress(OSError):
            while True:
                listener.accept()[0].close()

    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as threads:
        listener.bind(b"\0" + name.encode())
        listener.listen()
        threads.submit(close_all)
        yield
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("other", [squatter, closer])
def test_where_memory_cannot_be_shared_ranks_call_by_tcp(
    other: Callable[[str], AbstractContextManager[None]], tmp_path: Path
) -> None:
    if other is squatter:
        require_root()
    store = DirectoryStore(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        host, port = server.getsockname()
        table = {
            "job": "00" * 16,
            "workers": 1,
            "endpoints": [[[host, port]], [["127.0.0.1", 1]]],
            "missing": [],
            "seconds": 1.0,
            "decided": None,
            "refusal": "",
            "is_failure": False,
            "culprit": -1,
        }
        store.set("plink/0/table", json.dumps(table).encode())
        with other(f"plink/{host}/{port}"), ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(Engine, 1, 2, store, stars(2), OPTIONS)
            with server.accept()[0] as first, server.accept()[0] as second:
                for connection in (first, second):
                    assert len(connection.recv(1000)) == _native.HELLO_BYTES
                    connection.sendall(_native.encode_answer(""))
                engine = waiting.result()
                assert shared_with(engine) == []
                engine.close()
