"""Collectors of hosts' link rates and of groups' rates, and the uplinks derived from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from plink.base.replacing import replace
from plink.files.groups import HostLink, Uplink
from plink.files.matrices import Matrix
from plink.files.measurements import BandwidthMeasurement, Failure
from plink.probes.samples import BandwidthReading, HostLoss, PairLoss, Rounds
from plink.probes.uplinks.judge import may_be_more, raise_to_seen_rates
from plink.probes.uplinks.plan import GroupExchange, HostRates, second_looks

# Figures no further apart than this factor count as the same.
_SAME = 1.05


class LinkCollector:
    """Collector of hosts' link rates: the best that each sent to, or received from, any host.

    Args:
        names: names of the hosts of the run.
        groups: groups of them, by index.
        known: what an earlier run measured between them, in the same order, or None.
    """

    def __init__(
        self,
        names: Sequence[str],
        groups: Sequence[Sequence[int]],
        known: BandwidthMeasurement | None,
        *,
        on_settled: Callable[[], None] = lambda: None,
    ) -> None:
        self._names = names
        self._groups = groups
        self._on_settled = on_settled
        size = len(names)
        self._gbit_s: Matrix = (
            np.full((size, size), np.nan) if known is None else known.gbit_s.copy()
        )
        self.failures: list[Failure] = []

    def links(self) -> HostRates:
        """Return the link rates known so far."""
        return HostRates(
            send=_largest(self._gbit_s),
            receive=_largest(self._gbit_s.T),
        )

    def doubtful(self, rounds: Rounds) -> Rounds:
        """Return rounds that repeat slow transfers with other partners, to find the slow end."""
        pairs = [pair for met in rounds for pair in met]
        rates = {pair: float(self._gbit_s[pair]) for pair in pairs}
        return second_looks(
            self._groups, {pair: rate for pair, rate in rates.items() if not np.isnan(rate)}
        )

    def reading(self, reading: BandwidthReading) -> None:
        """Record the reading of a direction of a pair."""
        self._gbit_s[reading.source, reading.destination] = reading.gbit_s
        self._on_settled()

    def pair_lost(self, loss: PairLoss) -> None:
        """Record that a directed pair was given up."""
        self.failures.append(_failed_pair(self._names, loss))
        self._on_settled()


class UplinkCollector:
    """Collector of the rates between groups.

    Args:
        names: names of the hosts of the run.
        groups: names of the groups, and of each the hosts of the run that are in it.
        kept: by the name of its group, what an earlier run measured.
    """

    def __init__(
        self,
        names: Sequence[str],
        groups: Mapping[str, Sequence[int]],
        kept: Mapping[str, Uplink],
        *,
        on_settled: Callable[[], None] = lambda: None,
    ) -> None:
        self._names = names
        self._groups = groups
        self._kept = kept
        self._on_settled = on_settled
        self._exchanges: dict[tuple[int, bool], GroupExchange] = {}
        # What groups exchanged while others did, too, of those that were measured again alone.
        self._beside_others: dict[tuple[int, bool], GroupExchange] = {}
        self.failures: list[Failure] = []

    def missing(self) -> list[tuple[int, bool]]:
        """Return groups, by index, and directions that are not measured yet."""
        wanted = []
        for index, name in enumerate(self._groups):
            before = self._kept.get(name, Uplink(name, None, None))
            wanted += [(index, True)] if before.send_gbit_s is None else []
            wanted += [(index, False)] if before.receive_gbit_s is None else []
        return wanted

    def doubtful(self, links: HostRates) -> list[tuple[int, bool]]:
        """Return the groups and directions that other groups' traffic may have slowed.

        That is so where the group's own uplink need not have been the limit, or hosts share a
        machine that may have been, or a group's two directions differ: it had other company, or
        none, in the other one. All are in doubt once one of them did better alone.
        """
        groups = list(self._groups.values())
        carried = self._all_carried()
        seen = raise_to_seen_rates(links, self._exchanges.values())
        company_cost = any(
            self._exchanges[way].gbit_s > _SAME * before.gbit_s
            for way, before in self._beside_others.items()
        )
        return [
            way
            for way, exchange in self._exchanges.items()
            if exchange.beside
            and (
                company_cost
                or exchange.is_busy
                or may_be_more(exchange, groups, seen, carried)
                or carried.get((way[0], not way[1]), 0.0) > _SAME * exchange.gbit_s
            )
        ]

    def uplinks(self, links: HostRates) -> list[Uplink]:
        """Return the uplinks known so far, leaving out groups without a reading."""
        groups = list(self._groups.values())
        links = raise_to_seen_rates(links, self._exchanges.values())
        carried = self._all_carried()
        found = []
        for index, name in enumerate(self._groups):
            uplink = self._kept.get(name, Uplink(name, None, None))
            for sends in (True, False):
                exchange = self._exchanges.get((index, sends))
                if exchange is not None:
                    is_bound = may_be_more(exchange, groups, links, carried)
                    uplink = _with(uplink, exchange, is_lower_bound=is_bound)
            if uplink.send_gbit_s is not None or uplink.receive_gbit_s is not None:
                found.append(_with_hosts(uplink, groups[index], links))
        return found

    def host_links(self, links: HostRates) -> list[HostLink]:
        """Return each host's best send and receive rates, alone or among others."""
        seen = raise_to_seen_rates(links, self._exchanges.values())
        return [
            HostLink(name, seen.send.get(host), seen.receive.get(host))
            for host, name in enumerate(self._names)
            if host in seen.send or host in seen.receive
        ]

    def _all_carried(self) -> dict[tuple[int, bool], float]:
        return {
            (index, sends): gbit_s
            for index, name in enumerate(self._groups)
            for sends, gbit_s in self._carried_rates(index, name)
        }

    def _carried_rates(self, index: int, name: str) -> list[tuple[bool, float]]:
        before = self._kept.get(name, Uplink(name, None, None))
        found = []
        for sends, known in ((True, before.send_gbit_s), (False, before.receive_gbit_s)):
            exchange = self._exchanges.get((index, sends))
            gbit_s = known if exchange is None else exchange.gbit_s
            found += [] if gbit_s is None else [(sends, gbit_s)]
        return found

    def exchange(self, exchange: GroupExchange) -> None:
        """Record the reading of a group in one direction."""
        way = (exchange.group, exchange.sends)
        before = self._exchanges.get(way)
        if before is not None:
            self._beside_others[way] = before
        self._exchanges[way] = exchange
        self._on_settled()

    def exchange_lost(self, group: int, *, sends: bool, reason: str) -> None:
        """Record that a group could not be measured in one direction."""
        what = "send" if sends else "receive"
        name = list(self._groups)[group]
        self.failures.append(Failure(name, f"what the group can {what} is not known: {reason}"))
        self._on_settled()

    def pair_lost(self, loss: PairLoss) -> None:
        """Record that a transfer failed."""
        self.failures.append(_failed_pair(self._names, loss))

    def host_lost(self, loss: HostLoss) -> None:
        """Record that a host cannot take part."""
        self.failures.append(Failure(self._names[loss.host], loss.reason))


def _largest(gbit_s: Matrix) -> dict[int, float]:
    return {
        host: float(np.nanmax(row)) for host, row in enumerate(gbit_s) if not np.isnan(row).all()
    }


def _failed_pair(names: Sequence[str], loss: PairLoss) -> Failure:
    return Failure(names[loss.source], loss.reason, destination=names[loss.destination])


def _with(uplink: Uplink, exchange: GroupExchange, *, is_lower_bound: bool) -> Uplink:
    if exchange.sends:
        return replace(uplink, send_gbit_s=exchange.gbit_s, send_is_lower_bound=is_lower_bound)
    return replace(uplink, receive_gbit_s=exchange.gbit_s, receive_is_lower_bound=is_lower_bound)


def _with_hosts(uplink: Uplink, members: Sequence[int], links: HostRates) -> Uplink:
    """Add the sum of the hosts' own rates, each in its better direction, if all are known."""
    best = [max(links.send.get(host, 0.0), links.receive.get(host, 0.0)) for host in members]
    return replace(uplink, hosts_gbit_s=sum(best)) if all(best) else uplink
