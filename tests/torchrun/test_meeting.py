"""How agents agree: one decides, all follow; who is lost makes the others meet again."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plink.base.errors import WrongUseError
from plink.engine import DirectoryStore
from plink.renumber.echo_agent import MeasuringPort
from plink.renumber.meeting import Decision, MeetAgainError, Meeting
from plink.torchrun import knowledge
from plink.torchrun.knowledge import Knowledge
from torchrun.networks import member, racks

DECISION = Decision([1, 0], ["b", "a"], "a.example", 1000)
PORT = MeasuringPort("192.0.2.1", 1, "secret")


def nothing(_: MeasuringPort) -> None:
    raise AssertionError("nobody asked for a measurement")


def beside(action: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    got: list[Any] = []

    def run() -> None:
        try:
            got.append(action())
        except MeetAgainError as error:
            got.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, got


def test_all_get_what_one_decides(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    other = Meeting(store, 1, 2, wait_s=10.0)
    other.come(member("b"))
    thread, got = beside(lambda: other.decision(nothing))
    meeting = Meeting(store, 0, 2, wait_s=10.0)
    assert meeting.members(member("a")) == [member("a"), member("b")]
    meeting.decide(DECISION)
    thread.join()
    assert got == [DECISION]
    assert DECISION.in_order == "a, b"


def test_the_others_measure_when_they_are_asked(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    ports: list[MeasuringPort] = []
    other = Meeting(store, 1, 2, wait_s=10.0)
    thread, got = beside(lambda: other.decision(ports.append))
    meeting = Meeting(store, 0, 2, wait_s=10.0)
    meeting.ask(PORT, [0, 1])
    meeting.all_are_back()
    meeting.decide(DECISION)
    thread.join()
    assert ports == [PORT]
    assert got == [DECISION]


def test_who_is_lost_is_named_and_the_others_meet_again(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    other = Meeting(store, 1, 3, wait_s=10.0)
    other.come(member("b"))
    meeting = Meeting(store, 0, 3, wait_s=0.2)
    with pytest.raises(MeetAgainError, match=r"agent 2 of 3 was not heard for 0\.2 s"):
        meeting.members(member("a"))
    meeting.decide(Decision(again="agent 2 is lost"))
    with pytest.raises(MeetAgainError, match="agent 2 is lost"):
        other.decision(nothing)
    lonely = Meeting(DirectoryStore(tmp_path / "other"), 1, 2, wait_s=-4.8)
    with pytest.raises(MeetAgainError, match="agent 0 of 2 was not heard"):
        lonely.decision(nothing)


def test_who_is_not_counted_meets_again(tmp_path: Path) -> None:
    """PyTorch takes an agent that it gives up out of a round, and leaves the others' numbers."""
    store = DirectoryStore(tmp_path / "store")
    Meeting(store, 0, 2, wait_s=1.0).decide(DECISION)
    assert Meeting(store, 1, 3, wait_s=1.0).decision(nothing) == DECISION
    with pytest.raises(MeetAgainError, match="agent 0 does not count agent 2"):
        Meeting(store, 2, 3, wait_s=1.0).decision(nothing)


@pytest.mark.parametrize("word", [b"[", b"{}", b'{"decision": {"x": 1}}', b'{"port": 1}', b"1"])
def test_what_another_version_says_is_no_traceback(word: bytes, tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    store.set("word/0", word)
    with pytest.raises(MeetAgainError, match="agent 0 says what cannot be read here"):
        Meeting(store, 1, 2, wait_s=1.0).decision(nothing)
    store.set("member/1", word)
    with pytest.raises(MeetAgainError, match="agent 1 says what cannot be read here"):
        Meeting(store, 0, 2, wait_s=1.0).members(member("a"))


def test_what_was_measured_is_known_to_whoever_decides_next(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    first, second = Knowledge(store), Knowledge(store)
    assert first.newest(None) is None
    first.renew(racks())
    known = second.newest(None)
    assert known is not None
    assert known.names == racks().names
    second.renew(racks(["a0", "b0"]))
    newest = first.newest(None)
    assert newest is not None
    assert newest.names == ["a0", "b0"]
    assert first.newest(None) is newest


@pytest.mark.parametrize("said", ["1 1", "1 1000000000000", "1 0", "1", "\xff"])
def test_what_the_store_holds_has_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(knowledge, "MOST_BYTES", 1 << 20)
    store = DirectoryStore(tmp_path / "store")
    store.set("cluster/1/0", zlib.compress(bytes((1 << 20) + 1)))
    store.set("cluster", said.encode("latin-1"))
    with pytest.raises(WrongUseError):
        Knowledge(store).newest(None)
