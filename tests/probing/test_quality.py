"""Disturbed pairs are reported, kept in files, and measured again."""

from __future__ import annotations

import numpy as np
import pytest

from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import Measurement
from plink.measure.probing.collectors import RttCollector, describe_disturbed_hosts
from plink.probes.echo.readings import DISTURBED
from plink.probes.samples import PairLoss, RttReading
from support.pairs import all_pairs

NAMES = [f"n{i}" for i in range(6)]
EVERY = ~np.eye(6, dtype=bool)
PERCENTILES = (10.0, 50.0, 99.0)
RUN = Measurement(tool="echo", started="2026-11-20T00:00:00+00:00", seconds=1.0)


def disturbed(*pairs: tuple[int, int]) -> np.ndarray:
    matrix = np.zeros((6, 6), dtype=bool)
    for pair in pairs:
        matrix[pair] = True
    return matrix


def test_a_quiet_network_gets_no_word() -> None:
    assert describe_disturbed_hosts(NAMES, disturbed(), EVERY) == []


def test_a_busy_host_is_named() -> None:
    pairs = [pair for i in range(6) if i != 3 for pair in ((3, i), (i, 3))]
    (doubt,) = describe_disturbed_hosts(NAMES, disturbed(*pairs), EVERY)
    assert doubt == (
        "10 of 30 directed pairs were disturbed by other work on the hosts, most on n3 (10 of its "
        "10): their readings may be too high"
    )


def test_hosts_that_are_all_busy_are_counted() -> None:
    everything = disturbed(*all_pairs(6))
    (doubt,) = describe_disturbed_hosts(NAMES, everything, everything)
    assert doubt == (
        "30 of 30 directed pairs were disturbed by other work on the hosts, on all 6 hosts: "
        "their readings may be too high"
    )


def test_one_pair_is_one_pair() -> None:
    (doubt,) = describe_disturbed_hosts(NAMES, disturbed((1, 2)), EVERY)
    assert doubt == (
        "1 directed pair was disturbed by other work on the hosts, most on n1 (1 of its 10), n2 "
        "(1 of its 10): its reading may be too high"
    )


def test_pairs_that_no_one_asked_for_are_not_counted() -> None:
    sampled = disturbed((0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4))
    (doubt,) = describe_disturbed_hosts(NAMES, disturbed((0, 1)) | disturbed((1, 0)), sampled)
    assert doubt.startswith("2 of 6 directed pairs were disturbed by other work on the hosts")
    assert "n0 (2 of its 2)" in doubt


def reading(pair: tuple[int, int], rtt_us: float, share: float | None) -> RttReading:
    return RttReading(
        *pair,
        sent=400,
        received=399,
        rtt_us=dict.fromkeys(PERCENTILES, rtt_us),
        disturbance=share,
    )


def collector(earlier: Cluster | None = None, settled: list[None] | None = None) -> RttCollector:
    cluster = earlier or Cluster([Host(name, f"10.0.0.{i}") for i, name in enumerate(NAMES[:3])])
    steps: list[None] = [] if settled is None else settled
    return RttCollector(cluster, [0, 1, 2], PERCENTILES, on_settled=lambda: steps.append(None))


ROUNDS = [[(0, 1)], [(0, 2)], [(1, 2)]]


def test_a_disturbed_pair_is_measured_again_when_resumed() -> None:
    first = collector()
    for pair in all_pairs(3):
        first.reading(reading(pair, 20.0, 0.4 if pair == (0, 1) else 0.0))
    cluster, measurement = first.result(RUN)
    assert first.warnings()
    assert measurement.disturbance is not None
    again = collector(cluster)
    assert again.missing(ROUNDS) == {(0, 1)}
    again.reading(reading((0, 1), 12.0, 0.1))
    assert again.warnings() == []
    assert again.missing(ROUNDS) == frozenset()
    assert again.result(RUN)[1].readings_us[0, 1] == 12.0


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_pass_with_the_least_reading_counts(number: int) -> None:
    run = collector()
    readings = [(20.0, 0.0), (14.0, 0.4), (21.0, 0.1)]
    for rtt_us, share in readings[number:] + readings[:number]:
        run.reading(reading((0, 1), rtt_us, share))
    rtt = run.result(RUN)[1]
    assert rtt.passes is not None
    assert rtt.halves_us is not None
    assert rtt.disturbance is not None
    assert {matrix[0, 1] for matrix in rtt.rtt_us.values()} == {14.0}
    assert rtt.disturbance[0, 1] == 0.4
    assert rtt.samples[0, 1] == 3 * 399
    assert rtt.losses[0, 1] == 3
    assert rtt.passes[0, 1] == 3
    assert rtt.passes.sum() == 3
    odd, even = [(20.0, 14.0), (14.0, 21.0), (14.0, 20.0)][number]
    assert (rtt.halves_us.odd[0, 1], rtt.halves_us.even[0, 1]) == (odd, even)
    assert rtt.disagreement[0, 1] == pytest.approx(max(odd, even) / min(odd, even) - 1)
    assert rtt.precision_percent is not None
    assert rtt.precision_percent[0, 1] == pytest.approx(100 * rtt.disagreement[0, 1], abs=5e-4)


