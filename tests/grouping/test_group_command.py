"""`plink group`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchkit.datacenters import uniform
from ordering.clusters import cluster_of
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster, document
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group
from plink.formats.measurements import BandwidthMeasurement
from plink.optimize.groups import finding

CENTRE = uniform(64, 1)


def racks(sizes, noise=0.01, seed=1):
    """Readings of both directions between hosts in racks, and each host's rack."""
    rng = np.random.default_rng(seed)
    rack = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    far = np.where(rack[:, None] == rack[None, :], 20.0, 60.0)
    return far * rng.lognormal(0.0, noise, far.shape), rack


def truth_of(rack, row=None):
    lines = []
    for number in np.unique(rack):
        hosts = np.flatnonzero(rack == number)
        above = "" if row is None else f"row{row[hosts[0]]}/"
        lines.append(f"{above}rack{number}: {','.join(f'h{host}' for host in hosts)}\n")
    return "".join(lines)


def write(matrix, name="c.json"):
    cluster.write_cluster(name, cluster_of(matrix))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("sizes", [[8] * 8, [3, 5, 8]])
def test_racks_are_found_and_written_into_the_file(sizes, capsys):
    matrix, rack = racks(sizes)
    write(matrix)
    Path("racks.txt").write_text(truth_of(rack))
    assert run(["group", "c.json", "--truth", "racks.txt"]) == 0
    said = capsys.readouterr()
    found = cluster.read_cluster("c.json")
    assert sorted(len(group.hosts) for group in found.groups) == sorted(sizes)
    assert found.grouping.method == "levels"
    assert found.grouping.confirmed == 1.0
    assert found.grouping.probability > 0.99
    assert not found.grouping.doubtful
    assert "adjusted mutual information 1.000" in said.out
    assert "PAIA: raw 100.00 %, embedded 100.00 %" in said.out
    assert "no host's link was measured: assuming 10.0 Gbit/s each" in said.err
    assert "groups: sure (" in said.out


def test_a_topology_is_compared_with_what_was_measured(capsys):
    matrix, rack = racks([4, 4])
    write(matrix)
    names = cluster.read_cluster("c.json").names
    # The last host stands in the other rack, as the scheduler has it.
    stands = dict(zip(names, rack.tolist(), strict=True))
    stands[names[-1]] = int(1 - rack[-1])
    leaves = {k: ",".join(name for name in names if stands[name] == k) for k in (0, 1)}
    text = "".join(f"SwitchName=leaf{k} Nodes={hosts}\n" for k, hosts in leaves.items())
    Path("topology.conf").write_text(f"{text}SwitchName=top Switches=leaf[0-1]\n")
    assert run(["group", "c.json", "-o", "g.json", "--truth", "topology.conf"]) == 0
    out = capsys.readouterr().out
    assert "level 2 of 2: 7 of 8 hosts agree" in out
    line = f"{names[-1]} stands in top/leaf{1 - rack[-1]}, and was found with the hosts of "
    line += f"top/leaf{rack[-1]}"
    assert line in out
    assert run(["group", "c.json", "-o", "g.json", "--truth", "topology.conf", "--json"]) == 0
    truth = json.loads(capsys.readouterr().out)["truth"]
    assert [each["host"] for each in truth["elsewhere"]] == [names[-1]]
    # Of the 28 pairs of hosts, 12 are together as measured, 13 as the scheduler has it, 9 in both.
    by_chance = 12 * 13 / 28
    assert truth["levels"][-1]["rand"] == pytest.approx((9 - by_chance) / (12.5 - by_chance))


