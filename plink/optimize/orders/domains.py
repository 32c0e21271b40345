"""NVLink domains, whose hosts an order keeps adjacent whatever latencies were measured.

Between domains a search sees a time that no saving elsewhere pays for. A ring that is cheapest with
it crosses between domains as seldom as can be, and is the cheapest of those that do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.hosts import Host, places_by_domain
from plink.optimize.orders.latency import LatencyObjective
from plink.optimize.orders.request import OrderRequest
from plink.solvers.collectives.form import RingForm
from plink.solvers.search import Solution

if TYPE_CHECKING:
    from plink.optimize.orders.contention import ContentionObjective

    Objective = LatencyObjective | ContentionObjective


@dataclass(frozen=True)
class Domains:
    """NVLink domains of a cluster's hosts, which orders keep together.

    Args:
        codes: (N,) number of each host's domain; a host in none has a number of its own.
    """

    codes: npt.NDArray[np.intp]

    @classmethod
    def of(cls, hosts: Sequence[Host], request: OrderRequest) -> Domains | None:
        """Return the NVLink domains of a cluster's hosts; None if no two hosts share one.

        Raises:
            WrongUseError: the request is for an order that cannot keep domains together.
        """
        names = [
            (True, host.domain) if host.domain else (False, str(place))
            for place, host in enumerate(hosts)
        ]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        if len(numbers) == len(names):
            return None
        if request.interleave or request.prove_s > 0.0:
            given = "interleave" if request.interleave else "prove_s"
            raise WrongUseError(
                f"hosts have NVLink domains, which {{{given}=}} does not keep together",
                "leave it out, or remove the hosts' domains from the cluster file",
                arguments=vars(request),
            )
        return cls(np.array([numbers[name] for name in names], dtype=np.intp))

    def join(self, order: Sequence[int]) -> list[int]:
        """Return an order of all hosts in which the hosts of each domain are adjacent."""
        return [order[place] for place in places_by_domain([self.codes[host] for host in order])]

    def penalize_crossings(self, objective: Objective) -> Objective:
        """Return the objective with hops between NVLink domains penalised if it is by latency."""
        if not isinstance(objective, LatencyObjective):
            return objective
        apart = self.codes[:, None] != self.codes[None, :]
        return replace(
            objective, matrix_us=objective.matrix_us + self._crossing_us(objective) * apart
        )

    def settle(self, found: Solution, objective: Objective) -> Solution:
        """Return a found order with each domain's hosts adjacent, and its true cost and bound.

        Args:
            found: an order that was searched.
            objective: the true one.
        """
        is_by_latency = isinstance(objective, LatencyObjective)
        by_latency = objective if isinstance(objective, LatencyObjective) else objective.by_latency
        layout = objective.layout
        is_ring = isinstance(by_latency.form, RingForm) and layout.ranks == sum(layout.slots)
        order = self.join(self._turn(found.order) if is_ring else found.order)
        given = join_domains(self, len(order))
        order = min(order, given, key=objective.cost_us)
        cost_us, bound_us = objective.cost_us(order), found.lower_bound
        if is_by_latency and objective.limits is None:
            # A ring leaves every domain once at least.
            count = len(set(self.codes.tolist()))
            penalty_us = (count if count > 1 else 0) * self._crossing_us(by_latency)
            bound_us = bound_us - penalty_us if is_ring else 0.0
        ended_by = found.ended_by
        if ended_by in {"exact", "bound"} and not (is_by_latency and is_ring):
            # Proven of another cost, or of another order.
            ended_by = "time"
        bound_us = max(0.0, min(bound_us, cost_us))
        return replace(found, order=order, cost=cost_us, lower_bound=bound_us, ended_by=ended_by)

    def _turn(self, ring: Sequence[int]) -> list[int]:
        """Rotate a ring so that its ends do not split a domain."""
        codes = self.codes[np.asarray(ring)]
        begins = np.flatnonzero(codes != np.roll(codes, 1))
        begin = int(begins[0]) if len(begins) else 0
        return [*ring[begin:], *ring[:begin]]

    def _crossing_us(self, objective: LatencyObjective) -> float:
        return float(len(self.codes) * np.max(objective.matrix_us))


def join_domains(domains: Domains | None, hosts: int) -> list[int]:
    """Return hosts 0 to N-1 in the cluster file's order, but each NVLink domain's adjacent."""
    return list(range(hosts)) if domains is None else domains.join(range(hosts))
