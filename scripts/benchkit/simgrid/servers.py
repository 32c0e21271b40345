"""Placements of servers beside all-reduces, on SimGrid and by plink's own model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np

from benchkit.report import Report
from benchkit.simgrid.centres import centre_of, of_model, time_text
from plink.simulate.inputs import DEFAULT_PLANS
from plink.simulate.request import SimulationRequest
from plink.simulate.simulation import simulate

_RATE_BYTES_S = 10e9 / 8.0
_WORKERS_OF_RACK = 8
_HUBS = ("plan:hub-star", "plan:hub-chain", "plan:hub-ring")


def show(arguments: argparse.Namespace, report: Report) -> None:
    """One server of k ports in one rack; then a server in each rack, by oversubscription."""
    ratios: list[float] = []
    stars: list[float] = []
    report.table(
        ("workers", "ports", "plan", "SimGrid", "S/B max(1, N/k)", "of model"),
        _one_rack(arguments, ratios, stars),
        title="One server's ports beside all-reduces, in one rack",
    )
    report.table(
        ("racks x workers", "uplinks", "ports", "plan", "SimGrid", "of model"),
        _several_racks(arguments, ratios),
        title="A server in each rack, beside all-reduces of the workers",
    )
    error = np.abs(np.array(ratios) - 1.0)
    report.at_most("servers: plink's model beside SimGrid, median", 10, 100 * np.median(error), "%")
    report.say(
        f"plink's model beside SimGrid: {len(error)} times, greatest {100 * error.max():.0f} %"
    )
    report.at_most("stars beside S/B max(1, N/k), greatest", 10, 100 * max(stars), "%")


def _one_rack(
    arguments: argparse.Namespace, ratios: list[float], stars: list[float]
) -> Iterator[Sequence[object]]:
    for workers in arguments.workers:
        centre = centre_of(1, workers + 1, 1.0)
        server = centre.cluster.names[0]
        for ports in arguments.ports:
            plans = ["plan:ps"]
            if ports == arguments.ports[-1]:
                plans += ["plan:cc", "plan:flat", "plan:ring"]
            request = _request(arguments, plans, [f"{server}:{ports}"])
            for row in simulate(centre.cluster, request, platform=centre.platform).rows:
                order = row.order
                theory = "-"
                if order is not None and order.simulated_s and order.predicted_s:
                    ratios.append(order.simulated_s / order.predicted_s)
                    if row.algorithm == "plan:ps":
                        theory_s = arguments.size / _RATE_BYTES_S * max(1.0, workers / ports)
                        stars.append(order.simulated_s / theory_s - 1.0)
                        theory = time_text(theory_s)
                yield (
                    workers,
                    ports if row.algorithm == "plan:ps" else "-",
                    row.algorithm,
                    time_text(None if order is None else order.simulated_s),
                    theory,
                    of_model(order),
                )


def _several_racks(
    arguments: argparse.Namespace, ratios: list[float]
) -> Iterator[Sequence[object]]:
    plans = [name for name in DEFAULT_PLANS if name not in ("plan:cc", "plan:hub")]
    for racks in arguments.server_racks:
        for oversubscription in arguments.oversubscription:
            centre = centre_of(racks, _WORKERS_OF_RACK + 1, oversubscription)
            names = centre.cluster.names[:: _WORKERS_OF_RACK + 1]
            servers = [f"{name}:{_WORKERS_OF_RACK}" for name in names]
            request = _request(arguments, [*_HUBS, *plans], servers)
            for row in simulate(centre.cluster, request, platform=centre.platform).rows:
                order = row.order
                if order is not None and order.simulated_s and order.predicted_s:
                    ratios.append(order.simulated_s / order.predicted_s)
                is_served = row.algorithm.startswith(("plan:hub", "plan:ps"))
                yield (
                    f"{racks} x {_WORKERS_OF_RACK}",
                    f"{oversubscription}:1",
                    _WORKERS_OF_RACK if is_served else "-",
                    row.algorithm,
                    time_text(None if order is None else order.simulated_s),
                    of_model(order),
                )


def _request(
    arguments: argparse.Namespace, plans: Sequence[str], servers: Sequence[str]
) -> SimulationRequest:
    return SimulationRequest(
        algorithms=plans, size=arguments.size, timeout_s=arguments.timeout, servers=servers
    )
