"""What a report says of bandwidth, in pictures, tables and the sentence it begins with."""

from __future__ import annotations

import numpy as np
import pytest

from page.subjects import LINK_GBIT_S, SLOW_GBIT_S, ordered, racks, subject, with_rates, without
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.groups import Grouping, HostLink
from plink.show.page.bandwidth import bandwidth_section
from plink.show.page.charts import BETWEEN, WITHIN
from plink.show.page.groups import groups_section
from plink.show.page.html import part_html
from plink.show.page.matrix import distances_section
from plink.show.page.parts import (
    AdviceList,
    Bars,
    Figure,
    Folded,
    Paragraph,
    Part,
    Section,
    Table,
    list_figures,
)
from plink.show.page.report import main_finding

SIZES = [3, 5, 4]


def parts_of(section: Section | None, kind: type[Part]) -> list[Part]:
    assert section is not None
    every = [
        inner
        for part in section.parts
        for inner in ([part, *part.parts] if isinstance(part, Folded) else [part])
    ]
    return [part for part in every if isinstance(part, kind)]


def limits(cluster: Cluster) -> dict[str, str]:
    [*_, table] = parts_of(bandwidth_section(subject(cluster)), Table)
    return {row[0]: row[3] for row in table.rows}


def test_the_heat_map_and_its_table_have_every_rate() -> None:
    cluster = with_rates(racks(SIZES), slow="h4")
    about = subject(cluster)
    section = bandwidth_section(about)
    [figure] = list_figures(section.parts)
    assert isinstance(figure, Figure)
    trace = figure.traces[0]
    table = parts_of(section, Table)[0]
    assert list(table.header[1:]) == [row[0] for row in table.rows] == list(trace["x"])
    for row, cells in zip(trace["z"], table.rows, strict=True):
        for target, cell, text in zip(trace["x"], row, cells[1:], strict=True):
            if target == cells[0]:
                assert (cell, text) == (0.0, "itself")
            else:
                gbit_s = SLOW_GBIT_S if "h4" in (target, cells[0]) else LINK_GBIT_S
                assert cell == gbit_s
                assert text == f"{gbit_s:.{1 if gbit_s > 9 else 2}f} Gbit/s"


def test_links_are_bars_slowest_first_and_the_slow_one_is_marked_by_more_than_colour() -> None:
    bars = parts_of(bandwidth_section(subject(with_rates(racks(SIZES), slow="h4"))), Bars)[0]
    assert bars.rows[0][0] == "h4"
    assert sorted(name for name, _ in bars.rows) == sorted(racks(SIZES).names)
    for name, row in bars.rows:
        for bar in row:
            assert bar.share == pytest.approx(0.1 if name == "h4" else 1.0)
            assert bar.colour == (BETWEEN if name == "h4" else WITHIN)
            assert ("slow" in bar.text) == (name == "h4")


def test_of_many_hosts_the_slowest_are_seen_and_all_are_there() -> None:
    section = bandwidth_section(subject(with_rates(racks([20, 20]), slow="h7")))
    few, every = parts_of(section, Bars)
    assert (len(few.rows), len(every.rows)) == (8, 40)
    assert few.rows[0][0] == every.rows[0][0] == "h7"


def test_uplinks_stand_beside_what_their_hosts_could_send() -> None:
    cluster = with_rates(racks(SIZES), uplink_gbit_s=10.0)
    bars = parts_of(bandwidth_section(subject(cluster)), Bars)[1]
    sizes = {group.name: len(group.hosts) for group in cluster.groups}
    assert [name for name, _ in bars.rows] == list(sizes)
    for name, (sends, _, could) in bars.rows:
        assert could.share / sends.share == pytest.approx(sizes[name])
        assert f"({sizes[name]:.1f}:1)" in could.text


def test_where_the_rates_of_links_come_from_is_said() -> None:
    cluster = replace(with_rates(racks([4, 4]), uplink_gbit_s=10.0), bandwidth=None)
    assert cluster.uplinks is not None
    links = [HostLink(name, LINK_GBIT_S, LINK_GBIT_S) for name in cluster.names]
    by_itself = replace(cluster, uplinks=replace(cluster.uplinks, links=links))
    for known, said in (
        (cluster, "even shares of what the hosts of a group carry"),
        (by_itself, "Each host exchanged data by itself"),
        (with_rates(racks([4, 4])), "the fastest of its transfers"),
    ):
        texts = [part.text for part in parts_of(bandwidth_section(subject(known)), Paragraph)]
        assert [text for text in texts if said in text], said


def test_what_limits_collectives_follows_the_network() -> None:
    assert limits(with_rates(racks(SIZES), slow="h4"))["nccl-ring"].startswith("the link of h4 (")
    slow_uplinks = limits(with_rates(racks([4, 4]), uplink_gbit_s=1.0))
    assert slow_uplinks["all-to-all"].startswith("the uplinks of g0 and g1 (")
    alike = limits(with_rates(racks([4, 4])))
    assert alike["nccl-ring"].startswith("the links of all hosts, about alike (")


