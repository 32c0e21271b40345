"""Comparison of the orders of a bench, and the rank correlation of predicted and measured times."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from plink.base.text import format_count, format_names
from plink.bench.request import Case
from plink.bench.statistics import made_alike, spearman, spearman_interval
from plink.formats.comparison import (
    Comparison,
    MeanBytes,
    PositiveSeconds,
    Times,
    TimesAtLeastOnce,
)
from plink.formats.limits import Amount, Count, Positive, Text, Whole
from plink.formats.structs import Output
from plink.model.distance import Distances

Coefficient = Annotated[float, Meta(ge=-1, le=1)]


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


class Correlation(Output, frozen=True):
    """Spearman's rank correlation of predicted and measured times.

    Attributes:
        value: the correlation
        low, high: ends of its 95 % confidence interval; null if not defined
    """

    value: Coefficient
    low: Coefficient | None
    high: Coefficient | None


class Correlations(Output, frozen=True):
    """How well predictions ranked the orders.

    Attributes:
        latency: correlation of the latency form; null if not defined
        contention: correlation of predicted times; null if not defined
    """

    latency: Correlation | None
    contention: Correlation | None


class OrderRow(Output, frozen=True, kw_only=True):
    """An order.

    Attributes:
        order: label of the order: `given`, `plink`, `random-1`, ...
        hosts: host of each rank
        median_s, min_s, max_s: median, least and greatest time of one collective, in s
        bus_mbit: bits that a rank must send over the median time, in Mbit/s
        speedup_over_given: speedup over the given order
        speedup_over_random: speedup over random orders (median)
        predicted_us: latency form of its cost, in µs
        predicted_s: predicted time, in s
        samples_s: time of each repetition, in s
    """

    order: Text
    hosts: Annotated[Sequence[str], Meta(min_length=1)]
    median_s: PositiveSeconds
    min_s: PositiveSeconds
    max_s: PositiveSeconds
    bus_mbit: MeanBytes
    speedup_over_given: Amount | None
    speedup_over_random: Amount | None
    predicted_us: Amount | None
    predicted_s: Amount | None
    samples_s: Sequence[Amount]


class OrdersBench(Output, frozen=True, kw_only=True):
    """Several orders of one client, algorithm and size.

    Attributes:
        client: client that ran
        versions: version of each of its parts
        settings: switches that it was given
        algorithm: algorithm that ran
        size_bytes: size of the whole buffer, in bytes
        warmups: collectives before the timed ones of each launch
        repetitions: timed collectives of each launch
        rounds: number of times that everything was to be launched
        rounds_done: rounds in which everything ran
        stopped: why not all rounds ran; null if they did
        seed: seed of the random choices
        congestion_control: default of TCP sockets on each host
        made_from: SHA-256 (`sha256:...`) of the cluster
        time_of_a_repetition: rank whose time counts, in words
        filled_pairs: pairs whose distance was filled from others
        unmeasured_hosts: names of hosts without any measurement
        spearman: how well predictions ranked the orders
        rows: figures, order by order
    """

    client: Text
    versions: Mapping[str, Text]
    settings: Mapping[str, Text]
    algorithm: Text
    size_bytes: Positive
    warmups: Times
    repetitions: TimesAtLeastOnce
    rounds: TimesAtLeastOnce
    rounds_done: Times
    stopped: Text | None
    seed: Count
    congestion_control: Mapping[str, Text]
    made_from: Text
    time_of_a_repetition: Text
    filled_pairs: Whole
    unmeasured_hosts: Sequence[str]
    spearman: Correlations
    rows: Sequence[OrderRow]


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


def describe_orders(result: Comparison, report: OrderReport) -> OrdersBench:
    """Return what `plink bench --json` prints for a bench of orders."""
    setting, first = result.setting, result.rows[0]
    (client,) = setting.clients.values()
    return OrdersBench(
        client=first.client,
        versions=client.versions,
        settings=client.settings,
        algorithm=first.algorithm,
        size_bytes=first.size_bytes,
        warmups=setting.warmups,
        repetitions=setting.repetitions,
        rounds=setting.rounds,
        rounds_done=result.rounds_done,
        stopped=result.stopped,
        seed=setting.seed,
        congestion_control=setting.congestion_control,
        made_from=setting.made_from,
        time_of_a_repetition=result.time_of_a_repetition,
        filled_pairs=report.filled_pairs,
        unmeasured_hosts=report.unmeasured_hosts,
        spearman=Correlations(report.by_latency, report.by_contention),
        rows=[
            OrderRow(
                order=row.order or "",
                hosts=row.hosts,
                median_s=row.median_s,
                min_s=row.min_s,
                max_s=row.max_s,
                bus_mbit=row.bus_mbit,
                speedup_over_given=figures.speedup_over_given,
                speedup_over_random=figures.speedup_over_random,
                predicted_us=figures.predicted_us,
                predicted_s=row.predicted_s,
                samples_s=row.samples_s,
            )
            for row, figures in zip(result.rows, report.orders, strict=True)
        ],
    )


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
