"""The plans that scripts/bench-engine compares, and the limit of the lab's network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchkit.orders import TCP_SHARE
from plink.optimize.plans.candidates import KINDS, best, refusal
from plink.optimize.plans.planning import candidate
from plink.plans.forest import Forest
from solvers.contention.network import Network, make_network
from solvers.forests.kinds import flat
from solvers.forests.routes import Indices, Routes
from solvers.forests.time import lower_bound_s

Plan = dict[str, Any]


def lab_network(
    rack_of: Sequence[int], host_bits_s: float | None, uplink_bits_s: float | None
) -> Network:
    """The lab's network. None for a rate that is not limited."""
    racks = max(rack_of) + 1
    host = np.inf if host_bits_s is None else host_bits_s / 8
    uplink = np.inf if uplink_bits_s is None else uplink_bits_s / 8
    return make_network(
        len(rack_of),
        send_bytes_s=host,
        receive_bytes_s=host,
        group_of=rack_of,
        uplink_send_bytes_s=[uplink] * racks,
        uplink_receive_bytes_s=[uplink] * racks,
    )


def limit_s(network: Network, size_bytes: int) -> float:
    """What no all-reduce over TCP can beat; 0 where nothing is limited."""
    return lower_bound_s(network, size_bytes) / TCP_SHARE


def plan(kind: str, network: Network, host_of: Indices, size_bytes: int) -> tuple[str, Plan]:
    """What `plink plan --kind` makes of the network, and its kind, which `auto` chooses.

    Of `flat` every rank is taken for a host; `hosts` is flat over the hosts.
    """
    if kind == "flat":
        return kind, as_json(flat(np.ones(len(host_of))))
    if kind == "hosts":
        return kind, as_json(candidate("flat", network, [], host_of, size_bytes).forest)
    order = list(range(network.hosts))
    kinds = [kind] if kind != "auto" else [each for each in KINDS if not refusal(each, network)]
    chosen = best([candidate(each, network, order, host_of, size_bytes) for each in kinds])
    return chosen.candidate.kind, as_json(chosen.candidate.forest)


def as_json(forest: Forest | Routes) -> Plan:
    """A forest as the ranks are told of it."""
    return {
        "weights": forest.weights.tolist(),
        "reduce": forest.reduce_parents.tolist(),
        "broadcast": forest.broadcast_parents.tolist(),
    }