def test_without_rates_the_page_says_how_to_measure_them() -> None:
    [steps] = parts_of(bandwidth_section(subject(racks([4, 4]))), AdviceList)
    assert steps.items[0].command == "plink probe --resume c.json --tool iperf3"


def test_what_was_not_measured_is_no_bar_and_no_number() -> None:
    cluster = with_rates(racks([4, 4]))
    gbit_s = cluster.bandwidth.gbit_s.copy()
    gbit_s[2, :] = gbit_s[:, 2] = np.nan
    cluster = replace(cluster, bandwidth=replace(cluster.bandwidth, gbit_s=gbit_s))
    section = bandwidth_section(subject(cluster))
    bars = parts_of(section, Bars)[0]
    assert bars.rows[-1] == ("h2", [None, None])
    assert "not measured" in part_html(bars)
    assert "14 of 56 directions were not measured" in section.parts[0].text


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (
            with_rates(racks([4, 4, 4]), slow="h4"),
            (
                "12 hosts in 3 groups of 4; h4 sends and receives 10.0 times slower than the "
                "others (1.00 Gbit/s against 10.0 Gbit/s). A collective is as quick as its "
                "slowest host: leave it out, or find out what limits its link."
            ),
        ),
        (
            with_rates(racks([3, 5]), uplink_gbit_s=10.0),
            (
                "8 hosts in 2 groups of 3 to 5. Hosts of a group can send up to 5.0 times what "
                "their group's uplink carries: order ranks so that few messages leave a group "
                "(plink order)."
            ),
        ),
        (
            racks([8]),
            (
                "8 hosts in one group. All are about as far from each other: the order of ranks "
                "hardly matters."
            ),
        ),
        (
            replace(racks([8]), groups=[], grouping=Grouping("levels", "raw")),
            (
                "8 hosts in no groups. All are about as far from each other: the order of ranks "
                "hardly matters."
            ),
        ),
        (
            replace(racks([4, 4]), groups=[], grouping=Grouping("levels", "raw")),
            (
                "8 hosts in no groups. Distances differ, but show no groups: plink order tells "
                "what an order of ranks gains all the same."
            ),
        ),
        (
            replace(racks([4]), rtt=None, groups=[]),
            "4 hosts, not grouped yet. Nothing was measured yet: begin with plink probe.",
        ),
    ],
)
def test_the_page_begins_with_what_was_found_and_what_to_do(cluster: Cluster, said: str) -> None:
    assert main_finding(subject(cluster)) == said


def test_an_order_that_helps_is_what_to_do() -> None:
    cluster = racks([4, 4])
    said = main_finding(subject(cluster, ordered(cluster)))
    assert said.startswith("8 hosts in 2 groups of 4. o0.json has ")
    assert said.endswith(" latency score for ring: start the job in that order.")


def test_a_slow_host_is_followed_by_what_leaving_it_out_would_gain() -> None:
    cluster = with_rates(racks([4, 4, 4]), slow="h4")
    said = main_finding(subject(cluster, ordered(cluster)))
    assert "limits its link. Predicted without h4, on 11 ranks instead of 12: ring of" in said
    assert said.endswith(" times as fast.")


def test_a_table_of_distances_stands_for_the_heat_map() -> None:
    few = parts_of(distances_section(subject(without(racks(SIZES), [(2, 7)]))), Table)
    rows = {row[0]: dict(zip(few[0].header, row, strict=True)) for row in few[0].rows}
    assert rows["h2"]["h7"] == "-"
    assert rows["h7"]["h2"].endswith(" µs")
    groups, hosts = parts_of(distances_section(subject(racks([20, 20]))), Table)
    assert [row[0] for row in groups.rows] == ["g0", "g1"]
    assert sorted(row[0] for row in hosts.rows) == sorted(f"h{host}" for host in range(40))


def test_every_member_of_a_large_group_is_on_the_page_and_jargon_is_folded() -> None:
    cluster = replace(racks([20, 20]), grouping=Grouping("levels", "raw", confirmed=1.0))
    section = groups_section(subject(cluster))
    html = part_html(section.parts[0])
    assert "and 12 more" in html
    for name in cluster.names:
        assert f">{name}</span>" in html
    plain = [part.text for part in section.parts if hasattr(part, "text")]
    assert not [text for text in plain if "levels" in text or "mutual" in text]
    [folded] = [part for part in section.parts if isinstance(part, Folded)]
    assert "as measured" in folded.parts[0].text


def test_headers_of_columns_and_rows_are_named_for_screen_readers() -> None:
    html = part_html(Table("numbers", ("host", "sends"), [("n-01", "<1>")], (1,)))
    assert "<th role=columnheader scope=col>host</th>" in html
    assert "<th role=rowheader scope=row><span class=name>n-01</span></th>" in html
    assert "&lt;1&gt;" in html
