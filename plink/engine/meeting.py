"""Rendezvous: ranks find each other in a store and connect.

Every rank puts its addresses into the store; rank 0 gathers them and puts out one table, with a
random name for the job, and what it has decided for all. Then the higher rank of each pair calls
the lower one. What is gathered once is read once, so a store serves 2 keys a rank, not the square
of them.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import plink.engine._native as core
from plink.base.errors import PlinkError, WrongUseError
from plink.base.text import printable
from plink.engine.addresses import default_address, listening, listening_locally
from plink.engine.choice import Choice
from plink.engine.congestion import (
    CongestionControl,
    allowed_congestion_controls,
    congestion_control,
    systems_congestion_control,
)
from plink.engine.failure import EngineError
from plink.engine.forest import Prepared
from plink.engine.options import DEFAULT_MEMORY_BYTES, DEFAULT_WORKERS, Options
from plink.engine.store import Store, get_all
from plink.engine.table import (
    JOB_BYTES,
    Endpoint,
    Entry,
    Table,
    pack_entry,
    pack_table,
    parse_entry,
    parse_table,
)

_STEP_MS = 100
_LONGEST_LIST = 3
# AES-GCM allows a key 2^24.5 records (RFC 8446, §5.5).
RECORDS_PER_KEY = 1 << 23

# A store serves one engine after the other, each under names of its own.
_uses: weakref.WeakKeyDictionary[Any, dict[int, int]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Meeting:
    """Result of the rendezvous: connections to all ranks, and what the ranks agreed on.

    Args:
        mesh: with the connections.
        forest: along which all aggregate.
        workers: of each rank.
        names: by rank, an address for people.
        has_faces: a rank has several addresses, between which connections may differ.
        far_congestion_control: what connections to far peers are to have; None for what they have.
        distant_congestion_control: the same of those to peers that are very far.
    """

    mesh: core.Mesh
    forest: Prepared
    workers: int
    names: list[str]
    has_faces: bool = False
    far_congestion_control: str | None = None
    distant_congestion_control: str | None = None


def meet(
    rank: int,
    ranks: int,
    store: Store,
    choice: Choice,
    options: Options,
    *,
    watch: Callable[[], None] | None = None,
) -> Meeting:
    """Connect this rank with all others; `watch` may raise an error that ends the attempt.

    Raises:
        EngineError: not all were there in time, or one does not fit.
        WrongUseError: the certificates cannot be used, or rank 0 says why ranks cannot go on.
    """
    tls = _tls_context(rank, options)
    deadline = time.monotonic() + options.setup_timeout_s
    congestion = congestion_control(
        options.congestion_control, systems_congestion_control(), allowed_congestion_controls()
    )
    with (
        _listeners(options, congestion) as listeners,
        _local_listener(listeners[0], options) as local,
    ):
        own = [listener.getsockname()[:2] for listener in listeners]
        table = _exchange(rank, ranks, store, own, choice=choice, options=options)
        forest = choice.forest(table.decided)
        workers = table.workers
        if options.workers not in (None, workers):
            raise WrongUseError(
                f"rank {rank} is to have {options.workers} workers, rank 0 has {workers}"
            )
        endpoints = [list(of_rank) for of_rank in table.endpoints]
        try:
            mesh = core.Mesh(
                rank,
                ranks,
                workers,
                bytes.fromhex(table.job),
                _agreement(forest, options),
                [listener.fileno() for listener in listeners],
                local,
                endpoints,
                congestion.near or "",
                options.send_buffer_bytes or DEFAULT_MEMORY_BYTES,
                tls,
            )
            _connect(mesh, deadline, options, watch)
        except core.MeshError as error:
            message, culprit = error.args
            raise EngineError(message, culprit if culprit >= 0 else None) from None
        except RuntimeError as error:
            raise EngineError(f"rank {rank} cannot connect: {error}", rank) from None
    names = [of_rank[0][0] for of_rank in endpoints]
    has_faces = any(len(of_rank) > 1 for of_rank in endpoints)
    return Meeting(mesh, forest, workers, names, has_faces, congestion.far, congestion.distant)


def _tls_context(rank: int, options: Options) -> core.TlsContext | None:
    tls = options.certificates(rank)
    if tls is None:
        return None
    try:
        return core.TlsContext(
            tls.certificate, tls.key, tls.authority, tls.names, RECORDS_PER_KEY, False
        )
    except RuntimeError as error:
        raise WrongUseError(str(error)) from None


@contextlib.contextmanager
def _listeners(options: Options, congestion: CongestionControl) -> Iterator[list[socket.socket]]:
    addresses = list(options.addresses) or [default_address()]
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(listening(address, options.port, congestion.near))
            for address in addresses
        ]


@contextlib.contextmanager
def _local_listener(listener: socket.socket, options: Options) -> Iterator[int]:
    """Open the Unix socket for ranks of this host and yield its descriptor; -1 for none."""
    local = listening_locally(*listener.getsockname()[:2]) if options.shared_memory else None
    if local is None:
        yield -1
        return
    with local:
        yield local.fileno()


def _connect(
    mesh: core.Mesh, deadline: float, options: Options, watch: Callable[[], None] | None
) -> None:
    # In steps, so that Ctrl-C is heard.
    while not mesh.step(_STEP_MS):
        if watch is not None:
            watch()
        if time.monotonic() > deadline:
            missing = mesh.missing()
            causes = [f"; {cause}" for cause in (mesh.dropped(), mesh.observed()) if cause]
            raise EngineError(
                f"{_ranks_text(missing)} could not be connected within "
                f"{options.setup_timeout_s:g} s{''.join(causes)}",
                missing[0],
                "is its process running, and may it be reached on any port?",
            )


def _exchange(
    rank: int, ranks: int, store: Store, own: list[Endpoint], *, choice: Choice, options: Options
) -> Table:
    """Exchange addresses by the store and return rank 0's table; `own` are this rank's."""
    deadline = time.monotonic() + options.setup_timeout_s
    prefix = f"plink/{_next_use(store, rank)}"
    if rank != 0:
        store.set(f"{prefix}/{rank}", pack_entry(Entry(own, choice.told())))
        try:
            read = store.get(f"{prefix}/table", deadline - time.monotonic())
        except TimeoutError:
            raise EngineError(
                f"rank 0 did not come to the meeting within {options.setup_timeout_s:g} s", 0
            ) from None
        return _complete(parse_table(read, ranks))
    try:
        table = _gather_table(ranks, store, own, prefix, choice=choice, options=options)
    except PlinkError as error:
        # The others are to hear of it at once.
        store.set(f"{prefix}/table", pack_table(_refusal_table(error, options)))
        raise
    store.set(f"{prefix}/table", pack_table(table))
    return _complete(table)


def _gather_table(
    ranks: int, store: Store, own: list[Endpoint], prefix: str, *, choice: Choice, options: Options
) -> Table:
    deadline = time.monotonic() + options.setup_timeout_s
    entries, missing = [Entry(own, choice.told())], []
    keys = [f"{prefix}/{other}" for other in range(1, ranks)]
    for other, value in enumerate(get_all(store, keys, deadline), start=1):
        if value is None:
            missing.append(other)
        else:
            entries.append(parse_entry(value, other))
    job, endpoints = secrets.token_hex(JOB_BYTES), [entry.endpoints for entry in entries]
    workers = options.workers or max(DEFAULT_WORKERS, *map(len, endpoints))
    decided = None if missing else choice.decided([entry.told for entry in entries])
    return Table(job, workers, endpoints, missing, float(options.setup_timeout_s), decided)


def _refusal_table(error: PlinkError, options: Options) -> Table:
    culprit = error.rank if isinstance(error, EngineError) else None
    return Table(
        secrets.token_hex(JOB_BYTES),
        workers=1,
        endpoints=[],
        missing=[],
        seconds=float(options.setup_timeout_s),
        # A name of a file in it may be no text.
        refusal=printable(str(error)),
        is_failure=isinstance(error, EngineError),
        culprit=-1 if culprit is None else culprit,
    )


def _complete(table: Table) -> Table:
    if table.missing:
        raise EngineError(
            f"{_ranks_text(table.missing)} did not come to the meeting within {table.seconds:g} s",
            table.missing[0],
        )
    if table.refusal and table.is_failure:
        raise EngineError(table.refusal, table.culprit if table.culprit >= 0 else None)
    if table.refusal:
        raise WrongUseError(table.refusal)
    return table


def _next_use(store: Store, rank: int) -> int:
    """Count the engines that this rank makes with a store; return the number made before."""
    try:
        uses = _uses.setdefault(store, {})
    except TypeError:
        return 0
    use = uses.get(rank, 0)
    uses[rank] = use + 1
    return use


def _agreement(forest: Prepared, options: Options) -> int:
    """Return a 64-bit hash of what all ranks must have alike.

    That is the forest, the chunk size, and whether reduction is deterministic.
    """
    return core.agreement(forest.forest, options.chunk_bytes or 0, options.deterministic)


def _ranks_text(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    more = "" if len(ranks) <= _LONGEST_LIST else f" and {len(ranks) - _LONGEST_LIST} others"
    return f"ranks {', '.join(map(str, ranks[:_LONGEST_LIST]))}{more}"
