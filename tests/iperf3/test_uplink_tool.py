"""Measuring uplinks when hosts or transfers fail; the transfers themselves are played."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from plink.probes.errors import HostError
from plink.probes.facts import HostFacts
from plink.probes.iperf3 import tool as iperf3
from plink.probes.iperf3.parse import Interval, TransferReport
from plink.probes.iperf3.tool import OUT_OF_TIME, PortTakenError, TransferError
from plink.probes.options import Iperf3Options
from plink.probes.samples import BandwidthReading, HostLoss, PairLoss, no_limit
from plink.probes.uplinks import tool
from plink.probes.uplinks.plan import ExchangeTurn, GroupExchange
from plink.probes.uplinks.tool import SimultaneousTransfers

GROUPS = [[0, 1], [2, 3], [4]]
RATE_GBIT_S = 0.08


@dataclass
class Play:
    """What is to happen, and a clock of its own for every transfer."""

    lost: dict[int, HostError] = field(default_factory=dict)
    # (sender, receiver, duration) to what its transfer ends with.
    failures: dict[tuple[int, int], Exception] = field(default_factory=dict)
    # The same for the first transfers of (sender, receiver) only, in this order.
    first_failures: dict[tuple[int, int], list[Exception]] = field(default_factory=dict)
    # How many times as much the first transfers of (sender, receiver) carry, in this order.
    sizes: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    taken_ports: set[int] = field(default_factory=set)
    # How much later than others the transfers of this sender begin and end.
    late: int | None = None
    late_s: float = 0.0
    cpu_percent: tuple[float, float] = (0.0, 0.0)
    ran: list[tuple[int, int, int, int]] = field(default_factory=list)
    clock: threading.local = field(default_factory=threading.local)

    def count_attempts(self) -> Counter[tuple[int, int]]:
        return Counter((sender, receiver) for sender, receiver, *_ in self.ran)


@dataclass
class Transfer:
    play: Play
    pair: tuple[int, int]
    duration_s: int

    def __call__(self) -> TransferReport:
        if self.pair in self.play.failures:
            raise self.play.failures[self.pair]
        if self.play.first_failures.get(self.pair):
            raise self.play.first_failures[self.pair].pop(0)
        is_late = self.pair[0] == self.play.late
        self.play.clock.now_s = self.duration_s + (self.play.late_s if is_late else 0.0)
        sizes = self.play.sizes.get(self.pair)
        size = (sizes.pop(0) if sizes else 1.0) * RATE_GBIT_S * 1e8 / 8
        return TransferReport(
            [Interval(k / 10, (k + 1) / 10, size) for k in range(10 * self.duration_s)],
            0,
            self.play.cpu_percent,
        )


@dataclass
class Sink:
    exchanges: list[GroupExchange] = field(default_factory=list)
    lost: list[tuple[int, bool, str]] = field(default_factory=list)
    pair_losses: list[PairLoss] = field(default_factory=list)
    host_losses: list[HostLoss] = field(default_factory=list)
    readings: list[BandwidthReading] = field(default_factory=list)

    def take(self, results: Iterable[tool.GroupResult | BandwidthReading]) -> None:
        for result in results:
            if isinstance(result, GroupExchange):
                self.exchanges.append(result)
            elif isinstance(result, tool.ExchangeLoss):
                self.lost.append((result.group, result.sends, result.reason))
            elif isinstance(result, PairLoss):
                self.pair_losses.append(result)
            else:
                self.readings.append(result)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    played = Play()

    class Transfers:
        def __init__(self, *_: object) -> None:
            pass

        def stop(self) -> None:
            pass

        @contextmanager
        def prepare(
            self, sender: int, receiver: int, port: int, duration_s: int
        ) -> Iterator[Transfer]:
            if port in played.taken_ports:
                raise PortTakenError(f"port {port} is taken")
            played.ran.append((sender, receiver, port, duration_s))
            yield Transfer(played, (sender, receiver), duration_s)

    def find_transfer_hosts(
        hosts: list[Any], _: int
    ) -> tuple[dict[int, Any], dict[int, HostError]]:
        ends = {index: index for index in range(len(hosts)) if index not in played.lost}
        return ends, played.lost

    monkeypatch.setattr(iperf3, "Transfers", Transfers)
    monkeypatch.setattr(iperf3, "find_transfer_hosts", find_transfer_hosts)
    monkeypatch.setattr(tool, "time", SimpleNamespace(monotonic=lambda: played.clock.now_s))
    return played


def between(
    sink: Sink, left_s: Callable[[], float] = no_limit, machine: str = ""
) -> SimultaneousTransfers:
    facts = HostFacts("x86_64", machine, cores=2, addresses=[])
    hosts = cast("Any", [SimpleNamespace(name=f"h{k}", facts=facts) for k in range(5)])
    return SimultaneousTransfers(
        hosts, Iperf3Options(), sink.host_losses.append, silence_s=1.0, left_s=left_s
    )


def measure(*wanted: tuple[int, bool], left_s: Callable[[], float] = no_limit) -> Sink:
    return measure_turns(*(ExchangeTurn((group,), sends) for group, sends in wanted), left_s=left_s)


def measure_turns(
    *turns: ExchangeTurn, left_s: Callable[[], float] = no_limit, machine: str = ""
) -> Sink:
    sink = Sink()
    with between(sink, left_s, machine) as found:
        sink.take(tool.measure_groups(found, GROUPS, turns, 1))
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
    play.failures = {(1, 4): TransferError("no data arrived", is_silence=True)}
    sink = measure((0, True), (0, False))
    assert not sink.host_losses
    assert [exchange.is_whole for exchange in sink.exchanges] == [False, True]


def test_a_group_whose_transfers_carried_nothing_together_has_no_rate(play: Play) -> None:
    play.sizes = {(0, 2): [0.0], (1, 4): [0.0]}
    assert measure((0, True)).lost == [(0, True, "no data arrived")]
    play.sizes = {(0, 2): [0.0]}
    (exchange,) = measure((0, True)).exchanges
    assert exchange.gbit_s == pytest.approx(RATE_GBIT_S)


def silence() -> TransferError:
    return TransferError("no data arrived", is_silence=True)


def test_an_exchange_in_which_a_transfer_failed_once_is_run_again_as_a_whole(play: Play) -> None:
    play.first_failures = {(1, 4): [silence()]}
    sink = measure((0, True))
    assert (sink.pair_losses, sink.lost) == ([], [])
    assert [exchange.is_whole for exchange in sink.exchanges] == [True]
    assert play.count_attempts() == {(0, 2): 2, (1, 4): 2}


def test_a_transfer_that_fails_twice_is_lost_once(play: Play) -> None:
    play.failures = {(1, 4): silence()}
    sink = measure((0, True))
    assert sink.pair_losses == [PairLoss(1, 4, "no data arrived")]
    assert [exchange.is_whole for exchange in sink.exchanges] == [False]
    assert play.count_attempts() == {(0, 2): 2, (1, 4): 2}


@pytest.mark.parametrize("failure", [PortTakenError("taken"), TransferError(OUT_OF_TIME)])
def test_what_a_second_try_does_not_change_is_not_tried_again(
    play: Play, failure: TransferError
) -> None:
    play.failures = {(1, 4): failure, (2, 3): failure}
    assert measure((0, True)).pair_losses == [PairLoss(1, 4, str(failure))]
    assert links_of().pair_losses == [PairLoss(2, 3, str(failure))]
    assert set(play.count_attempts().values()) == {1}


def test_a_host_that_failed_twice_is_tried_once_only_until_it_succeeds(play: Play) -> None:
    play.failures = {(1, 4): silence()}
    sink = measure_turns(*[ExchangeTurn((0,), sends=True)] * 3)
    assert sink.pair_losses == [PairLoss(1, 4, "no data arrived")] * 3
    assert play.count_attempts()[1, 4] == 2 + 1 + 1
    play.ran.clear()
    play.failures, play.first_failures = {}, {(1, 4): [silence()] * 2, (4, 1): [silence()]}
    turns = [ExchangeTurn((0,), sends) for sends in (True, True, False)]
    assert measure_turns(*turns).pair_losses == [PairLoss(1, 4, "no data arrived")]
    # The second turn's transfer succeeded, so that the third turn has a second try.
    assert play.count_attempts() == {(0, 2): 3, (1, 4): 3, (2, 0): 2, (4, 1): 2}


def test_an_exchange_without_time_for_a_second_try_keeps_its_results(play: Play) -> None:
    play.first_failures = {(1, 4): [silence()]}
    # Before the exchange, after it, and for the second try.
    left_s = iter([5.0, 3.0, 1.0])
    sink = measure((0, True), left_s=lambda: next(left_s))
    assert len(sink.exchanges) == len(sink.pair_losses) == 1
    assert set(play.count_attempts().values()) == {1}


def test_a_second_try_that_ends_late_costs_no_results_of_the_first(play: Play) -> None:
    late = TransferError(OUT_OF_TIME)
    play.first_failures = {(1, 4): [silence(), late]}
    # Before the exchange, after it, for the second try, and after that.
    left_s = iter([5.0, 3.0, 2.0, 0.0])
    sink = measure((0, True), left_s=lambda: next(left_s))
    assert [len(exchange.rates) for exchange in sink.exchanges] == [1]
    assert sink.pair_losses == [PairLoss(1, 4, "no data arrived")]
    assert set(play.count_attempts().values()) == {2}


def test_a_second_try_that_ends_late_does_not_count(play: Play) -> None:
    play.first_failures = {(1, 4): [silence()]}
    left_s = iter([5.0, 3.0, 2.0, 0.0])
    sink = measure((0, True), left_s=lambda: next(left_s))
    assert [len(exchange.rates) for exchange in sink.exchanges] == [1]
    assert sink.pair_losses == [PairLoss(1, 4, "no data arrived")]
    assert play.count_attempts() == {(0, 2): 2, (1, 4): 2}


@pytest.mark.parametrize("failure", [TransferError(OUT_OF_TIME), PortTakenError("taken")])
def test_an_exchange_that_fails_for_another_reason_the_second_time_has_further_tries(
    play: Play, failure: TransferError
) -> None:
    play.first_failures = {(1, 4): [silence(), failure, silence()]}
    sink = measure_turns(*[ExchangeTurn((0,), sends=True)] * 2)
    assert sink.pair_losses == [PairLoss(1, 4, "no data arrived")]
    assert [exchange.is_whole for exchange in sink.exchanges] == [False, True]
    assert play.count_attempts()[1, 4] == 2 + 2


def test_no_transfer_succeeds(play: Play) -> None:
    failure = TransferError("no")
    play.failures = {(i, j): failure for i in range(5) for j in range(5)}
    sink = measure((0, True))
    assert sink.lost == [(0, True, "no transfer succeeded")]


def test_transfers_that_begin_too_far_apart_are_made_longer(play: Play) -> None:
    play.late, play.late_s = 1, 0.5
    sink = measure((0, True))
    assert {duration_s for *_, duration_s in play.ran} == {1, 2}
    assert sink.exchanges[0].gbit_s == pytest.approx(2 * RATE_GBIT_S)
    play.late_s = 3.0
    assert measure((0, True)).lost == [(0, True, "its transfers hardly overlapped")]


def test_an_exchange_is_made_longer_only_while_there_is_time(play: Play) -> None:
    play.late, play.late_s = 1, 0.5
    left_s = iter([4.0, 2.5, 1.9])
    assert measure((0, True), left_s=lambda: next(left_s)).lost == [(0, True, OUT_OF_TIME)]
    assert {duration_s for *_, duration_s in play.ran} == {1}


def test_an_exchange_that_ends_late_does_not_count(play: Play) -> None:
    left_s = iter([1.5, 0.0])
    assert measure((0, True), left_s=lambda: next(left_s)).lost == [(0, True, OUT_OF_TIME)]
    assert play.ran


def test_groups_of_a_turn_are_told_apart(play: Play) -> None:
    sink = measure_turns(ExchangeTurn((0, 2), sends=True))
    first, second = sink.exchanges
    assert {flow.member for flow, _ in first.rates} == {0, 1}
    assert {flow.member for flow, _ in second.rates} == {4}
    assert {flow.partner for flow, _ in (*first.rates, *second.rates)} == {2, 3}
    assert list(first.beside) == list(second.rates)
    assert list(second.beside) == list(first.rates)
    assert {(sender, receiver) for sender, receiver, *_ in play.ran} == {(0, 2), (1, 3), (4, 2)}


def test_a_group_of_a_turn_that_fails_costs_the_others_nothing(play: Play) -> None:
    play.failures = {(4, 2): TransferError("no")}
    sink = measure_turns(ExchangeTurn((0, 2), sends=True))
    assert sink.lost == [(2, True, "no transfer succeeded")]
    assert [(exchange.group, exchange.is_whole) for exchange in sink.exchanges] == [(0, True)]


def test_a_machine_that_may_have_been_the_limit_is_noticed(play: Play) -> None:
    play.cpu_percent = (40.0, 20.0)
    turn = ExchangeTurn((0,), sends=True)
    assert measure_turns(turn, machine="shared").exchanges[0].is_busy
    assert not measure_turns(turn).exchanges[0].is_busy
    play.cpu_percent = (20.0, 20.0)
    assert not measure_turns(turn, machine="shared").exchanges[0].is_busy


CIRCLES = [[(0, 1), (1, 0), (2, 3), (3, 2)], [(4, 0), (0, 4)]]


def links_of(
    rounds: Sequence[Sequence[tuple[int, int]]] = CIRCLES,
    *,
    machine: str = "",
    left_s: Callable[[], float] = no_limit,
) -> Sink:
    sink = Sink()
    with between(sink, left_s, machine) as found:
        sink.take(tool.measure_links(found, rounds, 1, concurrency=1))
    return sink


def test_links_are_measured_all_at_once(play: Play) -> None:
    sink = links_of()
    ways = [way for pairs in CIRCLES for way in pairs]
    assert [(reading.source, reading.destination) for reading in sink.readings] == ways
    assert [reading.gbit_s for reading in sink.readings] == pytest.approx([RATE_GBIT_S] * 6)
    assert len(play.ran) == len(ways)


def test_links_of_a_busy_machine_are_measured_again_one_by_one(play: Play) -> None:
    play.cpu_percent = (20.0, 20.0)
    sink = links_of(machine="shared")
    assert len(sink.readings) == 6
    # The first four used 160 % of two processors, the others 80 %.
    assert len(play.ran) == 4 + 4 + 2


def test_links_of_lost_hosts_are_lost(play: Play) -> None:
    play.lost = {1: HostError("h1", "iperf3 is not installed there")}
    play.failures = {(2, 3): TransferError("no data arrived", is_silence=True)}
    sink = links_of()
    assert sink.pair_losses == [PairLoss(2, 3, "no data arrived")]
    assert len(sink.readings) == 3
    assert sink.host_losses == [HostLoss(1, "iperf3 is not installed there")]


def test_a_link_that_failed_once_is_no_loss(play: Play) -> None:
    play.first_failures = {(2, 3): [silence()]}
    sink = links_of()
    assert (len(sink.readings), sink.pair_losses) == (6, [])


def test_all_links_of_a_round_run_again_and_the_second_rates_count(play: Play) -> None:
    """Alone, or beside a link that failed, a link has a higher rate."""
    play.first_failures = {(2, 3): [silence()]}
    play.sizes = {(0, 1): [1.0, 2.0]}
    sink = links_of()
    assert play.count_attempts() == {
        pair: 1 + (pairs == CIRCLES[0]) for pairs in CIRCLES for pair in pairs
    }
    rates_gbit_s = {(each.source, each.destination): each.gbit_s for each in sink.readings}
    assert rates_gbit_s.pop((0, 1)) == pytest.approx(2.0 * RATE_GBIT_S)
    assert list(rates_gbit_s.values()) == pytest.approx([RATE_GBIT_S] * 5)


def test_a_link_that_fails_only_in_the_second_try_keeps_its_first_rate(play: Play) -> None:
    play.first_failures = {(2, 3): [silence()]}
    play.sizes = {(0, 1): [1.0, 0.0]}
    sink = links_of()
    assert (len(sink.readings), sink.pair_losses) == (6, [])


def test_a_link_that_failed_twice_is_one_loss_with_its_first_reason(play: Play) -> None:
    play.first_failures = {(2, 3): [silence(), TransferError("iperf3: broken")]}
    sink = links_of()
    assert (len(sink.readings), sink.pair_losses) == (5, [PairLoss(2, 3, "no data arrived")])
    assert play.count_attempts()[2, 3] == 2


def test_a_link_that_carried_nothing_is_tried_again(play: Play) -> None:
    play.sizes = {(2, 3): [0.0, 0.0]}
    sink = links_of()
    assert (len(sink.readings), sink.pair_losses) == (5, [PairLoss(2, 3, "no data arrived")])
    assert play.count_attempts()[2, 3] == 2


def test_hosts_whose_link_carries_nothing_twice_have_no_second_try(play: Play) -> None:
    play.sizes = {(2, 3): [0.0] * 3}
    sink = links_of([[(2, 3)]] * 2)
    assert sink.pair_losses == [PairLoss(2, 3, "no data arrived")] * 2
    assert play.count_attempts()[2, 3] == 2 + 1


@pytest.mark.parametrize("failure", [TransferError(OUT_OF_TIME), PortTakenError("taken")])
def test_links_that_fail_for_another_reason_the_second_time_have_further_tries(
    play: Play, failure: TransferError
) -> None:
    play.first_failures = {(2, 3): [silence(), failure, silence()]}
    sink = links_of([[(2, 3)]] * 2)
    assert (len(sink.readings), sink.pair_losses) == (1, [PairLoss(2, 3, "no data arrived")])
    assert play.count_attempts()[2, 3] == 2 + 2


def test_the_partner_of_a_host_that_dies_in_a_second_try_has_further_tries(play: Play) -> None:
    died = HostError("h3", "the connection was lost")
    play.first_failures = {(2, 3): [silence(), died], (3, 0): [silence()] * 2}
    play.first_failures |= {(2, 1): [silence()], (0, 1): [silence()]}
    sink = links_of([[(2, 3), (3, 0)], [(2, 1)], [(0, 1)]])
    assert sink.host_losses == [HostLoss(3, "the connection was lost")]
    assert [(loss.source, loss.destination) for loss in sink.pair_losses] == [(2, 3), (3, 0)]
    assert play.count_attempts() == {(2, 3): 2, (3, 0): 2, (2, 1): 2, (0, 1): 2}


def test_a_link_has_no_second_try_without_time(play: Play) -> None:
    play.failures = {(2, 3): silence()}
    left_s = iter([5.0, 1.0, 5.0])
    sink = links_of(left_s=lambda: next(left_s))
    assert sink.pair_losses == [PairLoss(2, 3, "no data arrived")]
    assert set(play.count_attempts().values()) == {1}


def test_links_that_failed_on_a_busy_machine_are_tried_again_one_by_one(play: Play) -> None:
    play.cpu_percent = (30.0, 30.0)
    # At once, alone, and again.
    play.first_failures = {(2, 3): [silence()] * 2, (3, 2): [silence()] * 2}
    assert len(links_of(machine="shared").readings) == 6
    attempts = play.count_attempts()
    assert (attempts[2, 3], attempts[3, 2], attempts[0, 1]) == (3, 3, 2)


def test_no_link_is_begun_without_time(play: Play) -> None:
    sink = links_of(left_s=lambda: 0.5)
    assert {loss.reason for loss in sink.pair_losses} == {OUT_OF_TIME}
    assert not play.ran
