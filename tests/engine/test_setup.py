"""Ranks meet and connect, or say who does not fit."""

from __future__ import annotations

import contextlib
import errno
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from engine.forests import binary_tree, chains, stars
from engine.group import QUICK, group
from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.engine import C10dStore, DirectoryStore, Engine, EngineError, Forest, Options, _native
from plink.engine.table import Entry, pack_entry

pytestmark = pytest.mark.timing


def outcomes(makers: list[Callable[[], Engine]]) -> list[str]:
    """What comes of engines that are made at the same time."""

    def outcome(make: Callable[[], Engine]) -> str:
        try:
            with make() as engine:
                engine.allreduce(np.ones(1)).wait(20)
        except PlinkError as error:
            return str(error)
        return "done"

    with ThreadPoolExecutor(len(makers)) as threads:
        return list(threads.map(outcome, makers))


def pair(
    folder: Path, first: Options = QUICK, second: Options = QUICK, forest: Forest | None = None
) -> list[Callable[[], Engine]]:
    store = DirectoryStore(folder)
    return [
        lambda: Engine(0, 2, store, stars(2), first),
        lambda: Engine(1, 2, store, forest or stars(2), second),
    ]


def once_there(
    store: DirectoryStore, rank: int, make: Callable[[], Engine]
) -> Callable[[], Engine]:
    """An engine that is in haste is made when a rank has come that it must not miss."""

    def make_later() -> Engine:
        store.get(f"plink/0/{rank}", 20)
        return make()

    return make_later


def test_one_rank_needs_nobody(tmp_path: Path) -> None:
    array = np.array([1.0, 5.0])
    with Engine(0, 1, DirectoryStore(tmp_path), stars(1), QUICK) as engine:
        engine.allreduce(array, "mean").wait()
    assert array.tolist() == [1.0, 5.0]


def test_a_time_may_be_any_number(tmp_path: Path) -> None:
    quick = replace(QUICK, setup_timeout_s=np.float64(QUICK.setup_timeout_s))
    assert outcomes(pair(tmp_path, quick, quick)) == ["done"] * 2


def test_one_store_serves_one_engine_after_the_other(tmp_path: Path) -> None:
    makers = pair(tmp_path)
    assert [outcomes(makers) for _ in range(3)] == [["done"] * 2] * 3


