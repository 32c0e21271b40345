"""Fit of a communication library's software costs to measured times of its all-reduces."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plink.base.errors import PlinkError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.formats.clients import (
    SPINNING,
    ClientFit,
    Estimate,
    FitSample,
    SizeSpread,
    build_exact_estimate,
    build_free_client,
    with_estimates,
)
from plink.formats.cluster import Cluster
from plink.optimize.expected import ExpectedTimes
from plink.optimize.plans.forecasting import predict_plan_s
from plink.optimize.plans.traffic import Demand, build_routes_timer, build_traffic
from plink.plans.forest import Forest
from plink.plans.names import ALL_REDUCE
from plink.solvers.collectives.registry import find
from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.flows import FlowClock, SoftwareCosts
from plink.solvers.forests.time import RoutesTimer

with lazy_imports():
    from scipy import optimize

# What Linux gives at 250 ticks a second; assumed where nothing small was measured.
USUAL_TURN_US = 4000.0
_USUAL_RANGE = 1.35

# What the model misses of one algorithm on so many ranks, and at least of all together (standard
# deviations of logarithms).
_MODEL_SPREAD = 0.12
_LEAST_SPREAD = 0.05
_SLICE_RUNS = 41
_Z_OF_90_PERCENT = 1.645

# How far small messages are from any model where ranks wait for a core that they share.
_SHARED_SPREAD = 0.5
_SMALL_BYTES = 1 << 18

# Runs of a model, which differ by chance.
_RUNS = 7
_ROUNDS_OF_SEARCH = 250


def fit_time_slice(readings_s: Sequence[tuple[FlowClock, Sequence[float]]], cores: int) -> Estimate:
    """Fit the scheduler's time slice in µs to all-reduce times of ranks that share cores.

    Clocks and repetitions in seconds are of all-reduces of small buffers, by ranks that share
    cores.
    """
    misses, weights = [], []
    value = USUAL_TURN_US
    costs = SoftwareCosts(slice_s=USUAL_TURN_US * 1e-6, cores=cores)
    for clock, times in readings_s:
        expected_s = statistics.median(clock.time_s(costs, seed) for seed in range(_SLICE_RUNS))
        logs = np.log(times)
        misses.append(float(np.median(logs)) - math.log(expected_s))
        # Fewer ranks of a core tell less of many: their turns are more often cut short.
        crowd = clock.ranks / cores
        weights.append(crowd / (_MODEL_SPREAD**2 + float(logs.var()) / len(times)))
    reach = _USUAL_RANGE
    if misses:
        value *= math.exp(float(np.average(misses, weights=weights)))
        spread = max(_LEAST_SPREAD, _MODEL_SPREAD / math.sqrt(len(misses)))
        reach = math.exp(_Z_OF_90_PERCENT * spread)
    return Estimate(value, value / reach, value * reach)


@dataclass(frozen=True)
class Reading:
    """Measured times of a library's all-reduce, its ranks' hosts, and the forest if by the engine.

    Args:
        sample: as the file has it.
        hosts: (R,) of the ranks, by their places in the cluster.
        forest: forest of the engine; None for a library.
    """

    sample: FitSample
    hosts: Sequence[int]
    forest: Forest | None = None


@dataclass(frozen=True)
class Costs:
    """Software costs in seconds per GB, measured directly: of adding, and of processor time.

    Args:
        reduction_s_per_gb: of adding, each time that it was measured.
        processor_s_per_gb: of a rank's process, by reading; none where it polls.
    """

    reduction_s_per_gb: Sequence[float] = ()
    processor_s_per_gb: Sequence[float] = ()


@dataclass(frozen=True)
class _Parameter:
    """Parameter to fit: its starting values, limits, and whether its logarithm is searched.

    Logarithms are searched where it is a matter of magnitude.
    """

    firsts: tuple[float, ...]
    low: float
    high: float
    is_magnitude: bool = True

    def inside(self, place: float) -> float:
        value = math.exp(place) if self.is_magnitude else place
        return min(self.high, max(self.low, value))

    def place(self, value: float) -> float:
        return math.log(value) if self.is_magnitude else value


_COSTS: Mapping[str, _Parameter] = {
    "overhead_us": _Parameter((300.0,), 0.1, 1e6),
    "flow_share": _Parameter((0.95,), 0.2, 1.1, is_magnitude=False),
    "rendezvous_us": _Parameter((300.0, 5000.0), 0.1, 1e6),
    "serialised": _Parameter((0.3, 0.8), 0.0, 1.0, is_magnitude=False),
    "burst_bytes": _Parameter((3e4, 3e5), 1e3, 1e7),
}


def fit_client(
    cluster: Cluster,
    client: str,
    readings: Sequence[Reading],
    costs: Costs,
    *,
    shared_cores: int | None = None,
) -> ClientFit:
    """Fit a communication library's software costs so that predictions are near measured times.

    They are found by simplex (Nelder and Mead, 1965) from a few places; a reading counts the less,
    the more its repetitions differ. What they leave is the spread.

    Args:
        cluster: cluster of the readings' hosts.
        client: one of `plink.formats.clients.FITTED`.
        readings: readings of some sizes and numbers of hosts.
        costs: measured beside them.
        shared_cores: shared cores of the one machine that all hosts are on, or None.

    Raises:
        PlinkError: there is no reading.
    """
    if not readings:
        raise PlinkError(f"{client} has no usable all-reduce times, expected some to fit costs to")
    return _FitSearch(cluster, client, readings, costs, shared_cores).find()


class _FitSearch:
    def __init__(
        self,
        cluster: Cluster,
        client: str,
        readings: Sequence[Reading],
        costs: Costs,
        shared_cores: int | None,
    ) -> None:
        self._cluster = cluster
        # Where all predictions are of more ranks than cores, fewer ranks tell of something else.
        cores = shared_cores or 0
        crowded = [reading for reading in readings if len(reading.hosts) > cores]
        given, readings = readings, crowded or readings
        takes_turns = bool(client in SPINNING and shared_cores and crowded)
        self._readings = readings
        logs = [np.log(reading.sample.seconds) for reading in readings]
        self._logs = logs
        self._medians = np.array([np.median(each) for each in logs])
        weights = []
        for each, reading in zip(logs, readings, strict=True):
            # Small messages wait where ranks share a core.
            waits = shared_cores is not None and len(reading.hosts) > shared_cores
            is_small = reading.sample.size_bytes < _SMALL_BYTES
            model_spread = _SHARED_SPREAD if is_small and waits else _LEAST_SPREAD
            # By the median absolute deviation.
            spread = 1.4826 * float(np.median(np.abs(each - np.median(each))))
            weights.append(1.0 / (spread**2 / len(each) + model_spread**2))
        self._weights = np.array(weights)
        reduction, processor = costs.reduction_s_per_gb, costs.processor_s_per_gb
        self._fit = replace(
            build_free_client(client),
            reduction_s_per_gb=_summarize_values(reduction)
            if reduction
            else build_exact_estimate(0.0),
            processor_s_per_gb=_summarize_values(processor) if processor else None,
            shared_cores=shared_cores,
            samples=[reading.sample for reading in given],
        )
        self._first = ExpectedTimes(cluster, self._fit)
        self._models = [self._build_model(client, reading) for reading in readings]
        flows = [model for model in self._models if isinstance(model, FlowClock)]
        if takes_turns:
            # Beside turns, what messages take to begin is nothing, and none asks first.
            self._names = ["flow_share"]
            small = [
                (model, reading.sample.seconds)
                for model, reading in zip(self._models, readings, strict=True)
                if isinstance(model, FlowClock) and reading.sample.size_bytes < _SMALL_BYTES
            ]
            self._fit = replace(self._fit, turn_us=fit_time_slice(small, cores))
        else:
            self._names = ["overhead_us", "flow_share"]
            self._names += ["rendezvous_us"] if flows else []
            self._names += ["serialised"] if any(model.has_exchanges for model in flows) else []
        knows_burst = cluster.links is not None and cluster.links.burst_bytes > 0
        self._names += [] if knows_burst else ["burst_bytes"]

    def _build_model(self, client: str, reading: Reading) -> FlowClock | PeerTable | RoutesTimer:
        sample = reading.sample
        if reading.forest is not None:
            traffic = build_traffic(Demand(ALL_REDUCE, sample.size_bytes), reading.forest)
            return build_routes_timer(traffic, reading.hosts, self._first.network)
        algorithm = find(f"{client}-{sample.algorithm}")
        table = algorithm.table(len(reading.hosts), sample.size_bytes)
        if table.is_pipelined:
            return table
        first = self._first
        return FlowClock(table, reading.hosts, first.network.latency_s, first.links)

    def find(self) -> ClientFit:
        ends = []
        costs = [_COSTS[name] for name in self._names]
        # From every combination of starting values of the parameters.
        for firsts in itertools.product(*(cost.firsts for cost in costs)):
            begin = np.array([cost.place(value) for cost, value in zip(costs, firsts, strict=True)])
            spans = [0.3 if _COSTS[name].is_magnitude else 0.1 for name in self._names]
            simplex = np.vstack([begin, begin + 4.0 * np.diag(spans)])
            limits = {"maxfev": _ROUNDS_OF_SEARCH, "xatol": 1e-3, "fatol": 1e-3}
            options = {"initial_simplex": simplex, **limits}
            done: Any = optimize.minimize(self._miss, begin, method="Nelder-Mead", options=options)  # type: ignore[call-overload]
            ends.append((float(done.fun), done.x.tolist()))
        _, best = min(ends)
        fit = self._with_places(best)
        ranges = {
            name: self._estimate_range(number, name, best)
            for number, name in enumerate(self._names)
        }
        return replace(with_estimates(fit, ranges), spreads=self._spreads(fit))

    def _with_places(self, places: Sequence[float]) -> ClientFit:
        values = {
            name: build_exact_estimate(_COSTS[name].inside(place))
            for name, place in zip(self._names, places, strict=True)
        }
        return with_estimates(self._fit, values)

    def _miss(self, places: Sequence[float]) -> float:
        logs = np.log(self._predict(self._with_places(places)))
        beyond = sum(
            (place - _COSTS[name].place(_COSTS[name].inside(place))) ** 2
            for name, place in zip(self._names, places, strict=True)
        )
        return float((self._weights * (self._medians - logs) ** 2).sum() + 1e3 * beyond)

    def _estimate_range(self, number: int, name: str, places: Sequence[float]) -> Estimate:
        """Return a fitted parameter with its 90 % interval, all other parameters held fixed."""
        cost = _COSTS[name]
        value = cost.inside(places[number])
        least = self._miss(places)
        ends = []
        for sign in (-1.0, 1.0):
            step = 0.02
            while step < 8.0:
                moved = [*places]
                moved[number] += sign * step
                # One degree of freedom, as much as the readings themselves miss.
                if self._miss(moved) - least > _Z_OF_90_PERCENT**2 * max(
                    1.0, least / max(1, len(self._readings) - len(self._names))
                ):
                    break
                step *= 1.6
            ends.append(cost.inside(places[number] + sign * step))
        return Estimate(value, min(ends[0], value), max(ends[1], value))

    def _predict(self, fit: ClientFit) -> list[float]:
        times = ExpectedTimes(self._cluster, fit, self._first.network)
        found = []
        for model, reading in zip(self._models, self._readings, strict=True):
            if isinstance(model, FlowClock):
                found.append(statistics.median(times.runs_s(model, _RUNS)))
            elif isinstance(model, PeerTable):
                found.append(times.pipelined_s(model, reading.hosts))
            else:
                found.append(predict_plan_s(times, model, reading.hosts)[1])
        return found

    def _spreads(self, fit: ClientFit) -> list[SizeSpread]:
        """Return, for each buffer size, the deviation of log times from the predicted ones."""
        misses: dict[int, list[float]] = {}
        for reading, logs, predicted in zip(
            self._readings, self._logs, self._predict(fit), strict=True
        ):
            of_size = misses.setdefault(reading.sample.size_bytes, [])
            of_size += (logs - math.log(predicted)).tolist()
        return [
            SizeSpread(size, max(_LEAST_SPREAD, _widen_spread_of_few(found)))
            for size, found in sorted(misses.items())
        ]


def _widen_spread_of_few(misses: Sequence[float]) -> float:
    """Return the deviation whose 90 % interval covers 90 % of residuals, wider if they are few."""
    reach = float(np.quantile(np.abs(misses), 0.9))
    return reach / _Z_OF_90_PERCENT * (1.0 + 1.0 / len(misses))


def _summarize_values(values: Sequence[float]) -> Estimate:
    return Estimate(statistics.median(values), min(values), max(values))
