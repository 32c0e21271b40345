"""Logs of nccl-tests: the form of 2.17 and the one before, some lines left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.bandwidth import BandwidthMeasurement
from plink.files.cluster import Cluster
from plink.measure.importing.source import import_measurement

SENDRECV = """\
# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: sendrecv_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 4(factor) warmup iters: 1 iters: 20 \
agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  62767 on node0 device  0 [0000:19:00] NVIDIA H800
#  Rank  1 Group  0 Pid  36788 on node1 device  0 [0000:19:00] NVIDIA H800
#
#                                                              out-of-place             in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time \
  algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us) \
 (GB/s)  (GB/s)
           8             2     float     sum      -1    12.50    0.00    0.00       0    12.10 \
   0.00    0.00     N/A
    33554432       8388608     float     sum      -1   1400.2   23.96   23.96       0   1410.0 \
   23.80   23.80     N/A
   134217728      33554432     float     sum      -1   5590.0   24.01   24.01       0   5600.0 \
   23.97   23.97     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 15.9567
"""
ALL_REDUCE = """\
# nThread 1 nGpus 1 minBytes 1 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 100
#
# Using devices
#  Rank  0 Group  0 Pid     21 on node1 device  0 [0x35] Tesla T4
#  Rank  1 Group  0 Pid     22 on node1 device  1 [0x36] Tesla T4
#  Rank  2 Group  0 Pid     21 on node2 device  0 [0xf5] Tesla T4
node1:21:21 [0] NCCL INFO Bootstrap : Using eth0:10.11.13.106<0>
     1048576        262144     float     sum   4366.46    0.24    0.50  0e+00   4365.21    0.24 \
   0.24  0e+00
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.37
#
"""
# Stopped by a failure in the middle, as in a batch of many pairs.
ABORTED = """\
# Collective test starting: sendrecv_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 4(factor) warmup iters: 1 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid  62767 on node0 device  0 [0000:19:00] NVIDIA H800
#  Rank  1 Group  0 Pid  36788 on node3 device  0 [0000:19:00] NVIDIA H800
           8             2     float     sum      -1    12.50    0.00    0.00       0    12.10 \
   0.00    0.00     N/A
     1048576        262144     float     sum      -1   120.50    8.70    8.70       0   121.10 \
   8.66    8.66     N/A
node3: Test NCCL failure common.cu:308 'remote process exited or there was a network error'
 .. node3 pid 36788: Test failure common.cu:435
