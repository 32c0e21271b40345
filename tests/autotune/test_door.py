"""Strangers at the daemon's ports keep no rank out, and do not fill its log."""

from __future__ import annotations

import contextlib
import socket
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from autotune.serving import HOST, SECRET, TIMEOUT_S, serving, switching
from autotune.test_server import RANKS, Rank, admitted, ranks
from plink.autotune.daemon import server as daemon_server
from plink.autotune.daemon.metrics import JobCollector
from plink.autotune.daemon.server import Served, Server
from plink.autotune.protocol.handshake import GREETING_BYTES, greeting
from plink.transport import folding
from plink.transport import scraping as metrics_server
from plink.transport.door import Caller, Door, source_of
from plink.transport.proofs import NONCE_BYTES
from plink.transport.scraping import Scraping
from support.floods import flood, silent

pytestmark = pytest.mark.timing

NEVER_S = 1e6


@pytest.fixture
def endless_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only because the door dismisses strangers is a rank let in, not because their time is up."""
    monkeypatch.setattr(daemon_server, "_HANDSHAKE_TIMEOUT_S", NEVER_S)
    monkeypatch.setattr(metrics_server, "_TIMEOUT_S", NEVER_S)
    monkeypatch.setattr(folding, "FOLD_S", NEVER_S)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans())), st.integers(1, 10))
def test_the_oldest_mute_one_of_the_most_crowded_address_goes(
    callers: list[tuple[str, bool]], most: int
) -> None:
    door = Door(most)
    waiting: list[Caller] = []
    for source, greets in callers:
        before = list(waiting)
        waiting.append(door.enter(source, lambda: None))
        gone = [each for each in before if each.is_dismissed]
        assert len(gone) == (len(before) == most)
        for each in gone:
            waiting.remove(each)
            rivals = [other for other in before if not other.has_greeted] or before
            of_source = [other for other in rivals if other.source == each.source]
            assert each is of_source[0]
            crowds = Counter(other.source for other in rivals)
            assert crowds[each.source] == max(crowds.values())
        if greets:
            door.greeted(waiting[-1])
        assert door.count == len(waiting) <= most
    for each in waiting * 2:
        door.left(each)
    assert door.count == 0


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("10.0.0.9", "10.0.0.9"),
        ("::ffff:10.0.0.9", "10.0.0.9"),
        ("2001:db8::1:2", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::1"),
        ("::1", "::1"),
        ("", ""),
    ],
)
def test_what_is_counted_together(address: str, source: str) -> None:
    assert source_of(address) == source


def slow(connection: socket.socket) -> None:
    connection.sendall(greeting("job", b"n" * NONCE_BYTES)[:-1])


def wrong(connection: socket.socket) -> None:
    connection.sendall(b"x" * GREETING_BYTES)


def greeted(connection: socket.socket) -> None:
    """As a rank does, and then no proof."""
    connection.sendall(greeting("job", b"n" * NONCE_BYTES))


@pytest.mark.usefixtures("endless_patience")
@pytest.mark.parametrize("say", [silent, slow, wrong, greeted])
def test_a_rank_gets_in_past_a_flood(say: Callable[[socket.socket], None]) -> None:
    said: list[str] = []
    servers: list[Server] = []
    jobs = {"job": Served(switching(RANKS), SECRET)}
    with serving(jobs, said, begin=servers.append) as port:
        with flood(port, say):
            rank = Rank(0, port)
            try:
                rank.joins.get(timeout=TIMEOUT_S)
            finally:
                rank.close()
            assert servers[0].dropped >= servers[0].mute
            # A greeting may be read before its caller has to leave.
            assert servers[0].mute > 0 or (say is greeted and servers[0].dropped > 0)
            assert servers[0].waiting <= 256 + RANKS
        with ranks(port):
            pass
    assert len(said) < 30
    assert any("more connections from 127.0.0.2 dropped; the last: " in line for line in said)


@pytest.mark.usefixtures("endless_patience")
def test_a_rank_gets_in_past_as_many_idle_ones_as_may_wait() -> None:
    said: list[str] = []
    with (
        serving({"job": Served(switching(RANKS), SECRET)}, said) as port,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(300):
            stack.enter_context(socket.create_connection((HOST, port), TIMEOUT_S))
        with ranks(port):
            pass
    assert len(said) <= 2


def test_many_ranks_of_one_address_are_no_flood() -> None:
    """They are more than may wait, and all prove who they are."""
    said: list[str] = []
    with (
        serving({"job": Served(switching(RANKS), SECRET)}, said) as port,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(300):
            connection, _channel = admitted(port) or pytest.fail("not admitted")
            stack.enter_context(connection)
    assert said == []


def scraped(port: int) -> str:
    with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=TIMEOUT_S) as answer:
        text: str = answer.read().decode()
    return text


@contextlib.contextmanager
def scraping() -> Iterator[int]:
    """The port of a daemon's metrics."""

    class Metrics:
        """Listens in the daemon's place."""

        def __init__(self, server: Server) -> None:
            registry = CollectorRegistry()
            registry.register(JobCollector([switching(RANKS).status], server))
            server.listen = Scraping(registry).listen  # type: ignore[method-assign]

    with serving({"job": Served(switching(RANKS), SECRET)}, [], begin=Metrics) as port:
        yield port


def begun_request(connection: socket.socket) -> None:
    connection.sendall(b"GET /metrics HTTP/1.1\r\nHost:")


@pytest.mark.usefixtures("endless_patience")
@pytest.mark.parametrize("say", [silent, begun_request])
def test_metrics_are_served_past_a_flood(say: Callable[[socket.socket], None]) -> None:
    with scraping() as port:
        threads = threading.active_count()
        with flood(port, say):
            assert 'plink_autotune_ranks{job="job"} 2.0' in scraped(port)
            assert threading.active_count() == threads


@pytest.mark.parametrize(
    ("request_", "status"),
    [(b"POST / HTTP/1.1\r\n\r\n", b"HTTP/1.1 405 "), (b"\xff\r\n\r\n", b"HTTP/1.1 405 ")],
)
def test_nothing_but_reading_metrics(request_: bytes, status: bytes) -> None:
    with scraping() as port, socket.create_connection((HOST, port), TIMEOUT_S) as connection:
        connection.sendall(request_)
        heard = b""
        while piece := connection.recv(1000):
            heard += piece
    assert heard.startswith(status)


def test_too_long_a_request_is_cut_off() -> None:
    with scraping() as port, socket.create_connection((HOST, port), TIMEOUT_S) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(b"x" * (1 << 20))
            assert connection.recv(1) == b""
        assert "plink_autotune_ranks" in scraped(port)
