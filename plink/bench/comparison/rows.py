"""From launches to the rows of a comparison."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from plink.bench.clients.base import Measured
from plink.bench.comparison.limit import limit_of
from plink.bench.comparison.links import links_of
from plink.bench.comparison.request import Case, ComparisonRequest
from plink.bench.run import Launches
from plink.bench.statistics import spread
from plink.files.comparison import Comparison, Row, Setting


def make_comparison(
    setting: Setting, request: ComparisonRequest, outcome: Launches[Measured]
) -> Comparison:
    """Rows for the cases that ran."""
    # In the first round every case has run once or not at all, so that all of it can be compared.
    compared = max(1, outcome.rounds_done)
    rows = [
        _row(case, request, launches, compared)
        for case, launches in zip(request.cases, outcome.results, strict=True)
        if launches
    ]
    stopped = None if outcome.stopped is None else str(outcome.stopped)
    return Comparison(setting, rows, outcome.rounds_done, stopped)


def _row(
    case: Case, request: ComparisonRequest, launches: Sequence[Measured], compared: int
) -> Row:
    names = request.cluster.names
    size_bytes, ranks = case.workload.size_bytes, len(case.order.order)
    times = spread([sample for launch in launches[:compared] for sample in launch.seconds])
    cpu_s = [used for launch in launches[:compared] for used in launch.cpu_s]
    limit = limit_of(request.network, size_bytes)
    traffic = [launch.traffic for launch in launches if launch.traffic is not None]
    links = None
    if case.plan is not None and traffic:
        links = links_of(
            traffic,
            case.workload.repetitions,
            case.plan.forest,
            size_bytes,
            names=names,
            host_of=case.order.order,
            groups=request.groups,
        )
    return Row(
        client=case.client,
        algorithm=case.algorithm,
        plan=None if case.plan is None else case.plan.kind,
        order=case.order.label or None,
        size_bytes=size_bytes,
        hosts=[names[host] for host in case.order.order],
        median_s=times.median_s,
        min_s=times.min_s,
        max_s=times.max_s,
        bus_mbit=8 * size_bytes * 2 * (ranks - 1) / ranks / times.median_s / 1e6,
        cpu_s_per_gb=statistics.median(cpu_s) / size_bytes * 1e9 if cpu_s else None,
        limit_s=None if limit is None else limit.time_s,
        limit_by=None if limit is None else limit.by,
        predicted_s=case.predicted_s,
        links=links,
        samples_s=[sample for launch in launches for sample in launch.seconds],
        cpu_s=[used for launch in launches for used in launch.cpu_s],
    )
