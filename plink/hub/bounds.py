"""Bandwidth that hides the exchange of a model behind an iteration (Luo 2020, Table 2.1).

A server is central (C) or sharded (S), and on a worker's host (colocated, C) or not (NC): CC, CS,
NCC, NCS. Figures count both directions of a host's interfaces, as the table does; the formulas are
what its columns imply. The paper's text has only the words.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from plink.formats.limits import Amount, Positive, constrain_to_words
from plink.formats.structs import Output


class Training(Output, frozen=True):
    """Training workload and its links. Rates are of one direction.

    Attributes:
        model_bytes: bytes that every worker pushes and pulls in an iteration, M
        iteration_s: time of an iteration's computation, T, in s
        workers: number of workers, N
        link_bits_s: rate of each worker's link, in bit/s
        servers: number of servers of NCS
        server_bits_s: rate of all interfaces of a server that has a host of its own, in bit/s
    """

    model_bytes: Positive
    iteration_s: Amount
    workers: Annotated[int, Meta(ge=2)]
    link_bits_s: Amount
    servers: Positive
    server_bits_s: Amount


class Bound(Output, frozen=True):
    """Bandwidth that a placement of servers needs to be hidden, both directions together.

    Attributes:
        placement: where the servers are, or an all-reduce without servers
        server_bits_s: rate of the busiest host with a server, or of any host, in bit/s
        worker_bits_s: rate of a host with a worker only, in bit/s; 0 if there is none
        exchange_s: time of an iteration's bytes at the busiest interface, in s
        is_hidden: whether that is at most the time of computing
    """

    placement: Annotated[str, constrain_to_words("CC", "CS", "NCC", "NCS", "all-reduce")]
    server_bits_s: Amount
    worker_bits_s: Amount
    exchange_s: Amount
    is_hidden: bool


def bounds(training: Training) -> list[Bound]:
    """Return the bandwidth bounds of placements CC, CS, NCC and NCS, then of an all-reduce."""
    n, servers = training.workers, training.servers
    # By placement, in models: through a server's host, through a worker's, the server's link.
    own, others = training.link_bits_s, training.server_bits_s
    moved = {
        "CC": (2.0 * (n - 1), 2.0 if n > 1 else 0.0, own),
        "CS": (4.0 * (n - 1) / n, 0.0, own),
        "NCC": (2.0 * n, 2.0, others),
        "NCS": (2.0 * n / servers, 2.0, others),
        "all-reduce": (4.0 * (n - 1) / n, 0.0, own),
    }
    return [_bandwidth_bound(training, placement, *models) for placement, models in moved.items()]


def _bandwidth_bound(
    training: Training, placement: str, at_server: float, at_worker: float, server_bits_s: float
) -> Bound:
    model_bits = 8.0 * training.model_bytes
    exchange_s = max(
        at_server * model_bits / (2.0 * server_bits_s),
        at_worker * model_bits / (2.0 * training.link_bits_s),
    )
    return Bound(
        placement,
        at_server * model_bits / training.iteration_s,
        at_worker * model_bits / training.iteration_s,
        exchange_s,
        exchange_s <= training.iteration_s,
    )
