"""Groups as a user gives them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group, Host
from plink.measure.probing.group_list import parse_groups, read_groups
from support.plink_command import plink_here

HOSTS = [f"n{k:02}" for k in range(1, 9)]


def parse(text: str) -> list[Group]:
    return parse_groups(text, "groups.txt", HOSTS, "hosts.txt")


def test_groups_are_lines() -> None:
    text = "# two racks\nr1: n[01-03], n08  # and one more\r\n\nrow-2.b:n04\n"
    assert parse(text) == [
        Group("r1", ["n01", "n02", "n03", "n08"]),
        Group("row-2.b", ["n04"]),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "groups.txt: has no line NAME: HOSTS"),
        ("n01,n02", "groups.txt:1: expected NAME: HOSTS, found no colon"),
        (": n01", "groups.txt:1: .* is not a valid group name"),
        ("-r: n01", "groups.txt:1: .* is not a valid group name"),
        ("\nr1:", "groups.txt:2: the group has no host"),
        (
            "r1: n01\nr2: n02\nr1: n03",
            "groups.txt:3: the group r1 is already defined at groups.txt:1",
        ),
        ("r1: n01\nr2: n[01-02]", "groups.txt:2: n01 is already in a group at groups.txt:1"),
        ("r1: n[01-99]", "groups.txt:1: .*n09.* is not one of the hosts in hosts.txt"),
        ("r1: n[01", "groups.txt:1: a bracket is not closed"),
        ("r1: n01 and n02", "groups.txt:1: .*and.* after the host is not understood"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(WrongUseError, match=message):
        parse(text)


@given(st.text())
def test_any_text_is_groups_or_a_refusal(text: str) -> None:
    try:
        groups = parse(text)
    except WrongUseError:
        return
    assert all(set(group.hosts) <= set(HOSTS) for group in groups)


@given(st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_what_is_written_is_read(places: list[int]) -> None:
    groups: dict[str, list[str]] = {}
    for host, place in zip(HOSTS, places, strict=True):
        groups.setdefault(f"g{place}", []).append(host)
    text = "\n".join(f"{name}: {','.join(hosts)}" for name, hosts in groups.items())
    assert parse(text) == [Group(name, hosts) for name, hosts in groups.items()]


def test_groups_come_from_a_cluster_file(tmp_path: Path) -> None:
    hosts = [Host(name, name) for name in HOSTS]
    groups = [Group("a", HOSTS[:4]), Group("b", HOSTS[4:])]
    path = tmp_path / "c.json.gz"
    cluster_file.write_cluster(str(path), Cluster(hosts, groups=groups))
    assert read_groups(str(path), HOSTS, "hosts.txt") == groups
    with pytest.raises(WrongUseError, match=r"n08.* is not one of the hosts in hosts.txt"):
        read_groups(str(path), HOSTS[:-1], "hosts.txt")
    cluster_file.write_cluster(str(path), Cluster(hosts))
    with pytest.raises(WrongUseError, match="has no groups"):
        read_groups(str(path), HOSTS, "hosts.txt")


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        (None, ("--tool", "uplinks"), "measuring uplinks needs groups of hosts"),
        (
            "r1: a,b",
            ("--tool", "uplinks"),
            "measuring uplinks needs at least two groups of hosts, found r1",
        ),
    ],
)
def test_the_command_refuses_before_it_connects(
    tmp_path: Path, groups: str | None, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "hosts.txt").write_text("a\nb\n")
    if groups is not None:
        (tmp_path / "groups.txt").write_text(groups)
        options += ("--groups", str(tmp_path / "groups.txt"))
    done = plink_here("probe", tmp_path / "hosts.txt", "-o", tmp_path / "c.json", *options)
    assert done.code == 2
    assert message in done.stderr
    assert not (tmp_path / "c.json").exists()


def test_switches_of_a_topology_conf_are_groups_of_the_hosts_that_are_measured(
    tmp_path: Path,
) -> None:
    path = tmp_path / "topology.conf"
    path.write_text(
        "SwitchName=s0 Nodes=n[01-03]\nSwitchName=s1 Nodes=n04,other[1-9]\n"
        "SwitchName=s2 Nodes=other10\nSwitchName=top Switches=s[0-2]\n"
    )
    assert read_groups(str(path), HOSTS, "hosts.txt") == [
        Group("s0", ["n01", "n02", "n03"]),
        Group("s1", ["n04"]),
    ]
    path.write_text("BlockName=b0 Nodes=n01\nBlockName=b1 Nodes=n[01-02]\n")
    with pytest.raises(WrongUseError, match="n01 is below two switches, 'b0' and 'b1'"):
        read_groups(str(path), HOSTS, "hosts.txt")
    path.write_text("BlockName=b0 Nodes=x\n")
    with pytest.raises(WrongUseError, match=r"has none of the hosts in hosts\.txt"):
        read_groups(str(path), HOSTS, "hosts.txt")
