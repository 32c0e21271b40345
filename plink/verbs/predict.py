"""`plink.predict`: predicted times of algorithms and collectives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, get_args, overload

from plink.base.arguments import MAX_SEED, check_choice, size_bytes, whole
from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.progress import OnProgress
from plink.base.replacing import replace
from plink.base.size import DEFAULT_SIZE, format_size
from plink.base.text import format_count
from plink.files.order import Order
from plink.files.order_basis import is_made_from
from plink.files.plan import Plan
from plink.optimize.orders.request import DistanceSource
from plink.optimize.plans.forecasting import CollectiveRow, PlanForecast, forecast_plan
from plink.optimize.prediction import Forecast, PredictionRow, forecast
from plink.plans.names import checked_collectives
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.objects import page
from plink.verbs.order import RankOrder
from plink.verbs.progress import stages
from plink.verbs.warning import warn

with lazy_imports():
    from plink.show.terminal import predictions


T = TypeVar("T")


class _Rows(Mapping[str, T]):
    """Rows of a prediction, as a mapping by name in the table's order."""

    forecast: Forecast | PlanForecast

    @property
    def assumptions(self) -> list[str]:
        """Assumptions made about the network, one sentence each."""
        return list(self.forecast.assumptions)

    @abstractmethod
    def _named_rows(self) -> Iterator[tuple[str, T]]: ...

    def __getitem__(self, name: str) -> T:
        for own_name, row in self._named_rows():
            if own_name == name:
                return row
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._named_rows())

    def __len__(self) -> int:
        return sum(1 for _ in self._named_rows())


@dataclass(frozen=True, repr=False)
class Prediction(_Rows[PredictionRow]):
    """Predicted cost of each algorithm, by name.

    Each row has `order` (None where a cluster was given), `given` and `random`; each of these has
    `time_s` and `latency_us`, None where that is not known.

    Args:
        forecast: all that is known of it.
    """

    forecast: Forecast

    def _named_rows(self) -> Iterator[tuple[str, PredictionRow]]:
        return ((row.algorithm, row) for row in self.forecast.rows)

    @property
    def refused(self) -> dict[str, str]:
        """Algorithms that do not run with this number of ranks, with the reason."""
        return {each.algorithm: each.reason for each in self.forecast.refused}

    def __repr__(self) -> str:
        known = self.forecast
        what = f"{format_count(len(self), 'algorithm')}, {format_size(known.size_bytes)}"
        return f"<plink.Prediction: {what} on {format_count(known.ranks, 'rank')}>"

    def __str__(self) -> str:
        """Return the text that `plink predict` prints."""
        return page(lambda console: predictions.print_forecast(console, self.forecast, None))


@dataclass(frozen=True, repr=False)
class PlanPrediction(_Rows[CollectiveRow]):
    """Predicted time of each collective along a plan, by name.

    Each row has `time_s`, `bound_s` (no way of doing it takes less), `rounds`, `wire_bytes` and
    `cross_group_bytes`.

    Args:
        forecast: all that is known of it.
    """

    forecast: PlanForecast

    def _named_rows(self) -> Iterator[tuple[str, CollectiveRow]]:
        return ((row.collective, row) for row in self.forecast.rows)

    def __repr__(self) -> str:
        known = self.forecast
        what = f"{format_count(len(self), 'collective')}, {format_size(known.size_bytes)}"
        return (
            f"<plink.PlanPrediction: {what} along {known.kind}, "
            f"{format_count(known.ranks, 'rank')}>"
        )

    def __str__(self) -> str:
        """Return the text that `plink predict` prints."""
        return page(lambda console: predictions.print_plan_forecast(console, self.forecast))


