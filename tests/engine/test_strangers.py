"""Strangers who call while ranks connect do not keep them from it, whatever they say or do not."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.processes import Rank
from plink.engine import _native
from support.ports import reserved_port

pytestmark = pytest.mark.timing

HOST = "127.0.0.1"
RANKS = 3
# Of descriptors: fewer than strangers who may wait.
FEW = ("prlimit", "--nofile=48:48")
# Until processes are there.
START_S = 60.0
# Until ranks are connected, which strangers are not to delay.
LIMIT_S = 60.0
MOST_CALLS = 4000
HELD = 400
# More at either port than may wait there.
AT_FIRST = 200

GREETING = _native.Hello(
    channel=0, rank=1, ranks=RANKS, workers=2, job=b"another job here", plan=0
).encode()


@given(st.lists(st.sampled_from("abc")), st.integers(0, 20))
def test_the_oldest_of_the_most_crowded_address_go(sources: list[str], most: int) -> None:
    goes = _native.who_goes(sources, most)
    assert goes.count(False) == min(most, len(sources))
    left = dict.fromkeys(sources, 0)
    for source, is_gone in zip(sources, goes, strict=True):
        left[source] += not is_gone
    for source, count in left.items():
        of_source = [is_gone for each, is_gone in zip(sources, goes, strict=True) if each == source]
        # The oldest first, and none while another address has more by two.
        assert of_source == sorted(of_source, reverse=True)
        assert not any(of_source) or count >= max(left.values()) - 1


@pytest.fixture
def ports() -> Iterator[list[int]]:
    """A port for each rank."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(reserved_port(HOST)) for _ in range(RANKS)]


@contextlib.contextmanager
def processes(prefix: tuple[str, ...] = ()) -> Iterator[list[Rank]]:
    """Of ranks; what they are is told to them later."""
    with contextlib.ExitStack() as stack:
        them = [Rank(prefix) for _ in range(RANKS)]
        for each in them:
            stack.callback(each.end)
        yield them


@pytest.fixture(scope="module")
def idle() -> Iterator[list[Rank]]:
    """Processes that are ranks of one test after the other."""
    with processes() as them:
        yield them


def begin(
    them: list[Rank], ports: list[int], folder: Path, before_last: Callable[[], object]
) -> None:
    """Have ranks listen at these ports. All but the last do when `before_last` is called."""
    for rank, port in enumerate(ports):
        if rank == len(ports) - 1:
            for each in ports[:-1]:
                wait_until_there(each)
            before_last()
        options = {"addresses": [HOST], "port": port, "setup_timeout_s": LIMIT_S}
        task: dict[str, Any] = {
            "ranks": len(ports),
            "rank": rank,
            "store": str(folder),
            "kind": "stars",
            "items": 1000,
            "collectives": 4,
            "options": options,
        }
        them[rank].be(task)


def wait_until_there(port: int) -> None:
    until = time.monotonic() + START_S
    while True:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection((HOST, port)):
            return
        assert time.monotonic() < until
        time.sleep(0.02)


def silent(_: socket.socket) -> None:
    """It says nothing."""


def slow(connection: socket.socket) -> None:
    """It has begun well, and goes on in its own time."""
    connection.sendall(GREETING[:10])


def wrong(connection: socket.socket) -> None:
    connection.sendall(b"GET / HTTP/1.1\r\nHost: plink\r\n\r\n".ljust(100))


def of_another_job(connection: socket.socket) -> None:
    connection.sendall(GREETING)


@pytest.mark.parametrize(
    ("calls", "manner"),
    [(80, silent), (400, silent), (400, slow), (400, wrong), (400, of_another_job)],
)
def test_strangers_who_were_there_first(
    tmp_path: Path,
    ports: list[int],
    idle: list[Rank],
    calls: int,
    manner: Callable[[socket.socket], None],
) -> None:
    with contextlib.ExitStack() as stack:
        strangers: list[socket.socket] = []

        def flood() -> None:
            for port in [ports[0]] * calls + [ports[1]] * 80:
                strangers.append(stack.enter_context(socket.create_connection((HOST, port))))
                manner(strangers[-1])

        with spoken_slowly(strangers):
            begin(idle, ports, tmp_path, flood)
            assert [rank.hear()["event"] for rank in idle] == ["running"] * RANKS
            heard = [rank.hear() for rank in idle]
        # Nobody fell back to TCP on the way.
        assert [each["shares_with"] for each in heard] == [[1, 2], [0, 2], [0, 1]]
        for port in ports:
            # Nor does anybody listen any more.
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((HOST, port))


@contextlib.contextmanager
def spoken_slowly(strangers: list[socket.socket]) -> Iterator[None]:
    """Each of those who have begun to greet says another byte every two seconds."""
    is_over = threading.Event()

    def speak() -> None:
        for place in itertools.count(10):
            # To the end of its greeting, one takes longer than `LIMIT_S`.
            if is_over.wait(2.0) or place == len(GREETING):
                return
            for stranger in strangers:
                with contextlib.suppress(OSError):
                    stranger.send(GREETING[place : place + 1])

    thread = threading.Thread(target=speak)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def flooding(ports: list[int], is_begun: threading.Event, is_over: threading.Event) -> None:
    """Call again and again, and hold the latest calls."""
    held: deque[socket.socket] = deque()
    for port, calls in zip(itertools.cycle(ports), range(MOST_CALLS), strict=False):
        if calls == AT_FIRST:
            is_begun.set()
        with contextlib.suppress(OSError):
            held.append(socket.create_connection((HOST, port), timeout=1.0))
        if len(held) > HELD:
            held.popleft().close()
        if is_over.is_set():
            break
    for stranger in held:
        stranger.close()


def check_ranks_flooded(them: list[Rank], ports: list[int], folder: Path) -> None:
    is_begun, is_over = threading.Event(), threading.Event()
    thread = threading.Thread(target=flooding, args=(ports[:-1], is_begun, is_over))

    def flood() -> None:
        thread.start()
        is_begun.wait()

    try:
        begin(them, ports, folder, flood)
        heard = [[rank.hear()["event"] for _ in range(2)] for rank in them]
    finally:
        is_over.set()
        thread.join()
    assert heard == [["running", "done"]] * RANKS


def test_strangers_who_go_on_calling(tmp_path: Path, ports: list[int], idle: list[Rank]) -> None:
    check_ranks_flooded(idle, ports, tmp_path)


def test_strangers_for_whom_no_descriptor_is_left(tmp_path: Path, ports: list[int]) -> None:
    with processes(FEW) as them:
        check_ranks_flooded(them, ports, tmp_path)
