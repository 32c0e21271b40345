"""PyTorch's process groups with ranks that follow an order of the hosts.

    plink.torch.init_process_group("nccl", order="probe")

in place of `torch.distributed.init_process_group("nccl")` (`docs/renumbering.md`).
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

import torch.distributed as dist
from torch._C._distributed_c10d import TCPStore
from torch.distributed.distributed_c10d import (
    PrefixStore,
    Store,
    _get_default_store,
    default_pg_timeout,
)
from torch.distributed.rendezvous import rendezvous

from plink.base.errors import PlinkError, WrongUseError
from plink.engine.interfaces import group_addresses
from plink.engine.store import C10dStore
from plink.torch.attempt import agreed_attempt

if TYPE_CHECKING:
    from plink.renumber.launch import Launch, Placement
    from plink.renumber.source import OnFailure, OrderLike, RenumberRequest

_OTHER_RANK_0_S = 5.0

# All ranks make their groups in the same sequence.
_meetings = itertools.count()


def init_process_group(  # noqa: PLR0917  as PyTorch's
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    *arguments: Any,
    order: OrderLike | None = None,
    mesh: str | None = None,
    algorithm: str = "ring",
    on_failure: OnFailure = "launcher",
    **options: Any,
) -> None:
    """Initialize the default process group with ranks that follow an order of the hosts.

    A drop-in for PyTorch's function under any launcher that tells processes their rank. Before the
    group is made the ranks meet in the job's own store, agree on new ranks, and change RANK,
    GROUP_RANK and what else launchers set. The ranks of a host stay together.

    Args:
        backend: as PyTorch's.
        init_method: as PyTorch's.
        timeout: as PyTorch's; the meeting fails in all ranks after it, too.
        world_size: number of ranks; -1 for what the launcher says.
        rank: the launcher's rank of this process; -1 for what the launcher says.
        store: as PyTorch's, in place of `init_method`.
        arguments: PyTorch's further arguments.
        order: `probe` to measure the hosts from inside the job, `probe:FOLDER` to keep what was
            measured there, an order, a cluster, or the path of a file with one; None for the
            cluster file that PLINK_CLUSTER names.
        mesh: dimensions of ranks to search an order for, such as `dp=4,tp=8`; None for a ring.
        algorithm: collective algorithm to search an order for.
        on_failure: `launcher` keeps the launcher's ranks, with a warning, where hosts cannot be
            measured; `error` raises in all ranks.
        options: PyTorch's further arguments by name.

    Raises:
        WrongUseError: this process has no rank, or the arguments do not go together.
        PlinkError: a rank did not come, or ranks disagree; all ranks raise it.
    """
    if dist.is_initialized():
        raise PlinkError("the default process group exists", "plink.torch.reordered_group()")
    from plink.renumber.launch import renumbered_environment  # noqa: PLC0415  only jobs that ask

    launch = _launch(init_method, world_size, rank)
    limit = default_pg_timeout if timeout is None else timeout
    if store is None:
        store = _store(init_method, launch, limit)
    elif init_method is not None:
        raise WrongUseError("store= and init_method= exclude each other", "leave out one of them")
    request = _request(order, mesh, algorithm, on_failure, limit)
    keys = _meeting_name(store, launch, limit)
    placement = _renumbered(PrefixStore(f"plink/renumber/{keys}", store), store, launch, request)
    os.environ.update(renumbered_environment(os.environ, launch, placement))
    dist.init_process_group(
        backend,
        None,
        timeout,
        placement.ranks,
        placement.rank,
        PrefixStore(f"plink/group/{keys}", store),
        *arguments,
        **options,
    )


def reordered_group(
    order: OrderLike | None = None,
    *,
    mesh: str | None = None,
    algorithm: str = "ring",
    on_failure: OnFailure = "launcher",
    timeout: timedelta | None = None,
    **options: Any,
) -> dist.ProcessGroup:
    """Return a group of all ranks of the default group, in an order of the hosts.

    For programs that cannot choose how the default group is made. All ranks call it.

    Args:
        order: as of `init_process_group`.
        mesh: as of `init_process_group`.
        algorithm: as of `init_process_group`.
        on_failure: as of `init_process_group`.
        timeout: as of `torch.distributed.new_group`.
        options: further arguments of `torch.distributed.new_group`, such as `backend`.

    Raises:
        PlinkError: there is no default group, a rank did not come, or ranks disagree.
    """
    if not dist.is_initialized():
        raise PlinkError("there is no default process group", "plink.torch.init_process_group")
    from plink.renumber.launch import Launch  # noqa: PLC0415  only jobs that ask

    local = os.environ.get("LOCAL_RANK", "")
    launch = Launch(
        dist.get_rank(),
        dist.get_world_size(),
        int(local) if local.isascii() and local.isdigit() else None,
        "PyTorch",
    )
    store = _get_default_store()
    limit = default_pg_timeout if timeout is None else timeout
    request = _request(order, mesh, algorithm, on_failure, limit)
    name = _meeting_name(store, launch, limit)
    meeting = PrefixStore(f"plink/reorder/{name}", store)
    placement = _renumbered(meeting, store, launch, request)
    made = dist.new_group(
        list(placement.former_ranks), timeout=timeout, sort_ranks=False, **options
    )
    return cast("dist.ProcessGroup", made)


def _meeting_name(store: Store, launch: Launch, limit: timedelta) -> str:
    """Return a name of the meeting that is the same on all ranks and new in the store."""
    from plink.renumber.launch import uses_agent_store  # noqa: PLC0415  only jobs that ask

    number = next(_meetings)
    if not uses_agent_store(os.environ):
        return str(number)
    attempts = PrefixStore(f"plink/attempt/{number}", store)
    return f"{number}/{agreed_attempt(attempts, launch.rank, launch.ranks, limit)}"


def _request(
    order: OrderLike | None,
    mesh: str | None,
    algorithm: str,
    on_failure: OnFailure,
    limit: timedelta,
) -> RenumberRequest:
    from plink.renumber.source import RenumberRequest  # noqa: PLC0415  only jobs that ask

    given = {"mesh": mesh, "algorithm": algorithm, "on_failure": on_failure}
    seconds = limit.total_seconds()
    if order is None or isinstance(order, str | os.PathLike):
        path = None if order is None else os.fspath(order)
        return RenumberRequest(path, timeout_s=seconds, **cast("Any", given))
    return RenumberRequest(loaded=order, timeout_s=seconds, **cast("Any", given))


def _renumbered(
    meeting: Store, store: Store, launch: Launch, request: RenumberRequest
) -> Placement:
    from plink.renumber.job import renumber  # noqa: PLC0415  only jobs that ask

    address = group_addresses(store, os.environ)[1][0]
    return renumber(C10dStore(meeting), launch, request, os.environ, address=address)


def _launch(init_method: str | None, world_size: int, rank: int) -> Launch:
    """Return this process's rank and the job's size, by arguments, else URL, else launcher."""
    from plink.renumber.launch import read_launch  # noqa: PLC0415  only jobs that ask

    query = parse_qs(urlsplit(init_method or "").query)
    given: dict[str, str] = dict(os.environ)
    for variable, name, value in (("RANK", "rank", rank), ("WORLD_SIZE", "world_size", world_size)):
        if value != -1:
            given[variable] = str(value)
        elif name in query:
            given[variable] = query[name][0]
    return read_launch(given)


def _store(init_method: str | None, launch: Launch, timeout: timedelta) -> Store:
    """Return the job's store, made as PyTorch would, but without waiting for all ranks.

    A rank that waited in it for others would not learn why they do not come.

    Raises:
        PlinkError: nothing answers at its address, or rank 0 cannot listen there.
    """
    from plink.renumber.launch import (  # noqa: PLC0415  only jobs that ask
        MASTER_ADDRESS,
        read_port,
        uses_agent_store,
    )

    url = urlsplit(init_method or "env://")
    if url.scheme == "tcp":
        if url.hostname is None or url.port is None:
            raise WrongUseError(f"init_method={init_method} names no host and port")
        host, port, is_agents = url.hostname, url.port, False
    elif url.scheme == "env":
        host = os.environ.get(MASTER_ADDRESS, "")
        if not host:
            raise WrongUseError(
                "MASTER_ADDR is not set in this process",
                "set it to the host of rank 0, and MASTER_PORT to a free port there",
            )
        port, is_agents = read_port(os.environ), uses_agent_store(os.environ)
    else:
        made = rendezvous(str(init_method), launch.rank, launch.ranks, timeout=timeout)
        return cast("Store", next(iter(made))[0])
    holds = launch.rank == 0 and not is_agents
    try:
        return _tcp_store(host, port, launch.ranks, timeout, holds=holds)
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
    if holds:
        # Another process of this host may have rank 0, too: in its store all are told so.
        with suppress(RuntimeError):
            short = min(timeout, timedelta(seconds=_OTHER_RANK_0_S))
            return _tcp_store(host, port, launch.ranks, short, holds=False)
        raise PlinkError(
            f"rank 0 cannot hold the job's store on port {port}: {reason}",
            "does another process here have the port?",
        )
    raise PlinkError(
        f"rank {launch.rank} found no store at {host} port {port} in "
        f"{timeout.total_seconds():g} s: {reason}",
        "rank 0 holds it: has it started, on the host that MASTER_ADDR names?",
    )


def _tcp_store(host: str, port: int, ranks: int, timeout: timedelta, *, holds: bool) -> Store:
    return TCPStore(
        host,
        port,
        ranks,
        is_master=holds,
        timeout=timeout,
        wait_for_workers=False,
        multi_tenant=True,
    )
