"""Large messages between pairs: few peers at once, in turns, and nothing is lost by it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from engine.forests import stars
from engine.group import group
from plink.engine import Engine

WAIT_S = 30.0
RANKS = 8
# More than a connection holds.
ITEMS = 200_000


def receivers(engine: Engine) -> int:
    """How many peers were sent anything."""
    return sum(peer.bytes_sent > 0 for peer in engine.statistics().peers)


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + WAIT_S
    while not is_so() and time.monotonic() < end_s:
        time.sleep(0.01)


@pytest.mark.parametrize(("workers", "peers_at_once"), [(1, 4), (2, 4), (3, 3)])
def test_a_rank_sends_to_few_peers_at_once(workers: int, peers_at_once: int) -> None:
    have_looked = threading.Event()
    with group(stars(RANKS), workers=workers) as ranks:

        def run(engine: Engine) -> int:
            source = np.full(RANKS * ITEMS, float(engine.rank), np.float32)
            result = np.full(RANKS * ITEMS, -1.0, np.float32)
            if engine.rank > 0:
                assert have_looked.wait(WAIT_S)
            work = engine.all_to_all(source, result)
            begun = 0
            if engine.rank == 0:
                # The others have not called it: what is sent stays in the connections.
                try:
                    until(lambda: receivers(engine) >= peers_at_once)
                    time.sleep(0.2)
                    begun = receivers(engine)
                finally:
                    have_looked.set()
            work.wait(WAIT_S)
            assert np.array_equal(result, np.repeat(np.arange(RANKS), ITEMS))
            return begun

        assert ranks.on_all(run)[0] == peers_at_once


@pytest.mark.parametrize("options", [{}, {"shared_memory": False, "workers": 1, "in_flight": 4}])
def test_uneven_exchanges_under_way_together_have_their_results(options: dict[str, object]) -> None:
    """Beside all-reduces, with priorities, and with one that is called late by a rank."""
    lengths = np.random.default_rng(20).integers(0, 2, (RANKS, RANKS)) * np.arange(1, 9) * 30_000
    with group(stars(RANKS), **options) as ranks:

        def run(engine: Engine) -> None:
            out, into = lengths[engine.rank], lengths[:, engine.rank]
            if engine.rank == 3:
                threading.Event().wait(0.1)
            works, results = [], []
            for turn in range(4):
                source = np.repeat(np.arange(RANKS, dtype=np.int32) + 10 * engine.rank, out)
                result = np.full(into.sum(), -1, np.int32)
                works.append(
                    engine.all_to_all(
                        source, result, out.tolist(), into.tolist(), priority=turn % 2
                    )
                )
                results.append(result)
                works.append(engine.allreduce(np.ones(100_000, np.float32)))
            for work in works:
                work.wait(WAIT_S)
            expected = np.repeat(10 * np.arange(RANKS) + engine.rank, into)
            assert all(np.array_equal(result, expected) for result in results)

        ranks.on_all(run)


@pytest.mark.parametrize(("items", "workers"), [(100, {0}), (1000, {0, 1})])
def test_workers_share_many_short_messages_and_one_has_few(items: int, workers: set[int]) -> None:
    with group(stars(10)) as ranks:

        def run(engine: Engine) -> None:
            source = np.full(10 * items, float(engine.rank), np.float32)
            result = np.empty_like(source)
            engine.all_to_all(source, result).wait(WAIT_S)
            assert np.array_equal(result, np.repeat(np.arange(10), items))
            connections = engine.statistics().connections
            assert {each.worker for each in connections if each.bytes_sent} == workers

        ranks.on_all(run)
