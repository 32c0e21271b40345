"""Measuring uplinks when hosts or transfers fail; the transfers themselves are played."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from probes.errors import HostError
from probes.iperf3.commands import TransferOptions, no_limit
from probes.iperf3.parse import Interval, Report
from probes.iperf3.transfers import OUT_OF_TIME, PortTakenError, TransferError
from probes.samples import HostLoss, PairLoss
from probes.uplinks import tool
from probes.uplinks.samples import Exchange

GROUPS = [[0, 1], [2, 3], [4]]
RATE_GBIT_S = 0.08
# Between the word and the report, beyond what a transfer takes.
SLACK_S = 0.1


@dataclass
class Play:
    """What is to happen, and a clock of its own for every transfer."""

    lost: dict[int, HostError] = field(default_factory=dict)
    # (sender, receiver, duration) to what its transfer ends with.
    failures: dict[tuple[int, int], Exception] = field(default_factory=dict)
    taken_ports: set[int] = field(default_factory=set)
    slack_s: float = SLACK_S
    ran: list[tuple[int, int, int, int]] = field(default_factory=list)
    clock: threading.local = field(default_factory=threading.local)


@dataclass
class Transfer:
    play: Play
    pair: tuple[int, int]
    duration_s: int

    def run(self) -> Report:
        if self.pair in self.play.failures:
            raise self.play.failures[self.pair]
        self.play.clock.now_s = self.duration_s + self.play.slack_s
        size = RATE_GBIT_S * 1e8 / 8
        return Report(
            [Interval(k / 10, (k + 1) / 10, size) for k in range(10 * self.duration_s)], 0
        )


@dataclass
class Sink:
    exchanges: list[Exchange] = field(default_factory=list)
    lost: list[tuple[int, bool, str]] = field(default_factory=list)
    pair_losses: list[PairLoss] = field(default_factory=list)
    host_losses: list[HostLoss] = field(default_factory=list)

    def exchange(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)

    def exchange_lost(self, group: int, *, sends: bool, reason: str) -> None:
        self.lost.append((group, sends, reason))

    def pair_lost(self, loss: PairLoss) -> None:
        self.pair_losses.append(loss)

    def host_lost(self, loss: HostLoss) -> None:
        self.host_losses.append(loss)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    played = Play()

    class Transfers:
        def __init__(self, options: TransferOptions, port: int) -> None:
            pass

        def stop(self) -> None:
            pass

        @contextmanager
        def prepared(
            self, sender: int, receiver: int, port: int, options: TransferOptions
        ) -> Iterator[Transfer]:
            if port in played.taken_ports:
                raise PortTakenError(f"port {port} is taken")
            played.clock.now_s = 0.0
            played.ran.append((sender, receiver, port, options.duration_s))
            yield Transfer(played, (sender, receiver), options.duration_s)

    def find_ends(hosts: list[Any], _: int) -> tuple[dict[int, Any], dict[int, HostError]]:
        ends = {index: index for index in range(len(hosts)) if index not in played.lost}
        return ends, played.lost

    monkeypatch.setattr(tool, "Transfers", Transfers)
    monkeypatch.setattr(tool, "find_ends", find_ends)
    monkeypatch.setattr(tool, "time", SimpleNamespace(monotonic=lambda: played.clock.now_s))
    return played


def measure(*wanted: tuple[int, bool], left_s: Callable[[], float] = no_limit) -> Sink:
    sink = Sink()
    hosts = cast("Any", [SimpleNamespace(name=f"h{k}") for k in range(5)])
    options = tool.UplinkOptions(TransferOptions(1, streams=1, silence_s=1.0, left_s=left_s))
    tool.measure(hosts, GROUPS, wanted, options, sink)
    return sink


def test_rates_of_all_transfers_add_up(play: Play) -> None:
    sink = measure((0, True), (2, False))
    sent, received = sink.exchanges
    assert (sent.group, sent.sends, sent.is_whole) == (0, True, True)
    assert {flow.member for flow, _ in sent.rates} == {0, 1}
    assert sent.gbit_s == pytest.approx(2 * RATE_GBIT_S)
    assert received.gbit_s == pytest.approx(2 * RATE_GBIT_S)
    assert {(sender, receiver) for sender, receiver, *_ in play.ran} == {
        *((0, 2), (1, 4)),
        *((0, 4), (2, 4)),
    }


def test_every_transfer_of_a_sender_has_its_own_port(play: Play) -> None:
    measure((2, True))
    assert sorted(port for *_, port, _ in play.ran) == [5201, 5202]
    play.ran.clear()
    play.taken_ports = {5201}
    measure((2, True))
    assert sorted(port for *_, port, _ in play.ran) == [5202, 5203]


def test_a_host_that_cannot_take_part_makes_its_group_less_than_whole(play: Play) -> None:
    play.lost = {1: HostError("h1", "iperf3 is not installed there")}
    sink = measure((0, True), (1, True))
    assert sink.host_losses == [HostLoss(1, "iperf3 is not installed there")]
    assert [exchange.is_whole for exchange in sink.exchanges] == [False, True]
    assert not any(1 in pair[:2] for pair in play.ran)


def test_a_group_without_hosts_is_lost(play: Play) -> None:
    play.lost = {4: HostError("h4", "gone")}
    sink = measure((2, True), (0, True))
    assert [(group, sends) for group, sends, _ in sink.lost] == [(2, True)]
    assert len(sink.exchanges) == 1


def test_a_host_that_dies_is_named_once_and_left_out(play: Play) -> None:
    play.failures = {(1, 4): HostError("h1", "the connection was lost")}
    sink = measure((0, True), (0, False))
    assert sink.host_losses == [HostLoss(1, "the connection was lost")]
    assert [(loss.source, loss.destination) for loss in sink.pair_losses] == [(1, 4)]
    assert [exchange.is_whole for exchange in sink.exchanges] == [False, False]
    assert {flow.member for flow, _ in sink.exchanges[1].rates} == {0}


def test_a_failed_transfer_costs_no_host(play: Play) -> None:
    play.failures = {(1, 4): TransferError("nothing comes through", is_silence=True)}
    sink = measure((0, True), (0, False))
    assert not sink.host_losses
    assert [exchange.is_whole for exchange in sink.exchanges] == [False, True]


def test_no_transfer_succeeds(play: Play) -> None:
    failure = TransferError("no")
    play.failures = {(i, j): failure for i in range(5) for j in range(5)}
    sink = measure((0, True))
    assert sink.lost == [(0, True, "no transfer succeeded")]


def test_transfers_that_begin_too_far_apart_are_made_longer(play: Play) -> None:
    play.slack_s = 0.5
    sink = measure((0, True))
    assert {duration_s for *_, duration_s in play.ran} == {1, 2}
    assert sink.exchanges[0].gbit_s == pytest.approx(2 * RATE_GBIT_S)
    play.slack_s = 3.0
    assert measure((0, True)).lost == [(0, True, "its transfers hardly overlapped")]


def test_an_exchange_is_made_longer_only_while_there_is_time(play: Play) -> None:
    play.slack_s = 0.5
    left_s = iter([4.0, 2.5, 1.9])
    assert measure((0, True), left_s=lambda: next(left_s)).lost == [(0, True, OUT_OF_TIME)]
    assert {duration_s for *_, duration_s in play.ran} == {1}


def test_an_exchange_that_ends_late_does_not_count(play: Play) -> None:
    left_s = iter([1.5, 0.0])
    assert measure((0, True), left_s=lambda: next(left_s)).lost == [(0, True, OUT_OF_TIME)]
    assert play.ran
