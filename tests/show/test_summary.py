import json
from itertools import combinations

import numpy as np
import pytest

from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.show.summary import cluster_to_json, summarise
from show.racks import racks


def test_two_modes_and_their_shares() -> None:
    made = racks(4, 4)
    summary = summarise(made.cluster.names, made.rtt, 10.0)
    assert [round(mode.rtt_us) for mode in summary.modes] == [22, 51]
    assert [mode.share for mode in summary.modes] == [48 / 240, 192 / 240]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_figures_are_those_of_plain_loops(missing: float) -> None:
    made = racks(3, 4, seed=3, missing=missing, lossy=0.1)
    names, rtt, matrix = made.cluster.names, made.rtt, made.readings_us
    summary = summarise(names, rtt, 10.0)
    ordered = [(i, j) for i in range(12) for j in range(12) if i != j]
    known = [(i, j) for i, j in ordered if np.isfinite(matrix[i, j])]
    values = [matrix[i, j] for i, j in known]
    assert (summary.pairs, summary.measured) == (132, len(known))
    assert (summary.min_us, summary.max_us) == (min(values), max(values))
    assert summary.median_us == np.median(values)

    larger = {}
    for i, j in combinations(range(12), 2):
        both = [matrix[a, b] for a, b in ((i, j), (j, i)) if (a, b) in known]
        if both:
            larger[names[i], names[j]] = max(both)
    ranked = sorted(larger.values())
    assert [pair.rtt_us for pair in summary.nearest] == ranked[:5]
    assert [pair.rtt_us for pair in summary.farthest] == ranked[::-1][:5]
    for pair in [*summary.nearest, *summary.farthest]:
        assert larger[pair.source, pair.destination] == pair.rtt_us

    relative = {
        (i, j): abs(matrix[i, j] - matrix[j, i]) / min(matrix[i, j], matrix[j, i])
        for i, j in combinations(range(12), 2)
        if (i, j) in known and (j, i) in known
    }
    assert summary.asymmetry is not None
    assert summary.asymmetry.median == pytest.approx(np.median(list(relative.values())), abs=1e-6)
    assert summary.asymmetry.worst == pytest.approx(max(relative.values()), abs=1e-6)
    slow = names.index(summary.asymmetry.source), names.index(summary.asymmetry.destination)
    assert matrix[slow] > matrix[slow[::-1]]

    assert summary.lost == sum(rtt.losses[i, j] for i, j in ordered)
    assert summary.sent == summary.lost + sum(rtt.samples[i, j] for i, j in ordered)
    assert summary.lossy_pairs == sum(rtt.losses[i, j] > 0 for i, j in ordered)
    assert len(summary.losses) == min(5, summary.lossy_pairs)
    for loss in summary.losses:
        assert loss.lost == rtt.losses[names.index(loss.source), names.index(loss.destination)]
    per_host = {
        name: sum(name in (names[i], names[j]) for i, j in ordered if (i, j) not in known)
        for name in names
    }
    assert [gap.pairs for gap in summary.gaps[:1]] == [max(per_host.values())][: len(known) < 132]
    for gap in summary.gaps:
        assert 3 <= gap.pairs <= per_host[gap.host]


def test_only_the_hosts_that_explain_gaps_are_named() -> None:
    made = racks(3, 4)
    matrix = made.readings_us.copy()
    # One host is dead; two others lack each other, which is neither's fault.
    matrix[5, :] = matrix[:, 5] = np.nan
    matrix[1, 2] = matrix[2, 1] = np.nan
    rtt = replace(made.rtt, rtt_us={10.0: matrix})
    gaps = summarise(made.cluster.names, rtt, 10.0).gaps
    assert [(gap.host, gap.pairs) for gap in gaps] == [("gpu05", 22)]


def test_the_worst_loss_is_the_largest_share() -> None:
    made = racks(1, 3)
    losses = np.zeros((3, 3), dtype=np.int64)
    losses[0, 1], losses[1, 2] = 50, 10
    samples = np.zeros((3, 3), dtype=np.int64)
    samples[0, 1], samples[1, 2] = 950, 10
    summary = summarise(made.cluster.names, replace(made.rtt, losses=losses, samples=samples), 10.0)
    assert [(loss.lost, loss.sent) for loss in summary.losses] == [(10, 20), (50, 1000)]


def test_another_percentile() -> None:
    made = racks(2, 2)
    ten, ninety_nine = (summarise(made.cluster.names, made.rtt, p) for p in (10.0, 99.0))
    assert ninety_nine.median_us == pytest.approx(2 * (ten.median_us or 0))


@pytest.mark.parametrize(("count", "hosts", "missing"), [(1, 1, 0.0), (1, 2, 1.0), (2, 2, 1.0)])
def test_without_a_measured_pair(count: int, hosts: int, missing: float) -> None:
    made = racks(count, hosts, missing=missing)
    summary = summarise(made.cluster.names, made.rtt, 10.0)
    assert (summary.measured, summary.median_us, summary.asymmetry) == (0, None, None)
    assert not any((summary.modes, summary.nearest, summary.losses))


def test_the_json_is_json() -> None:
    made = racks(2, 2, missing=0.2, lossy=0.5)
    summary = summarise(made.cluster.names, made.rtt, 10.0)
    data = json.loads(json.dumps(cluster_to_json(made.cluster, summary), allow_nan=False))
    assert data["of"] == "plink.cluster"
    assert data["percentile"] == "p10"
    assert data["unreachable"] == [{"source": "gone", "reason": "connection refused", "slots": 1}]
    assert data["measured"] == summary.measured
    assert len(data["failures"]) == data["pairs"] - data["measured"]
    bare = cluster_to_json(Cluster([Host("a", "a")]), None)
    assert bare == {"of": "plink.cluster", "hosts": ["a"], "unreachable": [], "outliers": []}


@pytest.mark.parametrize(
    ("options", "sample"),
    [
        ({}, None),
        (
            {"rounds": 2, "rounds_in_all": 3, "seed": 1},
            {"rounds": 2, "in_all": 3, "seed": 1},
        ),
        ({"share": 0.5, "seed": 1}, {"share": 0.5, "seed": 1}),
    ],
)
def test_the_json_says_which_sample_it_is(
    options: dict[str, float], sample: dict[str, float] | None
) -> None:
    made = racks(2, 2)
    rtt = replace(made.rtt, options=options)
    summary = summarise(made.cluster.names, rtt, 10.0)
    data = json.loads(json.dumps(cluster_to_json(replace(made.cluster, rtt=rtt), summary)))
    assert data["sample"] == sample
