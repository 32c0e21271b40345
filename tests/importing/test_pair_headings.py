"""Lists of pairs by their headings: ends, units, runs, samples and what is left aside."""

from __future__ import annotations

import numpy as np
import pytest

from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.measure.importing.source import import_content
from plink.measure.requests import ImportRequest


def imported(text: str, unit: str | None = None, percentile: float = 10.0) -> Cluster:
    return import_content(text.encode(), "l.csv", ImportRequest(unit=unit, percentile=percentile))


def gbit_s(text: str, unit: str | None = None) -> float:
    found = imported(text, unit).bandwidth
    assert found is not None
    return float(found.gbit_s[0, 1])


def rtt_us(text: str, unit: str | None = None) -> float:
    found = imported(text, unit).rtt
    assert found is not None
    return float(found.readings_us[0, 1])


@pytest.mark.parametrize(
    ("heading", "row", "value"),
    [
        ("bandwidth_Gbps", "9.41", 9.41),
        ("mbps", "941", 0.941),
        ("Throughput (MB/s)", "1250", 10.0),
        ("bw_MiB/s", "1000", 8.388608),
        ("bits_per_second", "9.41e9", 9.41),
        ("bandwidth", "9.41 Gbits/sec", 9.41),
        ("protocol,throughput_gbps,retransmits", "TCP,23.4,12", 23.4),
        ("Bw_Gbps_Iter1,Bw_Gbps_Iter2,Bw_Gbps_Avg,Retransmits_Iter1", "4,5,4.4,800", 4.4),
        ("run1_Gbps,run2_Gbps,run3_Gbps", "4,9,5", 5.0),
        ("gbps_median,gbps_max", "4,9", 4.0),
        ("Gbps,link_Gbps", "4,100", 4.0),
        ("algbw_GBps,busbw_GBps_oop,busbw_GBps_ip", "1,2,3", 16.0),
        ("Gbps_stdev,Gbps", "0.1,4", 4.0),
    ],
)
def test_bandwidths(heading: str, row: str, value: float) -> None:
    assert gbit_s(f"source,destination,{heading}\na,b,{row}\n") == pytest.approx(value)


@pytest.mark.parametrize(
    "ends",
    [
        *("source,destination", "src,dst", "from,to", "Source Host,Dest Host", "client,server"),
        *("origin,target", "src_region,dst_region", "from_az,to_az", "sourceNode,destNode"),
        *("dest_server,source_server", "sender,receiver", "local_host,remote_host"),
    ],
)
def test_directed_ends(ends: str) -> None:
    found = imported(f"{ends},rtt_ms\nb,a,0.21\n").rtt
    assert found is not None
    here = ends.startswith("dest")
    known = (1, 0) if here else (0, 1)
    names = imported(f"{ends},rtt_ms\nb,a,0.21\n").names
    assert names == (["a", "b"] if here else ["b", "a"])
    assert found.readings_us[0, 1] == 210.0
    assert np.isnan(found.readings_us[1, 0])
    assert known


@pytest.mark.parametrize("ends", ["region_a,region_b", "host1,host2", "nodeA,nodeB", "AZ 1,AZ 2"])
def test_ends_of_both_directions(ends: str) -> None:
    found = imported(f"{ends},latency_us\na,b,25\n").rtt
    assert found is not None
    assert found.readings_us[0, 1] == found.readings_us[1, 0] == 25.0


@pytest.mark.parametrize(
    ("heading", "row", "value"),
    [
        ("rtt_ms", "0.21", 210.0),
        ("Latency (ms)", "0.21", 210.0),
        ("ping [\N{MICRO SIGN}s]", "25", 25.0),
        ("rtt_min_ms,rtt_avg_ms,rtt_max_ms,rtt_mdev_ms", "1,2,9,0.1", 2000.0),
        ("latency", "0.21 ms", 210.0),
        ("one_way_us", "25", 50.0),
        ("p50_ms,p99_ms", "1,9", 1000.0),
        ("ms", "3", 3000.0),
        ("time_ms", "3", 3000.0),
        ("loss_percent,rtt_ms,city", "0,3,Paris", 3000.0),
    ],
)
def test_times(heading: str, row: str, value: float) -> None:
    assert rtt_us(f"source,destination,{heading}\na,b,{row}\n") == pytest.approx(value)


