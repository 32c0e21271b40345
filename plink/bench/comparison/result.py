"""What a comparison found, and the rows that stand for it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plink.bench.clients.base import ClientFacts, Measured
from plink.bench.comparison.limit import limit_of
from plink.bench.comparison.links import Links, links_of
from plink.bench.comparison.request import Case, ComparisonRequest
from plink.bench.run import Launches
from plink.bench.statistics import spread

FORMAT = "plink.comparison"
VERSION = 1


@dataclass(frozen=True)
class Setting:
    """Under what conditions a comparison ran, for the record.

    Args:
        facts: versions and settings, by client.
        warmups, repetitions: of each launch.
        rounds: how often every case was to be launched.
        seed: decided orders, plans and the sequence of launches.
        congestion_control: the default of TCP sockets on each host.
        made_from: the hash of the cluster file.
        assumptions: what predictions took for granted, a sentence each.
    """

    facts: Mapping[str, ClientFacts]
    warmups: int
    repetitions: int
    rounds: int
    seed: int
    congestion_control: Mapping[str, str]
    made_from: str
    assumptions: Sequence[str]


@dataclass(frozen=True)
class Row:
    """One case. Times are of one allreduce, in seconds.

    Args:
        client, algorithm: what ran.
        plan: the kind of plan that the engine followed; None of libraries.
        order: the label of the ranks' order; None where the plan decided it.
        size_bytes: of each rank's buffer.
        hosts: the host of each rank.
        bus_mbit: 2 (N-1)/N of the buffer's bits over the median time, in Mbit/s.
        cpu_s_per_gb: CPU seconds of a rank's process for 10^9 bytes of buffer, the median over
            repetitions of the mean over ranks; None where the client does not tell.
        limit_s: what no allreduce on these links can beat; None where nothing is known of them.
        limit_by: whose links set that limit, `hosts` or `uplinks`.
        predicted_s: None where nothing is known of what links carry.
        links: bytes over each of them; None where the client does not tell.
        samples_s, cpu_s: per repetition, those of an unfinished round included.
    """

    client: str
    algorithm: str
    plan: str | None
    order: str | None
    size_bytes: int
    hosts: Sequence[str]
    median_s: float
    min_s: float
    max_s: float
    bus_mbit: float
    cpu_s_per_gb: float | None
    limit_s: float | None
    limit_by: str | None
    predicted_s: float | None
    links: Links | None
    samples_s: Sequence[float]
    cpu_s: Sequence[float]

    @property
    def share_of_limit(self) -> float | None:
        """The limit over the median time: 1 is as quick as links allow."""
        return None if self.limit_s is None else self.limit_s / self.median_s


@dataclass(frozen=True)
class Comparison:
    """The rows, size by size.

    Args:
        rounds_done: the rounds in which every case ran; the rows compare these alone, or, where
            there is none, what ran of the first.
        stopped: why not all rounds ran, or None where they did.
    """

    setting: Setting
    rows: Sequence[Row]
    rounds_done: int
    stopped: str | None


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


def to_json(result: Comparison) -> dict[str, Any]:
    """The JSON object that `--json` prints and `-o` writes."""
    setting = result.setting
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_from": setting.made_from,
        "clients": {name: asdict(facts) for name, facts in setting.facts.items()},
        "warmups": setting.warmups,
        "repetitions": setting.repetitions,
        "rounds": setting.rounds,
        "rounds_done": result.rounds_done,
        "stopped": result.stopped,
        "seed": setting.seed,
        "congestion_control": dict(setting.congestion_control),
        "assumptions": list(setting.assumptions),
        "time_of_a_repetition": "the longest of any rank",
        "rows": [asdict(row) for row in result.rows],
    }