class FakeC10d:
    """What c10d's stores do, as far as it is used here."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.changed = threading.Condition()

    def set(self, key: str, value: bytes) -> None:
        with self.changed:
            self.values[key] = value
            self.changed.notify_all()

    def wait(self, keys: list[str], timeout: object) -> None:
        seconds = timeout.total_seconds()  # type: ignore[attr-defined]
        with self.changed:
            if not self.changed.wait_for(lambda: all(k in self.values for k in keys), seconds):
                raise RuntimeError("wait timeout")

    def check(self, keys: list[str]) -> bool:
        with self.changed:
            return all(key in self.values for key in keys)

    def get(self, key: str) -> bytes:
        return self.values[key]


def test_a_store_like_those_of_pytorch(tmp_path: Path) -> None:
    store = C10dStore(FakeC10d())
    made = [lambda rank=rank: Engine(rank, 3, store, chains(3), QUICK) for rank in range(3)]
    assert outcomes(made) == ["done"] * 3
    hasty = replace(QUICK, setup_timeout_s=0.1)
    assert outcomes([lambda: Engine(0, 2, C10dStore(FakeC10d()), stars(2), hasty)]) == [
        "rank 1 did not come to the meeting within 0.1 s"
    ]


def test_several_addresses_a_rank(tmp_path: Path) -> None:
    addresses = ("127.0.0.2", "127.0.0.3")
    with group(binary_tree(3), addresses=addresses, workers=2, shared_memory=False) as ranks:
        arrays = [np.ones(10_000) for _ in range(3)]
        ranks.on_all(lambda engine: engine.allreduce(arrays[engine.rank]).wait(20))
        assert np.all(arrays[0] == 3.0)
        figures = ranks.engines[0].statistics()
    assert figures.collectives == 1
    assert [peer.peer for peer in figures.peers] == [1, 2]
    assert [peer.bytes_sent >= 80_000 for peer in figures.peers] == [True, True]
    assert len(figures.connections) == 4
    assert all(connection.rtt_us > 0 for connection in figures.connections)


def test_missing_ranks_are_named(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    hasty = replace(QUICK, setup_timeout_s=0.3)
    said = outcomes(
        [
            once_there(store, 2, lambda: Engine(0, 4, store, stars(4), hasty)),
            lambda: Engine(2, 4, store, stars(4), QUICK),
        ]
    )
    assert said == ["ranks 1, 3 did not come to the meeting within 0.3 s"] * 2
    alone = lambda: Engine(1, 2, DirectoryStore(tmp_path / "b"), stars(2), hasty)  # noqa: E731
    assert outcomes([alone]) == ["rank 0 did not come to the meeting within 0.3 s"]


def test_ranks_with_different_plans_are_not_connected(tmp_path: Path) -> None:
    said = outcomes(pair(tmp_path, forest=chains(2)))
    # Two chains of two ranks are the two stars; only the plan's weights differ then.
    assert said == ["done"] * 2
    other = Forest(np.array([1.0, 2.0]), *(stars(2).reduce_parents,) * 2)
    said = outcomes(pair(tmp_path / "b", forest=other))
    assert said[0] == "rank 1 was refused: it has another plan or other options"
    assert "refused this rank: it has another plan or other options" in said[1]


@pytest.mark.parametrize("change", [{"chunk_bytes": 512}, {"deterministic": True}])
def test_ranks_with_different_options_are_not_connected(
    tmp_path: Path, change: dict[str, object]
) -> None:
    said = outcomes(pair(tmp_path, second=replace(QUICK, **change)))  # type: ignore[arg-type]
    assert all("another plan or other options" in words for words in said)


def test_all_ranks_have_as_many_workers_as_rank_0(tmp_path: Path) -> None:
    three = replace(QUICK, workers=3)
    assert outcomes(pair(tmp_path, three)) == ["done"] * 2
    hasty = replace(QUICK, setup_timeout_s=0.5)
    first, second = pair(tmp_path / "b", hasty, three)
    said = outcomes([once_there(DirectoryStore(tmp_path / "b"), 1, first), second])
    assert said[1] == "rank 1 is to have 3 workers, rank 0 has 2"
    assert said[0] == "rank 1 could not be connected within 0.5 s"


class Intruder:
    """Reads where rank 0 listens from what it wrote for the others, and calls it."""

    def __init__(self, folder: Path) -> None:
        store = DirectoryStore(folder)
        store.set("plink/0/1", json.dumps([[["127.0.0.1", 1]], None]).encode())
        self.table = json.loads(store.get("plink/0/table", 10))
        (self.address,) = self.table["endpoints"][0]

    def say(self, words: bytes) -> bytes:
        """What comes back until the connection is closed."""
        with socket.create_connection(self.address, timeout=100) as connection:
            connection.sendall(words)
            heard = b""
            # Closed with our words unread, it is reset, perhaps before we say that we are done.
            try:
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(1000):
                    heard += piece
            except OSError as error:
                if error.errno not in (errno.ECONNRESET, errno.ENOTCONN):
                    raise
        return heard

    def hello(self, **changes: object) -> bytes:
        fields = {
            "channel": 0,
            "rank": 1,
            "ranks": 2,
            "workers": 2,
            "job": bytes.fromhex(self.table["job"]),
            "plan": 0,
        }
        return _native.Hello(**{**fields, **changes}).encode()  # type: ignore[arg-type]


def test_strangers_are_turned_away_while_the_ranks_connect(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(outcomes, pair(tmp_path)[:1])
        intruder = Intruder(tmp_path)
        assert intruder.say(b"GET / HTTP/1.1\r\nHost: plink\r\n\r\n" + bytes(100)) == b""
        assert intruder.say(b"short") == b""
        refused = intruder.say(intruder.hello(job=b"x" * 16))
        assert refused.endswith(b"it belongs to another job")
        old = intruder.say(intruder.hello(version=7, job=b"x" * 16))
        assert old.endswith(b"it speaks version 7, here 3")
        # It still listens to its own job.
        assert intruder.say(intruder.hello(version=7)).endswith(b"it speaks version 7, here 3")
        assert waiting.result() == ["rank 1 was refused: it speaks version 7, here 3"]


@contextlib.contextmanager
def played_rank_0(folder: Path) -> Iterator[socket.socket]:
    """Where rank 1 is told that rank 0 listens; both are to have one worker."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        table = {
            "job": "00" * 16,
            "workers": 1,
            "endpoints": [[server.getsockname()], [["127.0.0.1", 1]]],
            "missing": [],
            "seconds": 1.0,
            "decided": None,
            "refusal": "",
            "is_failure": False,
            "culprit": -1,
        }
        DirectoryStore(folder).set("plink/0/table", json.dumps(table).encode())
        yield server