def test_times_and_bandwidths_of_one_list() -> None:
    found = imported("src,dst,rtt_us,bandwidth_gbps\na,b,25,9.4\nb,a,26,9.3\n")
    assert found.rtt is not None
    assert found.bandwidth is not None
    assert found.rtt.readings_us[1, 0] == 26.0
    assert found.bandwidth.gbit_s[1, 0] == 9.3


def test_the_time_of_a_test_is_no_round_trip() -> None:
    assert imported("node_a,node_b,bytes,time_us,busbw_GBps\na,b,8,55,38\n").rtt is None


def test_rows_of_a_pair_are_samples() -> None:
    rows = "".join(f"a,b,{value}\n" for value in range(1, 12))
    text = f"source,destination,rtt_us\n{rows}b,a,5\n"
    found = imported(text, percentile=10.0).rtt
    assert found is not None
    assert found.readings_us[0, 1] == pytest.approx(2.0)
    assert found.samples.tolist() == [[0, 11], [1, 0]]
    assert (found.reading, found.readings_us[1, 0]) == (10.0, 5.0)
    assert rtt_us(text) == 2.0
    median = imported(text, percentile=50.0).rtt
    assert median is not None
    assert median.readings_us[0, 1] == 6.0


def test_a_region_and_itself_is_left_aside_with_a_note() -> None:
    found = imported("source,destination,rtt_ms\na,a,0.1\na,b,2\nb,b,0.1\n").rtt
    assert found is not None
    assert found.readings_us[0, 1] == 2000.0
    assert any(note.startswith("2 rows of a host and itself") for note in found.notes)


def test_rows_that_failed_are_named() -> None:
    text = "Source,Destination,Bandwidth_Gbps_Avg,Status\na,b,4.2,OK\na,c,N/A,FAILED\nb,c,0,OK\n"
    found = imported(text).bandwidth
    assert found is not None
    assert [(each.source, each.destination) for each in found.failures] == [("a", "c"), ("b", "c")]
    times = imported("src,dst,rtt_ms\na,b,1\na,c,timeout\n").rtt
    assert times is not None
    assert [each.destination for each in times.failures] == ["c"]


def test_a_given_unit_is_for_what_names_none() -> None:
    assert rtt_us("source,destination,rtt\na,b,2\n", "ms") == 2000.0
    assert gbit_s("source,destination,bandwidth\na,b,2\n", "GB/s") == 16.0
    assert gbit_s("source,destination,BANDWIDTH_GBPS\na,b,2\n", "Gbit/s") == 2.0


def test_quotes_comments_and_blank_lines() -> None:
    text = '# made by a script\n\n"Source","Destination","Bandwidth (Gb/s)"\n"a","b","9.5"\n'
    assert gbit_s(text) == 9.5
    assert gbit_s("#source,destination,gbit_s\na,b,9.5\n") == 9.5


