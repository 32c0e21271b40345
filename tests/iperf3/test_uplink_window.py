"""The time in which all transfers run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.iperf3.parse import Interval, TransferReport
from plink.probes.uplinks.tool import TimedTransfer, common_windows_s

REPORT = TransferReport([Interval(0.0, 1.0, 1.0)], None)


def test_transfers_that_begin_at_once_share_all_but_warm_up_and_last_moment() -> None:
    timed = [TimedTransfer(REPORT, 7.0)] * 3
    windows = common_windows_s(timed, 2.0, 0.4)
    assert windows is not None
    assert windows == [pytest.approx((0.4, 1.9))] * 3


@pytest.mark.parametrize("later_s", [5.0, 1.0])
def test_transfers_that_hardly_meet_have_no_window(later_s: float) -> None:
    assert (
        common_windows_s(
            [TimedTransfer(REPORT, 2.0), TimedTransfer(REPORT, 2.0 + later_s)], 2.0, 0.4
        )
        is None
    )


@given(st.lists(st.floats(0, 2), min_size=1, max_size=6))
def test_in_the_window_all_run(begins: list[float]) -> None:
    duration_s, warm_up_s = 3.0, 0.2
    windows = common_windows_s(
        [TimedTransfer(REPORT, begin + duration_s) for begin in begins], duration_s, warm_up_s
    )
    if windows is None:
        assert max(begins) - min(begins) > 1.5
        return
    moments = [
        (begin + first, begin + last) for begin, (first, last) in zip(begins, windows, strict=True)
    ]
    for first, last in moments:
        assert (first, last) == pytest.approx(moments[0])
        assert first >= max(begins) + warm_up_s - 1e-9
        assert first < last < min(begins) + duration_s
