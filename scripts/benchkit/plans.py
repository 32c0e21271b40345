"""Plans over the hosts of a lab whose rates are known, and what no all-reduce there can beat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchkit.labs import BenchLab, Hosts, rack_numbers
from plink.autotune.tuner.masters import Masters, forest_of, layout_of, masters_of, normalise_shares
from plink.base.replacing import replace
from plink.formats import plan as plan_file
from plink.formats.hosts import Group
from plink.formats.plan import Plan, PlanRank
from plink.optimize.plans.candidates import (
    KINDS,
    build,
    build_candidate,
    choose_best,
    explain_refusal,
)
from plink.optimize.plans.traffic import Demand
from plink.plans.forest import Forest, make_forest
from plink.plans.names import ALL_REDUCE
from plink.solvers.contention.network import Network, make_network
from plink.solvers.forests.kinds import flat
from plink.solvers.forests.lower_bound import allreduce_exchange, lower_bound_s
from plink.solvers.forests.trees import Indices, Routes

# TCP over IPv4 with timestamps has 1448 bytes of a frame of 1514 to itself.
TCP_SHARE = 1448 / 1514
# What is left to the hosts concerned, or to their group, of their share of the first plan.
PARTS = (0.75, 0.5, 0.25, 0.0)


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
    return lower_bound_s(network, allreduce_exchange(size_bytes)) / TCP_SHARE


def best_forest(
    kind: str, network: Network, host_of: Indices, size_bytes: int
) -> tuple[str, Forest | Routes]:
    """What `plink plan --kind` makes of the network, and its kind, which `auto` chooses.

    With `flat` every rank counts as a host; `hosts` is flat over the hosts.
    """
    if kind == "flat":
        return kind, flat(np.ones(len(host_of)))
    demands = [Demand(ALL_REDUCE, size_bytes)]
    if kind == "hosts":
        return kind, build_candidate("flat", network, [], host_of, demands).forest
    order = list(range(network.hosts))
    kinds = (
        [kind] if kind != "auto" else [each for each in KINDS if not explain_refusal(each, network)]
    )
    chosen = choose_best(
        [build_candidate(each, network, order, host_of, demands) for each in kinds]
    )
    return chosen.candidate.kind, chosen.candidate.forest


def as_json(forest: Forest | Routes) -> dict[str, Any]:
    """A forest as ranks and daemons are told of it."""
    return {
        "weights": forest.weights.tolist(),
        "reduce": forest.reduce_parents.tolist(),
        "broadcast": forest.broadcast_parents.tolist(),
    }


def write_plan(plan: Plan, path: Path) -> Path:
    """The plan as a file; its path."""
    plan_file.write_plan(str(path), plan)
    return path


def plan_over(hosts: Hosts, kind: str, forest: Forest, size_bytes: int) -> Plan:
    """A plan whose ranks are the hosts with racks in sequence, without groups."""
    names = hosts.in_rack_order()
    # Ranks on loopback are all on one host.
    on_one = len(set(hosts.addresses.values())) == 1
    ranks = [PlanRank("here" if on_one else name, hosts.addresses[name]) for name in names]
    return Plan(kind, ranks, forest, size_bytes)


def usual_plan(
    lab: BenchLab, host_bits_s: float | None, uplink_bits_s: float | None, size_bytes: int
) -> Plan:
    """What `plink plan` makes of a lab: two levels, or flat where there is one rack."""
    rack_of = rack_numbers(lab)
    has_racks = max(rack_of) > 0
    network = lab_network(rack_of, host_bits_s, uplink_bits_s if has_racks else None)
    order, kind = list(range(network.hosts)), "2lha" if has_racks else "flat"
    demands = [Demand(ALL_REDUCE, size_bytes)]
    forest = build_candidate(kind, network, order, np.arange(network.hosts), demands).forest
    plan = plan_over(lab, kind, forest, size_bytes)
    if not has_racks:
        return plan
    racks: dict[str, list[str]] = {}
    for name in lab.in_rack_order():
        racks.setdefault(lab.racks[name], []).append(name)
    return replace(plan, groups=[Group(rack, hosts) for rack, hosts in racks.items()])


def other_plans(plan: Plan, concerned: Sequence[int]) -> Iterator[tuple[float, Plan]]:
    """With less and less on the hosts concerned: on their group, where there are groups."""
    layout = layout_of(plan.forest, plan.host_by_rank, plan.group_by_rank)
    masters = masters_of(plan.forest, layout)
    for part in PARTS:
        of_groups, of_hosts = masters.of_groups.copy(), masters.of_hosts.copy()
        if layout.groups > 1:
            of_groups[list({int(layout.group_of[host]) for host in concerned})] *= part
        else:
            of_hosts[list(concerned)] *= part
        fewer: Masters = normalise_shares(of_groups, of_hosts, layout)
        yield part, replace(plan, forest=forest_of(fewer, layout))


def forests_of_all_shapes(rack_of: Sequence[int], seed: int) -> list[tuple[str, Forest]]:
    """Name and forest of each; from one to the next most connections change.

    Args:
        rack_of: of each rank.
        seed: of weights and roots.
    """
    ranks = len(rack_of)
    network = lab_network(rack_of, 1e9, 1e9)
    order, host_of = list(range(ranks)), np.arange(ranks)
    plain = {
        kind: build(kind, network, order, host_of) for kind in ("2lha", "ring", "flat", "tree")
    }
    drawn = np.random.default_rng(seed)

    def weighed(forest: Forest) -> Forest:
        weights = drawn.integers(1, 10, forest.routes).astype(np.float64)
        return Forest(weights, forest.reduce_parents, forest.broadcast_parents)

    root = int(drawn.integers(1, ranks))
    return [
        ("flat", plain["flat"]),
        ("ring", plain["ring"]),
        ("star", _star(ranks, 0)),
        ("two levels", plain["2lha"]),
        ("tree", plain["tree"]),
        ("flat, weights moved", weighed(plain["flat"])),
        ("star, root moved", _star(ranks, root)),
        ("ring, weights moved", weighed(plain["ring"])),
        ("two levels, weights moved", weighed(plain["2lha"])),
    ]


def _star(ranks: int, root: int) -> Forest:
    """One route: all at the root."""
    parents = np.full((1, ranks), root, dtype=np.int32)
    parents[0, root] = -1
    return make_forest([1.0], parents, parents)