@pytest.mark.parametrize("names", [("client", "server"), ("from", "to"), ("node1", "node2")])
def test_a_matrix_whose_hosts_are_called_like_columns_is_a_matrix(names: tuple[str, str]) -> None:
    one, other = names
    found = imported(f"us,{one},{other}\n{one},0,5\n{other},7,0\n")
    assert found.names == [one, other]
    assert found.rtt is not None
    assert found.rtt.readings_us[1, 0] == 7.0


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("source,destination,BANDWIDTH_GBPS\na,b,9\n", None, "may be Gbit/s or GB/s"),
        ("source,destination,bandwidth\na,b,9\n", None, "names a unit"),
        ("source,destination,rtt_min_ms,rtt_max_ms\na,b,1,9\n", None, "rtt_min_ms, rtt_max_ms"),
        ("source,destination,tcp_gbps,udp_gbps\na,b,1,9\n", None, "tcp_gbps, udp_gbps"),
        ("source,destination,loss,retransmits\na,b,1,9\n", None, "no column is a time"),
        ("source,destination\na,b\n", None, "no column is a time"),
        ("src_region,src_az,dst_region,dst_az,rtt_ms\na,a,b,b,1\n", None, "src_region, src_az"),
        ("source,destination,rtt_ms\na,b,1\n", "us", "says ms, but the unit us"),
        ("source,destination,rtt_ms\na,b,1\n", "Gbit/s", "no column is a bandwidth"),
        ("source,destination,gbit_s\na,b,1\n", "ms", "no column is a time"),
        ("source,destination,rtt_ms\na,b,9 furlongs\n", None, "is not a known unit"),
        ("source,destination,rtt_ms\na,b,9 Gbps\n", None, "does not fit the column"),
        ("source,destination,rtt_ms\na,b,-9\n", None, "'-9' is not a number of at least 0"),
        ("source,destination,rtt_ms\na,b,0,21\n", None, "row 2: the row has 4 cells"),
        ("source;destination;rtt_ms\na;b;1.234,5\nb;a;1,5\n", None, "'1.234,5' is not a number"),
        ("source,destination,bytes,gbit_s\na,b,1.5,9\n", None, "'1.5' is not a whole number"),
        ("source,destination,rtt_ms\nSao Paulo,b,9\n", None, "is not a host name"),
        ("size (bytes),iterations,bandwidth (MB/s)\n4,10,2.6\n", None, "is not a host name"),
        ("Gbit/s,a,b\na,0,1\nb,1,0\n", None, "has bandwidths in Gbit/s"),
        ("us,a,b\na,0,1\nb,1,0\n", "Gbit/s", "not a unit of time"),
    ],
)
def test_refusals(text: str, unit: str | None, said: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        imported(text, unit)
    assert said in str(caught.value)
    assert str(caught.value).count(", ") < 8


def test_a_message_names_three_columns_at_most() -> None:
    heading = ",".join(f"kind{letter}_gbps" for letter in "abcdefgh")
    row = ",".join("12345678")
    with pytest.raises(WrongUseError) as caught:
        imported(f"source,destination,{heading}\na,b,{row}\n")
    assert str(caught.value).endswith("kinda_gbps, kindb_gbps, kindc_gbps and 5 others")


@pytest.mark.parametrize(
    ("heading", "percentile", "notes"),
    [
        ("p99_rtt_us", 10, 1),
        ("p99_rtt_us", 99, 0),
        ("rtt_p999_us", 99.9, 0),
        ("rtt 95th (us)", 95, 0),
        ("rtt_median_us", 10, 1),
        ("rtt_median_us", 50, 0),
        ("typical_rtt_us", 10, 1),
        ("max_rtt_us", 10, 1),
        ("peak_rtt_us", 100, 0),
        ("min_rtt_us", 10, 0),
        ("rtt_us", 10, 0),
    ],
)
def test_a_heading_that_names_another_percentile_is_noted(
    heading: str, percentile: float, notes: int
) -> None:
    text = f"source,destination,{heading}\na,b,7\nb,a,8\n"
    cluster = import_content(text.encode(), "l.csv", ImportRequest(percentile=percentile))
    assert cluster.rtt is not None
    assert (list(cluster.rtt.rtt_us), len(cluster.rtt.notes)) == ([percentile], notes)


def test_empty_cells_after_the_last_column_are_nothing() -> None:
    found = imported("source,destination,rtt_us,\na,b,7,,\nb,a,8\n")
    assert found.rtt is not None
    assert found.rtt.readings_us[0, 1] == 7.0


def test_a_column_without_a_heading_is_no_status() -> None:
    # As pandas writes a table: numbers of rows come first.
    found = imported(",source,destination,rtt_us\n0,a,b,7\n1,b,a,8\n2,a,c,9\n").rtt
    assert found is not None
    assert (found.readings_us[0, 1], found.readings_us[0, 2]) == (7.0, 9.0)
    assert not found.failures
