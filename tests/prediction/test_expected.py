"""Times that are expected of fitted clients, and the fits themselves, on generated truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.cli import run
from plink.formats.clients import (
    Estimate,
    FitSample,
    SizeSpread,
    build_exact_estimate,
    build_free_client,
    with_estimates,
)
from plink.formats.cluster import Cluster
from plink.measure.importing.described import import_network
from plink.optimize.expected import ExpectedTimes, beyond_spread, spread_at
from plink.optimize.fitting import Costs, Reading, fit_client
from plink.solvers.collectives.registry import find
from plink.solvers.contention.flows import FlowClock

TEXT = """\
latency_us = [10, 25]
host_gbit_s = 0.4
uplink_gbit_s = 0.4
burst_bytes = 1000
[[groups]]
name = "r1"
hosts = "n[1-4]"
[[groups]]
name = "r2"
hosts = "n[5-8]"
[clients.openmpi]
overhead_us = 200
spread = 0.1
"""
CASES = (
    ("ring", [0, 1, 2, 3]),
    ("ring", [0, 4, 1, 5, 2, 6, 3, 7]),
    ("recursive-doubling", list(range(8))),
    ("rabenseifner", [0, 4, 1, 5, 2, 6, 3, 7]),
)
SIZES = (65_000, 1_000_000, 4_000_000)


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return import_network(TEXT.encode(), "net.toml")


def readings_of(
    cluster: Cluster, truth: dict[str, float], noise: float, seed: int
) -> list[Reading]:
    """What a client with these costs would take, off by so much."""
    chance = np.random.default_rng(seed)
    fit = with_estimates(
        build_free_client("openmpi"),
        {name: build_exact_estimate(value) for name, value in truth.items()},
    )
    times = ExpectedTimes(cluster, fit)
    found = []
    for algorithm, hosts in CASES:
        for size_bytes in SIZES:
            table = find(f"openmpi-{algorithm}").table(len(hosts), size_bytes)
            clock = FlowClock(table, hosts, times.network.latency_s, times.links)
            seconds = [
                clock.time_s(times.software_costs, int(chance.integers(1 << 30)))
                * float(np.exp(noise * chance.normal()))
                for _ in range(4)
            ]
            names = [cluster.names[host] for host in hosts]
            found.append(Reading(FitSample(algorithm, names, size_bytes, seconds), hosts))
    return found


@pytest.mark.parametrize(
    ("overhead_us", "serialised", "flow_share"), [(50.0, 0.0, 1.0), (1000.0, 0.8, 0.9)]
)
def test_a_fit_finds_what_times_were_made_of(
    cluster: Cluster, overhead_us: float, serialised: float, flow_share: float
) -> None:
    truth = {"overhead_us": overhead_us, "serialised": serialised, "flow_share": flow_share}
    found = fit_client(cluster, "openmpi", readings_of(cluster, truth, 0.03, 1), Costs())
    assert found.flow_share.value == pytest.approx(flow_share, abs=0.06)
    assert found.serialised.value == pytest.approx(serialised, abs=0.25)
    assert found.overhead_us.value == pytest.approx(overhead_us, rel=0.2, abs=200.0)
    assert found.flow_share.low <= found.flow_share.value <= found.flow_share.high
    # Of larger buffers and other algorithms it then tells times right.
    after = ExpectedTimes(cluster, found)
    before = ExpectedTimes(
        cluster,
        with_estimates(found, {name: build_exact_estimate(value) for name, value in truth.items()}),
    )
    order = [0, 4, 1, 5, 2, 6, 3]
    for name in ("openmpi-recursive-doubling", "openmpi-rabenseifner", "openmpi-ring"):
        one, other = (
            times.of_algorithm(find(name), 7, 20_000_000, order) for times in (after, before)
        )
        assert one.seconds == pytest.approx(other.seconds, rel=0.15)


def test_intervals_hold_what_they_promise(cluster: Cluster) -> None:
    truth = {"overhead_us": 300.0, "serialised": 0.7, "flow_share": 0.95}
    times = ExpectedTimes(
        cluster, fit_client(cluster, "openmpi", readings_of(cluster, truth, 0.1, 2), Costs())
    )
    within = []
    for reading in readings_of(cluster, truth, 0.1, 3):
        name = f"openmpi-{reading.sample.algorithm}"
        expected = times.of_algorithm(
            find(name), len(reading.hosts), reading.sample.size_bytes, reading.hosts
        )
        assert expected.low_s is not None
        assert expected.high_s is not None
        within += [expected.low_s <= each <= expected.high_s for each in reading.sample.seconds]
    assert np.mean(within) >= 0.8


def test_nothing_is_told_where_ranks_mostly_wait_for_processors(cluster: Cluster) -> None:
    slow = with_estimates(
        build_free_client("openmpi"), {"overhead_us": build_exact_estimate(5000.0)}
    )
    shared = replace(slow, shared_cores=2, spreads=[SizeSpread(1, 0.1)])
    order = list(range(8))
    algorithm = find("openmpi-rabenseifner")
    told = ExpectedTimes(cluster, shared).of_algorithm(algorithm, 8, 4_000, order)
    assert told.seconds is None
    assert "8 ranks share 2 cores" in str(told.refused)
    alone = replace(shared, shared_cores=None)
    assert ExpectedTimes(cluster, alone).of_algorithm(algorithm, 8, 4_000, order).seconds
    assert ExpectedTimes(cluster, shared).of_algorithm(algorithm, 8, 20_000_000, order).seconds


SPINNING_TEXT = """\
latency_us = [10, 25]
host_gbit_s = 0.4
uplink_gbit_s = 0.6
burst_bytes = 262144
[[groups]]
name = "r1"
hosts = "n[1-12]"
[[groups]]
name = "r2"
hosts = "n[13-24]"
"""


def turn_readings(
    cluster: Cluster, turn_us: float, runs: list[tuple[str, list[int], int]], seed: int
) -> list[Reading]:
    """What ranks that take turns on two cores would take."""
    chance = np.random.default_rng(seed)
    fit = replace(
        build_free_client("mpich"),
        turn_us=build_exact_estimate(turn_us),
        flow_share=build_exact_estimate(0.95),
        shared_cores=2,
    )
    times = ExpectedTimes(cluster, fit)
    found = []
    for algorithm, hosts, size_bytes in runs:
        table = find(f"mpich-{algorithm}").table(len(hosts), size_bytes)
        clock = FlowClock(table, hosts, times.network.latency_s, times.links)
        turn = int(chance.integers(1 << 30))
        seconds = [
            clock.time_s(times.software_costs, turn, times.links)
            * float(np.exp(0.05 * chance.normal()))
            for _ in range(4)
        ]
        names = [cluster.names[host] for host in hosts]
        found.append(Reading(FitSample(algorithm, names, size_bytes, seconds), hosts))
    return found


def test_what_few_ranks_show_of_turns_tells_times_of_many() -> None:
    turn_us = 10_000.0
    cluster = import_network(SPINNING_TEXT.encode(), "net.toml")
    eight = [0, 12, 1, 13, 2, 14, 3, 15]
    names = ("ring", "recursive-doubling", "reduce-scatter-allgather")
    runs = [(name, eight, size) for name in names for size in (64_000, 1_000_000, 4_000_000)]
    runs += [(name, (eight * 3)[:22], 64_000) for name in names]
    found = fit_client(
        cluster, "mpich", turn_readings(cluster, turn_us, runs, 1), Costs(), shared_cores=2
    )
    assert found.turn_us is not None
    assert found.turn_us.value == pytest.approx(turn_us, rel=0.15)
    assert found.turn_us.low < found.turn_us.value < found.turn_us.high
    assert found.flow_share.value == pytest.approx(0.95, abs=0.06)
    times = ExpectedTimes(cluster, found)
    order = np.random.default_rng(3).permutation(24).tolist()
    cases = [(name, order, size) for name in names for size in (64_000, 1_000_000, 20_000_000)]
    errors, within = [], []
    for reading in turn_readings(cluster, turn_us, cases, 2):
        algorithm = find(f"mpich-{reading.sample.algorithm}")
        told = times.of_algorithm(algorithm, 24, reading.sample.size_bytes, order)
        assert told.seconds is not None
        assert told.low_s is not None
        assert told.high_s is not None
        errors.append(abs(told.seconds / float(np.median(reading.sample.seconds)) - 1.0))
        within += [told.low_s <= each <= told.high_s for each in reading.sample.seconds]
    assert np.median(errors) <= 0.10
    assert max(errors) <= 0.25
    assert np.mean(within) >= 0.9


def test_turns_that_are_not_known_tell_no_time() -> None:
    cluster = import_network(SPINNING_TEXT.encode(), "net.toml")
    vague = replace(
        build_free_client("mpich"),
        turn_us=Estimate(4000.0, 500.0, 32_000.0),
        shared_cores=2,
        spreads=[SizeSpread(1, 0.1)],
    )
    order, algorithm = list(range(24)), find("mpich-ring")
    told = ExpectedTimes(cluster, vague).of_algorithm(algorithm, 24, 64_000, order)
    assert told.seconds is None
    assert "24 ranks take turns on 2 cores" in str(told.refused)
    # Ranks that have cores of their own take none.
    free = replace(vague, shared_cores=24)
    assert ExpectedTimes(cluster, free).of_algorithm(algorithm, 24, 64_000, order).seconds


def test_processors_that_ranks_share_limit_what_is_told(cluster: Cluster) -> None:
    heavy = replace(
        build_free_client("gloo"),
        processor_s_per_gb=build_exact_estimate(100.0),
        shared_cores=2,
        spreads=[SizeSpread(1, 0.1)],
    )
    told = ExpectedTimes(cluster, heavy).of_algorithm(
        find("gloo-ring"), 8, 10_000_000, list(range(8))
    )
    assert told.seconds == pytest.approx(4.0)


def test_spreads_are_between_those_of_known_sizes() -> None:
    fit = replace(
        build_free_client("gloo"), spreads=[SizeSpread(1_000, 0.3), SizeSpread(1_000_000, 0.1)]
    )
    assert spread_at(fit, 10) == pytest.approx(0.3)
    assert spread_at(fit, 1 << 40) == pytest.approx(0.1)
    assert 0.1 < spread_at(fit, 30_000) < 0.3


def test_spreads_grow_beyond_what_was_measured() -> None:
    sample = FitSample("ring", ["n1", "n2"], 1_000_000, [0.1])
    fit = replace(build_free_client("gloo"), spreads=[SizeSpread(1_000_000, 0.1)], samples=[sample])
    assert beyond_spread(fit, 900_000) == 0.0
    assert beyond_spread(fit, 4_000_000) == pytest.approx(2.0 * beyond_spread(fit, 2_000_000))
    assert 0.0 < beyond_spread(fit, 4_000_000) < beyond_spread(fit, 1 << 40) <= 0.1
    assert beyond_spread(replace(fit, samples=[]), 1 << 40) == 0.0


def test_a_fit_needs_readings(cluster: Cluster) -> None:
    with pytest.raises(PlinkError, match="no usable all-reduce times"):
        fit_client(cluster, "openmpi", [], Costs())


def test_predict_tells_times_of_a_described_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.toml"
    path.write_text(TEXT)
    words = ["predict", "--network", str(path), "--size", "20MB", "--algo", "openmpi-ring"]
    assert run([*words, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["expected"]["low_s"] < row["expected"]["seconds"] < row["expected"]["high_s"]
    assert row["expected"]["seconds"] == pytest.approx(row["given"]["time_s"], rel=0.05)
    assert run(words) == 0
    assert "90 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--cluster", "c.json"], "--network and --cluster exclude each other"),
        (["other.toml"], "is not JSON"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    for name in ("net.toml", "other.toml"):
        (tmp_path / name).write_text(TEXT)
    more = [str(tmp_path / word) if word.endswith(".toml") else word for word in more]
    assert run(["predict", "--network", str(tmp_path / "net.toml"), "--size", "1MB", *more]) != 0
    assert message in capsys.readouterr().err
