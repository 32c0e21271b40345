"""mpiGraph's output, as mpiGraph.c prints it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.measure.importing.source import import_content
from plink.measure.requests import ImportRequest

OUTPUT = """\
START mpiGraph v1.5
MsgSize\t1048576
Times\t10
Window\t10
Procs\t3

1 of 3 (33.3%)
2 of 3 (66.7%)
Gathering results

Send max\t1190.476190
Send avg\t800.000000

Send\tgpu1:0\tgpu2:1\tgpu3:2\t
gpu1:0 to\t0.000\t9999.000\t9999.000\t
gpu2:1 to\t9999.000\t0.000\t9999.000\t
gpu3:2 to\t9999.000\t9999.000\t0.000\t

Recv max\t1190.476190
Recv avg\t800.000000

Recv\tgpu1:0\tgpu2:1\tgpu3:2\t
gpu1:0 from\t0.000\t1000.000\t500.125\t
gpu2:1 from\t1100.000\t0.000\t250.000\t
gpu3:2 from\t510.000\t260.000\t0.000\t
END mpiGraph
"""


def test_what_was_received_counts() -> None:
    found = import_content(OUTPUT.encode(), "m.out", ImportRequest())
    assert found.names == ["gpu1", "gpu2", "gpu3"]
    assert found.rtt is None
    assert found.bandwidth is not None
    assert found.bandwidth.tool == "mpiGraph"
    gbit_s = found.bandwidth.gbit_s
    # From gpu2 to gpu1: the row is who received. 2^20 bytes are 8.388608e-3 Gbit.
    assert gbit_s[1, 0] == pytest.approx(1000 * 8.388608e-3)
    assert gbit_s[0, 1] == pytest.approx(1100 * 8.388608e-3)
    assert gbit_s[2, 0] == pytest.approx(500.125 * 8.388608e-3)
    assert np.isnan(np.diag(gbit_s)).all()


def test_what_was_sent_counts_where_the_end_is_missing() -> None:
    cut = OUTPUT[: OUTPUT.index("Recv max")]
    found = import_content(cut.encode(), "m.out", ImportRequest())
    assert found.bandwidth is not None
    assert found.bandwidth.gbit_s[0, 1] == pytest.approx(9999 * 8.388608e-3)


def test_tagged_output() -> None:
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in OUTPUT.splitlines())
    found = import_content(tagged.encode(), "m.out", ImportRequest())
    assert found.bandwidth is not None
    assert found.bandwidth.gbit_s[1, 0] == pytest.approx(1000 * 8.388608e-3)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "Recv\tgpu1:0\tgpu2:1",
            "Recv\tgpu1:0\tgpu1:1",
            "several tasks of mpiGraph ran on one host",
        ),
        ("Recv\tgpu1:0\tgpu2:1", "Recv\tgpu1:0\tgpu2", "'gpu2' is not a host with the number 1"),
        ("gpu3:2 from\t510.000", "gpu3:2 from\tnan", "'nan' is not a number"),
        ("gpu3:2 from\t510.000", "gpu3:2 from\t1e9", "Gbit/s is above the limit of 1e+06 Gbit/s"),
        ("gpu2:1 from\t1100.000\t", "gpu2:1 from\t", "row 2 of the table"),
        ("gpu2:1 from", "gpu2:7 from", "row 2 of the table"),
        ("gpu3:2 from\t510.000\t260.000\t0.000\t\nEND mpiGraph\n", "", "row 3 of the table"),
        ("Procs\t3", "--unit", "names its units itself"),
    ],
)
def test_refusals(old: str, new: str, said: str) -> None:
    assert old in OUTPUT
    content = OUTPUT.replace(old, new).encode()
    unit = "us" if new == "--unit" else None
    with pytest.raises(WrongUseError) as caught:
        import_content(content, "m.out", ImportRequest(unit=unit, percentile=10.0))
    assert said in f"{caught.value} {caught.value.hint}"


@given(st.integers(0, len(OUTPUT)), st.text("0123456789.\t\n:gpufromRecv ", max_size=12))
def test_any_damage_is_read_or_refused(place: int, damage: str) -> None:
    content = f"START mpiGraph\n{OUTPUT[:place]}{damage}{OUTPUT[place + len(damage) :]}".encode()
    try:
        found = import_content(content, "m.out", ImportRequest())
    except WrongUseError:
        return
    assert found.bandwidth is not None
    assert np.nanmin(found.bandwidth.gbit_s) >= 0.0
