"""The paper's inequality of racks, and the busiest links."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.hub.racks import Racks, judge_racks

MBIT = 1e6
SIZE_BYTES = 20e6
# Of 8 workers with 400 Mbit/s, and a server with four ports in each rack.
LAB = Racks(2, 4, 400 * MBIT, 1600 * MBIT, 200 * MBIT)
ONCE_S = 8 * SIZE_BYTES / (400 * MBIT)

rates = st.floats(1e6, 1e12)
any_racks = st.builds(Racks, st.integers(2, 64), st.integers(1, 64), rates, rates, rates)


def test_both_sides_are_the_papers() -> None:
    found = judge_racks(LAB, 1.0)
    assert found.sharded_s / 8 == pytest.approx(4 * 1 / (2 * 200e6))
    assert found.rack_s / 8 == pytest.approx(max(4 / 1600e6, 1 / 400e6))
    assert found.between_s / 8 == pytest.approx(1 / (2 * 200e6))
    assert found.is_better


def test_slow_uplinks_make_sharded_servers_four_times_as_slow() -> None:
    found = judge_racks(LAB, SIZE_BYTES)
    assert found.links_sharded_s / found.links_hierarchy_s == pytest.approx(4.0)
    assert found.links_two_level_s == pytest.approx(found.links_hierarchy_s)


def test_traffic_between_racks_goes_through_the_servers_own_ports() -> None:
    quick = judge_racks(replace(LAB, core_bits_s=1600 * MBIT), SIZE_BYTES)
    assert quick.links_two_level_s == pytest.approx(1.75 * ONCE_S)
    assert quick.links_hierarchy_s == pytest.approx(1.25 * ONCE_S)
    spare = replace(LAB, core_bits_s=1600 * MBIT, server_bits_s=2000 * MBIT)
    assert judge_racks(spare, SIZE_BYTES).links_hierarchy_s == pytest.approx(ONCE_S)


@given(any_racks)
def test_the_inequality_changes_at_its_crossover(racks: Racks) -> None:
    at = judge_racks(racks, 1.0).crossover_bits_s
    if at == 0.0:
        # With one worker in a rack there is nothing to gain.
        assert racks.workers == 1
        assert not judge_racks(racks, 1.0).is_better
        return
    assert judge_racks(replace(racks, core_bits_s=0.999 * at), 1.0).is_better
    assert not judge_racks(replace(racks, core_bits_s=1.001 * at), 1.0).is_better