def test_passes_that_agree_take_a_doubt_away() -> None:
    def doubts(*readings: tuple[float, float]) -> bool:
        run = collector()
        for rtt_us, share in readings:
            run.reading(reading((0, 1), rtt_us, share))
        # What reads the file counts the same directions as the warning.
        recorded = run.result(RUN)[1].disturbance
        assert recorded is not None
        assert np.count_nonzero(recorded >= DISTURBED) == len(run.warnings())
        return bool(run.warnings())

    # Noise only adds: that a higher reading was disturbed says nothing of the least.
    assert not doubts((20.0, 0.0), (30.0, 0.4))
    assert doubts((20.0, 0.4), (30.0, 0.0))
    assert not doubts((20.0, 0.4), (20.1, 0.0))
    assert doubts((20.0, 0.4), (20.1, 0.4))


def test_passes_go_on_when_resumed() -> None:
    first = collector()
    first.reading(reading((0, 1), 20.0, 0.0))
    again = collector(first.result(RUN)[0])
    again.reading(reading((0, 1), 25.0, 0.0))
    rtt = again.result(RUN)[1]
    assert rtt.passes is not None
    assert rtt.passes[0, 1] == 2
    assert rtt.readings_us[0, 1] == 20.0
    assert rtt.disagreement[0, 1] == pytest.approx(0.25)


def test_passes_are_told() -> None:
    run = collector()
    for _ in range(2):
        for pair in all_pairs(3):
            run.reading(reading(pair, 20.0, 0.0))
    assert run.describe_precision(2.0) == ["2 passes", "6 of 6 agree within 2 %"]
    run.reading(reading((0, 1), 20.0, 0.0))
    run.reading(reading((0, 1), 19.0, 0.0))
    assert run.describe_precision(2.0) == [
        "2.3 passes on average (2 to 4)",
        "5 of 6 agree within 2 %",
    ]


def test_a_pair_that_is_read_in_the_end_is_no_failure() -> None:
    run = collector()
    run.pair_lost(PairLoss(0, 1, "was silent"))
    run.pair_lost(PairLoss(0, 1, "was silent again"))
    run.pair_lost(PairLoss(1, 0, "was silent"))
    assert [failure.reason for failure in run.failures] == ["was silent", "was silent"]
    run.reading(reading((0, 1), 20.0, 0.0))
    run.pair_lost(PairLoss(0, 1, "was silent"))
    assert [failure.source for failure in run.failures] == [NAMES[1]]


def test_a_second_reading_of_a_pair_is_no_second_step() -> None:
    steps: list[None] = []
    run = collector(settled=steps)
    run.reading(reading((0, 1), 20.0, 0.4))
    run.reading(reading((0, 1), 19.0, 0.0))
    assert len(steps) == 1


def test_where_hosts_do_not_tell_nothing_is_claimed() -> None:
    run = collector()
    run.reading(reading((0, 1), 20.0, None))
    _, measurement = run.result(RUN)
    assert run.warnings() == []
    assert run.describe_precision(2.0) == []
    assert measurement.disturbance is None
    assert measurement.precision_percent is None


@pytest.mark.parametrize("places", [[2, 1, 0], [0, None, 1]])
def test_the_figures_go_with_their_hosts(places: list[int | None]) -> None:
    run = collector()
    run.reading(reading((0, 1), 20.0, 0.4))
    moved = run.result(RUN)[1].for_hosts(places)
    source, destination = places.index(0), places.index(1)
    assert moved.disturbance is not None
    assert moved.passes is not None
    assert moved.halves_us is not None
    assert moved.disturbance[source, destination] == 0.4
    assert moved.passes[source, destination] == moved.passes.sum() == 1
    assert moved.halves_us.odd[source, destination] == 20.0
    assert np.isnan(moved.halves_us.even).all()
    assert np.isnan(moved.disturbance).sum() == 8
