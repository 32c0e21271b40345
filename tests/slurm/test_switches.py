"""What `scontrol show topology` says, and what hosts of the same switches let expect."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plink.deploy.slurm.switches import count_partners, fill_by_switch, parse_switches
from plink.formats.measurements import RttMeasurement

TREE = """\
SwitchName=s0 Level=0 LinkSpeed=1 Nodes=node[01-02]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=node[03-04],gpu1
SwitchName=top Level=1 LinkSpeed=1 Nodes=gpu1,node[01-04] Switches=s[0-1]
"""
BLOCK = "BlockName=b1 BlockIndex=0 Nodes=node[01-02]\nBlockName=b2 BlockIndex=1 Nodes=node03\n"


def measured(times_us: np.ndarray) -> RttMeasurement:
    counts = (~np.isnan(times_us)).astype(np.int64)
    return RttMeasurement(
        rtt_us={10.0: times_us, 50.0: times_us + 1.0},
        reading=10.0,
        samples=counts,
        losses=0 * counts,
        tool="echo",
    )


def test_leaves_of_a_tree_and_blocks():
    tree = parse_switches(TREE)
    assert tree["node02"] == "s0"
    assert tree["gpu1"] == "s1"
    assert set(tree.values()) == {"s0", "s1"}
    assert parse_switches(BLOCK) == {"node01": "b1", "node02": "b1", "node03": "b2"}


@given(st.one_of(st.text(), st.text("SwitchName=Level01Nodes,[]-\n ")))
def test_any_text_is_a_topology_or_none(text):
    assert isinstance(parse_switches(text), dict)


def test_what_is_not_measured_is_told_by_the_switches():
    names = ["a1", "a2", "b1", "b2", "b3", "c1", "lonely"]
    switch_of = {name: name[0] for name in names if name != "lonely"}
    times_us = np.full((7, 7), np.nan)
    for a, b, us in [("a1", "a2", 20.0), ("a1", "b1", 50.0), ("b1", "b2", 30.0)]:
        i, j = names.index(a), names.index(b)
        times_us[i, j], times_us[j, i] = us, us
    # Between two switches one reading in a direction is too few.
    times_us[names.index("b2"), names.index("a2")] = times_us[names.index("a2"), 3] = 60.0
    found = fill_by_switch(measured(times_us), names, switch_of)
    at = found.readings_us
    assert at[names.index("a2"), names.index("b3")] == 55.0
    assert at[names.index("b3"), names.index("b2")] == 30.0
    assert found.rtt_us[50.0][names.index("b3"), names.index("b2")] == 31.0
    # What was measured stays, and nothing is known of switches without readings.
    assert at[0, 2] == 50.0
    assert np.isnan(at[names.index("c1")]).all()
    assert np.isnan(at[names.index("lonely")]).all()
    assert np.isnan(np.diag(at)).all()


def test_partners_have_both_directions():
    times_us = np.array([[np.nan, 1.0, 1.0], [1.0, np.nan, 1.0], [np.nan, 1.0, np.nan]])
    assert count_partners(times_us, 3).tolist() == [1.0, 2.0, 1.0]
    assert count_partners(times_us, 2).tolist() == [1.0, 1.0]
