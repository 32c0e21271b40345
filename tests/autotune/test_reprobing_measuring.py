"""What is kept of measuring again when time runs out or a part of it fails; measuring is played."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autotune.test_reprobing_rules import RACKS, cluster_in, with_rates
from plink.autotune.reprobing import measuring
from plink.autotune.reprobing.measuring import Measured, SecondsLeft, measure_again
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.measurements import Failure, RttMeasurement
from plink.measure.probing.request import ProbeRequest
from plink.probes.errors import ProbesError
from plink.probes.iperf3.tool import OUT_OF_TIME
from plink.probes.options import SshOptions

OPTIONS = {"duration_s": 1, "streams": 1, "direction": "each"}
NEW_GBIT_S = 4.0


@dataclass
class Network:
    """What tools find: every round-trip time is as before, transfers reach `NEW_GBIT_S`.

    Args:
        failing: tools that raise this.
        late: tools that run out of time for the last thing that they measure.
        used: with how many seconds left each tool began.
    """

    before: Cluster
    failing: dict[str, Exception] = field(default_factory=dict)
    late: Sequence[str] = ()
    used: dict[str, float] = field(default_factory=dict)
    # What the next measurements read; afterwards what there was before.
    readings: list[RttMeasurement] = field(default_factory=list)

    def pairs(
        self, request: ProbeRequest, _: object, __: object, keep: Callable[[Any], None]
    ) -> None:
        self._use(request)
        earlier = request.earlier
        assert earlier is not None
        if request.tool != "iperf3":
            rtt = self.readings.pop(0) if self.readings else self.before.rtt
            keep(SimpleNamespace(cluster=replace(earlier, rtt=rtt), measurement=rtt))
            return
        assert earlier.bandwidth is not None
        missing = np.argwhere(np.isnan(earlier.bandwidth.gbit_s)).tolist()
        missing = [pair for pair in missing if pair[0] != pair[1]]
        gbit_s, failures = earlier.bandwidth.gbit_s.copy(), []
        for source, destination in missing[:-1] if "iperf3" in self.late else missing:
            gbit_s[source, destination] = NEW_GBIT_S
        if "iperf3" in self.late:
            failures = [Failure("h0", OUT_OF_TIME, destination="h1")]
        found = replace(earlier.bandwidth, gbit_s=gbit_s, failures=failures)
        keep(SimpleNamespace(cluster=replace(earlier, bandwidth=found), measurement=found))

    def uplinks(
        self, request: ProbeRequest, _: object, __: object, keep: Callable[[Any], None]
    ) -> None:
        self._use(request)
        assert request.earlier is not None
        assert request.earlier.uplinks is not None
        failures = [Failure("a", f"not known: {OUT_OF_TIME}")] if "uplinks" in self.late else []
        measured = replace(request.earlier.uplinks, failures=failures)
        after = replace(request.earlier, uplinks=measured)
        keep(SimpleNamespace(cluster=after, measurement=measured))

    def _use(self, request: ProbeRequest) -> None:
        self.used[request.tool] = request.left_s()
        if request.tool in self.failing:
            raise self.failing[request.tool]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    cluster = with_rates(cluster_in(RACKS), 10.0, 20.0)
    assert cluster.bandwidth is not None
    assert cluster.uplinks is not None
    played = Network(
        replace(
            cluster,
            bandwidth=replace(cluster.bandwidth, options=OPTIONS),
            uplinks=replace(cluster.uplinks, options=OPTIONS),
        )
    )

    @contextlib.contextmanager
    def connected(_: object, __: object) -> Iterator[Any]:
        hosts = [SimpleNamespace(name=name) for name in cluster.names]
        yield SimpleNamespace(hosts=hosts, failures=[])

    monkeypatch.setattr(measuring, "connect_hosts", connected)
    monkeypatch.setattr(measuring, "measure_pairs", played.pairs)
    monkeypatch.setattr(measuring, "measure_uplinks", played.uplinks)
    return played


def again(network: Network, left_s: float) -> Measured:
    """The first two hosts, while training is paused for that long."""

    @contextlib.contextmanager
    def quiet() -> Iterator[SecondsLeft]:
        yield lambda: left_s

    return measure_again(network.before, "c.json", ["h0", "h1"], SshOptions(), quiet)


def host_gbit_s(done: Measured) -> float:
    assert done.found.cluster.bandwidth is not None
    return float(np.nanmax(done.found.cluster.bandwidth.gbit_s[0]))


def test_transfers_know_how_long_training_holds_still(network: Network) -> None:
    done = again(network, 7.0)
    assert (network.used["iperf3"], network.used["uplinks"]) == (7.0, 7.0)
    assert network.used["echo"] == np.inf
    assert (done.has_rates, done.paused_s, done.failures) == (True, 7.0, [])
    assert host_gbit_s(done) == NEW_GBIT_S


def test_there_are_no_transfers_while_training_runs(network: Network) -> None:
    done = again(network, 0.0)
    assert list(network.used) == ["echo"]
    assert (done.has_rates, done.paused_s) == (False, 0.0)
    assert host_gbit_s(done) == 10.0


@pytest.mark.parametrize("tool", ["iperf3", "uplinks"])
def test_a_lack_of_time_is_no_failure_of_pairs(network: Network, tool: str) -> None:
    network.late = [tool]
    done = again(network, 1.0)
    assert (done.has_rates, done.failures) == (False, [])
    after = done.found.cluster
    assert after.bandwidth is not None
    assert after.uplinks is not None
    assert [*after.bandwidth.failures, *after.uplinks.failures] == []


@pytest.mark.parametrize(
    ("tool", "error"),
    [
        ("iperf3", ProbesError("no iperf3 anywhere")),
        ("uplinks", PlinkError("fewer than two groups have a reached host")),
    ],
)
def test_links_that_cannot_be_measured_cost_nothing_else(
    network: Network, tool: str, error: Exception
) -> None:
    network.failing = {tool: error}
    done = again(network, 7.0)
    [warning] = done.without
    assert str(error) in warning
    assert list(network.used) == ["echo", "iperf3", "uplinks"]
    assert done.found.cluster.groups == network.before.groups
    assert host_gbit_s(done) == (10.0 if tool == "iperf3" else NEW_GBIT_S)


def slowed(rtt: RttMeasurement, hosts: list[int], factor: float) -> RttMeasurement:
    """Readings of a time in which these hosts answered later."""
    is_slow = np.zeros(len(rtt.readings_us), dtype=np.bool_)
    is_slow[hosts] = True
    times = np.where(is_slow[:, None] | is_slow[None, :], factor, 1.0)
    return replace(rtt, rtt_us={key: times * us for key, us in rtt.rtt_us.items()})


@pytest.mark.parametrize("is_slow_again", [False, True])
def test_hosts_have_moved_if_two_measurements_say_so(network: Network, is_slow_again: bool) -> None:
    assert network.before.rtt is not None
    slow = slowed(network.before.rtt, [0, 1], 3.0)
    network.readings = [slow, slow] if is_slow_again else [slow]
    done = again(network, 0.0)
    assert network.readings == []
    assert bool(done.found.moved) == is_slow_again


@pytest.mark.parametrize("has_rates", [False, True])
def test_a_second_measurement_is_left_out_only_for_what_links_carry(
    network: Network, has_rates: bool
) -> None:
    """The first takes most of the time for which training is paused."""
    if not has_rates:
        network.before = replace(network.before, bandwidth=None, uplinks=None)
    assert network.before.rtt is not None
    network.readings = [slowed(network.before.rtt, [0, 1], 3.0), network.before.rtt]
    lefts_s = [9.0, 9.0]

    @contextlib.contextmanager
    def quiet() -> Iterator[SecondsLeft]:
        yield lambda: lefts_s.pop() if lefts_s else 3.0

    done = measure_again(network.before, "c.json", ["h0", "h1"], SshOptions(), quiet)
    assert len(network.readings) == has_rates
    assert bool(done.found.moved) == has_rates
