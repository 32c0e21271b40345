"""A plan that is installed finds its connections as it needs them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import numpy as np
import pytest

from engine.forests import stars
from engine.group import Group, group
from plink.base.errors import WrongUseError
from plink.engine import Engine, Forest

WAIT_S = 20.0


def star(ranks: int) -> Forest:
    """All send to rank 0 alone."""
    parents = np.zeros((1, ranks), dtype=np.int32)
    parents[0, 0] = -1
    return Forest(np.ones(1), parents, parents)


def descriptors() -> set[str]:
    return {one.name for one in Path("/proc/self/fd").iterdir()}


def tcp_connections(known: set[str]) -> list[socket.socket]:
    """This process's, but for those that were there before; copies, to be closed."""
    found = []
    for name in descriptors() - known:
        try:
            one = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        if one.family == socket.AF_INET and one.type == socket.SOCK_STREAM:
            found.append(one)
        else:
            one.close()
    return found


def send_buffers(connections: list[socket.socket]) -> list[int]:
    return [one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) for one in connections]


def added(ranks: Group) -> list[float]:
    def add(engine: Engine) -> float:
        array = np.full(100_000, engine.rank + 1.0)
        engine.allreduce(array).wait(WAIT_S)
        assert np.all(array == array[0])
        return float(array[0])

    return ranks.on_all(add)


def test_send_buffers_suit_the_plan_in_force_and_connections_stay_known() -> None:
    known = descriptors()
    with group(star(5), shared_memory=False, workers=1) as ranks:
        connections = tcp_connections(known)
        try:
            assert all(
                one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) for one in connections
            )
            began = send_buffers(connections)
            assert added(ranks) == [15.0] * 5
            ranks.on_all(lambda engine: engine.install(stars(5), engine.next_collective))
            assert added(ranks) == [15.0] * 5
            # Ranks 1 to 4 have four receivers now, as rank 0 had: less for each.
            changed = [
                (new, old)
                for new, old in zip(send_buffers(connections), began, strict=True)
                if new != old
            ]
            assert changed
            assert all(new < old for new, old in changed)
            ranks.on_all(lambda engine: engine.install(star(5), engine.next_collective))
            assert added(ranks) == [15.0] * 5
            assert send_buffers(connections) == began
        finally:
            for one in connections:
                one.close()


def test_a_plan_is_prepared_before_it_is_installed() -> None:
    with group(star(3)) as ranks:
        ready = [engine.prepare(stars(3)) for engine in ranks.engines]
        with pytest.raises(WrongUseError, match="the plan is for 4 ranks, there are 3"):
            ranks.engines[0].prepare(stars(4))
        assert added(ranks) == [6.0] * 3
        ranks.on_all(lambda engine: engine.install(ready[engine.rank], engine.next_collective))
        assert added(ranks) == [6.0] * 3
