"""How the orders of a bench did against one another, and how well predictions ranked them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plink.base.text import format_count, format_names
from plink.bench.request import Case
from plink.bench.statistics import made_alike, spearman, spearman_interval
from plink.files.comparison import Comparison
from plink.model.distance import Distances


@dataclass(frozen=True)
class OrderFigures:
    """Figures of one order. A speedup above 1 means that this order is the faster one.

    Args:
        speedup_over_given: None where the given order did not run.
        speedup_over_random: against the median of the random orders' medians.
        predicted_us: the latency form of the order's cost, or None where nothing was measured.
    """

    speedup_over_given: float | None
    speedup_over_random: float | None
    predicted_us: float | None


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation of predicted and measured, and its 95 % confidence interval.

    `low` and `high` are None where they are not defined.
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class OrderReport:
    """Report of a bench of orders, beside its rows.

    Args:
        orders: one for each row.
        by_latency: how well the latency form ranked the orders; None where that is not defined.
        by_contention: the same of the contention form.
        filled_pairs: unordered pairs that were measured in neither direction, and so were filled.
        unmeasured_hosts: names of the hosts without any measurement: all they have is filled.
    """

    orders: Sequence[OrderFigures]
    by_latency: Correlation | None
    by_contention: Correlation | None
    filled_pairs: int
    unmeasured_hosts: Sequence[str]


def prediction_gaps(distances: Distances | None) -> str | None:
    """Say why predictions by latency are not all measured; None where they are."""
    if distances is None:
        return "the cluster file holds no round-trip times, so no latencies are predicted"
    if distances.unmeasured_hosts:
        names = format_names(distances.unmeasured_hosts)
        return f"no measurement reaches {names}: what is predicted for them is a guess"
    if distances.filled_pairs:
        pairs = format_count(distances.filled_pairs, "pair")
        return f"{pairs} not measured: predictions take what other pairs suggest for them"
    return None


def report_orders(
    result: Comparison, cases: Sequence[Case], distances: Distances | None
) -> OrderReport:
    """Compare the rows of a bench of orders.

    Args:
        result: whose rows are orders of one library's ranks, in one algorithm and size.
        cases: those that were to run, an order each.
        distances: what latencies were predicted from; None where none is known.
    """
    predicted_us = {case.order.label: case.predicted_us for case in cases}
    medians_s = {row.order or "": row.median_s for row in result.rows}
    given_s = medians_s.get("given")
    random_medians_s = [s for label, s in medians_s.items() if label.startswith("random-")]
    random_s = statistics.median(random_medians_s) if random_medians_s else None
    orders = [
        OrderFigures(
            speedup_over_given=given_s / median_s if given_s else None,
            speedup_over_random=random_s / median_s if random_s else None,
            predicted_us=predicted_us[label],
        )
        for label, median_s in medians_s.items()
    ]
    measured_s = list(medians_s.values())
    seed = result.setting.seed
    return OrderReport(
        orders=orders,
        by_latency=_correlation([order.predicted_us for order in orders], measured_s, seed),
        by_contention=_correlation([row.predicted_s for row in result.rows], measured_s, seed),
        filled_pairs=0 if distances is None else distances.filled_pairs,
        unmeasured_hosts=() if distances is None else distances.unmeasured_hosts,
    )


def to_json(result: Comparison, report: OrderReport) -> dict[str, Any]:
    """Return the JSON object that `--json` prints for a bench of orders."""
    setting, first = result.setting, result.rows[0]
    (client,) = setting.clients.values()
    return {
        "client": first.client,
        "versions": dict(client.versions),
        "settings": dict(client.settings),
        "algorithm": first.algorithm,
        "size_bytes": first.size_bytes,
        "warmups": setting.warmups,
        "repetitions": setting.repetitions,
        "rounds": setting.rounds,
        "rounds_done": result.rounds_done,
        "stopped": result.stopped,
        "seed": setting.seed,
        "congestion_control": dict(setting.congestion_control),
        "made_from": setting.made_from,
        "time_of_a_repetition": "the longest of any rank",
        "filled_pairs": report.filled_pairs,
        "unmeasured_hosts": list(report.unmeasured_hosts),
        "spearman": {
            form: None if found is None else asdict(found)
            for form, found in (
                ("latency", report.by_latency),
                ("contention", report.by_contention),
            )
        },
        "rows": [
            {
                "order": row.order,
                "hosts": row.hosts,
                "median_s": row.median_s,
                "min_s": row.min_s,
                "max_s": row.max_s,
                "bus_mbit": row.bus_mbit,
                "speedup_over_given": order.speedup_over_given,
                "speedup_over_random": order.speedup_over_random,
                "predicted_us": order.predicted_us,
                "predicted_s": row.predicted_s,
                "samples_s": row.samples_s,
            }
            for row, order in zip(result.rows, report.orders, strict=True)
        ],
    }


def _correlation(
    predictions: Sequence[float | None], measured_s: Sequence[float], seed: int
) -> Correlation | None:
    known = [
        (predicted, measured)
        for predicted, measured in zip(predictions, measured_s, strict=True)
        if predicted is not None
    ]
    predicted = made_alike([value for value, _ in known])
    measured = [value for _, value in known]
    found = spearman(predicted, measured)
    if found is None:
        return None
    interval = spearman_interval(predicted, measured, seed)
    return Correlation(found, *(interval or (None, None)))
