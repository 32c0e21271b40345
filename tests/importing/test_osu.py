"""Logs of the OSU micro-benchmarks: osu_latency of 5.6.2 and osu_bw of 5.4.3, and 7.5's heads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.formats.measurements import WRONG_RESULTS
from plink.measure.importing.source import import_content
from plink.measure.requests import ImportRequest

LOG = """\
# pair: node-a node-b
Warning: Permanently added 'node-b' (ED25519) to the list of known hosts.
# OSU MPI Latency Test v5.6.2
# Size          Latency (us)
0                       3.50
1                       3.54
2                       3.54
1048576               698.10
# OSU MPI Bandwidth Test v5.4.3
# Size      Bandwidth (MB/s)
1                       1.95
2097152              2892.35
4194304              2892.82
# Pair node-c  node-a

# OSU MPI Bi-Directional Bandwidth Test v7.5
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1                       3.00
4194304              5000.00

# pair: node-b node-c
# OSU MPI Latency Test v7.5
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                      16.31
2                      16.30
"""


def imported(text: str, size: int | None = None) -> Cluster:
    return import_content(text.encode(), "osu.log", ImportRequest(percentile=50.0, size=size))


def test_pairs_of_hosts() -> None:
    found = imported(LOG)
    assert found.names == ["node-a", "node-b", "node-c"]
    assert found.rtt is not None
    assert found.rtt.reading == 50.0
    rtt_us = found.rtt.readings_us
    # Twice the latency of the least message; nothing is made up for the way back.
    assert rtt_us[0, 1] == 7.0
    assert np.isnan(rtt_us[1, 0])
    assert rtt_us[1, 2] == pytest.approx(32.62)
    assert found.rtt.samples.sum() == 2
    assert "twice the latencies" in found.rtt.notes[0]
    assert found.bandwidth is not None
    gbit_s = found.bandwidth.gbit_s
    assert gbit_s[0, 1] == pytest.approx(2892.82 * 8e-3)
    assert np.isnan(gbit_s[1, 0])
    assert gbit_s[2, 0] == gbit_s[0, 2] == pytest.approx(20.0)


def test_size_chooses_the_row() -> None:
    small_only = LOG.replace("2097152", "4194304").replace("2892.82", "1000.0")
    found = imported(small_only, size=4194304)
    assert found.bandwidth is not None
    assert found.bandwidth.gbit_s[0, 1] == pytest.approx(2892.35 * 8e-3)
    bandwidths = LOG[LOG.index("# OSU MPI Bandwidth") : LOG.index("# pair: node-b node-c")]
    with pytest.raises(WrongUseError, match="this run has no result for messages of 4"):
        imported(f"# pair: node-a node-b\n{bandwidths}", size=4096)


def test_a_large_message_is_no_round_trip() -> None:
    large = "# pair: node-a node-b\n# OSU MPI Latency Test v5.6.2\n8192  9.99\n"
    assert imported(large + LOG.replace("node-b", "node-d")).names[1] == "node-b"
    with pytest.raises(WrongUseError, match="no time of a message of at most"):
        imported(large)


def test_the_best_of_several_runs_counts() -> None:
    again = LOG + LOG.replace("3.50", "3.40").replace("2892.82", "2000.0")
    found = imported(again)
    assert found.rtt is not None
    assert found.rtt.readings_us[0, 1] == pytest.approx(6.8)
    assert found.bandwidth is not None
    assert found.bandwidth.gbit_s[0, 1] == pytest.approx(2892.82 * 8e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "# OSU MPI Latency Test v5.6.2\n1 2.0\n",
            "osu.log:1: no line names the two hosts of this osu run",
        ),
        (
            "# pair: a b\n# OSU MPI Allreduce Latency Test v5\n1 2.0\n",
            "osu.log:2: this run is OSU's 'MPI Allreduce Latency' test",
        ),
        (
            "# pair: a b\n# OSU MPI Latency Test v5\n# pair: a c\n",
            "osu.log:2: this run has no row of results",
        ),
        (
            "# pair: a a\n# OSU MPI Latency Test v5\n1 2.0\n",
            "osu.log:1: the line names a as both hosts",
        ),
        ("# pair: a -b\n# OSU MPI Latency Test v5\n1 2.0\n", "osu.log:1: '-b' begins with a dash"),
        (
            "# pair: a b\n# OSU MPI Latency Test v5\n1\n",
            "osu.log:3: the line has one number, expected a size and a result",
        ),
        ("# pair: a b\n# OSU MPI Latency Test v5\n1 x\n", "osu.log:3: 'x' is not a number"),
        (
            "# pair: a b\n# OSU MPI Latency Test v5\n1 9e9\n",
            "osu.log: the value 1.8e+10 µs is above",
        ),
        ("# OSU MPI\n", "osu.log: holds no measurement of a pair of hosts"),
    ],
)
def test_refusals(text: str, said: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        imported(text)
    assert str(caught.value).startswith(said)


def test_a_test_that_is_not_read_ends_the_run_before_it() -> None:
    put = "# OSU MPI_Put Latency Test v5.3\n# Window creation: MPI_Win_allocate\n0  0.07\n1  0.62\n"
    many = (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.7\n4194304  168173.26  41057924.00\n"
    )
    found = imported(LOG.replace("# Pair node-c", f"{many}{put}# Pair node-c"))
    assert found.rtt is not None
    assert found.rtt.readings_us[0, 1] == 7.0
    assert found.bandwidth is not None
    assert found.bandwidth.gbit_s[0, 1] == pytest.approx(2892.82 * 8e-3)
    notes = [note for note in found.bandwidth.notes if "does not read" in note]
    assert ["MPI_Put" in note for note in notes] == [False, True]


def test_a_pair_of_which_no_test_is_read_is_a_failure() -> None:
    found = imported(LOG + "# pair: node-b node-d\n# OSU MPI_Get Bandwidth Test v7\n1  1.0\n")
    assert found.names[-1] == "node-d"
    assert found.bandwidth is not None
    (failure,) = found.bandwidth.failures
    assert (failure.source, failure.destination, failure.kind) == ("node-b", "node-d", None)


def test_another_programs_output_ends_a_run() -> None:
    perftest = "                    RDMA_Write BW Test\n65536  5000  9e9  9e9  0.1\n"
    found = imported(LOG + perftest)
    assert found.rtt is not None
    assert found.rtt.readings_us[1, 2] == pytest.approx(32.62)


def test_a_run_that_printed_no_row_is_a_failure_of_its_pair() -> None:
    found = imported(f"{LOG}# pair: node-b node-d\n# OSU MPI Latency Test v7.5\n# Size  Latency\n")
    assert found.rtt is not None
    assert found.rtt.readings_us[0, 1] == 7.0
    assert found.bandwidth is not None
    (failure,) = found.bandwidth.failures
    assert (failure.source, failure.destination, failure.kind) == ("node-b", "node-d", None)


def test_a_run_without_the_size_is_a_failure_of_its_pair() -> None:
    found = imported(LOG, size=2097152).bandwidth
    assert found is not None
    assert found.gbit_s[0, 1] == pytest.approx(2892.35 * 8e-3)
    assert np.isnan(found.gbit_s[2, 0])
    (failure,) = found.failures
    assert (failure.source, failure.destination) == ("node-c", "node-a")


def test_results_that_fail_their_validation_are_left_out() -> None:
    wrong = "# pair: node-b node-d\n# OSU MPI Latency Test v7.3\n1  1.9  Pass\n2  1.9  Fail\n"
    found = imported(LOG + wrong)
    assert found.bandwidth is not None
    (failure,) = found.bandwidth.failures
    assert (failure.destination, failure.kind) == ("node-d", WRONG_RESULTS)


@given(st.integers(0, len(LOG)), st.text("0123456789.e# \npairnode-OSUMPI", max_size=12))
def test_any_damage_is_read_or_refused(place: int, damage: str) -> None:
    try:
        found = imported(f"{LOG[:place]}{damage}{LOG[place + len(damage) :]}# OSU MPI")
    except WrongUseError:
        return
    assert len(found.hosts) >= 2
