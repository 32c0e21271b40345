"""Comparison of the orders of a bench, and the rank correlation of predicted and measured times."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

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
    """Rank correlation of predicted and measured times of the orders.

    Attributes:
        latency: correlation of the latency form; null if not defined
        contention: correlation of predicted times; null if not defined
    """

    latency: Correlation | None
    contention: Correlation | None


class OrderRow(Output, frozen=True, kw_only=True):
    """Figures of one order in a bench.

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


def prediction_gaps(distances: Distances | None) -> str | None:
    """Return why predictions by latency are not all measured; None if they are."""
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
) -> OrdersBench:
    """Compare the rows of a bench of orders.

    Args:
        result: rows of one client, algorithm and size, in several orders of the ranks.
        cases: cases that were to run, one for each order.
        distances: distances that latencies were predicted from; None if nothing was measured.
    """
    predicted_us = {case.order.label: case.predicted_us for case in cases}
    medians_s = {row.order or "": row.median_s for row in result.rows}
    given_s = medians_s.get("given")
    random_medians_s = [s for label, s in medians_s.items() if label.startswith("random-")]
    random_s = statistics.median(random_medians_s) if random_medians_s else None
    rows = [
        OrderRow(
            **_pick(row, OrderRow),
            speedup_over_given=given_s / row.median_s if given_s else None,
            speedup_over_random=random_s / row.median_s if random_s else None,
            predicted_us=predicted_us[row.order or ""],
        )
        for row in result.rows
    ]
    measured_s = list(medians_s.values())
    seed = result.setting.seed
    (client,) = result.setting.clients.values()
    members: dict[str, Any] = {}
    for part in (client, result.rows[0], result.setting, result):
        members |= _pick(part, OrdersBench)
    return OrdersBench(
        **(members | {"rows": rows}),
        filled_pairs=0 if distances is None else distances.filled_pairs,
        unmeasured_hosts=() if distances is None else distances.unmeasured_hosts,
        spearman=Correlations(
            latency=_correlation([row.predicted_us for row in rows], measured_s, seed),
            contention=_correlation([row.predicted_s for row in rows], measured_s, seed),
        ),
    )


def _pick(part: Struct, kind: type[Struct]) -> dict[str, Any]:
    """Return the members of a struct that another kind of struct has, too."""
    return {
        name: getattr(part, name)
        for name in part.__struct_fields__
        if name in kind.__struct_fields__
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
