"""What members read in the store, and how they tell who lives."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plans.strategies import forests
from plink.engine import C10dStore, DirectoryStore, EngineError, SharedStore, lifeline
from plink.engine.lifeline import Address, Life, LifeLine, Watch
from plink.engine.roster import (
    Member,
    Presence,
    Roster,
    pack_presence,
    pack_roster,
    parse_forest,
    parse_presence,
    parse_roster,
)
from plink.engine.store import peek
from plink.plans.forest import Forest
from plink.plans.wire import encode_forest

LINE = Address("127.0.0.1", 4711, "0011223344556677")
ROSTER = Roster([Member(0, LINE, -1), Member(3, LINE, 7)], 7, 4, "plan", [])


def test_a_roster_and_a_presence_are_read_as_they_were_written() -> None:
    assert parse_roster(pack_roster(ROSTER)) == ROSTER
    assert parse_presence(pack_presence(Presence(LINE, 9))) == Presence(LINE, 9)


@given(forests())
def test_a_plan_is_read_as_it_was_written(forest: Forest) -> None:
    read = parse_forest(encode_forest(forest).encode(), forest.ranks)
    assert (read.weights == forest.weights).all()
    assert (read.reduce_parents == forest.reduce_parents).all()
    assert (read.broadcast_parents == forest.broadcast_parents).all()
    with pytest.raises(EngineError, match="not a plan for these ranks"):
        parse_forest(encode_forest(forest).encode(), forest.ranks + 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
@example(b"[9223372036854775808,[]]")
@example(b"[1099511627776,[1]]")
def test_anything_else_is_one_sentence(content: bytes) -> None:
    for parse in (parse_roster, parse_presence, lambda said: parse_forest(said, 3)):
        with pytest.raises(EngineError, match="what is in the store is not"):
            parse(content)


@given(st.sampled_from(["members", "steps", "asked", "plan", "missing"]), JSON)
def test_a_roster_with_another_entry_is_refused_or_right(name: str, value: object) -> None:
    said: dict[str, Any] = json.loads(pack_roster(ROSTER))
    try:
        roster = parse_roster(json.dumps({**said, name: value}).encode())
    except EngineError:
        return
    assert parse_roster(pack_roster(roster)) == roster


class FakeC10d:
    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.lock = threading.Lock()

    def check(self, keys: list[str]) -> bool:
        return all(key in self.values for key in keys)

    def get(self, key: str) -> bytes:
        return self.values[key]

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        with self.lock:
            if self.values.get(key, b"").decode() == expected:
                self.values[key] = desired.encode()
            return self.values[key]


@pytest.fixture(params=["directory", "c10d"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SharedStore:
    return DirectoryStore(tmp_path) if request.param == "directory" else C10dStore(FakeC10d())


def test_the_first_claim_counts_for_everybody(store: SharedStore) -> None:
    assert peek(store, "a/key") is None
    with ThreadPoolExecutor(8) as threads:
        claimed = list(threads.map(lambda i: store.claim("a/key", b"%d" % i), range(40)))
    assert len(set(claimed)) == 1
    assert peek(store, "a/key") == claimed[0]
    with pytest.raises(TimeoutError):
        store.get("another", 0.01)


# Longer than a busy machine stops the thread of a life line.
SILENCE_S = 20.0


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch(SILENCE_S)
    yield watch
    watch.close()


def test_who_lives_and_who_has_ended(watch: Watch) -> None:
    one, other = (LifeLine("127.0.0.1", SILENCE_S) for _ in range(2))
    both = (one.address, other.address)
    assert watch.life(one.address) is Life.UNKNOWN
    watch.settled(both, SILENCE_S)
    assert [watch.life(line) for line in both] == [Life.ALIVE] * 2
    other.close()
    while watch.life(other.address) is Life.ALIVE:
        time.sleep(0.001)
    assert [watch.life(line) for line in both] == [Life.ALIVE, Life.ENDED]
    one.close()
    again = Watch(SILENCE_S)
    again.settled(both, SILENCE_S)
    assert [again.life(line) for line in both] == [Life.ENDED] * 2
    again.close()


def test_another_process_at_the_same_port_is_another(watch: Watch) -> None:
    line = LifeLine("127.0.0.1", SILENCE_S)
    other = Address(line.address.host, line.address.port, "ff" * 8)
    watch.settled([other], SILENCE_S)
    assert watch.life(other) is Life.ENDED
    line.close()


def test_a_process_that_is_stopped_is_silent() -> None:
    watch = Watch(0.3)
    # The kernel takes calls for it.
    with socket.create_server(("127.0.0.1", 0)) as stopped:
        address = Address("127.0.0.1", stopped.getsockname()[1], "00" * 8)
        watch.settled([address], SILENCE_S)
        assert watch.life(address) is Life.SILENT
    watch.close()


def test_a_process_beats_several_times_in_a_short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    # So long that no beat comes within the test but for the short silence.
    monkeypatch.setattr(lifeline, "_BEAT_S", 1000.0)
    line = LifeLine("127.0.0.1", 0.4)
    token, beats = bytes.fromhex(line.address.token), b"..."
    with socket.create_connection((line.address.host, line.address.port)) as caller:
        heard = b""
        while len(heard) < len(token + beats):
            heard += caller.recv(len(token + beats) - len(heard))
    assert heard == token + beats
    line.close()
