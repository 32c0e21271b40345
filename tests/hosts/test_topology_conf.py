"""Slurm's topology.conf as a host list and as groups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.deploy.launchers import TOPOLOGIES
from plink.formats.hosts import Group
from plink.probes.errors import HostListError
from plink.probes.hosts.slurm import parse_topology_conf
from plink.probes.inventories.kinds import parse_hosts

# The example of topology.conf(5), with a comment and another spelling.
TREE = """\
##################################################################
# Slurm's network topology configuration file for use with the
# topology/tree plugin
##################################################################
SwitchName=s0 Nodes=dev[0-5]
switchname = s1 nodes=dev[6-11] LinkSpeed=100   # the second
SwitchName=s2 \\
  Nodes=dev[12-13],\\
dev14
SwitchName=s3 Switches=s[0-2]
"""

BLOCK = "BlockName=block1 Nodes=n[01-02]\nBlockName=block2 Nodes=n[03-04]\nBlockSizes=2,4\n"


def groups(text: str) -> dict[str, list[str]]:
    return {name: found for name, (_, found) in parse_topology_conf(text, "t.conf").leaves.items()}


def test_a_tree() -> None:
    assert groups(TREE) == {
        "s0": [f"dev{k}" for k in range(6)],
        "s1": [f"dev{k}" for k in range(6, 12)],
        "s2": ["dev12", "dev13", "dev14"],
    }


def test_blocks() -> None:
    assert groups(BLOCK) == {"block1": ["n01", "n02"], "block2": ["n03", "n04"]}


def test_as_a_host_list() -> None:
    hosts = parse_hosts(TREE.encode(), "t.conf")
    assert [host.name for host in hosts] == [f"dev{k}" for k in range(15)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SwitchName=s0 Switches=s1\n", "t.conf: no switch or block has nodes"),
        ("SwitchName=s0 Nodes=a[1-\n", "t.conf:1: a bracket is not closed"),
        ("SwitchName=s0 Nodes=a;b\n", "t.conf:1: 'a;b' is not a host name"),
        ("SwitchName=s0 Nodes\n", "t.conf:1: 'Nodes' is not of the form KEY=VALUE"),
        (
            "SwitchName=s Nodes=a\nSwitchName=s Nodes=b\n",
            "t.conf:2: 's' is already defined at t.conf:1",
        ),
        ("SwitchName=s Nodes=a Nodes=b\n", "t.conf:1: nodes is given twice"),
        (
            "Nodes=a\nSwitchName=s Nodes=b\n",
            "t.conf:1: Nodes= needs SwitchName= or BlockName= on the line",
        ),
    ],
)
def test_refusals(text: str, said: str) -> None:
    with pytest.raises(HostListError) as caught:
        groups(text)
    assert str(caught.value) == said


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)


@given(
    st.dictionaries(NAMES, st.integers(0, 3), min_size=1, max_size=12),
    st.sampled_from(["slurm-tree", "slurm-block"]),
)
def test_what_plink_writes_is_read_back(places: dict[str, int], name: str) -> None:
    given_groups = [
        Group(f"rack{rack}", [host for host in places if places[host] == rack])
        for rack in sorted(set(places.values()))
    ]
    text = TOPOLOGIES[name].render(given_groups)
    assert groups(text) == {group.name: group.hosts for group in given_groups}


@given(st.text("SwitchNamesBlock=Nod,[]1-\\# \n", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = groups(f"SwitchName=x {text}")
    except HostListError:
        return
    assert all(found.values())
