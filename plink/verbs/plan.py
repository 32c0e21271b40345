"""`plink.plan`: aggregation plans that follow the network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

from plink.base.arguments import MAX_SEED, check_choice, size_bytes, whole
from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.progress import OnProgress
from plink.base.replacing import replace
from plink.base.size import DEFAULT_SIZE
from plink.base.text import format_count, rtt_text
from plink.files import plan as plan_file
from plink.optimize.orders.request import DistanceSource
from plink.optimize.plans.planning import PlanRequest, find_plan
from plink.optimize.plans.serving import find_plan_with_servers
from plink.plans.names import ALL_REDUCE, checked_collectives
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.objects import PathName, copy_as, page
from plink.verbs.progress import stages
from plink.verbs.warning import warn

with lazy_imports():
    from plink.show.terminal import plan as plan_page


Kind = Literal["auto", "2lha", "flat", "ring", "tree", "ps", "hub"]

_MAX_RANKS_PER_HOST = 1 << 12


class AggregationPlan(plan_file.Plan, frozen=True):
    """Aggregation plan: a weighted forest that plink's engine runs.

    The members of `plink.files.plan.Plan`, of which most are used: `kind`, `ranks`, `size_bytes`,
    `collectives`, `groups`, `predicted`, `bound_s`, `assumptions`.

    Attributes:
        reason: why this kind was chosen, as a sentence; empty if it was read from a file
    """

    IN_MEMORY: ClassVar = frozenset({"reason"})
    reason: str = ""

    @classmethod
    def read(cls, path: PathName) -> AggregationPlan:
        """Return the plan in a file.

        Raises:
            WrongUseError: not a plan file, or one whose forest does not aggregate.
        """
        found = plan_file.read_plan(os.fspath(path), with_servers=True)
        return copy_as(cls, found)

    @property
    def time_s(self) -> float | None:
        """Predicted seconds of the plan's collectives of `size_bytes`; None if unknown."""
        times = {each.kind: each.time_s for each in self.predicted}
        return times.get(self.kind)

    def save(self, path: PathName) -> None:
        """Write a plan file atomically.

        Raises:
            PlinkError: it cannot be written.
        """
        plan_file.write_plan(os.fspath(path), self)

    def __repr__(self) -> str:
        time = "" if self.time_s is None else f"; predicted {rtt_text(self.time_s * 1e6)}"
        bound = "" if self.bound_s is None else f", at least {rtt_text(self.bound_s * 1e6)}"
        ranks, routes = len(self.ranks), self.forest.routes
        what = f"{self.kind} over {format_count(ranks, 'rank')}, {format_count(routes, 'route')}"
        return f"<plink.AggregationPlan: {what}{time}{bound}>"

    def __str__(self) -> str:
        """Return the text that `plink show` prints."""
        return page(lambda console: plan_page.print_plan_page(console, self))


def plan(
    cluster: MeasuredCluster,
    *,
    size: str | int = DEFAULT_SIZE,
    kind: Kind = "auto",
    collective: str | Sequence[str] = ALL_REDUCE,
    ranks_per_host: int | None = None,
    servers: Sequence[str] = (),
    distances: DistanceSource = "estimate",
    seed: int = 0,
    progress: OnProgress | None = None,
) -> AggregationPlan:
    """Plan an aggregation that follows the network, for plink's engine and its process group.

    Args:
        cluster: hosts and what was measured between them. Groups are found where it has none.
        size: size of the buffer that the plan is for: `25MB`, `4KiB`, or bytes.
        kind: `2lha` aggregates by groups in two levels, `flat` by a star for every rank, `ring`
            in chunks round a ring, `tree` by the double binary tree; with servers, `ps` by a star
            at each of their ports, `hub` by groups, to a server in each; `auto` takes what is
            predicted to be quickest.
        collective: that is to be quick with the plan, or several, each of that size and one as
            often as it is called: `all-reduce`, `reduce-scatter`, `all-gather`, `broadcast`,
            `reduce`, `gather`, `scatter`, `all-to-all`, `barrier`, `send-receive`.
        ranks_per_host: None for the cluster's slots.
        servers: hosts that contribute nothing and aggregate for all others, with as many
            interfaces: `box:8`, `box:8@10gbit`, or `box=10.0.0.9+10.0.0.10`. `plink hub` runs such
            a plan, and the engine does not.
        distances: `estimate` draws a pair whose readings disagree towards others of its groups;
            `readings` takes them as they are.
        seed: decides every choice by chance.
        progress: called at the beginning of each stage.

    Raises:
        WrongUseError: an argument that cannot be, too many ranks, or no plan of that kind for
            these hosts.
    """
    known = checked_cluster(cluster, "plan")
    check_choice("kind", kind, get_args(Kind))
    check_choice("distances", distances, get_args(DistanceSource))
    whole("ranks_per_host", ranks_per_host, 1, _MAX_RANKS_PER_HOST)
    whole("seed", seed, 0, MAX_SEED)
    names = checked_collectives([collective] if isinstance(collective, str) else list(collective))
    if kind in ("ps", "hub") and not servers:
        raise WrongUseError(
            "{kind=} needs {servers}",
            "name the servers: {servers=HOST}",
            arguments={"kind": kind, "servers": servers},
        )
    named = [servers] if isinstance(servers, str) else list(servers)
    if not all(isinstance(each, str) for each in named):
        raise WrongUseError("servers is not a list of texts", "write servers=['box:8']")
    request = PlanRequest(kind, size_bytes(size), ranks_per_host, seed, names, named)
    search = find_plan_with_servers if request.servers else find_plan
    hashed = replace(known.hashed, uses_readings=distances == "readings")
    found = search(hashed, request, stages(progress))
    for failure in known.unreachable:
        warn(f"{failure.source} was unreachable and gets no rank")
    return copy_as(AggregationPlan, found.plan, reason=found.reason)
