"""A client's own costs from times of its all-reduces, by weighted least squares of logarithms."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plink.base.errors import PlinkError
from plink.files.clients import ClientFit, Estimate, FitSample, SizeSpread
from plink.files.cluster import Cluster
from plink.optimize.expected import ExpectedTimes
from plink.optimize.plans.demand import Demand
from plink.optimize.plans.traffic import Traffic, traffic_of
from plink.plans.forest import Forest
from plink.plans.names import ALL_REDUCE
from plink.solvers.collectives.registry import find
from plink.solvers.collectives.table import PeerTable

# What a model of a few numbers leaves, whatever the readings' own spread.
_LEAST_SPREAD = 0.03

# Runs of a model, which differ by chance.
_RUNS = 5
_PASSES = 3

_LEAST_OVERHEAD_S, _MOST_OVERHEAD_S = 1e-7, 1.0
_LEAST_SHARE, _MOST_SHARE = 0.2, 1.3
_STEPS = 14

_Z_OF_90_PERCENT = 1.645
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Reading:
    """A sample, and what models need of it.

    Args:
        sample: as the file has it.
        hosts: (R,) of the ranks, by their places in the cluster.
        forest: of the engine; None for a library.
    """

    sample: FitSample
    hosts: Sequence[int]
    forest: Forest | None = None


@dataclass(frozen=True)
class Costs:
    """What was measured beside times.

    Args:
        reduction_s_per_gb: of adding, each time that it was measured.
        processor_s_per_gb: of a rank's process, by reading; none where it polls.
    """

    reduction_s_per_gb: Sequence[float] = ()
    processor_s_per_gb: Sequence[float] = ()


def fit_client(
    cluster: Cluster,
    client: str,
    readings: Sequence[Reading],
    costs: Costs,
    *,
    shared_cores: int | None = None,
) -> ClientFit:
    """The costs with which predictions are nearest to the readings.

    Overhead, share and serialisation are found in turn, each by golden section; a reading counts
    the less, the more its repetitions differ. What they leave is the spread.

    Args:
        cluster: of the readings' hosts.
        client: of `plink.files.clients.FITTED`.
        readings: of some sizes and numbers of hosts.
        costs: measured beside them.
        shared_cores: of the one machine that all hosts are on, or None.

    Raises:
        PlinkError: there is no reading.
    """
    if not readings:
        raise PlinkError("nothing was measured that a client could be fitted to")
    search = _Search(cluster, client, readings, costs, shared_cores)
    return search.found()


class _Search:
    def __init__(
        self,
        cluster: Cluster,
        client: str,
        readings: Sequence[Reading],
        costs: Costs,
        shared_cores: int | None,
    ) -> None:
        self._cluster = cluster
        self._models = [_model_of(client, reading) for reading in readings]
        self._readings = readings
        self._logs = [np.log(reading.sample.seconds) for reading in readings]
        self._weights = [
            1.0 / (float(logs.std()) ** 2 / len(logs) + _LEAST_SPREAD**2) for logs in self._logs
        ]
        reduction, processor = costs.reduction_s_per_gb, costs.processor_s_per_gb
        self._fit = ClientFit(
            client=client,
            overhead_us=_exactly(1.0),
            reduction_s_per_gb=_estimate_of(reduction) if reduction else _exactly(0.0),
            flow_share=_exactly(1.0),
            serialised=_exactly(0.5 if self._has_exchanges() else 0.0),
            processor_s_per_gb=_estimate_of(processor) if processor else None,
            shared_cores=shared_cores,
            samples=[reading.sample for reading in readings],
        )

    def _has_exchanges(self) -> bool:
        return any(isinstance(model, PeerTable) and _exchanges(model) for model in self._models)

    def found(self) -> ClientFit:
        for _ in range(_PASSES):
            self._fit = self._with(
                "overhead_us",
                _best(
                    lambda log_s: self._miss("overhead_us", math.exp(log_s) * 1e6),
                    math.log(_LEAST_OVERHEAD_S),
                    math.log(_MOST_OVERHEAD_S),
                ),
                lambda log_s: math.exp(log_s) * 1e6,
            )
            self._fit = self._with(
                "flow_share",
                _best(lambda share: self._miss("flow_share", share), _LEAST_SHARE, _MOST_SHARE),
            )
            if self._has_exchanges():
                self._fit = self._with(
                    "serialised", _best(lambda p: self._miss("serialised", p), 0.0, 1.0)
                )
        return replace(self._fit, spreads=self._spreads())

    def _with(
        self,
        name: str,
        best: tuple[float, float],
        value_of: Callable[[float], float] = lambda value: value,
    ) -> ClientFit:
        at, reach = best
        low, value, high = (value_of(each) for each in (at - reach, at, at + reach))
        if name == "serialised":
            low, high = max(0.0, low), min(1.0, high)
        found = Estimate(value, max(0.0, min(low, value)), max(high, value))
        return replace(self._fit, **{name: found})

    def _miss(self, name: str, value: float) -> float:
        changed = replace(self._fit, **{name: _exactly(value)})
        return float(
            sum(
                weight * (logs.mean() - math.log(predicted)) ** 2
                for weight, logs, predicted in zip(
                    self._weights, self._logs, self._predicted(changed), strict=True
                )
            )
        )

    def _predicted(self, fit: ClientFit) -> list[float]:
        times = ExpectedTimes(self._cluster, fit)
        return [
            statistics.median(times.runs_s(model, reading.hosts, _RUNS))
            if isinstance(model, PeerTable)
            else times.plan_s(model, reading.hosts)[1]
            for model, reading in zip(self._models, self._readings, strict=True)
        ]

    def _spreads(self) -> list[SizeSpread]:
        """By size: of all repetitions around what is predicted."""
        misses: dict[int, list[float]] = {}
        for reading, logs, predicted in zip(
            self._readings, self._logs, self._predicted(self._fit), strict=True
        ):
            of_size = misses.setdefault(reading.sample.size_bytes, [])
            of_size += (logs - math.log(predicted)).tolist()
        return [
            SizeSpread(size, max(_LEAST_SPREAD, _of_few(found)))
            for size, found in sorted(misses.items())
        ]


def _of_few(misses: Sequence[float]) -> float:
    """The root mean square, as much larger as so few may hide (Student, 1908, roughly)."""
    square = sum(miss * miss for miss in misses) / len(misses)
    return math.sqrt(square * (1.0 + 2.0 / len(misses)))


def _model_of(client: str, reading: Reading) -> PeerTable | Traffic:
    sample = reading.sample
    if reading.forest is not None:
        return traffic_of(Demand(ALL_REDUCE, sample.size_bytes), reading.forest)
    name = f"{client}-{sample.algorithm}"
    return find(name).table(len(reading.hosts), sample.size_bytes)


def _exchanges(table: PeerTable) -> bool:
    return any(
        set(zip(step.sources.tolist(), step.destinations.tolist(), strict=True))
        & set(zip(step.destinations.tolist(), step.sources.tolist(), strict=True))
        for step in table.rounds
    )


def _best(miss: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Where a function is least (golden section; Kiefer 1953), and how far 90 % reaches.

    The reach is where a parabola through the least and a point beside it has risen by the square of
    the quantile.
    """
    first, last = low, high
    left, right = last - _GOLDEN * (last - first), first + _GOLDEN * (last - first)
    at_left, at_right = miss(left), miss(right)
    for _ in range(_STEPS):
        if at_left <= at_right:
            last, right, at_right = right, left, at_left
            left = last - _GOLDEN * (last - first)
            at_left = miss(left)
        else:
            first, left, at_left = left, right, at_right
            right = first + _GOLDEN * (last - first)
            at_right = miss(right)
    best, least = (left, at_left) if at_left <= at_right else (right, at_right)
    beside = 0.1 * (high - low)
    rises = [
        miss(other) - least for other in (best - beside, best + beside) if low <= other <= high
    ]
    rise = max(rises, default=0.0)
    reach = high - low if rise <= 0.0 else beside * _Z_OF_90_PERCENT / math.sqrt(rise)
    return best, min(reach, high - low)


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value)


def _estimate_of(values: Sequence[float]) -> Estimate:
    return Estimate(statistics.median(values), min(values), max(values))
