"""Bandwidth that hides the exchange of a model behind an iteration (Luo 2020, Table 2.1).

A server is central (C) or sharded (S), and on a worker's host (colocated, C) or not (NC): CC, CS,
NCC, NCS. Figures count both directions of a host's interfaces, as the table does; the formulas are
what its columns imply. The paper's text has only the words.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Training:
    """Training workload and its links. Rates are of one direction.

    Args:
        model_bytes: M, that every worker pushes and pulls in an iteration.
        iteration_s: T, of computing.
        workers: N.
        link_bits_s: of each worker's host.
        servers: of NCS.
        server_bits_s: of all interfaces together of one server that has a host of its own.
    """

    model_bytes: float
    iteration_s: float
    workers: int
    link_bits_s: float
    servers: int
    server_bits_s: float


@dataclass(frozen=True)
class Bound:
    """Bandwidth that a placement needs to be hidden, in bit/s and both directions.

    Args:
        placement: `CC`, `CS`, `NCC`, `NCS` or `all-reduce`.
        server_bits_s: at the busiest host with a server; of an all-reduce, at any host.
        worker_bits_s: at a host that has a worker only; 0 where there is none.
        exchange_s: what the busiest interface needs for an iteration's bytes.
        is_hidden: whether that is not more than computing takes.
    """

    placement: str
    server_bits_s: float
    worker_bits_s: float
    exchange_s: float
    is_hidden: bool


def bounds(training: Training) -> list[Bound]:
    """Return every placement's, in the order of the table, then an all-reduce's."""
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
