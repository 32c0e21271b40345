"""Entries of ranks in the store, checked, since anybody may have written there."""

from __future__ import annotations

import ipaddress
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plink.engine.failure import EngineError
from plink.engine.options import MOST_WORKERS

Endpoint = tuple[str, int]
Endpoints = Sequence[Endpoint]

JOB_BYTES = 16
_MOST_ADDRESSES = 64
_HINT = "does every job have a store, or a directory, of its own?"


@dataclass(frozen=True)
class Entry:
    """Entry that a rank puts into the store.

    Args:
        endpoints: where it listens.
        told: what else rank 0 is to know of it, for JSON.
    """

    endpoints: Endpoints
    told: Any = None


@dataclass(frozen=True)
class Table:
    """Table that rank 0 sends to all others.

    Args:
        job: its random name, 16 bytes.
        workers: of each rank.
        endpoints: by rank, where it listens; empty for one that is missing.
        missing: ranks that did not come.
        seconds: for how long they were waited for.
        decided: what all are to know beside, as JSON has it.
        refusal: why the ranks cannot go on together; empty where they can.
        is_failure: whether that is a failure, and not a wrong use.
        culprit: the rank at fault, -1 where it is none of them.
    """

    job: bytes
    workers: int
    endpoints: Sequence[Endpoints]
    missing: Sequence[int]
    seconds: float
    decided: Any = None
    refusal: str = ""
    is_failure: bool = False
    culprit: int = -1


def pack_entry(entry: Entry) -> bytes:
    """Return the entry, as a rank puts it into the store."""
    return json.dumps([entry.endpoints, entry.told]).encode()


def parse_entry(content: bytes, rank: int) -> Entry:
    """Parse the entry that `rank` put into the store.

    Raises:
        EngineError: something else.
    """
    try:
        said = _check_list(json.loads(content), 2)
        if len(said) != 2:
            raise ValueError
        return Entry(_endpoints(said[0]), said[1])
    except (ValueError, RecursionError):
        raise EngineError(f"rank {rank} put no addresses into the store", rank, _HINT) from None


def pack_table(table: Table) -> bytes:
    """Return the table, as rank 0 puts it into the store."""
    return json.dumps({**vars(table), "job": table.job.hex()}).encode()


def parse_table(content: bytes, ranks: int) -> Table:
    """Return the table that rank 0 put into the store for `ranks` ranks.

    Raises:
        EngineError: it is not a table, or one for another number of ranks.
    """
    try:
        return _table(json.loads(content), ranks)
    except (ValueError, OverflowError, RecursionError):
        raise EngineError(
            f"rank 0 put no table of {ranks} ranks into the store", 0, _HINT
        ) from None


def _table(said: Any, ranks: int) -> Table:
    if not isinstance(said, dict) or set(said) != set(Table.__dataclass_fields__):
        raise ValueError
    missing = [_whole(rank, 0, ranks - 1) for rank in _check_list(said["missing"], ranks)]
    endpoints = _check_list(said["endpoints"], ranks)
    refusal = _text(said["refusal"])
    if len(endpoints) != ranks and not missing and not refusal:
        raise ValueError
    seconds = said["seconds"]
    if not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        raise ValueError
    job = bytes.fromhex(_text(said["job"]))
    if len(job) != JOB_BYTES:
        raise ValueError
    return Table(
        job,
        _whole(said["workers"], 1, MOST_WORKERS),
        [_endpoints(of_rank) for of_rank in endpoints],
        missing,
        float(seconds),
        said["decided"],
        refusal,
        said["is_failure"] is True,
        _whole(said["culprit"], -1, ranks - 1),
    )


def _endpoints(said: Any) -> list[Endpoint]:
    endpoints = []
    for pair in _check_list(said, _MOST_ADDRESSES):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError
        host = str(ipaddress.ip_address(_text(pair[0])))
        endpoints.append((host, _whole(pair[1], 1, 65535)))
    if not endpoints:
        raise ValueError
    return endpoints


def _check_list(said: Any, most: int) -> list[Any]:
    if not isinstance(said, list) or len(said) > most:
        raise ValueError
    return said


def _text(said: Any) -> str:
    if not isinstance(said, str):
        raise ValueError
    return said


def _whole(said: Any, least: int, most: int) -> int:
    if type(said) is not int or not least <= said <= most:
        raise ValueError
    return said
