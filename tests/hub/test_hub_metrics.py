"""Prometheus reads what a server's services have done, by port and core."""

from __future__ import annotations

import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hub.runs import ADMIN_SECRET, MANIFEST, Service, run
from plink.base.errors import PlinkError
from plink.hub.admin import create_service
from plink.hub.hyper import Hyper
from plink.hub.service import ServiceOptions
from plink.hub.serving import Server, ServerOptions

WORKERS, ITERATIONS, PORTS = 2, 3, 2
CORES = 4
LABELS = ("service", "port", "core")


def scraped(address: str) -> dict[tuple[str, ...], float]:
    """By name and labels: service, port, core."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=100) as answer:
        text = answer.read().decode()
    return {
        (sample.name, *(sample.labels[name] for name in LABELS if name in sample.labels)): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_say_what_services_have_done() -> None:
    options = ServerOptions(["127.0.0.1:0"] * PORTS, ADMIN_SECRET, CORES, (), metrics="127.0.0.1:0")
    with Server(options) as server:
        addresses = server.addresses[:1]
        chosen = ServiceOptions("job", WORKERS, "momentum", deterministic=True)
        secret = create_service(addresses, ADMIN_SECRET, chosen)
        create_service(addresses, ADMIN_SECRET, ServiceOptions("other", 5))
        run(Service([server], addresses, chosen, secret), [Hyper(lr=0.1)] * 2, ITERATIONS)
        found = scraped(server.metrics_address)
    assert found["plink_hub_workers", "job"] == found["plink_hub_failed", "job"] == 0
    assert found["plink_hub_wanted_workers", "job"] == WORKERS
    assert found["plink_hub_wanted_workers", "other"] == 5
    lanes = [names[2:] for names in found if names[0] == "plink_hub_iteration"]
    assert sorted(lanes) == [("0", "0"), ("0", "2"), ("1", "1"), ("1", "3")]
    for port, core in lanes:
        assert found["plink_hub_iteration", "job", port, core] == ITERATIONS
        assert found["plink_hub_steps_total", "job", port, core] == ITERATIONS
        for name in ("skipped_steps_total", "replays_total", "queued_bytes", "early_bytes"):
            assert found[f"plink_hub_{name}", "job", port, core] == 0
    # Gradients of every iteration and one worker's first values; values of every one and the first.
    of_values = MANIFEST.size_bytes * WORKERS
    received = sum(found[("plink_hub_received_bytes_total", "job", *lane)] for lane in lanes)
    sent = sum(found[("plink_hub_sent_bytes_total", "job", *lane)] for lane in lanes)
    assert received == pytest.approx(of_values * (ITERATIONS + 0.5), rel=0.02)
    assert sent == pytest.approx(of_values * (ITERATIONS + 1), rel=0.02)
    assert found[("plink_hub_connections_waiting",)] == 0
    assert found[("plink_hub_connections_dropped_total",)] == 0


def test_metrics_that_cannot_be_served_are_refused_with_the_address() -> None:
    with Server(ServerOptions(["127.0.0.1:0"], ADMIN_SECRET, 1, ())) as server:
        taken = server.addresses[0]
        options = ServerOptions(["127.0.0.1:0"], ADMIN_SECRET, 1, (), metrics=taken)
        with pytest.raises(PlinkError, match=f"cannot serve metrics on {taken}: .*address already"):
            Server(options).start()
