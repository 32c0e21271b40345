"""What the figures of a report show, in numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from page.subjects import FAR_US, NEAR_US, ordered, racks, subject, with_rates, without
from plink.base.replacing import replace
from plink.base.text import rtt_text
from plink.model.distance import distances
from plink.show.page import matrix as heat
from plink.show.page.groups import MAX_JOINTS, dendrogram, map_section
from plink.show.page.html import figures_json
from plink.show.page.matrix import heat_map
from plink.show.page.orders import cost_bars, draw_ring, find_crossings
from plink.show.page.parts import Figure, list_figures
from plink.show.page.quality import host_dots, spreads
from plink.show.page.report import build_sections
from plink.show.scale import scale_for

SIZES = [3, 5, 4]


def heat_map_of(about):
    readings = about.cluster.rtt.readings_us
    return heat_map(about, readings, scale_for(readings[np.isfinite(readings)]))


def test_a_cell_of_the_heat_map_is_the_reading_of_the_pair_that_its_axes_name():
    about = subject(without(racks(SIZES), [(2, 7)]))
    trace = heat_map_of(about).traces[0]
    place = {name: number for number, name in enumerate(about.names)}
    readings = about.cluster.rtt.readings_us
    assert sorted(trace["x"]) == sorted(about.names)
    assert trace["x"] == trace["y"]
    for row, source in zip(trace["z"], trace["y"], strict=True):
        for cell, destination in zip(row, trace["x"], strict=True):
            reading = readings[place[source], place[destination]]
            if source == destination:
                assert cell == 0.0
            elif (source, destination) == ("h2", "h7"):
                assert cell is None
            else:
                assert cell == pytest.approx(reading, rel=0.005)


def test_frames_of_the_heat_map_hold_the_groups():
    about = subject(racks(SIZES))
    figure = heat_map_of(about)
    names = figure.traces[0]["x"]
    framed = [
        set(names[round(shape["x0"] + 0.5) : round(shape["x1"] + 0.5)])
        for shape in figure.layout["shapes"]
    ]
    assert sorted(map(sorted, framed)) == sorted(sorted(g.hosts) for g in about.groups)


def test_colours_go_up_with_the_logarithm_and_a_host_itself_has_its_own():
    stops = heat_map_of(subject(racks(SIZES))).traces[0]["colorscale"]
    places = [place for place, _ in stops]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, 1.0)
    scaled = np.diff(np.log(places[3:]))
    assert scaled == pytest.approx(np.full(len(scaled), scaled[0]))
    assert stops[0][1] not in {colour for _, colour in stops[2:]}


def test_many_hosts_share_cells_and_no_axis_names_them(monkeypatch):
    monkeypatch.setattr(heat, "MAX_CELLS", 30)
    about = subject(racks([30, 30]))
    figure = heat_map_of(about)
    assert len(figure.traces[0]["z"]) == 30
    assert figure.layout["xaxis"]["ticktext"] == figure.traces[0]["x"]
    monkeypatch.setattr(heat, "MAX_CELLS", 512)
    figure = heat_map_of(about)
    assert sorted(figure.layout["xaxis"]["ticktext"]) == ["g0", "g1"]


def test_the_tree_joins_racks_at_their_distance_and_has_their_colours():
    about = subject(racks(SIZES))
    figure = dendrogram(about, distances(about.cluster).matrix_us)
    heights = {trace["name"]: [y for y in trace["y"] if y is not None] for trace in figure.traces}
    assert set(heights) == {"between groups", "g0", "g1", "g2"}
    assert max(heights["between groups"]) == pytest.approx(FAR_US, rel=0.03)
    joints = sum(trace["y"].count(None) for trace in figure.traces)
    assert joints == len(about.names) - 1
    for group in about.groups:
        assert max(heights[group.name]) == pytest.approx(NEAR_US, rel=0.03)


def test_a_tree_of_many_hosts_is_cut_from_below():
    rng = np.random.default_rng(1)
    size = MAX_JOINTS + 40
    points = rng.random(size)
    matrix = np.abs(points[:, None] - points) + 1.0
    np.fill_diagonal(matrix, 0.0)
    figure = dendrogram(subject(racks([size])), matrix)
    assert sum(trace["y"].count(None) for trace in figure.traces) == MAX_JOINTS
    assert f"{MAX_JOINTS} highest" in figure.caption


def test_the_map_has_every_host_once_and_racks_apart():
    about = subject(racks([6, 6]))
    section = map_section(about)
    [figure] = list_figures(section.parts)
    points = {
        name: np.array([x, y])
        for trace in figure.traces
        for name, x, y in zip(trace["text"], trace["x"], trace["y"], strict=True)
    }
    assert sorted(points) == sorted(about.names)
    first, second = (
        np.mean([points[host] for host in group.hosts], axis=0) for group in about.groups
    )
    assert np.linalg.norm(first - second) > 1.5 * NEAR_US
    assert len({(t["marker"]["color"], t["marker"]["symbol"]) for t in figure.traces}) == 2


def test_too_few_hosts_have_no_map_but_a_reason():
    section = map_section(subject(racks([2, 1])))
    assert not any(isinstance(part, Figure) for part in section.parts)


def test_costs_are_those_of_the_order():
    about = subject(racks(SIZES), ordered(racks(SIZES)))
    order = about.orders[0].order
    bars = cost_bars(order)
    costs_us = [
        order.cost.listed_us,
        order.cost.random_us,
        order.cost.cost_us,
        order.cost.lower_bound_us,
    ]
    shown = [bar for _, [bar] in bars.rows]
    for bar, cost_us in zip(shown, costs_us, strict=True):
        assert bar.share == pytest.approx(cost_us / max(costs_us))
        assert bar.text.startswith(rtt_text(cost_us))
    assert bars.line == shown[3].share


def test_a_bound_that_is_not_known_is_not_drawn():
    order = ordered(racks(SIZES))
    order = replace(order, cost=replace(order.cost, lower_bound_us=0.0))
    bars = cost_bars(order)
    assert bars.line is None
    assert "lower bound" not in [label for label, _ in bars.rows]


def test_a_host_that_is_left_out_is_drawn_pale_and_says_so():
    about = subject(racks(SIZES), ordered(racks(SIZES)))
    figure = draw_ring(about, "plink's", list(range(11)), "ring")
    said = {
        name: (place, opacity)
        for trace in figure.traces
        if trace["mode"] == "markers+text"
        for name, place, opacity in zip(
            trace["text"], trace["customdata"], trace["marker"]["opacity"], strict=True
        )
    }
    assert said["h10"] == ("place 10", 1.0)
    assert said["h11"][0] == "left out"
    assert said["h11"][1] < 1.0


def test_hops_that_leave_a_group_are_told_apart():
    about = subject(racks(SIZES), ordered(racks(SIZES)))
    ranks = [about.index_by_host[name] for name in about.orders[0].order.names]
    assert find_crossings(about, ranks).sum() == 3
    given = find_crossings(about, range(12)).sum()
    for order, leaving in ((ranks, 3), (list(range(12)), given)):
        drawn = {
            trace["name"]: trace["x"].count(None)
            for trace in draw_ring(about, "order", order, "ring").traces
            if trace["mode"] == "lines"
        }
        assert drawn["leaves the group"] == leaving
        assert drawn["stays in the group"] == 12 - leaving


def test_a_host_without_a_group_is_always_left():
    cluster = racks([4, 4])
    lone = cluster.groups[0].hosts[0]
    rest = replace(cluster.groups[0], hosts=cluster.groups[0].hosts[1:])
    about = subject(replace(cluster, groups=[rest, cluster.groups[1]]))
    ranks = sorted(range(8), key=lambda host: (about.group_by_host[host], host))
    assert about.names[about.sequence[-1]] == lone
    assert find_crossings(about, ranks).sum() == 3


def test_spreads_are_shares_of_the_reading():
    cluster = racks(SIZES)
    found = dict(spreads(cluster.rtt))
    assert found["p99 above p10"] == pytest.approx(np.full(132, 0.5))
    readings = cluster.rtt.readings_us
    least, most = np.fmin(readings, readings.T), np.fmax(readings, readings.T)
    expected = ((most - least) / least)[np.triu_indices(12, 1)]
    assert sorted(found["between the two directions"]) == pytest.approx(sorted(expected))


def test_the_host_that_loses_stands_out():
    cluster = racks(SIZES)
    losses = np.zeros((12, 12), dtype=np.int64)
    losses[4, :4] = 50
    about = subject(replace(cluster, rtt=replace(cluster.rtt, losses=losses)))
    lost = host_dots(about, about.cluster.rtt).traces[1]
    shares = dict(zip(lost["text"], lost["y"], strict=True))
    assert max(shares, key=shares.get) == "h4"
    # Of its 22 directions, four lost 50 probes beside the 100 that came back.
    assert shares["h4"] == pytest.approx(100.0 * 200 / 2400, rel=1e-3)


def test_plotly_knows_every_property_of_every_figure():
    graph_objects = pytest.importorskip("plotly.graph_objects", reason="needs plotly")
    cluster = with_rates(without(racks(SIZES), [(0, 1)]))
    losses = cluster.rtt.losses.copy()
    losses[0, 2] = 1
    cluster = replace(cluster, rtt=replace(cluster.rtt, losses=losses))
    about = subject(cluster, ordered(cluster), ordered(cluster))
    figures = [
        figure for section in build_sections(about) for figure in list_figures(section.parts)
    ]
    assert len(figures) == len({figure.name for figure in figures}) == 12
    for figure in figures:
        themed = json.loads(
            json.dumps({"data": figure.traces, "layout": figure.layout | figure.narrow})
            .replace("var(--card)", "#fff")
            .replace("var(--ink)", "#000")
            .replace("var(--muted)", "#888")
            .replace("var(--line)", "#ccc")
            .replace("var(--self)", "#bbb")
            .replace("var(--unmeasured)", "#fff")
        )
        graph_objects.Figure(themed)


def test_figures_cannot_end_their_script():
    figure = Figure("f", [{"name": "</script><!--<script>"}], {}, 100, "", "")
    text = figures_json([figure])
    assert "<" not in text
    assert json.loads(text)["figure-f"]["data"][0]["name"] == "</script><!--<script>"
