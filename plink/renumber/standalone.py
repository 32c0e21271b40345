"""Renumbering of a process without PyTorch: its meeting place and its new variables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from plink.base.errors import PlinkError, WrongUseError
from plink.engine.interfaces import group_addresses
from plink.renumber.job import renumber
from plink.renumber.launch import (
    MASTER_ADDRESS,
    MASTER_PORT,
    RANK_VARIABLE,
    Launch,
    Placement,
    read_launch,
    read_port,
    renumbered_environment,
)
from plink.renumber.source import RenumberRequest
from plink.renumber.tcp_store import TcpStore, join_served, serve
from plink.transport.addresses import parse_address

MEETING_VARIABLE = "PLINK_MEETING"

_DEFAULT_TIMEOUT_S = 300.0


def renumber_process(
    request: RenumberRequest, meeting: str | None, environment: Mapping[str, str]
) -> tuple[Placement, dict[str, str]]:
    """Agree with the job's other processes on new ranks, without PyTorch.

    Args:
        request: what the ranks are to follow, the same in all processes.
        meeting: `HOST:PORT` of the meeting place, on the host of rank 0; None for PLINK_MEETING, or
            the port after MASTER_PORT at MASTER_ADDR.
        environment: of the process.

    Returns:
        where the process is now, and the variables that change.

    Raises:
        WrongUseError: this process has no rank, or there is no meeting place.
        PlinkError: a rank did not come, or ranks disagree; all processes raise it.
    """
    launch = read_launch(environment)
    host, port = find_meeting(meeting, environment)
    with _store(launch, host, port, request.timeout_s) as store:
        address = group_addresses(store, environment)[1][0]
        placement = renumber(store, launch, request, environment, address=address)
    return placement, renumbered_environment(environment, launch, placement)


def find_meeting(given: str | None, environment: Mapping[str, str]) -> tuple[str, int]:
    """Return the host and port of the store where the processes meet.

    Raises:
        WrongUseError: nothing says where it is.
    """
    if given:
        try:
            return parse_address(given, "{meeting}")
        except WrongUseError as error:
            raise WrongUseError(str(error), arguments={"meeting": given}) from None
    if environment.get(MEETING_VARIABLE):
        return parse_address(environment[MEETING_VARIABLE], MEETING_VARIABLE)
    host = environment.get(MASTER_ADDRESS)
    if not host:
        raise WrongUseError(
            "the processes have no place to meet: MASTER_ADDR is not set",
            "give {meeting=HOST:PORT}, with the host of rank 0 and a free port there",
            arguments={"meeting": given},
        )
    port = read_port(environment, MASTER_PORT)
    # The job's own store takes the port itself.
    return host, port + 1 if port < 65_535 else port - 1


@contextmanager
def _store(launch: Launch, host: str, port: int, timeout_s: float) -> Iterator[TcpStore]:
    """Open the store of the meeting, which rank 0 serves until the others have hung up."""
    with ExitStack() as stack:
        store = None
        if launch.rank == 0:
            try:
                stack.enter_context(serve(port, launch.ranks))
            except PlinkError:
                # Another process of this host may have rank 0, too: there all are told so.
                store = join_served(host, port)
                if store is None:
                    raise
        store = store or TcpStore(host, port, timeout_s)
        stack.callback(store.close)
        yield store


def mpi_key(
    order: str | None = None,
    *,
    meeting: str | None = None,
    mesh: str | None = None,
    algorithm: str = "ring",
    timeout_s: float = _DEFAULT_TIMEOUT_S,
) -> int:
    """Return the key with which `MPI_Comm_split` gives this process its rank in plink's order.

        ordered = MPI.COMM_WORLD.Split(0, plink.mpi_key("order.json", meeting="n01:29400"))

    Ranks of MPI_COMM_WORLD cannot be changed from outside. Under `plink renumber` the ranks are
    agreed upon already, and no argument is needed.

    Args:
        order: `probe`, `probe:FOLDER`, or the path of an order or a cluster.
        meeting: `HOST:PORT` where the processes meet, on the host of rank 0.
        mesh: dimensions of ranks to search an order for, such as `dp=4,tp=8`; None for a ring.
        algorithm: collective algorithm to search an order for.
        timeout_s: seconds to wait for all processes.

    Raises:
        PlinkError: a process did not come, or processes disagree.
    """
    agreed = os.environ.get(RANK_VARIABLE)
    if agreed is not None and order is None:
        if not (agreed.isascii() and agreed.isdigit()):
            raise WrongUseError(f"{RANK_VARIABLE}={agreed!r} is no rank", "plink renumber sets it")
        return int(agreed)
    request = RenumberRequest(order, mesh=mesh, algorithm=algorithm, timeout_s=timeout_s)
    return renumber_process(request, meeting, os.environ)[0].rank
