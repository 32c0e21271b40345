"""Bundles of a Ray placement group in plink's order.

    bundles = plink.ray.order(group)

gives the indices of the bundles in the order in which ranks should take them, and `verify` compares
where they are with an order (`docs/renumbering.md`).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ray
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from plink.base.errors import PlinkError, WrongUseError
from plink.deploy.verify import PlacedRank, RankReport, compare, fit_to_job
from plink.renumber.host_identity import own_addresses
from plink.renumber.source import PROBE, RenumberRequest
from plink.renumber.standalone import renumber_process

if TYPE_CHECKING:
    from ray.util.placement_group import PlacementGroup

    from plink.formats.cluster import Cluster
    from plink.formats.order import Order
    from plink.renumber.source import OnFailure

# A worker process of Ray takes seconds to start on a busy node.
_TIMEOUT_S = 120.0


def order(
    placement_group: PlacementGroup,
    order: str | Order | Cluster = PROBE,
    *,
    mesh: str | None = None,
    algorithm: str = "ring",
    on_failure: OnFailure = "launcher",
    timeout_s: float = _TIMEOUT_S,
) -> list[int]:
    """Return the indices of a placement group's bundles in an order of their nodes.

    A task in every bundle takes part; one on each node measures. The bundles of a node stay
    together. Nothing is reserved beside the bundles.

    Args:
        placement_group: ready, or soon.
        order: `probe` or `probe:FOLDER` to measure the nodes, or an order or a cluster that
            `plink.read` gave.
        mesh: dimensions of ranks to search an order for, such as `dp=4,tp=8`; None for a ring.
        algorithm: collective algorithm to search an order for.
        on_failure: `launcher` returns the bundles as they are, with a warning, where nodes cannot
            be measured; `error` raises.
        timeout_s: seconds to wait for the bundles and their tasks.

    Raises:
        PlinkError: the bundles are not there in time, or the order is for other hosts.
    """
    is_loaded = not isinstance(order, str)
    request = RenumberRequest(
        None if is_loaded else str(order),
        order if not isinstance(order, str) else None,
        mesh,
        algorithm,
        on_failure,
        timeout_s,
    )
    if not is_loaded and not request.is_probed:
        raise WrongUseError(
            f"order={order!r} is a path, which the nodes may not have",
            "give plink.read(path), or 'probe'",
        )
    if not placement_group.wait(timeout_s):
        raise PlinkError(
            f"the placement group is not ready after {timeout_s:g} s", "ray status says what lacks"
        )
    bundles = len(placement_group.bundle_specs)
    (place,) = _in_bundles(placement_group, [0], _find_meeting)
    told = [
        {
            "RANK": str(bundle),
            "WORLD_SIZE": str(bundles),
            "PLINK_MEETING": place,
        }
        for bundle in range(bundles)
    ]
    try:
        found = _in_bundles(
            placement_group,
            range(bundles),
            _take_part,
            [(request, environment) for environment in told],
        )
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, PlinkError):
            raise PlinkError(str(cause), cause.hint) from None
        raise
    return list(found[0])


def hosts(placement_group: PlacementGroup, bundles: Sequence[int]) -> list[str]:
    """Return the name of each bundle's host, to see where ranks in this order would be.

    Args:
        placement_group: that `order` was asked for.
        bundles: indices, such as `order` returns.
    """
    return _in_bundles(placement_group, bundles, socket.gethostname)


def verify(
    placement_group: PlacementGroup, bundles: Sequence[int], order: Order
) -> list[PlacedRank]:
    """Return each rank's host and the one that an order has for it, if ranks take these bundles.

    Args:
        placement_group: that `order` was asked for.
        bundles: indices by rank, such as `order` returns.
        order: that the ranks are to follow.

    Raises:
        PlinkError: the order has other numbers of ranks on hosts where it has ranks apart.
    """
    said = _in_bundles(placement_group, bundles, _say_where)
    reports = [RankReport(rank, name, addresses) for rank, (name, addresses) in enumerate(said)]
    return compare(fit_to_job(order.runs, reports), reports)


def _say_where() -> tuple[str, list[str]]:
    return socket.gethostname(), own_addresses()


def _in_bundles(
    placement_group: PlacementGroup,
    bundles: Sequence[int],
    function: Any,
    arguments: Sequence[tuple[Any, ...]] = (),
) -> list[Any]:
    """Run a function in each of these bundles at the same time, and return what it returns."""
    remote = ray.remote(num_cpus=0, max_retries=0)(function)
    tasks = [
        remote.options(
            scheduling_strategy=PlacementGroupSchedulingStrategy(
                placement_group, placement_group_bundle_index=bundle
            )
        ).remote(*(arguments[place] if arguments else ()))
        for place, bundle in enumerate(bundles)
    ]
    found: list[Any] = ray.get(tasks)
    return found


def _find_meeting() -> str:
    """Return where the tasks can meet: this node's address and a free port."""
    address: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
    with socket.create_server(("", 0)) as reserved:
        port = reserved.getsockname()[1]
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _take_part(request: RenumberRequest, environment: Mapping[str, str]) -> list[int]:
    """Meet the tasks of the other bundles, and return the bundles in order."""
    placement, _ = renumber_process(request, None, {**os.environ, **environment})
    return list(placement.former_ranks)
