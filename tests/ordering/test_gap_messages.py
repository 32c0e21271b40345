"""The messages about orders in which some pairs were not measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchkit import ring_instances
from ordering.clusters import cluster_of, racks
from ordering.gaps import hidden
from plink.cli import run
from plink.formats import cluster
from plink.formats import order as order_file
from plink.show.page.orders import cost_bars, costs_section, hop_bars
from plink.show.page.parts import Table
from plink.show.page.report import essentials
from plink.show.page.subject import NamedOrder, Subject


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def sampled() -> cluster.Cluster:
    """Eight racks of 16 hosts, and one in eight pairs."""
    return cluster_of(hidden(ring_instances.racks([16] * 8, 1)[0], 0.874, 1))


def square() -> cluster.Cluster:
    """Four hosts, of which the cheapest ring has a hop that was not measured."""
    nan = np.nan
    return cluster_of(np.array([[0, nan, 9, 9], [nan, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]]))


def test_mostly_filled_distances_prove_nothing(capsys):
    cluster.write_cluster("c.json", sampled())
    assert run(["order", "c.json", "-o", "o.json", "--time-limit", "1"]) == 0
    found = order_file.read_order("o.json")
    assert found.filled_pairs > 7000
    for text in (capsys.readouterr().out, shown(capsys, "o.json")):
        assert f"not proven: {found.filled_pairs:,} pairs were not measured" in text
        assert "none known" in text
        assert "could still be saved" not in text
        assert "no order is cheaper" not in text
    assert run(["order", "c.json", "--json", "--time-limit", "1"]) == 0
    data = json.loads(capsys.readouterr().out)
    cost = data["cost"]
    assert (cost["lower_bound_us"], data["gap"]) == (0.0, 1.0)
    assert cost["range_us"]["low_us"] < cost["cost_us"] <= cost["range_us"]["high_us"]
    assert len(data["filled_hops"]) > 10
    about = Subject(sampled(), "c.json", [NamedOrder("o.json", found)])
    [facts] = [part for part in costs_section(about).parts if isinstance(part, Table)]
    text = dict(facts.rows)["gap"]
    assert "not proven" in text
    assert "could still be saved" not in text


def test_a_range_and_a_bound_are_told_with_their_limits(capsys):
    cluster.write_cluster("c.json", square())
    assert run(["order", "c.json", "-o", "o.json"]) == 0
    for text in (capsys.readouterr().out, shown(capsys, "o.json")):
        assert "range     19.0 to 37.0 µs" in text
        assert "gap       at most 49 % of 37.0 µs could still be saved" in text
        assert "ended by exact of distances as filled in" in text
    found = order_file.read_order("o.json")
    data = json.loads(Path("o.json").read_text())
    assert data["cost"]["range_us"] == {"low_us": 19.0, "high_us": 37.0}
    assert [found.names[place] for place in found.filled_hops] in (["h0"], ["h1"])
    assert shown(capsys, "o.json").count("not measured") == 1
    named = NamedOrder("o.json", found)
    about = Subject(square(), "c.json", [named])
    bars = {label: bar for label, [bar] in cost_bars(found).rows}
    low, high = bars["plink's order"].reach
    # Lengths are shares of the longest.
    assert low / bars["plink's order"].share == pytest.approx(19.0 / found.cost.cost_us)
    assert high / bars["plink's order"].share == pytest.approx(37.0 / found.cost.cost_us)
    assert max(high, *(bar.share for bar in bars.values())) == 1.0
    assert all(bar.reach is None for label, bar in bars.items() if label != "plink's order")
    assert "the score is 19.0 to 37.0 µs" in dict(essentials(about))["order"][0]
    ranks = [about.index_by_host[name] for name in found.names]
    assert "1 hop was not measured" in hop_bars(about, found, ranks, "hops").caption


def test_a_pair_without_any_way_round_has_no_upper_limit(capsys):
    readings = ring_instances.racks([3, 3], 1)[0]
    readings[5, :] = readings[:, 5] = np.nan
    cluster.write_cluster("c.json", cluster_of(readings))
    assert run(["order", "c.json", "-o", "o.json"]) == 3
    shown_text = capsys.readouterr().out
    found = order_file.read_order("o.json")
    assert (found.most_us, found.gap) == (None, 1.0)
    assert "µs or more" in shown_text
    assert "not proven: 5 pairs were not measured" in shown_text


def test_predictions_are_ranges_too(capsys):
    cluster.write_cluster("c.json", square())
    assert run(["predict", "c.json", "--size", "1MB", "--algo", "ring"]) == 0
    assert "19.0 to 37.0 µs" in capsys.readouterr().out
    assert run(["predict", "c.json", "--size", "1MB", "--algo", "ring", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["given"]["latency_range_us"] == [19.0, 37.0]
    assert "latency_range_us" not in row["random"]


def test_nothing_of_this_is_said_where_every_pair_was_measured(capsys):
    cluster.write_cluster("c.json", racks([4, 4])[0])
    assert run(["order", "c.json", "-o", "o.json"]) == 0
    text = capsys.readouterr().out
    assert "range" not in text
    assert "not proven" not in text
    assert "gap       none: no order is cheaper" in text
    data = json.loads(Path("o.json").read_text())
    assert "range_us" not in data["cost"]
    assert data["filled_hops"] == []
    found = order_file.read_order("o.json")
    rows = cost_bars(found).rows
    assert [bar.reach for _, [bar] in rows] == [None] * len(rows)
    assert run(["predict", "c.json", "--size", "1MB", "--algo", "ring"]) == 0
    assert "range" not in capsys.readouterr().out


def shown(capsys: pytest.CaptureFixture[str], file: str) -> str:
    """What `plink show` prints."""
    capsys.readouterr()
    assert run(["show", file]) == 0
    return capsys.readouterr().out
