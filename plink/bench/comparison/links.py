"""Bytes per link: what the engine counted, beside what its plan says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.bench.clients.base import Traffic
from plink.files.comparison import LinkBytes, Links
from plink.files.groups import Group
from plink.plans.forest import Forest, make_forest
from plink.plans.measures import bytes_between
from solvers.forests.time import dealt

Bytes = npt.NDArray[np.float64]


def links_of(
    launches: Sequence[Traffic],
    repetitions: int,
    forest: Forest,
    size_bytes: int,
    *,
    names: Sequence[str],
    host_of: Sequence[int],
    groups: Sequence[Group],
) -> Links:
    """The bytes over every link.

    Args:
        launches: at least one.
        repetitions: timed ones of each launch.
        forest: the plan.
        size_bytes: of each rank's buffer.
        names: of the hosts.
        host_of: (P,) the host of each rank.
        groups: of hosts; what their hosts exchange with all others crosses their uplinks.
    """
    count = repetitions * len(launches)
    hosts = np.asarray(host_of, dtype=np.intp)
    sent = _of_hosts(np.sum([one.sent_bytes for one in launches], axis=0) / count, hosts)
    # Counted by the receiver: turned round, so that a row is the sender here, too.
    received = _of_hosts(np.sum([one.received_bytes for one in launches], axis=0).T / count, hosts)
    planned = _of_hosts(planned_bytes(forest, size_bytes), hosts)
    place_of = {name: place for place, name in enumerate(names)}
    members = [(name, [place_of[name]]) for name in names if place_of[name] in set(host_of)]
    of_groups = [
        (group.name, [place_of[host] for host in group.hosts if host in place_of])
        for group in groups
    ]
    return Links(
        [_link(name, inside, sent, received, planned) for name, inside in members],
        [_link(name, inside, sent, received, planned) for name, inside in of_groups if inside],
    )


def planned_bytes(forest: Forest, size_bytes: int) -> Bytes:
    """(P, P) what a plan lets each rank (row) send to each other, by the routes of that size."""
    used = dealt(forest, size_bytes)
    return bytes_between(make_forest(*used), size_bytes)


def _of_hosts(between: Bytes, host_of: npt.NDArray[np.intp]) -> Bytes:
    """(N, N) from (P, P): what hosts exchange; nothing crosses a link inside a host."""
    hosts = int(host_of.max()) + 1
    total = np.zeros((hosts, hosts))
    np.add.at(total, (host_of[:, None], host_of[None, :]), between)
    np.fill_diagonal(total, 0.0)
    return total


def _link(
    name: str, inside: Sequence[int], sent: Bytes, received: Bytes, planned: Bytes
) -> LinkBytes:
    is_inside = np.zeros(len(sent), dtype=bool)
    is_inside[[host for host in inside if host < len(sent)]] = True
    out, into = np.ix_(is_inside, ~is_inside), np.ix_(~is_inside, is_inside)
    return LinkBytes(
        name,
        sent_bytes=float(sent[out].sum()),
        received_bytes=float(received[into].sum()),
        plan_sent_bytes=float(planned[out].sum()),
        plan_received_bytes=float(planned[into].sum()),
    )
