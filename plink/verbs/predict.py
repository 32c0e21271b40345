"""`plink.predict` and `plink predict`: predicted times of algorithms and collectives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast, overload

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.request import keyword_function
from plink.base.size import DEFAULT_SIZE_BYTES, format_size
from plink.base.text import format_count
from plink.formats.cluster import Cluster, build_not_measured_error
from plink.formats.order import Order
from plink.formats.order_basis import is_made_from
from plink.formats.plan import Plan
from plink.optimize.plans.forecasting import CollectiveRow, PlanForecast, forecast_plan
from plink.optimize.prediction import Forecast, PredictionRow, forecast_costs
from plink.optimize.prediction_request import PredictionRequest
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.common import build_warner, print_to_text, report_stages

with lazy_imports():
    from plink.show.terminal import predictions

if TYPE_CHECKING:
    from typing import Protocol

    from rich.console import Console
    from typing_extensions import ParamSpec

    Keywords = ParamSpec("Keywords")

    class _Predict(Protocol[Keywords]):
        """Type of the function `plink.predict`, whose result type depends on its first argument."""

        @overload
        def __call__(
            self,
            subject: Order | MeasuredCluster,
            /,
            *arguments: Keywords.args,
            **keywords: Keywords.kwargs,
        ) -> Prediction: ...
        @overload
        def __call__(
            self, subject: Plan, /, *args: Keywords.args, **keywords: Keywords.kwargs
        ) -> PlanPrediction: ...


T = TypeVar("T")


class _Rows(Mapping[str, T]):
    """Prediction as a mapping from name to row (costs or times), in the table's order."""

    forecast: Forecast | PlanForecast

    @property
    @abstractmethod
    def rows(self) -> dict[str, T]:
        """Rows of the table, by name."""

    @property
    def assumptions(self) -> list[str]:
        """Assumptions made about the network, one sentence each."""
        return list(self.forecast.assumptions)

    @abstractmethod
    def print_on(self, console: Console) -> None:
        """Print the table of the prediction on a console."""

    def __str__(self) -> str:
        """Return the text that `plink predict` prints."""
        return print_to_text(self.print_on)

    def __getitem__(self, name: str) -> T:
        return self.rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, repr=False)
class Prediction(_Rows[PredictionRow]):
    """Predicted costs (time, latency) of collective algorithms: a mapping by algorithm.

    Each row has `order` (None where a cluster was given), `given` and `random`; each of these has
    `time_s` and `latency_us`, None where that is not known.

    Args:
        forecast: all that is known of it.
        notes: reasons for caution, one sentence each.
        objective: cost to compare in print; None for contention where it is known.
    """

    forecast: Forecast
    notes: Sequence[str] = ()
    objective: str | None = None

    @property
    def rows(self) -> dict[str, PredictionRow]:
        """Rows of the table, by algorithm."""
        return {row.algorithm: row for row in self.forecast.rows}

    @property
    def refused(self) -> dict[str, str]:
        """Algorithms that do not run with this number of ranks, with the reason."""
        return {each.algorithm: each.reason for each in self.forecast.refused}

    def __repr__(self) -> str:
        known = self.forecast
        what = f"{format_count(len(self), 'algorithm')}, {format_size(known.size_bytes)}"
        return f"<plink.Prediction: {what} on {format_count(known.ranks, 'rank')}>"

    def print_on(self, console: Console) -> None:
        """Print the table of predicted costs of algorithms on a console."""
        predictions.print_forecast(console, self.forecast, self.objective)


@dataclass(frozen=True, repr=False)
class PlanPrediction(_Rows[CollectiveRow]):
    """Predicted times of collectives along a plan: a mapping from collective to its row.

    Each row has `time_s`, `bound_s` (no way of doing it takes less), `rounds`, `wire_bytes` and
    `cross_group_bytes`.

    Args:
        forecast: all that is known of it.
        notes: reasons for caution, one sentence each.
    """

    forecast: PlanForecast
    notes: Sequence[str] = ()

    @property
    def rows(self) -> dict[str, CollectiveRow]:
        """Rows of the table, by collective."""
        return {row.collective: row for row in self.forecast.rows}

    def __repr__(self) -> str:
        known = self.forecast
        what = f"{format_count(len(self), 'collective')}, {format_size(known.size_bytes)}"
        return (
            f"<plink.PlanPrediction: {what} along {known.kind}, "
            f"{format_count(known.ranks, 'rank')}>"
        )

    def print_on(self, console: Console) -> None:
        """Print the table of predicted times along a plan on a console."""
        predictions.print_plan_forecast(console, self.forecast)


