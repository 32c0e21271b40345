"""The time in which all transfers run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.iperf3.parse import Interval, Report
from probes.uplinks.window import Timed, common_window_s

REPORT = Report([Interval(0.0, 1.0, 1.0)], None)


def test_transfers_that_begin_at_once_share_all_but_the_warm_up() -> None:
    timed = [Timed(REPORT, 5.0, 7.0)] * 3
    assert common_window_s(timed, 2.0, 0.4) == pytest.approx((0.4, 2.0))


def test_transfers_that_do_not_meet_have_no_window() -> None:
    assert common_window_s([Timed(REPORT, 0.0, 2.0), Timed(REPORT, 5.0, 7.0)], 2.0, 0.4) is None


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5)), min_size=1, max_size=6
    )
)
def test_in_the_window_all_run(times: list[tuple[float, float, float]]) -> None:
    """The word is given, the transfer begins some time later, its report comes some time after."""
    duration_s = 3.0
    timed = [Timed(REPORT, told, told + late + duration_s + after) for told, late, after in times]
    window = common_window_s(timed, duration_s, 0.2)
    if window is None:
        return
    begins = [told + late for told, late, _ in times]
    for begin in begins:
        first, last = begin + window[0], begin + window[1]
        assert all(other + 0.2 <= first + 1e-9 for other in begins)
        assert all(last <= other + duration_s + 1e-9 for other in begins)