def test_json_tells_groups_capacities_and_truth(capsys):
    write(CENTRE.distance)
    Path("racks.txt").write_text(truth_of(CENTRE.rack_of, CENTRE.row_of))
    assert run(["group", "c.json", "-o", "g.json", "--truth", "racks.txt", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [len(group["hosts"]) for group in data["groups"]] == [16] * 4
    assert data["truth"]["triplets"] == 64 * 15 * 48
    assert data["truth"]["embedded"] > data["truth"]["raw"] + 0.02
    assert [level["of_groups"] for level in data["truth"]["levels"]] == [1.0]
    assert data["capacity"]["uplinks"][0]["send_gbit_s"] is None
    assert len(data["capacity"]["assumptions"]) == 2
    assert cluster.read_cluster("c.json").groups == []


def test_where_there_is_no_structure_only_that_is_written(capsys):
    write(np.random.default_rng(1).lognormal(0.0, 0.15, (40, 40)) * 30.0)
    before = cluster.encode_cluster(cluster.read_cluster("c.json"))
    assert run(["group", "c.json"]) == 0
    assert "no structure found" in capsys.readouterr().err
    after = cluster.encode_cluster(cluster.read_cluster("c.json"))
    assert after.pop("grouping")["levels"] == []
    assert document.dump(after) == document.dump(before)


def test_groups_that_are_asked_for_are_made_and_doubted(capsys):
    write(np.random.default_rng(1).lognormal(0.0, 0.15, (40, 40)) * 30.0)
    assert run(["group", "c.json", "--k", "5", "--elasticity", "1"]) == 0
    found = cluster.read_cluster("c.json")
    assert [len(group.hosts) for group in found.groups] == [8] * 5
    assert found.grouping.method == "linkage"
    assert found.grouping.confirmed < 0.5
    assert "linkage cut these from a continuum" in capsys.readouterr().err


def test_kmeans_makes_root_n_groups_of_the_embedding():
    write(CENTRE.distance)
    assert run(["group", "c.json", "--method", "kmeans", "--elasticity", "1.0"]) == 0
    found = cluster.read_cluster("c.json")
    assert [len(group.hosts) for group in found.groups] == [8] * 8
    rack_of = {f"h{host}": rack for host, rack in enumerate(CENTRE.rack_of)}
    assert all(len({rack_of[host] for host in group.hosts}) == 1 for group in found.groups)


def test_gaps_are_filled_by_the_embedding_and_said(capsys):
    rng = np.random.default_rng(3)
    kept = np.triu(rng.random(CENTRE.distance.shape) < 0.6, 1)
    write(np.where(kept | kept.T, CENTRE.distance, np.nan))
    assert run(["group", "c.json"]) == 0
    found = cluster.read_cluster("c.json")
    assert found.grouping.matrix == "embedding"
    rack_of = {f"h{host}": rack for host, rack in enumerate(CENTRE.rack_of.tolist())}
    assert [len({rack_of[host] for host in group.hosts}) for group in found.groups] == [1] * 4
    assert sum(len(group.hosts) for group in found.groups) >= 63
    assert "pairs were not measured" in capsys.readouterr().err


def test_a_host_without_measurements_is_named(capsys):
    matrix, _ = racks([8, 8, 8])
    matrix[5, :] = matrix[:, 5] = np.nan
    write(matrix)
    assert run(["group", "c.json"]) == 3
    assert "to be put into a group: h5" in capsys.readouterr().err
    found = cluster.read_cluster("c.json")
    assert found.grouping.unmeasured == ["h5"]
    assert sum(len(group.hosts) for group in found.groups) == 23


def test_uplinks_stay_with_groups_that_have_the_same_hosts(capsys):
    matrix, rack = racks([4, 4, 4])
    names = [[f"h{host}" for host in np.flatnonzero(rack == number)] for number in range(3)]
    before = [Group("left", names[0]), Group("odd", [names[1][0], names[2][0]])]
    uplinks = UplinkMeasurement(
        tool="uplinks", uplinks=[Uplink("left", 4.0, 5.0), Uplink("odd", 1.0, 1.0)]
    )
    rates = BandwidthMeasurement(
        tool="iperf3", gbit_s=np.full((12, 12), 10.0), retransmits=np.full((12, 12), np.nan)
    )
    known = replace(cluster_of(matrix), groups=before, uplinks=uplinks, bandwidth=rates)
    cluster.write_cluster("c.json", known)
    assert run(["group", "c.json"]) == 0
    said = capsys.readouterr()
    found = cluster.read_cluster("c.json")
    assert "left" in [group.name for group in found.groups]
    assert [uplink.group for uplink in found.uplinks.uplinks] == ["left"]
    assert "4.00 Gbit/s" in said.out
    assert "uplinks not measured, assumed to be unlimited: g1, g2" in said.err
    assert "1 uplink belonged to groups that no longer exist" in said.err


def test_the_file_passes_through_standard_streams(capsysbinary):
    matrix, _ = racks([4, 4])
    write(matrix)
    assert run(["group", "c.json", "-o", "-"]) == 0
    said = capsysbinary.readouterr()
    assert len(cluster.parse_cluster(said.out, "out").groups) == 2
    assert b"g1" in said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--method", "levels", "--elasticity", "1.5"],
            "--elasticity 1.5 is allowed only with --method linkage",
        ),
        (["--k", "99"], "99 groups need as many measured hosts"),
        (["--json", "-o", "-"], "--json and the cluster both write"),
        (["--elasticity", "3"], "invalid value for '--elasticity'"),
        (["--truth", "none.txt"], "none.txt"),
    ],
)
def test_wrong_wishes_are_refused(arguments, said, capsys):
    write(racks([8, 8])[0])
    assert run(["group", "c.json", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_truth_with_a_host_that_is_not_there_is_refused(capsys):
    write(racks([8, 8])[0])
    Path("racks.txt").write_text("rack1: h1, h99\n")
    assert run(["group", "c.json", "--truth", "racks.txt"]) == 2
    assert "h99" in capsys.readouterr().err


def test_too_few_hosts_for_an_embedding_are_told(capsys):
    write(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]]))
    assert run(["group", "c.json", "--method", "kmeans"]) == 2
    assert "there is no embedding for k-means: the data are too sparse" in capsys.readouterr().err


