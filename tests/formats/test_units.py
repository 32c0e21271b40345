"""Units as people spell them in headings and cells."""

from __future__ import annotations

import pytest

from plink.formats.units import (
    AmbiguousUnitError,
    find_rate_unit,
    find_time_unit,
    find_time_unit_by_name,
    split_quantity,
)

RATES = {
    "Gbit/s": 1e9,
    "bandwidth_Gbps": 1e9,
    "Bandwidth_Gbps_Iter1": 1e9,
    "throughput_gbps": 1e9,
    "gbit_s": 1e9,
    "Gbits/sec": 1e9,
    "bw[Gb/sec]": 1e9,
    "Bandwidth (Gb/s)": 1e9,
    "bandwidthGbps": 1e9,
    "gigabits per second": 1e9,
    "GBIT/S": 1e9,
    "Mbps": 1e6,
    "mbps": 1e6,
    "Mbits/s": 1e6,
    "mbit_per_s": 1e6,
    "Kbps": 1e3,
    "bits_per_second": 1.0,
    "bps": 1.0,
    "busbw_GBps_oop": 8e9,
    "GB/s": 8e9,
    "GB_s": 8e9,
    "GBytes/s": 8e9,
    "GBYTES/SEC": 8e9,
    "MB/s": 8e6,
    "MBps": 8e6,
    "Bps": 8.0,
    "KiB/s": 8 * 1024.0,
    "MiB/s": 8 * 1024.0**2,
    "bandwidth in GiB per second": 8 * 1024.0**3,
    "Gib/s": 1024.0**3,
    "TB/s": 8e12,
}


@pytest.mark.parametrize("text", RATES)
def test_bandwidths(text: str) -> None:
    found = find_rate_unit(text)
    assert found is not None
    assert found.bits_s == RATES[text]
    assert find_time_unit(text) is None


def test_a_number_of_a_unit_is_rounded_once() -> None:
    found = find_rate_unit("Mbit/s")
    assert found is not None
    assert found.to_gbit_s(941.0) == 0.941


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("GBPS", ("Gbit/s", "GB/s")),
        ("BANDWIDTH_MBPS", ("Mbit/s", "MB/s")),
        ("gb/s", ("Gbit/s", "GB/s")),
        ("mb_s", ("Mbit/s", "MB/s")),
        ("GB/S", ("Gbit/s", "GB/s")),
        ("gib/s", ("Gibit/s", "GiB/s")),
        ("Gb/s (GB/s)", ("Gbit/s", "GB/s")),
    ],
)
def test_both_readings_of_an_ambiguous_unit_are_named(text: str, names: tuple[str, ...]) -> None:
    with pytest.raises(AmbiguousUnitError) as caught:
        find_rate_unit(text)
    assert caught.value.names == names
    assert all(name in str(caught.value) for name in names)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("rtt_ms", "ms"),
        ("Average latency (ms)", "ms"),
        ("latency [\N{MICRO SIGN}s]", "us"),
        ("\N{GREEK SMALL LETTER MU}s", "us"),
        ("RTT_US", "us"),
        ("avg_rtt_usec", "us"),
        ("RTT(ms)", "ms"),
        ("latency, ns", "ns"),
        ("round trip in milliseconds", "ms"),
        ("rtt_s", "s"),
        ("s", "s"),
    ],
)
def test_times(text: str, name: str) -> None:
    found = find_time_unit(text)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "text", ["us-east-1", "status", "bytes", "node_b", "host_b_speed", "Retransmits_Iter1", "hosts"]
)
def test_what_has_no_unit(text: str) -> None:
    assert find_time_unit(text) is None
    assert find_rate_unit(text) is None


def test_two_units_of_time_are_ambiguous() -> None:
    with pytest.raises(AmbiguousUnitError):
        find_time_unit("latency_ms_us")


def test_cells() -> None:
    assert split_quantity("9.41 Gbits/sec") == ("9.41", "Gbits/sec")
    assert split_quantity("0.21ms") == ("0.21", "ms")
    assert split_quantity("1e3") == ("1e3", "")
    assert split_quantity("N/A") is None
    assert find_time_unit_by_name("\N{MICRO SIGN}S") == "us"
    assert find_time_unit_by_name("rtt_ms") is None
    found = find_time_unit("ms")
    assert found is not None
    assert found.to_us("0.21") == 210.0