def test_the_reason_counts_where_another_connection_ends_before_it_comes(tmp_path: Path) -> None:
    with played_rank_0(tmp_path) as rank_0, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(outcomes, pair(tmp_path)[1:])
        first, second = (rank_0.accept()[0] for _ in range(2))
        with first, second:
            for connection in (first, second):
                connection.settimeout(10)
                assert len(connection.recv(1000)) == _native.HELLO_BYTES
            second.shutdown(socket.SHUT_WR)
            # Rank 1 has noticed it and closes it too.
            assert second.recv(1) == b""
            # What cannot be shown is not.
            first.sendall(_native.encode_answer("it is not welcome!").replace(b"!", b"\xe9"))
            (said,) = waiting.result()
    assert said.endswith("refused this rank: it is not welcome?")


def test_a_rank_whose_call_is_dropped_calls_again(tmp_path: Path) -> None:
    with played_rank_0(tmp_path) as rank_0, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(outcomes, pair(tmp_path)[1:])
        for drop in range(6):
            connection = rank_0.accept()[0]
            if drop % 2:
                assert len(connection.recv(1000)) == _native.HELLO_BYTES
            connection.close()
        with rank_0.accept()[0] as connection:
            connection.sendall(_native.encode_answer("it came too late"))
            (said,) = waiting.result()
    assert said.endswith("refused this rank: it came too late")


def test_a_rank_that_drops_every_call_is_named(tmp_path: Path) -> None:
    hasty = replace(QUICK, setup_timeout_s=1.0)
    with played_rank_0(tmp_path) as rank_0, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(outcomes, pair(tmp_path, second=hasty)[1:])
        rank_0.settimeout(0.1)
        while not waiting.done():
            with contextlib.suppress(TimeoutError):
                rank_0.accept()[0].close()
        (said,) = waiting.result()
    assert re.fullmatch(
        r"rank 0 could not be connected within 1 s; "
        r"rank 0 \(127\.0\.0\.1 port \d+\) dropped \d+ calls before it answered",
        said,
    )


def test_a_rank_that_dies_once_it_was_at_the_meeting_is_named_by_all(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    hasty = replace(QUICK, setup_timeout_s=1.0)

    def culprit(rank: int) -> int | None:
        with pytest.raises(EngineError, match=r"ranks? 1[ ,]") as failed:
            Engine(rank, 3, store, stars(3), hasty)
        return failed.value.rank

    with socket.socket() as port_of_nobody, ThreadPoolExecutor(2) as threads:
        port_of_nobody.bind(("127.0.0.1", 0))
        store.set("plink/0/1", pack_entry(Entry([port_of_nobody.getsockname()], None)))
        assert list(threads.map(culprit, (0, 2))) == [1, 1]


def test_a_port_with_something_else_on_it(tmp_path: Path) -> None:
    """Rank 1 is told that rank 0 listens where in truth somebody else does."""
    with played_rank_0(tmp_path) as other:

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                connection.recv(100)

        with ThreadPoolExecutor(1) as threads:
            done = threads.submit(answer)
            said = outcomes(pair(tmp_path)[1:])
            done.result()
    assert "does not answer like an engine" in said[0]


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = outcomes(pair(tmp_path, replace(QUICK, port=port))[:1])
    assert said == [f"cannot listen on 127.0.0.1 port {port}: Address already in use"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"workers": 0}, "workers is 0, expected a whole number from 1 to 64"),
        ({"chunk_bytes": 0}, "chunk_bytes is 0, expected a whole number from 1 to"),
        ({"spin_us": -1.0}, "spin_us is -1.0, expected a number from 0 to "),
        (
            {"stall_timeout_s": 0.0},
            "stall_timeout_s is 0.0, expected a number from ",
        ),
        ({"addresses": ("here",)}, "addresses has 'here', expected numeric addresses"),
        ({"congestion_control": "none"}, "no TCP congestion control none here"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: dict[str, object], sentence: str) -> None:
    def engine() -> Engine:
        return Engine(0, 1, DirectoryStore(tmp_path), stars(1), replace(QUICK, **options))  # type: ignore[arg-type]

    with pytest.raises(WrongUseError, match=sentence):
        engine()


