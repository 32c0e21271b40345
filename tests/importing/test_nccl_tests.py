"""Logs of nccl-tests: the form of 2.17 and the one before, some lines left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.formats.measurements import WRONG_RESULTS, BandwidthMeasurement
from plink.measure.importing.source import import_content
from plink.measure.requests import ImportRequest
from support.plink_command import plink_here

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
    return import_content(text.encode(), "nccl.log", ImportRequest(size=size))


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
    why = "has no result" if lost is STILLBORN else "ended early"
    assert failure.reason == f"nccl.log:{line}: this run {why}"
    content = document.dump(cluster_file.encode_cluster(found))
    again = bandwidth_of(cluster_file.parse_cluster(content, "c.json"))
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
        (ABORTED, "nccl.log:2: this run ended early"),
        (SENDRECV.replace("on node1", "on -oProxyCommand=id"), "nccl.log:7: '-oProxyCommand=id'"),
    ],
)
def test_refusals(text: str, said: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        imported(text)
    assert str(caught.value).startswith(said)


CLOSINGS = ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 15.9567"]
CONCLUDED = "# Collective test concluded: sendrecv_perf"


@pytest.mark.parametrize("kept", [[0], [1], [0, 1], [2], [0, 2], [0, 1, 2]])
def test_any_closing_line_ends_a_run(kept: list[int]) -> None:
    closings = [*CLOSINGS, CONCLUDED]
    body = SENDRECV[: SENDRECV.index(CLOSINGS[0])]
    text = body + "".join(f"{closings[each]}\n" for each in kept)
    assert bandwidth_of(imported(text)).gbit_s[0, 1] == pytest.approx(24.01 * 8)


@pytest.mark.parametrize(
    "prefix", ["0: ", "[0] ", "[prterun-a-1@1,0]<stdout>: ", "node0: ", "[pod/a-0/mpi] "]
)
def test_prefixes_are_taken_off(prefix: str) -> None:
    text = "".join(f"{prefix}{line}\n" for line in SENDRECV.splitlines())
    assert bandwidth_of(imported(text)).gbit_s[0, 1] == pytest.approx(24.01 * 8)


def twice(log: str) -> str:
    """Two processes that each took themselves for the only one, line by line in one log."""
    other = log.replace("on node0", "on node8").replace("on node1", "on node9")
    pairs = zip(log.splitlines(), other.splitlines(), strict=True)
    return "".join(f"{one}\n{two}\n" for one, two in pairs)


def test_two_processes_with_rank_0_are_refused() -> None:
    alone = "".join(
        line for line in SENDRECV.splitlines(keepends=True) if not line.startswith("#  Rank  1")
    )
    with pytest.raises(WrongUseError, match="two processes that have rank 0") as caught:
        imported(twice(alone))
    assert "MPI=1" in (caught.value.hint or "")
    old = (
        "nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor)\n Using devices\n"
        "#   Rank  0 on ip-1 device  0 [0x00] Tesla M60\n"
        "#   Rank  0 on ip-2 device  0 [0x00] Tesla M60\n"
        "134217728      33554432   float     sum    2.237  60.00   0.00    0e+00    0.001"
        "  139715.53   0.00    0e+00\n Out of bounds values : 0 OK\n Avg bus bandwidth    : 0\n"
    )
    with pytest.raises(WrongUseError, match="two processes that have rank 0"):
        imported(old)


def test_two_runs_in_each_other_are_refused() -> None:
    """Their ranks stand in the heading of one, and their rows are anybody's."""
    lines = SENDRECV.splitlines(keepends=True)
    rows = next(index for index, line in enumerate(lines) if line.startswith("           8"))
    other = [line.replace("node0", "node8").replace("node1", "node9") for line in lines]
    mixed = [*lines[:rows], *other[:rows], *lines[rows:], *other[rows:]]
    with pytest.raises(WrongUseError, match=r"no result|another one in it"):
        imported("".join(mixed))


def test_a_log_that_was_copied_line_by_line_is_still_one_run() -> None:
    rank = next(line for line in SENDRECV.splitlines(keepends=True) if "Rank  0" in line)
    found = imported(SENDRECV.replace(rank, rank + rank))
    assert bandwidth_of(found).gbit_s[0, 1] == pytest.approx(24.01 * 8)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("23.96   23.96       0", "23.96   23.96       7"),
        ("23.97   23.97     N/A", "23.97   23.97   1e+06"),
        ("values : 0 OK", "values : 50 FAILED"),
    ],
)
def test_wrong_results_are_left_out_and_named(old: str, new: str) -> None:
    wrong = SENDRECV.replace(old, new)
    found = bandwidth_of(imported(wrong))
    assert np.isnan(found.gbit_s).all()
    (failure,) = found.failures
    assert (failure.source, failure.destination) == ("node0", "node1")
    assert failure.kind == WRONG_RESULTS
    # That another run of the pair went well makes it none the better.
    both = bandwidth_of(imported(wrong + SENDRECV))
    assert both.gbit_s[0, 1] == pytest.approx(24.01 * 8)
    assert [each.kind for each in both.failures] == [WRONG_RESULTS]


def test_wrong_results_end_with_3_and_are_a_finding(tmp_path: Path) -> None:
    log, out = tmp_path / "nccl.log", tmp_path / "c.json"
    log.write_text(SENDRECV.replace("values : 0 OK", "values : 50 FAILED"))
    assert plink_here("import", log, "-o", out).code == 3
    for file in (out, log):
        done = plink_here("doctor", file, "--json")
        assert done.code == 4
        (finding,) = json.loads(done.stdout)["findings"]
        assert (finding["kind"], finding["hosts"]) == ("wrong results", ["node0", "node1"])


@given(st.integers(0, len(SENDRECV)), st.text("0123456789.e# \nRankon", max_size=12))
def test_any_damage_is_read_or_refused(place: int, damage: str) -> None:
    text = f"{SENDRECV[:place]}{damage}{SENDRECV[place + len(damage) :]}"
    try:
        found = imported(f"{text}# nThread # Using devices")
    except WrongUseError:
        return
    assert len(found.hosts) >= 2
