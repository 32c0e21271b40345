"""CSV with a row for every measurement of a pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.measure.importing.source import import_content
from plink.measure.requests import ImportRequest

NCCL = """\
gpus_per_node,node_a,node_b,test,bytes,time_us_oop,busbw_GBps_oop
1,n1,n2,alltoall_perf,4294967296,55165.9,38.93
1,n1,n2,sendrecv_perf,8589934592,98169.3,43.75
8,n1,n3,sendrecv_perf,4294967296,98169.3,40
"""
DIRECTED = "Source,Destination,Gbit_s\na,b,9.5\nb,a,9\n\nb,c,1.5\n"


def imported(text: str, size: int | None = None) -> Cluster:
    return import_content(text.encode(), "l.csv", ImportRequest(size=size))


def test_the_greatest_counts_both_ways_and_its_size_is_kept() -> None:
    found = imported(NCCL)
    assert found.names == ["n1", "n2", "n3"]
    assert found.rtt is None
    assert found.bandwidth is not None
    gbit_s, sizes = found.bandwidth.gbit_s, found.bandwidth.message_bytes
    assert sizes is not None
    assert gbit_s[0, 1] == gbit_s[1, 0] == pytest.approx(350.0)
    assert sizes[0, 1] == 8589934592
    assert gbit_s[2, 0] == pytest.approx(320.0)
    assert np.isnan(gbit_s[1, 2])
    of_size = imported(NCCL, size=1 << 32).bandwidth
    assert of_size is not None
    assert of_size.gbit_s[0, 1] == pytest.approx(38.93 * 8)
    assert of_size.options == {"message_bytes": 1 << 32}


def test_directions_stay_apart() -> None:
    found = imported(DIRECTED).bandwidth
    assert found is not None
    assert (found.gbit_s[0, 1], found.gbit_s[1, 0]) == (9.5, 9.0)
    assert np.isnan(found.gbit_s[2, 1])
    assert found.message_bytes is None


@pytest.mark.parametrize(
    ("text", "size", "said"),
    [
        (DIRECTED + "a,b\n", None, "l.csv: row 6: the row has 2 cells"),
        (DIRECTED + "a,b,fast\n", None, "l.csv: row 6: 'fast' is not a number"),
        (DIRECTED + "-x,a,1\n", None, "l.csv: row 6: '-x' begins with a dash"),
        (DIRECTED, 4096, "l.csv: has no column of message sizes"),
        (NCCL, 4096, "l.csv: no row has a bandwidth of messages of 4 KiB"),
        ("source,destination,gbit_s\n", None, "l.csv: holds no measurement"),
        ("us,a,b\na,0,1\nb,1,0\n", 4096, "l.csv: is neither a benchmark's output"),
    ],
)
def test_refusals(text: str, size: int | None, said: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        imported(text, size)
    assert str(caught.value).startswith(said)


@given(
    st.integers(0, len(NCCL)), st.text('0123456789,"\n\x00GBpsnode_ab\N{DEGREE SIGN}', max_size=9)
)
def test_any_damage_is_read_or_refused(place: int, damage: str) -> None:
    try:
        found = imported(f"{NCCL[:place]}{damage}{NCCL[place + len(damage) :]}")
    except WrongUseError:
        return
    assert len(found.hosts) >= 2
