"""`plink.plan` and `plink plan`: aggregation plans that follow the network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import ClassVar

from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.request import keyword_function
from plink.base.text import format_count, seconds_text
from plink.formats import plan as plan_file
from plink.optimize.plans.planning import Planned, find_plan
from plink.optimize.plans.request import PlanRequest
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.common import PathName, build_warner, copy_as, print_to_text, report_stages

with lazy_imports():
    from plink.show.terminal import plan as plan_page


class AggregationPlan(plan_file.Plan, frozen=True):
    """Plan as the library returns it: weighted aggregation trees that plink's engine runs.

    The members of `plink.formats.plan.Plan`, of which most are used: `kind`, `ranks`, `size_bytes`,
    `collectives`, `groups`, `predicted`, `bound_s`, `assumptions`.

    Attributes:
        planned: the candidates that it was chosen from; None if it was read from a file
        gaps: hosts that were not reached and have no rank, one sentence each
    """

    IN_MEMORY: ClassVar = frozenset({"planned", "gaps"})
    planned: Planned | None = None
    gaps: Sequence[str] = ()

    @classmethod
    def read(cls, path: PathName) -> AggregationPlan:
        """Read a plan file, or raise WrongUseError if it is none or does not aggregate."""
        found = plan_file.read_plan(os.fspath(path), with_servers=True)
        return copy_as(cls, found)

    @property
    def reason(self) -> str:
        """Sentence on why this kind of plan was chosen; empty if the plan was read from a file."""
        return "" if self.planned is None else self.planned.reason

    @property
    def time_s(self) -> float | None:
        """Predicted seconds of the plan's collectives of `size_bytes`; None if unknown."""
        times = {each.kind: each.time_s for each in self.predicted}
        return times.get(self.kind)

    def save(self, path: PathName) -> None:
        """Write a plan file atomically, or raise PlinkError."""
        plan_file.write_plan(os.fspath(path), self)

    def __repr__(self) -> str:
        time = "" if self.time_s is None else f"; predicted {seconds_text(self.time_s)}"
        bound = "" if self.bound_s is None else f", at least {seconds_text(self.bound_s)}"
        ranks, routes = len(self.ranks), self.forest.routes
        what = f"{self.kind} over {format_count(ranks, 'rank')}, {format_count(routes, 'route')}"
        return f"<plink.AggregationPlan: {what}{time}{bound}>"

    def __str__(self) -> str:
        """Return the text that `plink show` prints."""
        return print_to_text(lambda console: plan_page.print_plan_page(console, self))


def make_plan(cluster: MeasuredCluster, request: PlanRequest) -> AggregationPlan:
    """Compute a plan: aggregation trees that follow the network, for plink's engine and PyTorch.

    Args:
        cluster: hosts and what was measured between them. Groups are found where it has none.
        request: what is asked for.

    Raises:
        WrongUseError: an argument is not allowed, there are too many ranks, or there is no plan of
            that kind for these hosts.
    """
    known = checked_cluster(cluster, "plan")
    hashed = replace(known.hashed, uses_readings=request.distances == "readings")
    planned = find_plan(hashed, request, report_stages(request.progress))
    gaps = [f"{failure.source} was unreachable and gets no rank" for failure in known.unreachable]
    return copy_as(AggregationPlan, planned.plan, planned=planned, gaps=gaps)


plan = keyword_function("plan", make_plan, PlanRequest, build_warner(lambda plan: plan.gaps))
