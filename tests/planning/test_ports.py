"""When servers' ports beat an all-reduce, and by how much at most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.optimize.plans.ports import judge_ports


def test_eight_workers_and_eight_ports() -> None:
    found = judge_ports(8, 8)
    assert found.gain == pytest.approx(1.75)
    assert found.equal_bandwidth == pytest.approx(0.875)
    assert "1.75 times as quick as all-reduce at most" in found.sentence
    assert "all-reduce takes 0.875 of the servers' time" in found.sentence


def test_servers_win_from_five_ports_on_for_eight_workers() -> None:
    assert 4 < judge_ports(8, 1).needed_ports < 5
    assert judge_ports(8, 4).gain < 1.0 < judge_ports(8, 5).gain
    assert "all-reduce takes 0.88 of the servers' time" in judge_ports(8, 4).sentence


@given(st.integers(2, 1000), st.floats(0.01, 4000.0))
def test_gain_is_above_one_with_more_than_the_needed_ports(workers: int, ports: float) -> None:
    found = judge_ports(workers, ports)
    assert found.gain <= 2.0
    # With two workers an all-reduce is as quick as any server.
    if workers > 2 and abs(ports - found.needed_ports) > 1e-6 * ports:
        assert (found.gain > 1.0) == (ports > found.needed_ports)
    # The same bandwidth never serves worse at the workers.
    assert found.equal_bandwidth < 1.0 + 1e-12


def test_one_worker_has_nothing_to_aggregate() -> None:
    assert judge_ports(1, 1).needed_ports is None
    assert judge_ports(1, 1).sentence == "a single worker has nothing to aggregate"
