"""Logs of nccl-tests: the form of 2.17 and the one before, some lines left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.importing.source import import_measurement

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
#
"""


def imported(text: str) -> Cluster:
    return import_measurement(text.encode(), "nccl.log", unit=None, percentile=10.0)


def test_pairs_of_hosts() -> None:
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in ALL_REDUCE.splitlines())
    found = imported(SENDRECV + tagged)
    assert found.names == ["node0", "node1", "node2"]
    assert found.bandwidth is not None
    gbit_s = found.bandwidth.gbit_s
    assert gbit_s[0, 1] == gbit_s[1, 0] == pytest.approx(24.01 * 8)
    assert gbit_s[1, 2] == gbit_s[2, 1] == pytest.approx(4.0)
    assert np.isnan(gbit_s[0, 2])
    # Only the test of pairs tells times.
    assert found.rtt is not None
    assert found.rtt.readings_us[0, 1] == found.rtt.readings_us[1, 0] == 25.0
    assert np.isnan(found.rtt.readings_us[1, 2])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ALL_REDUCE.replace("node2", "node1"), "nccl.log:1: this run was on 1 hosts"),
        (
            SENDRECV.replace(
                "#  Rank  1 ", "#  Rank  2 Group  0 Pid 3 on node7 device  0 [0] x\n#  Rank  1 "
            ),
            "nccl.log:3: this run was on 3 hosts",
        ),
        (SENDRECV[: SENDRECV.index("           8 ")], "nccl.log:3: this run has no result"),
        (SENDRECV.replace("24.01   24.01", "24.01   -inf"), "nccl.log:"),
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
