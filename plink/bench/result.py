"""What a bench found, and the rows that stand for it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plink.bench.clients.base import ClientFacts, Workload
from plink.bench.orders import NamedOrder
from plink.bench.statistics import spearman, spread


@dataclass(frozen=True)
class Setting:
    """Under what conditions a bench ran, for the record.

    Args:
        client: `gloo`, `openmpi` or `mpich`.
        facts: the client's versions and settings.
        workload: what ran in each launch.
        rounds: how often every order was to be launched.
        seed: what decided the random orders, plink's search and the sequence of launches.
        congestion_control: the default of TCP sockets on each host.
        made_from: the hash of the cluster file.
    """

    client: str
    facts: ClientFacts
    workload: Workload
    rounds: int
    seed: int
    congestion_control: Mapping[str, str]
    made_from: str


@dataclass(frozen=True)
class Row:
    """One order. Times in seconds; a speedup above 1 means that this order is the faster one.

    Args:
        order: its label.
        hosts: the host of each rank.
        bus_mbit: 2 (N-1)/N of the buffer's bits over the median time, in Mbit/s: what each host
            must send and receive in any allreduce that spreads its work evenly.
        speedup_over_random: against the median of the random orders' medians.
        predicted_us: the order's cost on the measured matrix.
    """

    order: str
    hosts: Sequence[str]
    median_s: float
    min_s: float
    max_s: float
    bus_mbit: float
    speedup_over_given: float | None
    speedup_over_random: float | None
    predicted_us: float
    samples_s: Sequence[float]


@dataclass(frozen=True)
class BenchResult:
    """The rows, in the sequence in which the orders were asked for.

    `spearman` is the rank correlation of predicted and measured; None where it is not defined.
    """

    setting: Setting
    rows: Sequence[Row]
    spearman: float | None


def make_result(
    setting: Setting,
    names: Sequence[str],
    orders: Sequence[NamedOrder],
    samples_s: Sequence[Sequence[float]],
    predicted_us: Sequence[float],
) -> BenchResult:
    """Rows for the orders that have samples; `samples_s` and `predicted_us` are per order."""
    measured = [i for i in range(len(orders)) if samples_s[i]]
    medians = {orders[i].label: spread(samples_s[i]).median_s for i in measured}
    given_s = medians.get("given")
    random_medians = [s for label, s in medians.items() if label.startswith("random-")]
    random_s = statistics.median(random_medians) if random_medians else None
    rows = []
    for i in measured:
        times = spread(samples_s[i])
        bits = 8 * setting.workload.size_bytes * 2 * (len(names) - 1) / len(names)
        rows.append(
            Row(
                order=orders[i].label,
                hosts=[names[host] for host in orders[i].order],
                median_s=times.median_s,
                min_s=times.min_s,
                max_s=times.max_s,
                bus_mbit=bits / times.median_s / 1e6,
                speedup_over_given=given_s / times.median_s if given_s else None,
                speedup_over_random=random_s / times.median_s if random_s else None,
                predicted_us=predicted_us[i],
                samples_s=list(samples_s[i]),
            )
        )
    correlation = spearman([row.predicted_us for row in rows], [row.median_s for row in rows])
    return BenchResult(setting, rows, correlation)


def to_json(result: BenchResult) -> dict[str, Any]:
    """The JSON object that `--json` prints."""
    setting = result.setting
    workload = setting.workload
    return {
        "client": setting.client,
        "versions": dict(setting.facts.versions),
        "settings": dict(setting.facts.settings),
        "algorithm": workload.algorithm,
        "size_bytes": workload.size_bytes,
        "warmups": workload.warmups,
        "repetitions": workload.repetitions,
        "rounds": setting.rounds,
        "seed": setting.seed,
        "congestion_control": dict(setting.congestion_control),
        "made_from": setting.made_from,
        "time_of_a_repetition": "the longest of any rank",
        "spearman": result.spearman,
        "rows": [asdict(row) for row in result.rows],
    }
