"""What perftest's programs for RDMA print, each run after a line with its pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from plink.base.errors import WrongUseError
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.measure.importing.source import import_content
from plink.measure.requests import ImportRequest
from support.plink_command import plink_here

READ_LAT = """\
---------------------------------------------------------------------------------------
                    RDMA_Read Latency Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 1\t\tTransport type : IB
 local address: LID 0x01 QPN 0x0127 PSN 0x5c1a OUT 0x10 RKey 0x17 VAddr 0x0055aa
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    \
t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.89           6.19         1.93     \t       1.94        \t0.10   \
\t\t2.12    \t\t6.19
 8388608 1000          680.0          690.1        681.5    \t       681.9       \t0.90   \
\t\t682.2   \t\t690.0
---------------------------------------------------------------------------------------
"""
WRITE_LAT = READ_LAT.replace("RDMA_Read", "RDMA_Write").replace("1.93 ", "0.98 ")
WRITE_BW = """\
                    RDMA_Write BW Test
 #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]
 65536      5000             {peak}            {average}\t\t   0.184312
"""
GBITS = WRITE_BW.format(unit="Gb/sec", peak="96.75", average="96.60")


def imported(text: str, size: int | None = None) -> Cluster:
    return import_content(text.encode(), "ib.log", ImportRequest(size=size))


def test_reads_are_whole_round_trips_and_writes_half_of_one() -> None:
    found = imported(f"# pair: a b\n{READ_LAT}# pair: b a\n{WRITE_LAT}")
    assert found.names == ["a", "b"]
    assert found.rtt is not None
    assert found.rtt.tool == "perftest"
    readings_us = found.rtt.readings_us
    assert readings_us[0, 1] == pytest.approx(1.93)
    assert readings_us[1, 0] == pytest.approx(1.96)
    assert "past the kernel" in found.rtt.notes[0]


def test_bandwidth_goes_to_the_server_but_for_reads() -> None:
    mib = WRITE_BW.format(unit="MB/sec", peak="11520.65", average="11519.48")
    read = GBITS.replace("RDMA_Write", "RDMA_Read")
    found = imported(f"# pair: a b\n{mib}# pair: a c\n{read}")
    assert found.bandwidth is not None
    gbit_s = found.bandwidth.gbit_s
    assert gbit_s[0, 1] == pytest.approx(11519.48 * 8 * 2**20 / 1e9)
    assert gbit_s[2, 0] == pytest.approx(96.6)
    both = GBITS.replace("RDMA_Write BW", "RDMA_Write Bidirectional BW")
    found = imported(f"# pair: a b\n{both}")
    assert found.bandwidth is not None
    assert found.bandwidth.gbit_s[0, 1] == found.bandwidth.gbit_s[1, 0] == pytest.approx(48.3)


def test_times_and_bandwidths_of_one_log_are_one_cluster(tmp_path: Path) -> None:
    log, out = tmp_path / "ib.log", tmp_path / "c.json"
    hosts = "abcd"
    log.write_text(
        "".join(
            f"# pair: {a} {b}\n{READ_LAT}# pair: {a} {b}\n{GBITS}"
            for a in hosts
            for b in hosts
            if a != b
        )
    )
    assert plink_here("import", log, "-o", out).code == 0
    found = cluster_file.read_cluster(str(out))
    assert found.rtt is not None
    assert found.bandwidth is not None
    done = plink_here("order", out, "--algo", "nccl-ring", "--time-limit", "0.2")
    assert done.code == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (READ_LAT, "no line names the two hosts"),
        (f"# pair: a a\n{READ_LAT}", "the line names a as both hosts"),
        ("# pair: a b\n RDMA_Read Latency Test\n #bytes #iterations\n", "has no row of results"),
        (f"# pair: a b\n{GBITS}".replace("Gb/sec", "furlongs"), "bandwidths are in furlongs"),
        (f"# pair: a b\n{GBITS}".replace("96.60", ""), "has no column BW average|not a number"),
    ],
)
def test_what_does_not_tell_is_refused(text: str, said: str) -> None:
    with pytest.raises(WrongUseError, match=said):
        imported(text)


def test_a_size_that_was_not_run_is_refused() -> None:
    with pytest.raises(WrongUseError, match="no result for messages of"):
        imported(f"# pair: a b\n{GBITS}", size=1 << 20)


@pytest.mark.parametrize(
    "title",
    ["Atomic FETCH_AND_ADD BW Test", "Atomic CMP_AND_SWAP BW Test", "RDMA_Write_with_imm BW Test"],
)
def test_a_test_that_is_not_read_ends_the_run_before_it(title: str) -> None:
    unknown = WRITE_BW.format(unit="MB/sec", peak="9e6", average="9e6")
    unknown = unknown.replace("RDMA_Write BW Test", title)
    found = imported(f"# pair: a b\n{GBITS}{unknown}# pair: a c\n{unknown}").bandwidth
    assert found is not None
    assert found.gbit_s[0, 1] == pytest.approx(96.6)
    (failure,) = found.failures
    assert (failure.source, failure.destination) == ("a", "c")
    assert "Atomic" in failure.reason or "imm" in failure.reason
    (note,) = found.notes
    assert title in note


def test_a_line_of_a_pair_and_a_closing_rule_end_a_run() -> None:
    rule = "-" * 87
    for end in ("# pair: a c", rule, "# OSU MPI_Put Latency Test v7"):
        found = imported(f"# pair: a b\n{GBITS}{end}\n 65536 5000 9e6 9e6 0.1\n").bandwidth
        assert found is not None
        assert found.gbit_s[0, 1] == pytest.approx(96.6)


def test_a_run_for_a_duration_has_no_median() -> None:
    duration = WRITE_LAT[: WRITE_LAT.index(" #bytes")]
    duration += " #bytes        #iterations       t_avg[usec]    tps average\n"
    duration += " 1             9132421            1.09          456621.05\n"
    with pytest.raises(WrongUseError, match="no median") as caught:
        imported(f"# pair: a b\n{duration}")
    assert "-n 1000" in (caught.value.hint or "")
    found = imported(f"# pair: a b\n{READ_LAT}# pair: a c\n{duration}").rtt
    assert found is not None
    assert [each.destination for each in found.failures] == ["c"]


def test_mebibytes_are_spelled_in_two_ways() -> None:
    for unit in ("MB/sec", "MiB/sec"):
        found = imported(f"# pair: a b\n{WRITE_BW.format(unit=unit, peak='1', average='1000')}")
        assert found.bandwidth is not None
        assert found.bandwidth.gbit_s[0, 1] == pytest.approx(8.388608)
