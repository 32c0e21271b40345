"""What Gloo does for collectives other than an allreduce: which bytes go where."""

from __future__ import annotations

import numpy as np
import pytest

from collective_replay import check_flows, heard
from plink.solvers.collectives.registry import OTHERS, find, find_by_collective
from plink.solvers.contention.network import make_network
from plink.solvers.contention.time import TableTimer

SIZE_BYTES = 1 << 20


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
def test_every_collective_reaches_whom_it_should(ranks):
    for name, algorithm in OTHERS.items():
        table = algorithm.table(ranks, SIZE_BYTES)
        check_flows(table)
        reached = heard(table)
        if algorithm.collective in ("broadcast", "scatter"):
            assert reached[:, 0].all()
        elif algorithm.collective in ("reduce", "gather"):
            assert reached[0].all()
        elif algorithm.collective == "send-receive":
            assert (reached.sum(axis=1) == 2).all()
        else:
            assert reached.all(), name


def test_bytes_are_those_of_the_algorithms():
    ranks, size = 5, 5000
    sent = {name: find(name).table(ranks, size).bytes_between() for name in OTHERS}
    around = np.roll(np.eye(ranks), 1, axis=1)
    assert sent["gloo-all-gather"] == pytest.approx(around * size * 4 / 5)
    # The whole ring of an allreduce: twice what a reduce-scatter needs.
    assert sent["gloo-reduce-scatter"] == pytest.approx(around.T * size * 8 / 5)
    assert sent["gloo-broadcast"].sum(axis=1).tolist() == [3 * size, size, 0, 0, 0]
    assert sent["gloo-reduce"][1:, 0].tolist() == [size, size / 5, size / 5, size / 5]
    assert sent["gloo-gather"][:, 0].tolist() == [0, *[size / 5] * 4]
    assert sent["gloo-scatter"][0].tolist() == [0, *[size / 5] * 4]
    assert (sent["gloo-all-to-all"] + np.eye(5) * size / 5 == size / 5).all()
    assert sent["gloo-send-receive"] == pytest.approx(around * size)


def test_messages_that_are_begun_at_once_share_links():
    network = make_network(4, send_bytes_s=1e6, receive_bytes_s=1e6)
    table = find("gloo-all-to-all").table(4, SIZE_BYTES)
    assert TableTimer(table, network).time_s(range(4)) == pytest.approx(0.75 * SIZE_BYTES / 1e6)
    assert [each.name for each in find_by_collective("all-to-all")] == [
        "all-to-all",
        "gloo-all-to-all",
    ]
