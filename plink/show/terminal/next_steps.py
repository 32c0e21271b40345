"""Suggested next steps with a cluster and its orders, with exact commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.given_way import GivenWay
from plink.base.next_command import UNNAMED_FILE, next_command
from plink.base.text import format_count
from plink.files import document
from plink.files.cluster import Cluster
from plink.files.measurements import RttMeasurement, recorded_sample
from plink.files.order import Order
from plink.optimize.orders.quality import doubt
from plink.probes.echo.readings import DISTURBED

_LEAST_GROUPED = 4


@dataclass(frozen=True)
class NextStep:
    """Suggested step: the reason and the command."""

    why: str
    command: str


def next_steps(
    cluster: Cluster | None, source: str | None, orders: Sequence[tuple[str, Order]] = ()
) -> list[NextStep]:
    """Return the suggested steps, the most urgent first.

    Args:
        cluster: hosts and what was measured, or None where only orders are at hand.
        source: the cluster's file, as messages call it.
        orders: of its hosts: each the file, as messages call it, and the order.
    """
    file = UNNAMED_FILE if source is None else document.argument(source)
    way = None if cluster is None else cluster.way
    steps: list[NextStep] = []
    if cluster is not None:
        steps += _measuring(cluster, file)
        if cluster.rtt is None and cluster.bandwidth is None:
            return steps
        steps += _grouping(cluster, file)
        if not orders and len(cluster.hosts) > 1:
            steps.append(
                NextStep(
                    "there is no order yet; --algo names the collective that the job runs",
                    next_command("order", file, "--algo", "ring", "-o", "order.json"),
                )
            )
    for order_source, order in orders:
        steps += _ordering(file, document.argument(order_source), order, way)
    if cluster is not None and cluster.rtt is not None and orders:
        steps.append(
            NextStep(
                "before a later job: does the file still describe the network?",
                next_command("check", file, way=way),
            )
        )
    return steps


def _measuring(cluster: Cluster, file: str) -> list[NextStep]:
    again = next_command("probe", "--resume", file, way=cluster.way)
    if cluster.rtt is None:
        return [NextStep("no round-trip times are known", again)]
    steps = []
    if cluster.unreachable:
        steps.append(
            NextStep(
                f"{format_count(len(cluster.unreachable), 'host')} could not be reached",
                again,
            )
        )
    sample = recorded_sample(cluster.rtt.options)
    size = len(cluster.hosts)
    missing = size * (size - 1) - int(np.isfinite(cluster.rtt.readings_us).sum())
    if missing and sample is None and cluster.rtt.tool != "import":
        steps.append(
            NextStep(
                f"{missing:,} of {format_count(size * (size - 1), 'direction')} were not measured",
                again,
            )
        )
    disturbed = _count_disturbed(cluster.rtt)
    if disturbed and not steps:
        verb = "was" if disturbed == 1 else "were"
        steps.append(
            NextStep(
                f"{format_count(disturbed, 'direction')} {verb} disturbed by "
                "other work on the hosts: measure again when it is quiet",
                again,
            )
        )
    return steps


def _count_disturbed(rtt: RttMeasurement) -> int:
    if rtt.disturbance is None:
        return 0
    return int(np.count_nonzero(rtt.disturbance >= DISTURBED))


def _grouping(cluster: Cluster, file: str) -> list[NextStep]:
    if not cluster.groups:
        if cluster.grouping is not None or len(cluster.hosts) < _LEAST_GROUPED:
            return []
        return [NextStep("no groups are known yet", next_command("group", file))]
    known = () if cluster.uplinks is None else cluster.uplinks.uplinks
    measured = {uplink.group for uplink in known if uplink.is_whole}
    missing = [group for group in cluster.groups if group.name not in measured]
    if not missing or len(cluster.groups) == 1:
        return []
    which = f"{format_count(len(missing), 'uplink')} {'was' if len(missing) == 1 else 'were'}"
    if len(missing) == len(cluster.groups):
        which = "uplinks were"
    return [
        NextStep(
            f"{which} not measured: what groups can exchange is not known",
            next_command("probe", "--resume", file, "--tool", "uplinks", way=cluster.way),
        )
    ]


def _ordering(file: str, order_file: str, order: Order, way: GivenWay | None) -> list[NextStep]:
    if len(order.hosts) < 2:
        return []
    orders = f"given,{order_file},random:5"
    bench = next_command("bench", file, *_ranks(order), "--orders", orders, way=way)
    doubtful = doubt(order)
    if doubtful is not None:
        return [
            NextStep(
                f"the gain of {order_file} is in doubt: measure whether it is real",
                bench,
            )
        ]
    return [
        NextStep(
            f"use {order_file} (plink order --format LIST names other launchers)",
            next_command("order", order_file, "--format", "openmpi", "-o", "hostfile"),
        ),
        NextStep(
            "check that the launcher keeps it: several do not",
            next_command("verify", order_file, "--launcher", "openmpi", way=way),
        ),
        NextStep(
            "measure what it gains",
            bench,
        ),
    ]


def _ranks(order: Order) -> list[str]:
    """Return the `plink bench` option for the number of ranks of an order that omits hosts."""
    if not order.unused:
        return []
    slots = max(host.slots for host in (*order.hosts, *order.unused))
    return ["--ranks", str(order.ranks), *(["--slots", str(slots)] if slots > 1 else [])]