"""
STILLBORN = ABORTED[: ABORTED.index("           8 ")] + "node3: Test NCCL failure common.cu:958\n"


def imported(text: str, size: int | None = None) -> Cluster:
    return import_measurement(text.encode(), "nccl.log", unit=None, percentile=10.0, size=size)


def bandwidth_of(found: Cluster) -> BandwidthMeasurement:
    assert found.bandwidth is not None
    return found.bandwidth


def test_pairs_of_hosts() -> None:
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in ALL_REDUCE.splitlines())
    found = imported(SENDRECV + tagged)
    assert found.names == ["node0", "node1", "node2"]
    assert found.bandwidth is not None
    gbit_s = found.bandwidth.gbit_s
    assert gbit_s[0, 1] == gbit_s[1, 0] == pytest.approx(24.01 * 8)
    assert gbit_s[1, 2] == gbit_s[2, 1] == pytest.approx(4.0)
    assert np.isnan(gbit_s[0, 2])
    sizes = found.bandwidth.message_bytes
    assert sizes is not None
    assert sizes[0, 1] == sizes[1, 0] == 134217728
    assert sizes[1, 2] == 1048576
    assert found.bandwidth.options == {
        "least_message_bytes": 1048576,
        "most_message_bytes": 134217728,
    }
    # Only the test of pairs tells times.
    assert found.rtt is not None
    assert found.rtt.readings_us[0, 1] == found.rtt.readings_us[1, 0] == 25.0
    assert np.isnan(found.rtt.readings_us[1, 2])


def test_size_chooses_the_row() -> None:
    found = bandwidth_of(imported(SENDRECV, size=1 << 25))
    assert found.gbit_s[0, 1] == pytest.approx(23.96 * 8)
    assert found.options == {"message_bytes": 1 << 25}
    with pytest.raises(WrongUseError, match="no bandwidth of messages of 64 MiB"):
        imported(SENDRECV, size=1 << 26)


def test_a_large_transfer_is_no_round_trip() -> None:
    large = SENDRECV.replace("           8             2", "       8192          2048")
    assert imported(large).rtt is None
    small = SENDRECV.replace("           8             2", "       4096          1024")
    assert imported(small).rtt is not None


@pytest.mark.parametrize("lost", [STILLBORN, ABORTED])
def test_a_run_without_a_result_is_left_out_and_named(lost: str) -> None:
    found = imported(SENDRECV + lost + ALL_REDUCE)
    assert found.names == ["node0", "node1", "node2", "node3"]
    bandwidth = bandwidth_of(found)
    assert np.isfinite(bandwidth.gbit_s).sum() == 4
    (failure,) = bandwidth.failures
    assert (failure.source, failure.destination) == ("node0", "node3")
    line = SENDRECV.count("\n") + 2
    why = "has no result" if lost is STILLBORN else "did not come to its end"
    assert failure.reason == f"nccl.log:{line}: this run {why}"
    content = document.dump(cluster_file.to_data(found))
    again = bandwidth_of(cluster_file.parse(content, "c.json"))
    assert again.failures == [failure]
    assert again.message_bytes is not None
    assert again.message_bytes[0, 1] == 134217728


def test_another_run_of_the_pair_makes_it_a_note() -> None:
    bandwidth = bandwidth_of(imported(ABORTED.replace("node3", "node1") + SENDRECV))
    assert not bandwidth.failures
    assert "nccl.log:2" in bandwidth.notes[0]
    # What came before the end of the run is as good as ever.
    one_size = bandwidth_of(imported(ABORTED + SENDRECV, size=1 << 20))
    assert one_size.gbit_s[0, 1] == pytest.approx(8.70 * 8)


def test_a_row_that_another_process_wrote_into_does_not_count() -> None:
    row = "    33554432       8388608     float     sum      -1   1400.2   23.96   23.96"
    damaged = SENDRECV.replace(row, f"{row} node1:31:45 [0] NCCL WARN 1 2 3 4 5 6 7 8")
    found = bandwidth_of(imported(damaged.replace("node1", "node5") + SENDRECV))
    assert "has a row that is not understood" in found.failures[0].reason
    assert found.failures[0].destination == "node5"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ALL_REDUCE.replace("node2", "node1"), "nccl.log:1: this run was on 1 host, not on two"),
        (
            SENDRECV.replace(
                "#  Rank  1 ", "#  Rank  2 Group  0 Pid 3 on node7 device  0 [0] x\n#  Rank  1 "
            ),
            "nccl.log:3: this run was on 3 hosts, not on two",
        ),
        (SENDRECV[: SENDRECV.index("           8 ")], "nccl.log:3: this run has no result"),
        (SENDRECV.replace("24.01   24.01", "24.01   -inf"), "nccl.log:3: this run has a row"),
        (STILLBORN, "nccl.log:2: this run has no result"),
        (ABORTED, "nccl.log:2: this run did not come to its end"),
        (SENDRECV.replace("on node1", "on -oProxyCommand=id"), "nccl.log:7: '-oProxyCommand=id'"),
    ],
)
def test_refusals(text: str, said: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        imported(text)
    assert str(caught.value).startswith(said)


@given(st.integers(0, len(SENDRECV)), st.text("0123456789.e# \nRankon", max_size=12))
def test_any_damage_is_read_or_refused(place: int, damage: str) -> None:
    text = f"{SENDRECV[:place]}{damage}{SENDRECV[place + len(damage) :]}"
    try:
        found = imported(f"{text}# nThread # Using devices")
    except WrongUseError:
        return
    assert len(found.hosts) >= 2
