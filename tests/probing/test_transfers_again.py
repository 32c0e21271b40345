"""How far the transfers of a check are is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from page.subjects import LINK_GBIT_S, racks, with_rates
from plink.base.replacing import replace
from plink.measure.probing import check as checking
from plink.measure.probing.check import RepeatedTransfers
from plink.probes.samples import BandwidthReading, PairLoss
from plink.probes.uplinks.plan import ExchangeTurn, Flow, GroupExchange
from plink.probes.uplinks.tool import ExchangeLoss, GroupResult
from support.reached import reached_host

NUMBERS = (1, 2, 3, 4, 5, 6)
UPLINK_GBIT_S = 10.0


class Steps:
    """Stages, each with its steps in all and those that were done."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int]] = []
        self.done: list[int] = []

    def stage(self, name: str, total: int) -> None:
        self.stages.append((name, total))
        self.done.append(0)

    def step(self) -> None:
        self.done[-1] += 1

    def say(self, text: str) -> None:
        raise AssertionError(text)


@contextmanager
def simultaneous_transfers(*_: object, **__: object) -> Iterator[None]:
    yield


def measure_links(
    _: object, rounds: Sequence[Sequence[tuple[int, int]]], *__: object, **___: object
) -> Iterator[BandwidthReading | PairLoss]:
    for place, pair in enumerate(pair for pairs in rounds for pair in pairs):
        if place:
            yield BandwidthReading(*pair, LINK_GBIT_S, 0)
        else:
            yield PairLoss(*pair, "no data arrived")


def measure_groups(
    _: object, __: object, turns: Sequence[ExchangeTurn], ___: int
) -> Iterator[GroupResult]:
    ways = [(group, turn.sends) for turn in turns for group in turn.groups]
    for place, (group, sends) in enumerate(ways):
        if place:
            yield GroupExchange(group, sends, [(Flow(0, 1), UPLINK_GBIT_S)], True)
        else:
            yield ExchangeLoss(group, sends, "no transfer succeeded")


def test_every_transfer_is_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SimultaneousTransfers", simultaneous_transfers)
    monkeypatch.setattr(checking, "measure_links", measure_links)
    monkeypatch.setattr(checking, "measure_groups", measure_groups)
    names = [reached_host(number).name for number in NUMBERS]
    cluster = with_rates(racks([3, 3], names=names), uplink_gbit_s=UPLINK_GBIT_S)
    assert cluster.uplinks is not None
    assert cluster.bandwidth is not None
    options = {"duration_s": 1, "streams": 1}
    cluster = replace(
        cluster,
        uplinks=replace(cluster.uplinks, options=options),
        bandwidth=replace(cluster.bandwidth, options={**options, "direction": "each"}),
    )
    steps = Steps()
    hosts = [reached_host(number) for number in NUMBERS]
    again = RepeatedTransfers(cluster, hosts, silence_s=1.0, seed=0, progress=steps)
    assert cluster.bandwidth is not None
    again.links(cluster.bandwidth.gbit_s, 60.0)
    assert cluster.uplinks is not None
    now, changed = again.uplinks(cluster.uplinks, [], 60.0)
    assert (len(now), changed) == (3, [])
    assert steps.stages == [("checking hosts' links", 6), ("checking uplinks", 4)]
    assert steps.done == [total for _, total in steps.stages]