def predict_times(
    subject: Order | MeasuredCluster | Plan, request: PredictionRequest, source: str | None = None
) -> Prediction | PlanPrediction:
    """Predict algorithms' costs in an order and in random ones, or collectives' times in a plan.

    Without `size`, that of the plan or of the order's mesh counts, and else 100 MB.

    Args:
        subject: the order, or a cluster to predict for the order that it has, or a plan to predict
            what plink's engine takes along it.
        request: what is asked for.
        source: what messages call the subject; None for its kind.

    Raises:
        WrongUseError: an argument is not allowed, the order or the plan is of other hosts, there
            are two clusters, or none of the algorithms takes so many ranks.
    """
    if isinstance(subject, Plan):
        return _predict_plan(subject, request, source)
    order = subject if isinstance(subject, Order) else None
    if order is None and request.cluster is not None:
        raise WrongUseError(
            "only one cluster can be predicted for, but two are given",
            "give {cluster} with an order or a plan only",
            arguments={"cluster": None},
        )
    cluster = subject if order is None else _choose_cluster(order, request, source)
    known = replace(
        checked_cluster(cluster, "predict"), uses_readings=request.distances == "readings"
    )
    size = request.size_bytes
    if size is None:
        mesh = None if order is None or request.algorithms else order.mesh
        size = DEFAULT_SIZE_BYTES if mesh is None else mesh.size_bytes
    found = forecast_costs(
        known,
        order,
        size,
        algorithms=request.algorithm_names,
        collectives=request.collectives,
        seed=request.seed,
        source=source or ("cluster" if order is None else "order"),
        on_progress=report_stages(request.progress),
    )
    if request.objective == "contention" and not found.has_times:
        raise build_not_measured_error(known, "bandwidth")
    notes = []
    if order is not None and not is_made_from(order, known):
        notes.append(_other_version(source or "the order", known))
    return Prediction(found, notes, request.objective)


def _predict_plan(plan: Plan, request: PredictionRequest, source: str | None) -> PlanPrediction:
    for name in ("algorithms", "objective"):
        if getattr(request, name):
            raise WrongUseError(
                f"{{{name}}} applies to orders, not to a plan",
                "{collective} chooses what is predicted along a plan",
                arguments=vars(request),
            )
    cluster = checked_cluster(_choose_cluster(plan, request, source), "predict")
    known = replace(cluster, uses_readings=request.distances == "readings")
    forecast = forecast_plan(known, plan, request.size_bytes, request.collectives, source or "plan")
    is_other = None not in (plan.made_from, known.file_hash) and plan.made_from != known.file_hash
    return PlanPrediction(forecast, [_other_version(source or "the plan", known)] * is_other)


def _other_version(subject: str, cluster: Cluster) -> str:
    return f"{subject} was made from another version of {cluster.source}"


def _choose_cluster(
    subject: Order | Plan, request: PredictionRequest, source: str | None
) -> Cluster:
    known: Cluster | None = request.cluster or getattr(subject, "cluster", None)
    if known is None:
        place = "" if source is None else f"{source}: "
        plan_or_order = "a plan" if isinstance(subject, Plan) else "an order read from a file"
        raise WrongUseError(
            f"{place}{plan_or_order} does not contain the measurements to predict from",
            "give the cluster that it was made from as {cluster}",
            arguments={"cluster": None},
        )
    return known


def _typed(request: Callable[Keywords, PredictionRequest]) -> _Predict[Keywords]:
    return cast(
        "_Predict[Keywords]",
        keyword_function("predict", predict_times, request, build_warner(lambda each: each.notes)),
    )


predict = _typed(PredictionRequest)
