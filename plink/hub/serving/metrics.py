"""State of a server's services as Prometheus metrics, computed when they are scraped.

Imports prometheus_client, which is an extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from plink.hub.serving.lanes import LaneStatus
from plink.hub.serving.registry import Registry
from plink.hub.serving.shell import Doors
from plink.hub.serving.tenant import Tenant
from plink.transport.listening import Acceptor
from plink.transport.scraping import Scraping

Family = CounterMetricFamily | GaugeMetricFamily

_OF_SERVICE: Sequence[tuple[str, str, Callable[[Tenant], float]]] = (
    ("workers", "Workers that are there", lambda tenant: tenant.workers),
    ("wanted_workers", "Workers that the service was made for", lambda its: its.options.workers),
    ("failed", "1 where the service has failed", lambda tenant: tenant.failure is not None),
)
_GAUGES: Sequence[tuple[str, str, Callable[[LaneStatus], float]]] = (
    ("iteration", "Iteration that has begun last", lambda lane: lane.figures.iteration),
    (
        "early_bytes",
        "Contributions that wait for their turn",
        lambda lane: lane.figures.early_bytes,
    ),
    (
        "most_early_bytes",
        "Contributions that have waited for their turn, at most so far",
        lambda lane: lane.figures.most_early_bytes,
    ),
    ("queued_bytes", "Bytes that wait to be sent", lambda lane: lane.figures.queued_bytes),
    ("connections", "Connections for data", lambda lane: lane.connections),
)
_COUNTERS: Sequence[tuple[str, str, Callable[[LaneStatus], float]]] = (
    ("received_bytes", "Bytes received", lambda lane: lane.figures.bytes_in),
    ("sent_bytes", "Bytes sent", lambda lane: lane.figures.bytes_out),
    ("steps", "Steps of the optimiser", lambda lane: lane.figures.steps),
    ("skipped_steps", "Steps that changed nothing", lambda lane: lane.figures.skipped),
    ("replays", "Pushes that had come before", lambda lane: lane.figures.replays),
)


class ServiceCollector(Collector):
    """Prometheus collector for the metrics of all services of a server.

    Args:
        registry: of them.
        doors: count the server's connections.
    """

    def __init__(self, registry: Registry, doors: Doors) -> None:
        self._registry = registry
        self._doors = doors

    def collect(self) -> Iterator[Family]:
        """Yield the current values of all metrics."""
        tenants = self._registry.tenants()
        for name, text, of_service in _OF_SERVICE:
            gauge = GaugeMetricFamily(f"plink_hub_{name}", text, labels=["service"])
            for tenant in tenants:
                gauge.add_metric([tenant.options.namespace], of_service(tenant))
            yield gauge
        lanes = [
            ([tenant.options.namespace, str(lane.port), str(lane.core)], lane)
            for tenant in tenants
            for lane in tenant.lanes_now()
        ]
        labels = ["service", "port", "core"]
        for kind, families in ((GaugeMetricFamily, _GAUGES), (CounterMetricFamily, _COUNTERS)):
            for name, text, of_lane in families:
                family = kind(f"plink_hub_{name}", text, labels=labels)
                for names, lane in lanes:
                    family.add_metric(names, of_lane(lane))
                yield family
        yield CounterMetricFamily(
            "plink_hub_connections_dropped",
            "Connections that were dropped for what they said, or did not say",
            value=self._doors.dropped,
        )
        yield CounterMetricFamily(
            "plink_hub_connections_mute",
            "Connections that were dropped before they had said who they are",
            value=self._doors.mute,
        )
        yield GaugeMetricFamily(
            "plink_hub_connections_waiting",
            "Connections that have not proven a secret yet",
            value=self._doors.waiting,
        )


async def begin(registry: Registry, doors: Doors, host: str, port: int) -> Acceptor:
    """Start to serve a server's metrics to Prometheus at an address.

    Raises:
        PlinkError: the address cannot be listened on.
    """
    collected = CollectorRegistry()
    collected.register(ServiceCollector(registry, doors))
    return await Scraping(collected).listen(host, port)
