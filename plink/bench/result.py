"""What a bench found, and the rows that stand for it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plink.base.text import counted
from plink.bench.clients.base import ClientFacts, Workload
from plink.bench.orders import NamedOrder
from plink.bench.run import Outcome
from plink.bench.statistics import made_alike, spearman, spearman_interval, spread


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
class Prediction:
    """What a cluster file says of some orders, and how much of it was measured.

    Args:
        costs_us: per order the latency form of its cost; None where nothing was measured.
        times_s: per order its time under contention; None where no link's rate is known.
        filled_pairs: unordered pairs that were measured in neither direction, and so were filled.
        unmeasured_hosts: names of the hosts without any measurement: all they have is filled.
    """

    costs_us: Sequence[float | None]
    times_s: Sequence[float | None]
    filled_pairs: int = 0
    unmeasured_hosts: Sequence[str] = ()

    @property
    def doubt(self) -> str | None:
        """Why the predictions are not all measured, as one sentence; None where they are."""
        if None in self.costs_us:
            return "the cluster file holds no round-trip times, so no latencies are predicted"
        if self.unmeasured_hosts:
            names = ", ".join(self.unmeasured_hosts)
            return f"no measurement reaches {names}: what is predicted of them is a guess"
        if self.filled_pairs:
            pairs = counted(self.filled_pairs, "pair")
            return f"{pairs} not measured: predictions take what other pairs suggest for them"
        return None


@dataclass(frozen=True)
class Row:
    """One order. Times in seconds; a speedup above 1 means that this order is the faster one.

    Args:
        order: its label.
        hosts: the host of each rank.
        bus_mbit: 2 (N-1)/N of the buffer's bits over the median time, in Mbit/s: what each host
            must send and receive in any allreduce that spreads its work evenly.
        speedup_over_random: against the median of the random orders' medians.
        predicted_us: the latency form of the order's cost, or None where nothing was measured.
        predicted_s: its time under contention, or None where no link's rate is known.
        samples_s: seconds per repetition, those of an unfinished round included.
    """

    order: str
    hosts: Sequence[str]
    median_s: float
    min_s: float
    max_s: float
    bus_mbit: float
    speedup_over_given: float | None
    speedup_over_random: float | None
    predicted_us: float | None
    predicted_s: float | None
    samples_s: Sequence[float]


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation of predicted and measured, and its 95 % confidence interval.

    `low` and `high` are None where they are not defined.
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class BenchResult:
    """The rows, in the sequence in which the orders were asked for.

    Args:
        prediction: of all orders that were asked for.
        rounds_done: the rounds in which every order ran; the rows compare these alone, or, where
            there is none, what ran of the first.
        by_latency: how well the latency form ranked the orders; None where that is not defined.
        by_contention: the same of the contention form.
        stopped: why not all rounds ran, or None where they did.
    """

    setting: Setting
    rows: Sequence[Row]
    prediction: Prediction
    rounds_done: int
    by_latency: Correlation | None
    by_contention: Correlation | None
    stopped: str | None


def make_result(
    setting: Setting,
    names: Sequence[str],
    orders: Sequence[NamedOrder],
    outcome: Outcome,
    prediction: Prediction,
) -> BenchResult:
    """Rows for the orders that have samples; `prediction` is of all `orders`."""
    # In the first round every order has run once or not at all, so that all of it can be compared.
    compared = max(1, outcome.rounds_done) * setting.workload.repetitions
    times_of = {i: spread(own[:compared]) for i, own in enumerate(outcome.samples_s) if own}
    medians = {orders[i].label: times.median_s for i, times in times_of.items()}
    given_s = medians.get("given")
    random_medians = [s for label, s in medians.items() if label.startswith("random-")]
    random_s = statistics.median(random_medians) if random_medians else None
    rows = []
    for i, times in times_of.items():
        ranks = len(orders[i].order)
        bits = 8 * setting.workload.size_bytes * 2 * (ranks - 1) / ranks
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
                predicted_us=prediction.costs_us[i],
                predicted_s=prediction.times_s[i],
                samples_s=list(outcome.samples_s[i]),
            )
        )
    stopped = None if outcome.stopped is None else str(outcome.stopped)
    return BenchResult(
        setting=setting,
        rows=rows,
        prediction=prediction,
        rounds_done=outcome.rounds_done,
        by_latency=_correlation([(row.predicted_us, row.median_s) for row in rows], setting.seed),
        by_contention=_correlation([(row.predicted_s, row.median_s) for row in rows], setting.seed),
        stopped=stopped,
    )


def _correlation(pairs: Sequence[tuple[float | None, float]], seed: int) -> Correlation | None:
    known = [(predicted, measured) for predicted, measured in pairs if predicted is not None]
    predicted = made_alike([value for value, _ in known])
    measured = [value for _, value in known]
    found = spearman(predicted, measured)
    if found is None:
        return None
    interval = spearman_interval(predicted, measured, seed)
    return Correlation(found, *(interval or (None, None)))


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
        "rounds_done": result.rounds_done,
        "stopped": result.stopped,
        "seed": setting.seed,
        "congestion_control": dict(setting.congestion_control),
        "made_from": setting.made_from,
        "time_of_a_repetition": "the longest of any rank",
        "filled_pairs": result.prediction.filled_pairs,
        "unmeasured_hosts": list(result.prediction.unmeasured_hosts),
        "spearman": {
            form: None if found is None else asdict(found)
            for form, found in (
                ("latency", result.by_latency),
                ("contention", result.by_contention),
            )
        },
        "rows": [asdict(row) for row in result.rows],
    }
