"""Messages between ranks, beside collectives and without them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from engine.forests import chains, stars
from engine.group import group
from plink.base.errors import WrongUseError
from plink.engine import Engine, EngineError

WAIT_S = 30.0


@pytest.mark.parametrize("options", [{}, {"workers": 3, "shared_memory": False}])
def test_a_storm_of_messages_and_collectives(options: dict[str, Any]) -> None:
    """All pairs, three tags, sizes from nothing to a megabyte, received in another order."""
    ranks_count = 4
    rng = np.random.default_rng(5)
    sizes = rng.choice([0, 1, 700, 70_000, 130_000, 1_000_000], (ranks_count, ranks_count, 3, 4))

    def content(source: int, target: int, tag: int, turn: int) -> Any:
        size = sizes[source, target, tag, turn]
        return np.random.default_rng([source, target, tag, turn]).bytes(size)

    with group(chains(ranks_count), **options) as ranks:

        def run(engine: Engine) -> None:
            me, works, received = engine.rank, [], []
            others = [rank for rank in range(ranks_count) if rank != me]
            total = np.ones(50_000)
            for turn in range(4):
                for tag in (0, 1, 2):
                    for peer in others:
                        sent = np.frombuffer(content(me, peer, tag, turn), np.uint8)
                        works.append(engine.send(sent, peer, tag))
                works.append(engine.allreduce(total if turn == 2 else np.ones(10)))
            for tag in (2, 0, 1):
                for peer in reversed(others):
                    for turn in range(4):
                        into = np.empty(sizes[peer, me, tag, turn], np.uint8)
                        works.append(engine.receive(into, peer, tag))
                        received.append((into, content(peer, me, tag, turn)))
            for work in works:
                work.wait(WAIT_S)
            assert all(into.tobytes() == wanted for into, wanted in received)
            assert np.all(total == ranks_count)

        ranks.on_all(run)


def test_who_sends_before_and_after_the_other_receives() -> None:
    with group(stars(2)) as ranks:

        def run(engine: Engine) -> None:
            for turn in range(6):
                if turn % 2 == engine.rank:
                    time.sleep(0.02)
                values = np.full(9, float(turn))
                if engine.rank == 0:
                    work = engine.send(values, 1)
                else:
                    values[:] = -1
                    work = engine.receive(values, 0)
                work.wait(WAIT_S)
                assert np.all(values == turn)
                assert work.peer == 1 - engine.rank

        ranks.on_all(run)


def test_messages_from_anybody() -> None:
    """Each is received once, and the work says whose it was; early and late senders."""
    with group(stars(4)) as ranks:

        def run(engine: Engine) -> None:
            if engine.rank:
                for turn in range(3):
                    if engine.rank == turn + 1:
                        time.sleep(0.05)
                    engine.send(np.array([engine.rank, turn]), 0, 5).wait(WAIT_S)
                return
            seen = []
            for _ in range(9):
                got = np.zeros(2, np.int64)
                work = engine.receive(got, tag=5)
                work.wait(WAIT_S)
                assert work.peer == got[0]
                seen.append(tuple(got.tolist()))
            assert sorted(seen) == [(rank, turn) for rank in (1, 2, 3) for turn in range(3)]
            for rank in (1, 2, 3):
                assert [turn for of, turn in seen if of == rank] == [0, 1, 2]

        ranks.on_all(run)


def test_what_nobody_receives_waits_and_fails_with_the_engine() -> None:
    with group(stars(3), silence_timeout_s=2.0) as ranks:

        def run(engine: Engine) -> None:
            if engine.rank == 2:
                time.sleep(0.2)
                engine.close()
                return
            lonely = engine.send(np.ones(4), 2) if engine.rank else engine.receive(np.ones(4), 2)
            with pytest.raises(TimeoutError):
                lonely.wait(0.05)
            started = time.monotonic()
            with pytest.raises(EngineError) as failed:
                lonely.wait(WAIT_S)
            assert failed.value.rank == 2
            assert time.monotonic() - started < WAIT_S / 2

        ranks.on_all(run)


def test_lengths_that_differ_are_told() -> None:
    with group(stars(2)) as ranks:

        def run(engine: Engine) -> str:
            work = (
                engine.send(np.ones(4), 1, 7)
                if engine.rank == 0
                else engine.receive(np.ones(3), 0, 7)
            )
            with pytest.raises(EngineError) as failed:
                work.wait(WAIT_S)
            return str(failed.value)

        for said in ranks.on_all(run):
            assert "receives 24 bytes of a message with tag 7, which has 32" in said


def test_wrong_peers_and_tags() -> None:
    with group(stars(2)) as ranks:

        def run(engine: Engine) -> None:
            for peer, tag in ((engine.rank, 0), (2, 0), (-1, 0), (1 - engine.rank, -1)):
                with pytest.raises(WrongUseError):
                    engine.send(np.ones(1), peer, tag)
            with pytest.raises(WrongUseError):
                engine.send(np.ones((2, 2)).T[0], 1 - engine.rank)

        ranks.on_all(run)