@overload
def predict(
    order: RankOrder | MeasuredCluster,
    *,
    size: str | int | None = None,
    algorithms: str | Sequence[str] | None = None,
    collective: str | Sequence[str] | None = None,
    cluster: MeasuredCluster | None = None,
    distances: DistanceSource = "estimate",
    seed: int = 0,
    progress: OnProgress | None = None,
) -> Prediction: ...
@overload
def predict(
    order: Plan,
    *,
    size: str | int | None = None,
    collective: str | Sequence[str] | None = None,
    cluster: MeasuredCluster,
    distances: DistanceSource = "estimate",
) -> PlanPrediction: ...
def predict(
    order: RankOrder | MeasuredCluster | Plan,
    *,
    size: str | int | None = None,
    algorithms: str | Sequence[str] | None = None,
    collective: str | Sequence[str] | None = None,
    cluster: MeasuredCluster | None = None,
    distances: DistanceSource = "estimate",
    seed: int = 0,
    progress: OnProgress | None = None,
) -> Prediction | PlanPrediction:
    """Predict what algorithms take in an order, the given one and random ones, or along a plan.

    Args:
        order: the order, or a cluster to predict for the order that it has, or a plan to predict
            what plink's engine takes along it.
        size: of the whole buffer, on each rank before or after: `25MB`, `4KiB`, or bytes; None for
            a plan's own, and for 100 MB.
        algorithms: one or several names (`plink.algorithms`); None for all of the collective. A
            plan takes none.
        collective: one or several of those of `plink.plan`. None for an all-reduce, and for all of
            them along a plan.
        cluster: that the order or the plan is of, where it was read from a file.
        distances: `estimate` draws a pair whose readings disagree towards others of its groups;
            `readings` takes them as they are.
        seed: decides the random orders.
        progress: called at the beginning of each algorithm.

    Raises:
        WrongUseError: an argument that cannot be, or none of the algorithms takes so many ranks.
    """
    whole("seed", seed, 0, MAX_SEED)
    check_choice("distances", distances, get_args(DistanceSource))
    algorithms = [algorithms] if isinstance(algorithms, str) else algorithms
    wanted = [collective] if isinstance(collective, str) else list(collective or ())
    names = checked_collectives(wanted) if wanted else ()
    if isinstance(order, Plan):
        uses_readings = distances == "readings"
        return _along_plan(order, size, algorithms, names, cluster, uses_readings=uses_readings)
    if algorithms and names:
        raise WrongUseError("algorithms and collective exclude each other")
    if isinstance(order, Order):
        known = checked_cluster(_choose_cluster(order, cluster), "predict")
    else:
        known = checked_cluster(order, "predict")
    known = replace(known, uses_readings=distances == "readings")
    found = forecast(
        known,
        order if isinstance(order, Order) else None,
        size_bytes(DEFAULT_SIZE if size is None else size),
        algorithms=algorithms or (),
        collectives=names,
        seed=seed,
        source="order" if isinstance(order, Order) else "cluster",
        on_progress=stages(progress),
    )
    if isinstance(order, Order) and not is_made_from(order, known):
        warn("the order was made from another version of this cluster")
    return Prediction(found)


def _along_plan(
    plan: Plan,
    size: str | int | None,
    algorithms: Sequence[str] | None,
    collectives: Sequence[str],
    cluster: MeasuredCluster | None,
    *,
    uses_readings: bool,
) -> PlanPrediction:
    if algorithms:
        raise WrongUseError("algorithms does not apply to a plan, which plink's engine runs")
    if cluster is None:
        raise WrongUseError(
            "a plan does not contain the measurements",
            "give the cluster that it was made from, too",
        )
    known = replace(checked_cluster(cluster, "predict"), uses_readings=uses_readings)
    size_wanted = None if size is None else size_bytes(size)
    return PlanPrediction(forecast_plan(known, plan, size_wanted, collectives, "plan"))


def _choose_cluster(order: Order, cluster: MeasuredCluster | None) -> MeasuredCluster:
    known: MeasuredCluster | None = cluster or getattr(order, "cluster", None)
    if known is None:
        raise WrongUseError(
            "an order read from a file does not contain the measurements",
            "give the cluster that it was made from, too",
        )
    return known
