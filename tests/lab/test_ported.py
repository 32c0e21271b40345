"""Every interface of a host with several is a link of its own, and carries its own traffic."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence

import pytest

from labkit.ported import PortedHost, PortedRack, ported_racks, worker_and_server_rates
from support.require import require_root

pytestmark = [pytest.mark.lab, pytest.mark.timing]

MBIT = 1_000_000
SECONDS = 1.2


class Flow:
    """Sends as fast as it goes from one address to another, and counts what arrives."""

    def __init__(self, source: PortedHost, by: int, target: PortedHost, to: int) -> None:
        listener = target.namespace.socket(socket.AF_INET, socket.SOCK_STREAM)
        with listener:
            listener.bind((target.addresses[to], 0))
            listener.listen(1)
            self._out = source.namespace.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._out.bind((source.addresses[by], 0))
            self._out.settimeout(5.0)
            self._out.connect(listener.getsockname())
            self._in, _ = listener.accept()
        self._in.settimeout(5.0)
        self.received_bytes = 0
        self.began = self.ended = 0.0

    def send(self) -> None:
        """Until the time is over."""
        block = bytes(65536)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            self._out.sendall(block)
        self._out.shutdown(socket.SHUT_WR)

    def receive(self) -> None:
        """Until nothing more comes."""
        self.began = time.monotonic()
        while got := len(self._in.recv(1 << 18)):
            self.received_bytes += got
        self.ended = time.monotonic()
        self._in.close()
        self._out.close()

    @property
    def rate_mbit_s(self) -> float:
        """Of the payload."""
        return 8 * self.received_bytes / (self.ended - self.began) / MBIT


def run(flows: Sequence[Flow]) -> list[float]:
    """The rates of flows that go at the same time, in Mbit/s."""
    threads = [threading.Thread(target=act) for flow in flows for act in (flow.send, flow.receive)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [flow.rate_mbit_s for flow in flows]


def payload_through(host: PortedHost, before: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Sent and received bytes by interface since then."""
    return [
        [after - then for after, then in zip(now, old, strict=True)]
        for now, old in zip(host.bytes_through(), before, strict=True)
    ]


@pytest.fixture(autouse=True)
def _root() -> None:
    require_root()


def test_ports_carry_their_own_rates_at_the_same_time_either_way() -> None:
    rates = [40 * MBIT, 80 * MBIT, 20 * MBIT]
    with ported_racks([PortedRack(worker_and_server_rates(3, 100 * MBIT, rates))]) as hosts:
        *workers, server = hosts
        # One way after the other: acknowledgements would wait behind what goes the other way.
        into = run([Flow(worker, 0, server, port) for port, worker in enumerate(workers)])
        out = run([Flow(server, port, worker, 0) for port, worker in enumerate(workers)])
    for reached in (into, out):
        for got, rate in zip(reached, rates, strict=True):
            # What a bucket lets through at once adds to it.
            assert 0.8 * rate / MBIT < got < 1.15 * rate / MBIT, (into, out)


def test_a_worker_is_no_faster_than_its_own_interface() -> None:
    with ported_racks([PortedRack([[50 * MBIT], [None, None]])]) as (worker, server):
        flows = [Flow(worker, 0, server, 0), Flow(worker, 0, server, 1)]
        assert 40 < sum(run(flows)) < 58


@pytest.mark.parametrize("port", [0, 1])
def test_traffic_of_a_port_uses_that_interface_only(port: int) -> None:
    with ported_racks([PortedRack([[60 * MBIT], [60 * MBIT] * 2])]) as (worker, server):
        before = server.bytes_through()
        run([Flow(worker, 0, server, port), Flow(server, port, worker, 0)])
        carried = payload_through(server, before)
    for number, ways in enumerate(carried):
        for way_bytes in ways:
            if number == port:
                assert way_bytes > 3 * MBIT
            else:
                # A broadcast that asks for an address, at most.
                assert way_bytes < 2000


def test_what_asks_for_no_address_leaves_by_the_first_interface() -> None:
    with ported_racks([PortedRack([[None], [None, None]])]) as (worker, server):
        before = server.bytes_through()
        listener = worker.namespace.socket(socket.AF_INET, socket.SOCK_STREAM)
        caller = server.namespace.socket(socket.AF_INET, socket.SOCK_STREAM)
        with listener, caller:
            listener.bind((worker.addresses[0], 0))
            listener.listen(1)
            caller.settimeout(5.0)
            caller.connect(listener.getsockname())
            assert caller.getsockname()[0] == server.addresses[0]
            caller.sendall(bytes(100_000))
            time.sleep(0.2)
        first, second = payload_through(server, before)
    assert first[0] > 100_000
    assert second[0] < 2000


def test_racks_share_their_uplinks() -> None:
    rack = PortedRack([[100 * MBIT], [100 * MBIT], [100 * MBIT] * 2], uplink_rate_bits=60 * MBIT)
    with ported_racks([rack, rack], congestion_control="reno") as hosts:
        assert [host.rack for host in hosts] == [0, 0, 0, 1, 1, 1]
        server = hosts[5]
        across = run([Flow(hosts[0], 0, server, 0), Flow(hosts[1], 0, server, 1)])
        within = run([Flow(hosts[3], 0, server, 0), Flow(hosts[4], 0, server, 1)])
        control = hosts[0].namespace.run("cat /proc/sys/net/ipv4/tcp_congestion_control")
    assert 45 < sum(across) < 69
    assert 160 < sum(within) < 230
    assert control.strip() == "reno"


def test_a_rate_can_change_while_it_stands() -> None:
    with ported_racks([PortedRack([[80 * MBIT], [80 * MBIT]])]) as (one, other):
        one.set_rate(0, 20 * MBIT)
        (there,) = run([Flow(one, 0, other, 0)])
        (back,) = run([Flow(other, 0, one, 0)])
    assert there < 24
    assert back > 60


def test_no_hosts_or_too_many_are_refused() -> None:
    for rack in (PortedRack([]), PortedRack([[None]] * 255)):
        with pytest.raises(ValueError, match="expected 1 to 254"), ported_racks([rack]):
            pass
