"""What is drawn from measured percentiles has them, and early stopping ends on it as it should."""

from __future__ import annotations

import numpy as np
import pytest

from benchkit.drawn import PERCENTILES, READING, draw_ns, stop_on_drawn
from benchkit.precision_twin import FIRST_LOOK


def test_what_is_drawn_has_the_percentiles() -> None:
    rtt_us = {percentile: 20.0 + percentile**2 / 100.0 for percentile in PERCENTILES}
    drawn_us = draw_ns(rtt_us, 200_000, np.random.default_rng(1)) / 1e3
    for percentile, value_us in rtt_us.items():
        assert np.percentile(drawn_us, percentile) == pytest.approx(value_us, rel=0.01)


def test_a_steady_pair_takes_the_fewest_probes_and_is_read_right() -> None:
    rtt_us = {percentile: 20.0 + percentile / 100.0 for percentile in PERCENTILES}
    stopped = stop_on_drawn(rtt_us, 2000, 2.0, np.random.default_rng(2))
    assert (stopped.sent, stopped.is_precise) == (FIRST_LOOK, True)
    assert stopped.error == pytest.approx(0.0, abs=0.003)


def test_a_pair_whose_reading_lies_between_two_speeds_takes_all() -> None:
    rtt_us = {percentile: 20.0 if percentile < READING else 30.0 for percentile in PERCENTILES}
    stopped = stop_on_drawn(rtt_us, 2000, 2.0, np.random.default_rng(3))
    assert (stopped.sent, stopped.is_precise) == (2000, False)
