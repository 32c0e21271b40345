"""Entries of ranks and rank 0's table in the store, checked: anybody may have written them."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from plink.engine.failure import EngineError
from plink.engine.options import MOST_WORKERS

JOB_BYTES = 16
_HINT = "does every job have a store, or a directory, of its own?"

Endpoint = tuple[str, Annotated[int, Meta(ge=1, le=65_535)]]
Endpoints = Annotated[Sequence[Endpoint], Meta(min_length=1, max_length=64)]


class Entry(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Entry of a rank in the store: its addresses, and information for rank 0.

    Attributes:
        endpoints: addresses and ports where it listens
        told: what else rank 0 is to know of it, for JSON
    """

    endpoints: Endpoints
    told: Any


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Table of all ranks' addresses and of rank 0's decisions, which rank 0 sends to all others.

    Attributes:
        job: random name of the job, 16 bytes as hexadecimal digits
        workers: worker threads of each rank
        endpoints: where each rank listens, by rank
        missing: ranks that did not come
        seconds: time that they were waited for, in s
        decided: what all are to know beside, as JSON has it
        refusal: why the ranks cannot go on together; empty where they can
        is_failure: whether that is a failure, and not a wrong use
        culprit: rank at fault, -1 where it is none of them
    """

    job: Annotated[str, Meta(pattern=rf"^[0-9a-f]{{{2 * JOB_BYTES}}}$(?!\n)")]
    workers: Annotated[int, Meta(ge=1, le=MOST_WORKERS)]
    endpoints: Sequence[Endpoints]
    missing: Sequence[Annotated[int, Meta(ge=0)]]
    seconds: float
    decided: Any = None
    refusal: str = ""
    is_failure: bool = False
    culprit: Annotated[int, Meta(ge=-1)] = -1


def pack_entry(entry: Entry) -> bytes:
    """Encode the entry that a rank puts into the store."""
    return msgspec.json.encode(entry)


def parse_entry(content: bytes, rank: int) -> Entry:
    """Parse the entry that `rank` put into the store.

    Raises:
        EngineError: something else.
    """
    try:
        entry = msgspec.json.decode(content, type=Entry)
        return Entry(_check_addresses(entry.endpoints), entry.told)
    except (ValueError, RecursionError):
        raise EngineError(f"rank {rank} put no addresses into the store", rank, _HINT) from None


def pack_table(table: Table) -> bytes:
    """Encode the table that rank 0 puts into the store."""
    return msgspec.json.encode(table)


def parse_table(content: bytes, ranks: int) -> Table:
    """Parse the table that rank 0 put into the store for `ranks` ranks.

    Raises:
        EngineError: it is not a table, or one for another number of ranks.
    """
    try:
        table = msgspec.json.decode(content, type=Table)
        endpoints = [_check_addresses(of_rank) for of_rank in table.endpoints]
        is_whole = len(endpoints) == ranks or table.missing or table.refusal
        if not is_whole or max(len(endpoints) - 1, table.culprit, *table.missing) >= ranks:
            raise ValueError
        return replace(table, endpoints=endpoints)
    except (ValueError, RecursionError):
        raise EngineError(
            f"rank 0 put no table of {ranks} ranks into the store", 0, _HINT
        ) from None


def _check_addresses(endpoints: Endpoints) -> list[Endpoint]:
    """Return endpoints with their addresses in one form; raise ValueError for invalid ones."""
    return [(str(ipaddress.ip_address(host)), port) for host, port in endpoints]
