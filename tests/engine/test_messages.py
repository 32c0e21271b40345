"""Messages between ranks, beside collectives and without them."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from engine.forests import chains, stars
from engine.group import group
from plink.base.errors import WrongUseError
from plink.engine import Engine, EngineError

WAIT_S = 30.0
EAGER_BYTES = 65_536


@pytest.mark.parametrize("options", [{}, {"workers": 3, "shared_memory": False}])
def test_a_storm_of_messages_and_collectives(options: dict[str, Any]) -> None:
    """All pairs, three tags, sizes from nothing to a megabyte, received in another order."""
    ranks_count = 4
    rng = np.random.default_rng(5)
    some = [0, 1, 700, EAGER_BYTES, EAGER_BYTES + 1, 130_000, 1_000_000]
    sizes = rng.choice(some, (ranks_count, ranks_count, 3, 4))

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
    with group(stars(3)) as ranks:
        have_waited = threading.Barrier(3)

        def run(engine: Engine) -> None:
            if engine.rank == 2:
                have_waited.wait(WAIT_S)
                engine.close()
                return
            values = np.ones(100_000)
            lonely = engine.send(values, 2) if engine.rank else engine.receive(values, 2)
            with pytest.raises(TimeoutError):
                lonely.wait(0.05)
            have_waited.wait(WAIT_S)
            with pytest.raises(EngineError) as failed:
                lonely.wait(WAIT_S)
            assert failed.value.rank == 2

        ranks.on_all(run)


def said_at_the_end(engine: Engine, array: Any) -> str:
    """What ends the engine of rank 0, which sends `array`, and of rank 1, which receives it."""
    try:
        if engine.rank == 0:
            engine.send(array, 1, 7).wait(WAIT_S)
            # An eager one has ended well.
            engine.receive(array, 1, 8).wait(WAIT_S)
        else:
            engine.receive(array, 0, 7).wait(WAIT_S)
    except EngineError as error:
        return str(error)
    return "nothing"


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("lengths", [(4, 3), (4, 100_000), (100_000, 4)])
def test_lengths_that_differ_are_told(late: int, lengths: tuple[int, int]) -> None:
    with group(stars(2)) as ranks:

        def run(engine: Engine) -> str:
            array = np.ones(lengths[engine.rank])
            if engine.rank == late:
                time.sleep(0.05)
            return said_at_the_end(engine, array)

        wanted = f"receives {8 * lengths[1]} bytes of a message with tag 7, which has"
        for said in ranks.on_all(run):
            assert f"{wanted} {8 * lengths[0]}" in said


def test_small_ones_are_kept_until_they_are_received() -> None:
    """As many as there is credit for; the others wait, and all come in their order."""
    count, size = 12, 50_000
    with group(stars(2), shared_memory=False) as ranks:
        have_waited = threading.Event()

        def run(engine: Engine) -> None:
            if engine.rank == 1:
                # It reads for another reason, so that nothing waits in the kernel.
                engine.receive(np.empty(1), 0, 9).wait(WAIT_S)
                assert have_waited.wait(WAIT_S)
                for turn in range(count):
                    got = np.empty(size, np.uint8)
                    engine.receive(got, 0).wait(WAIT_S)
                    assert np.all(got == turn)
                engine.send(np.ones(1), 0).wait(WAIT_S)
                return
            works = [engine.send(np.full(size, turn, np.uint8), 1) for turn in range(count)]
            engine.send(np.ones(1), 1, 9).wait(WAIT_S)
            for work in works[:5]:
                work.wait(WAIT_S)
            with pytest.raises(TimeoutError):
                works[5].wait(0.05)
            assert not any(work.done() for work in works[5:])
            have_waited.set()
            for work in works:
                work.wait(WAIT_S)
            engine.receive(np.empty(1), 1).wait(WAIT_S)
            # The credit is back.
            for turn in range(5):
                engine.send(np.full(size, turn, np.uint8), 1, 3).wait(WAIT_S)

        ranks.on_all(run)


def test_what_was_sent_before_leaving_is_received() -> None:
    with group(stars(3)) as ranks:
        has_left = threading.Event()

        def run(engine: Engine) -> None:
            if engine.rank == 1:
                for turn in range(3):
                    engine.send(np.full(4_000, turn), 0, turn).wait(WAIT_S)
                engine.close()
                has_left.set()
            elif engine.rank == 0:
                assert has_left.wait(WAIT_S)
                for turn in (2, 0, 1):
                    got = np.empty(4_000, np.int64)
                    engine.receive(got, 1, turn).wait(WAIT_S)
                    assert np.all(got == turn)

        ranks.on_all(run)


@pytest.mark.parametrize("options", [{}, {"workers": 3, "shared_memory": False}])
def test_the_order_of_sizes_and_tags_drawn_at_random(options: dict[str, Any]) -> None:
    """Each rank sends, and receives what others do, at its own pace; one tag from anybody."""
    count, anybody = 60, 3

    def drawn(source: int, target: int) -> list[tuple[int, int]]:
        """Tags and sizes, in the order in which they are sent."""
        rng = np.random.default_rng([7, source, target])
        sizes = rng.choice([0, 9, 40_000, EAGER_BYTES, EAGER_BYTES + 1, 200_000], count)
        return list(zip(rng.integers(0, 4, count).tolist(), sizes.tolist(), strict=True))

    with group(chains(3), **options) as ranks:

        def run(engine: Engine) -> None:
            rng = np.random.default_rng([8, engine.rank])
            others = [rank for rank in range(3) if rank != engine.rank]
            sends = {peer: list(enumerate(drawn(engine.rank, peer))) for peer in others}
            comes = {peer: list(enumerate(drawn(peer, engine.rank))) for peer in others}
            open_sends, checks, opened = [], [], []
            while any(sends.values()) or any(comes.values()):
                peer = int(rng.choice(others))
                if rng.random() < 0.5 and sends[peer]:
                    turn, (tag, size) = sends[peer].pop(0)
                    value = 1 if tag == anybody else turn
                    size = 77 if tag == anybody else size
                    content = np.full(size, value, np.uint8)
                    open_sends.append(engine.send(content, peer, tag))
                elif comes[peer]:
                    # Of another tag than the oldest, now and then.
                    tag = comes[peer][int(rng.integers(0, min(9, len(comes[peer]))))][1][0]
                    place = next(i for i, (_, of) in enumerate(comes[peer]) if of[0] == tag)
                    turn, (_, size) = comes[peer].pop(place)
                    if tag == anybody:
                        got = np.zeros(77, np.uint8)
                        checks.append((engine.receive(got, tag=tag), got, 1))
                    else:
                        got = np.zeros(size, np.uint8)
                        checks.append((engine.receive(got, peer, tag), got, turn))
                opened = [work for work, _, _ in checks if not work.done()]
                if rng.random() < 0.1 and opened and not any(sends.values()):
                    time.sleep(0.001)
            for work in open_sends + [work for work, _, _ in checks]:
                work.wait(WAIT_S)
            assert all(np.all(got == value) for _, got, value in checks)

        ranks.on_all(run)


def test_wrong_peers_and_tags() -> None:
    with group(stars(2)) as ranks:

        def run(engine: Engine) -> None:
            for peer, tag in ((engine.rank, 0), (2, 0), (-1, 0), (1 - engine.rank, -1)):
                with pytest.raises(WrongUseError):
                    engine.send(np.ones(1), peer, tag)
            with pytest.raises(WrongUseError):
                engine.send(np.ones((2, 2)).T[0], 1 - engine.rank)

        ranks.on_all(run)


def test_receives_from_anybody_wait_for_nobody_who_sends_no_more() -> None:
    """One rank stops sending early: what it offered more than once must bind no later receive."""
    size, few, many, rounds = EAGER_BYTES + 1, 2, 6, 40
    with group(stars(3)) as ranks:

        def run(engine: Engine) -> None:
            if engine.rank != 0:
                mine = few if engine.rank == 1 else many
                value = np.full(size, engine.rank, np.uint8)
                for turn in range(rounds):
                    works = [engine.send(value, 0, turn % 3) for _ in range(mine)]
                    for work in works:
                        work.wait(WAIT_S)
                return
            for turn in range(rounds):
                came = []
                for ahead in (1, 3, 4):
                    # One at a time, then several, so that offers and receives cross.
                    opened = [np.empty(size, np.uint8) for _ in range(ahead)]
                    works = [engine.receive(into, None, turn % 3) for into in opened]
                    for work, into in zip(works, opened, strict=True):
                        work.wait(WAIT_S)
                        assert np.all(into == work.peer)
                        came.append(work.peer)
                assert sorted(came) == [1] * few + [2] * many

        ranks.on_all(run)