def test_asked_for_a_number_that_the_distances_do_not_show(capsys):
    write(racks([8, 8])[0])
    assert run(["group", "c.json", "--method", "levels", "--k", "3"]) == 0
    assert "the distances show 2 groups, not 3" in capsys.readouterr().err


def test_show_prints_the_groups(capsys):
    write(racks([8, 8])[0])
    assert run(["group", "c.json"]) == 0
    capsys.readouterr()
    assert run(["show", "c.json", "--width", "100"]) == 0
    shown = capsys.readouterr().out
    assert "method: levels, on the distances as measured" in shown
    assert shown.index("farthest") < shown.index("g1 ")


def test_too_many_hosts_are_refused_before_they_take_the_memory(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(racks([4, 4])[0])
    monkeypatch.setattr(finding, "_MOST_HOSTS", 7)
    assert run(["group", "c.json"]) == 2
    assert "8 hosts are too many to be grouped, at most 7" in capsys.readouterr().err


def test_of_many_hosts_halves_are_not_compared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(racks([8, 8, 8])[0])
    monkeypatch.setattr(finding, "_MOST_CONFIRMED", 23)
    assert run(["group", "c.json"]) == 0
    found = cluster.read_cluster("c.json")
    assert len(found.groups) == 3
    assert found.grouping is not None
    assert found.grouping.confirmed is None


@pytest.mark.parametrize("hosts", [2, 4, 6, 16])
def test_no_step_leads_back_to_a_grouping_that_found_nothing(hosts, capsys):
    write(np.full((hosts, hosts), 30.0))
    assert run(["group", "c.json"]) == 0
    said = capsys.readouterr()
    assert "no structure found" in said.err
    assert "as it was" not in said.err
    kept = cluster.read_cluster("c.json")
    assert kept.groups == []
    assert kept.grouping is not None
    assert run(["show", "c.json"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "plink group" not in shown
    assert "groups: not likely" in shown
    assert "plink order c.json --algo ring" in shown
    assert run(["group", "c.json"]) == 0


def test_groups_that_were_given_stay_where_none_are_found(capsys):
    given = replace(cluster_of(np.full((4, 4), 30.0)), groups=[Group("a", ["h0", "h1"])])
    cluster.write_cluster("c.json", given)
    assert run(["group", "c.json"]) == 0
    assert "c.json is as it was; its groups stay" in capsys.readouterr().err
    assert cluster.read_cluster("c.json").groups == given.groups
