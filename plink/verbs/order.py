"""`plink.order` and `plink order`: find the rank order that makes a collective algorithm fast."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from plink.base.arguments import suggest_nearest
from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import keyword_function
from plink.base.text import format_count, format_names, rtt_text
from plink.formats import document
from plink.formats import order as order_file
from plink.formats.structs import encode
from plink.optimize.leaving_out import Limiting, find_limiting
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.quality import against_random, notes_on
from plink.optimize.orders.request import OrderRequest
from plink.optimize.orders.slots import order_with_slots
from plink.solvers.collectives.registry import ALGORITHMS, OTHERS
from plink.solvers.limits import Deadline
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.common import PathName, build_warner, copy_as, print_to_text, report_search

with lazy_imports():
    from plink.deploy import launchers as writers
    from plink.model import network
    from plink.optimize import executors
    from plink.show.terminal import order as order_page


class MissingPart(NamedTuple):
    """Sentence on what an order lacks, such as an unreachable host, with a hint on what to do."""

    text: str
    hint: str | None = None


class RankOrder(order_file.Order, frozen=True, kw_only=True, dict=True):
    """Rank order as the library returns it: hosts by rank, with cost, bound and methods.

    The members of `plink.formats.order.Order`, of which most are used: `hosts` and `names` in rank
    order, `ranks`, `cost`, `gap`, `gain`, `unused`.

    Attributes:
        cluster: cluster that the order was made from; None if it was read from a file
    """

    IN_MEMORY: ClassVar = frozenset({"cluster"})
    cluster: MeasuredCluster | None = None

    @classmethod
    def read(cls, path: PathName) -> RankOrder:
        """Read an order file, or raise WrongUseError if it is none."""
        return copy_as(cls, order_file.read_order(os.fspath(path)))

    @property
    def hosts_by_rank(self) -> list[str]:
        """Name of the host of every rank, by rank: a host with two slots stands twice."""
        return [host.name for host in self.runs for _ in range(host.slots)]

    @cached_property
    def limiting(self) -> Limiting | None:
        """Outlying hosts in the order, with the predicted gain of leaving them out.

        None for an order that was read from a file, which does not have what was measured.
        """
        return None if self.cluster is None else find_limiting(self.cluster, self)

    @property
    def notes(self) -> list[str]:
        """Reasons for caution about the order, one sentence each."""
        return [*notes_on(self), *self.assumptions]

    @property
    def assumptions(self) -> Sequence[str]:
        """Sentences on links that were not measured, where predicted times rest on them."""
        cluster = self.cluster
        if cluster is None or getattr(self.cost, "objective", None) != "contention":
            return ()
        return network.capacity(cluster, cluster.groups).assumptions

    @property
    def gaps(self) -> list[MissingPart]:
        """Sentences on hosts without rank or measurement, and an interrupt; none if complete."""
        unreachable = () if self.cluster is None else self.cluster.unreachable
        found = [
            MissingPart(f"{failure.source} was unreachable and gets no rank")
            for failure in unreachable
        ]
        if self.solver.ended_by == "interrupt":
            found.append(
                MissingPart(
                    "interrupted: this is the best order so far; whether its gain is noise was "
                    "not checked"
                )
            )
        if self.unmeasured_hosts:
            found.append(
                MissingPart(
                    f"no measurement reaches {format_names(self.unmeasured_hosts)}",
                    "the rank of such a host is arbitrary; probe it again, or leave it out",
                )
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Return what `plink order --json` prints."""
        limits = {} if self.limiting is None else encode(self.limiting)
        return order_file.summarize_order(self) | limits

    def save(self, path: PathName) -> None:
        """Write an order file atomically, or raise PlinkError."""
        order_file.write_order(os.fspath(path), self)

    def render(self, launcher: str) -> str:
        """Return the content of the file with which a launcher (such as `openmpi`) keeps the order.

        Raises:
            WrongUseError: there is no such launcher, or it cannot take this order.
        """
        if launcher not in writers.ALL:
            hint = (
                suggest_nearest(launcher, writers.ALL)
                or "plink.launchers() describes those that there are"
            )
            raise WrongUseError(f"no launcher is called {launcher!r}", hint)
        return writers.render(launcher, self.runs, self.groups, self.unused)

    def write(self, launcher: str, path: PathName) -> str:
        """Write a launcher's file; return the command with which the launcher keeps the order.

        Raises:
            WrongUseError: there is no such launcher, or it cannot take this order.
            PlinkError: the file cannot be written.
        """
        name = os.fspath(path)
        document.write_bytes(name, self.render(launcher).encode())
        usage: str = writers.ALL[launcher].build_usage(shlex.quote(name), self.ranks)
        return usage

    def __repr__(self) -> str:
        found = f"{self.algorithm} over {format_count(self.ranks, 'rank')}"
        cost = f"{self.cost_name} {rtt_text(self.cost.cost_us)}"
        if self.bandwidth is not None:
            cost = f"at least {self.bandwidth.bottleneck_gbit_s:.3g} Gbit/s"
        elif self.cost.lower_bound_us > 0.0:
            cost += f", proven bound {rtt_text(self.cost.lower_bound_us)}"
        names = format_names(self.names)
        return f"<plink.RankOrder: {found}; {cost}, {against_random(self)}; {names}>"

    def __str__(self) -> str:
        """Return the text that `plink order` prints."""
        return print_to_text(lambda console: order_page.print_order(console, self))


def find_rank_order(
    cluster: MeasuredCluster, request: OrderRequest, deadline: Deadline | None = None
) -> RankOrder:
    """Find the rank order that makes a collective's algorithm fast, and say how good it is.

    The result is never worse than the order in which the hosts are listed. Ctrl-C ends the search
    and returns the best order so far, whose `solver.ended_by` is `interrupt`.

    Args:
        cluster: hosts and the readings between them.
        request: what is asked for.
        deadline: when to be done; None for the request's time limit from now.

    Raises:
        WrongUseError: an argument is not allowed, nothing was measured, or the algorithm does not
            run on so many ranks.
    """
    known = checked_cluster(cluster, "order")
    if request.executor is not None:
        executors.check_address(request.executor)
    progress = report_search(request.progress, request.time_limit_s)
    found = find_order(known, request, progress, deadline=deadline)
    return copy_as(RankOrder, found, cluster=known)


def reuse_order(order: RankOrder, request: OrderRequest, source: str) -> RankOrder:
    """Return an existing order with the requested ranks per host; raise if the total differs.

    Raises:
        WrongUseError: the request is for another number of ranks than the order has.
    """
    found = order if request.slots is None else order_with_slots(order, request.slots)
    if request.ranks not in (None, found.ranks):
        raise WrongUseError(
            f"{source}: the order has {format_count(found.ranks, 'rank')}, not {request.ranks}",
            "plink order CLUSTER --ranks makes an order for that number",
        )
    return found if isinstance(found, RankOrder) else copy_as(RankOrder, found)


order = keyword_function(
    "order",
    find_rank_order,
    OrderRequest,
    build_warner(lambda order: [gap.text for gap in order.gaps]),
)


def algorithms() -> dict[str, str]:
    """Return the supported collective algorithms: name to description."""
    return {name: found.about for name, found in {**ALGORITHMS, **OTHERS}.items()}


def launchers() -> dict[str, str]:
    """Return the launchers that `RankOrder.write` supports: name to description of the file."""
    return {name: found.about for name, found in writers.ALL.items()}