FORESTS = [
    (stars(3), "the plan is for 3 ranks, there are 2"),
    (Forest(np.ones(1), np.zeros((1, 2), np.int32), np.zeros((1, 2), np.int32)), "has no root"),
    (Forest(np.ones(1), np.array([[1, 0]]), np.array([[-1, 0]])), "has no root"),
    (Forest(np.ones(1), np.array([[-1, -1]]), np.array([[-1, 0]])), "has two roots"),
    (Forest(np.ones(1), np.array([[-1, 5]]), np.array([[-1, 0]])), "a parent that is not a rank"),
    (Forest(np.ones(1), np.array([[-1, 0]]), np.array([[1, -1]])), "have different roots"),
    (Forest(np.zeros(1), np.array([[-1, 0]]), np.array([[-1, 0]])), "no positive, finite sum"),
    (Forest(-np.ones(1), np.array([[-1, 0]]), np.array([[-1, 0]])), "negative or not finite"),
    (Forest(np.ones(2), np.array([[-1, 0]]), np.array([[-1, 0]])), "do not fit the weights"),
    (Forest(np.ones(1), np.array([-1, 0]), np.array([-1, 0])), "two arrays of routes by ranks"),
    (
        Forest(np.ones(1), np.array([[-1, 2, 1]]), np.array([[-1, 0, 0]])),
        "the reduce tree of route 0 has a cycle",
    ),
]


@pytest.mark.parametrize(("forest", "sentence"), FORESTS)
def test_plans_that_are_none(tmp_path: Path, forest: Forest, sentence: str) -> None:
    with pytest.raises(WrongUseError, match=sentence):
        Engine(0, 2, DirectoryStore(tmp_path), forest, QUICK)


def test_no_rank_beyond_the_last(tmp_path: Path) -> None:
    with pytest.raises(WrongUseError, match="there is no rank 2 among 2"):
        Engine(2, 2, DirectoryStore(tmp_path), stars(2), QUICK)


def test_calls_that_cannot_be(tmp_path: Path) -> None:
    with Engine(0, 1, DirectoryStore(tmp_path), stars(1), QUICK) as engine:
        frozen = np.ones(3)
        frozen.flags.writeable = False
        for array, op, dtype, sentence in [
            (np.ones(3), "product", None, "no operation is called product"),
            (np.ones(3), "and", None, "is for whole numbers"),
            (np.ones(3, dtype=np.uint8), "sum", None, "no all-reduce of uint8"),
            (np.ones(3, dtype=np.uint8), "sum", "float32", "3 bytes are no whole number"),
            (np.ones((4, 4))[:, 1], "sum", None, "not a writable, contiguous buffer"),
            (frozen, "sum", None, "not a writable, contiguous buffer"),
        ]:
            with pytest.raises(WrongUseError, match=sentence):
                engine.allreduce(array, op, dtype)
        with pytest.raises(WrongUseError, match=r"a priority is a whole number, not 1\.5"):
            engine.allreduce(np.ones(3), priority=1.5)  # type: ignore[arg-type]
        with pytest.raises(WrongUseError, match="the result is not a writable, contiguous buffer"):
            engine.all_gather(np.ones(3), frozen)
        engine.allreduce(np.ones(1)).wait()
        with pytest.raises(WrongUseError, match="collective 0 has begun; the next is 1"):
            engine.install(stars(1), 0)
        with pytest.raises(WrongUseError, match="the plan is for 3 ranks, there are 1"):
            engine.install(stars(3), 5)
    assert engine.statistics().connections == []
    with pytest.raises(EngineError, match="closed"):
        engine.allreduce(np.ones(1))


def test_a_dropped_array_is_kept_until_its_work_has_ended() -> None:
    with group(stars(2)) as ranks:
        first, second = ranks.engines
        for _ in range(20):
            first.allreduce(np.ones(50_000))
        arrays = [np.ones(50_000) for _ in range(20)]
        for work in [second.allreduce(array) for array in arrays]:
            work.wait(20)
    assert all(np.all(array == 2.0) for array in arrays)
