"""What iperf3 prints. The outputs were recorded; of their intervals only some are kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plink.probes.iperf3.parse import (
    Interval,
    TransferReport,
    compute_received_between_gbit_s,
    compute_received_gbit_s,
    parse_report,
    parse_version,
)

# iperf 3.12: iperf3 -c 10.187.181.5 -p 5301 -J -R -i 0.1 -t 1
RECORDED = """{
	"start":	{
		"connected":	[{
				"socket":	5,
				"local_host":	"10.187.181.13",
				"local_port":	59044,
				"remote_host":	"10.187.181.5",
				"remote_port":	5301
			}],
		"version":	"iperf 3.12",
		"tcp_mss_default":	1448,
		"test_start":	{
			"protocol":	"TCP",
			"num_streams":	1,
			"blksize":	131072,
			"omit":	0,
			"duration":	1,
			"bytes":	0,
			"blocks":	0,
			"reverse":	1,
			"tos":	0,
			"target_bitrate":	0
		}
	},
	"intervals":	[{
			"streams":	[{
					"socket":	5,
					"start":	0,
					"end":	0.10008,
					"seconds":	0.10007999837398529,
					"bytes":	5019576,
					"bits_per_second":	401245090.4519426,
					"omitted":	false,
					"sender":	false
				}],
			"sum":	{
				"start":	0,
				"end":	0.10008,
				"seconds":	0.10007999837398529,
				"bytes":	5019576,
				"bits_per_second":	401245090.4519426,
				"omitted":	false,
				"sender":	false
			}
		}, {
			"streams":	[{
					"socket":	5,
					"start":	0.10008,
					"end":	0.200077,
					"seconds":	0.09999699890613556,
					"bytes":	4756680,
					"bits_per_second":	380545820.53727156,
					"omitted":	false,
					"sender":	false
				}],
			"sum":	{
				"start":	0.10008,
				"end":	0.200077,
				"seconds":	0.09999699890613556,
				"bytes":	4756680,
				"bits_per_second":	380545820.53727156,
				"omitted":	false,
				"sender":	false
			}
		}],
	"end":	{
		"sum_sent":	{
			"start":	0,
			"end":	1.000484,
			"seconds":	1.000484,
			"bytes":	49328376,
			"bits_per_second":	394436100.92715126,
			"retransmits":	7,
			"sender":	false
		},
		"sum_received":	{
			"start":	0,
			"end":	1.000103,
			"seconds":	1.000103,
			"bytes":	48042552,
			"bits_per_second":	384300833.01419955,
			"sender":	false
		},
		"sender_tcp_congestion":	"bbr",
		"receiver_tcp_congestion":	"bbr"
	}
}
"""
# The form of 3.1: no `sender` anywhere, a `sum` without retransmits, no congestion control.
OLD = """{
	"start":	{
		"version":	"iperf 3.1.3",
		"cookie":	"ubuntu-xenial.1600773902.821173.19da"
	},
	"intervals":	[{
			"streams":	[{
					"socket":	17,
					"start":	0,
					"end":	1.000073,
					"seconds":	1.000073,
					"bytes":	628432,
					"bits_per_second":	5027089.243249,
					"omitted":	false
				}],
			"sum":	{
				"start":	0,
				"end":	1.000073,
				"seconds":	1.000073,
				"bytes":	628432,
				"bits_per_second":	5027089.243249,
				"omitted":	false
			}
		}],
	"end":	{
		"sum_sent":	{
			"start":	0,
			"end":	1.000073,
			"seconds":	1.000073,
			"bytes":	700000,
			"bits_per_second":	5599591.2
		},
		"sum_received":	{
			"start":	0,
			"end":	1.000073,
			"seconds":	1.000073,
			"bytes":	628432,
			"bits_per_second":	5027089.243249
		}
	}
}
"""
# iperf 3.12, to a port where nothing listens, and to a server that has a client.
REFUSED = """{
	"start":	{
		"connected":	[],
		"version":	"iperf 3.12",
		"system_info":	"Linux vm 6.18.44 #1 SMP PREEMPT_DYNAMIC x86_64"
	},
	"intervals":	[],
	"end":	{
	},
	"error":	"unable to connect to server: Connection refused"
}
"""
BUSY = REFUSED.replace(
    "unable to connect to server: Connection refused",
    "the server is busy running a test. try again later",
)


def test_a_recorded_report() -> None:
    report = parse_report(RECORDED)
    assert report == TransferReport(
        [Interval(0, 0.10008, 5019576), Interval(0.10008, 0.200077, 4756680)], 7
    )
    assert compute_received_gbit_s(report, 0.1) == pytest.approx(0.3805, rel=1e-3)
    assert compute_received_gbit_s(report, 0.0) == pytest.approx(0.3909, rel=1e-3)
    assert compute_received_gbit_s(report, 0.2) is None


def test_an_old_version_is_understood() -> None:
    report = parse_report(OLD)
    assert report == TransferReport([Interval(0, 1.000073, 628432)], None)


def test_warnings_before_the_report_do_no_harm() -> None:
    assert parse_report(f"iperf3: warning: something\n{RECORDED}") == parse_report(RECORDED)


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        (REFUSED, "unable to connect to server: Connection refused"),
        (BUSY, "the server is busy running a test. try again later"),
        ("iperf3: parameter error - unrecognized option\n", "said iperf3: parameter error"),
        ("", "said nothing"),
        ("[]", "said []"),
        ("{", "said {"),
        ("{}", "gave no readable report"),
        ('{"intervals": [], "end": {}}', "gave no readable"),
        ('{"intervals": [{"sum": {"start": 0, "end": 0, "bytes": 1}}]}', "gave no readable"),
        ('{"intervals": [{"sum": {"start": 0, "end": 1, "bytes": -1}}]}', "gave no readable"),
        ('{"intervals": [{"sum": {"start": 0, "end": 1, "bytes": NaN}}]}', "gave no readable"),
        ('{"intervals": [{"sum": {"start": 0, "end": 1}}]}', "gave no readable"),
        ('{"intervals": [' + 10_000 * "[", "said "),
        ('{"error": "\\u001b[2J"}', "�[2J"),
    ],
)
def test_what_is_no_report(output: str, complaint: str) -> None:
    found = parse_report(output)
    assert isinstance(found, str)
    assert found.startswith(complaint)
    assert found.isprintable()


def test_intervals_that_overlap_are_no_report() -> None:
    intervals = [{"sum": {"start": 0, "end": 1, "bytes": 5}}] * 2
    assert isinstance(parse_report(json.dumps({"intervals": intervals})), str)


@pytest.mark.parametrize("retransmits", [-1, True, None, "7", 1e300])
def test_retransmits_that_cannot_be_are_unknown(retransmits: Any) -> None:
    intervals = [{"sum": {"start": 0, "end": 1, "bytes": 5}}]
    data = {"intervals": intervals, "end": {"sum_sent": {"retransmits": retransmits}}}
    assert parse_report(json.dumps(data)) == TransferReport([Interval(0, 1, 5)], None)


def test_what_both_ends_used_of_a_processor() -> None:
    """The client is the receiver."""
    intervals = [{"sum": {"start": 0, "end": 1, "bytes": 5}}]
    used = {"host_total": 12.5, "remote_total": 3.0}
    data = {"intervals": intervals, "end": {"cpu_utilization_percent": used}}
    report = parse_report(json.dumps(data))
    assert isinstance(report, TransferReport)
    assert report.cpu_percent == (3.0, 12.5)


@pytest.mark.parametrize("used", [None, 7, {}, {"host_total": -1, "remote_total": "x"}])
def test_an_unknown_use_of_the_processor_is_none(used: Any) -> None:
    intervals = [{"sum": {"start": 0, "end": 1, "bytes": 5}}]
    data = {"intervals": intervals, "end": {"cpu_utilization_percent": used}}
    report = parse_report(json.dumps(data))
    assert isinstance(report, TransferReport)
    assert report.cpu_percent == (0.0, 0.0)


def test_intervals_count_in_part() -> None:
    report = TransferReport([Interval(0.0, 0.5, 1e9 / 8), Interval(0.5, 1.0, 3e9 / 8)], None)
    assert compute_received_between_gbit_s(report, 0.0, 1.0) == pytest.approx(4.0)
    assert compute_received_between_gbit_s(report, 0.25, 0.75) == pytest.approx(4.0)
    assert compute_received_between_gbit_s(report, 0.1, 0.2) == pytest.approx(2.0)
    assert compute_received_between_gbit_s(report, 0.4, 0.8) == pytest.approx(5.0)
    assert compute_received_between_gbit_s(report, 0.5, 1.1) is None
    assert compute_received_between_gbit_s(report, 0.5, 0.5) is None


def test_a_rate_beyond_all_bounds_is_none() -> None:
    report = TransferReport([Interval(0.0, 1e-9, 1e12)], None)
    assert compute_received_gbit_s(report, 0.0) is None


@given(st.text())
def test_any_text_gets_an_answer(output: str) -> None:
    assert isinstance(parse_report(output), (TransferReport, str))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["intervals", "sum", "start", "end", "bytes", "sum_sent", "x"]), inner
        )
    ),
)


@settings(max_examples=25)
@given(JSON, JSON, JSON)
def test_any_json_gets_an_answer(intervals: Any, end: Any, error: Any) -> None:
    found = parse_report(json.dumps({"intervals": intervals, "end": end, "error": error}))
    assert isinstance(found, (TransferReport, str))


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30), st.integers(0, 29))
def test_the_rate_is_that_of_the_part_asked_for(received: list[int], first: int) -> None:
    intervals = [
        {"sum": {"start": k / 10, "end": (k + 1) / 10, "bytes": size}}
        for k, size in enumerate(received)
    ]
    report = parse_report(json.dumps({"intervals": intervals}))
    assert isinstance(report, TransferReport)
    found = compute_received_gbit_s(report, first / 10)
    rest = received[first:]
    if not rest:
        assert found is None
    else:
        assert found == pytest.approx(sum(rest) * 8e-9 / (len(rest) / 10))


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.18.44\n", (3, 12)),
        ("iperf 3.1.3\nLinux ubuntu-xenial 4.15.0-117-generic\n", (3, 1)),
        ("iperf 3.0.11\n", (3, 0)),
        ("iperf 3.17.1+ (cJSON 1.7.15)\n", (3, 17)),
        ("iperf version 2.1.8 (12 August 2022) pthreads\n", None),
        ("sh: 1: iperf3: not found\n", None),
        ("", None),
    ],
)
def test_versions(output: str, version: tuple[int, int] | None) -> None:
    assert parse_version(output) == version
