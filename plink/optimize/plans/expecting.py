"""Predicted times of plink's engine along a plan, from its fitted software costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.base.replacing import replace
from plink.optimize.expected import Expected, ExpectedTimes
from plink.optimize.plans.traffic import Traffic, traffic_time_s
from plink.solvers.contention.network import Network
from plink.solvers.contention.shared_links import shared_links
from plink.solvers.forests.time import forest_table
from plink.solvers.forests.trees import messages_on_the_way


def predict_plan_time(
    times: ExpectedTimes, traffic: Traffic, size_bytes: int, hosts: Sequence[int]
) -> Expected:
    """Return the predicted time of one call along a plan with rank r on host `hosts[r]`."""
    free_s, whole_s = plan_s(times, traffic, hosts)
    rounds = _messages_of(traffic)
    return times.estimate([whole_s], free_s, size_bytes, hosts, rounds=rounds)


def plan_s(times: ExpectedTimes, traffic: Traffic, hosts: Sequence[int]) -> tuple[float, float]:
    """Return a plan's time without the client's overhead, and with it."""
    share = times.fit.flow_share.value
    free_s = traffic_time_s(traffic, hosts, _scale_rates(times.network, share))
    if traffic.routes is not None:
        table = forest_table(traffic.routes, traffic.size_bytes)
        # What buckets save, and what rows' links cost.
        plain = shared_links(times.network, flow_share=share)
        free_s += times.links.carried_s(table, hosts) - plain.carried_s(table, hosts)
    return free_s, free_s + times.fit.overhead_us.value * 1e-6 * _messages_of(traffic)


def _messages_of(traffic: Traffic) -> int:
    """Return how many messages ranks handle one after the other on the longest path."""
    if traffic.routes is None:
        return 1
    up, down = (
        parents.astype(np.intp)
        for parents in (traffic.routes.reduce_parents, traffic.routes.broadcast_parents)
    )
    return int(messages_on_the_way(up, down).max())


def _scale_rates(network: Network, share: float) -> Network:
    return replace(
        network,
        send_bytes_s=network.send_bytes_s * share,
        receive_bytes_s=network.receive_bytes_s * share,
        uplink_send_bytes_s=network.uplink_send_bytes_s * share,
        uplink_receive_bytes_s=network.uplink_receive_bytes_s * share,
    )
