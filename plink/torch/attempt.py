"""Agreement on a job's attempt, where torchrun restarts workers and their store survives.

The store still has what the processes of earlier attempts said, and no variable that torchrun sets
tells attempts apart: a restart for another host's sake does not count in
TORCHELASTIC_RESTART_COUNT. So every process says a word of its own; rank 0 offers the words that it
sees, and whoever finds its own word there accepts. The attempt is what all have accepted.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from datetime import timedelta

import msgspec
from torch.distributed.distributed_c10d import Store

from plink.base.errors import PlinkError
from plink.base.text import format_names

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.3
# Rank 0 gives up first, and tells the others who is missing.
_LATER_S = 5.0
_OFFER = "offer"


def agreed_attempt(store: Store, rank: int, ranks: int, timeout: timedelta) -> str:
    """Return a name that this attempt's processes agree on and that no earlier attempt had.

    Args:
        store: with keys for this alone; the processes of earlier attempts may have used it.
        rank: of this process.
        ranks: number of processes.
        timeout: how long to wait for all of them.

    Raises:
        PlinkError: a process did not come in time.
    """
    own = uuid.uuid4().hex
    if ranks == 1:
        return own
    store.set(_word(rank), own)
    pauses = _Pauses(timeout.total_seconds() + (_LATER_S if rank else 0.0))
    return (
        _offer_attempt(store, ranks, pauses)
        if rank == 0
        else _accept_attempt(store, rank, own, pauses)
    )


def _offer_attempt(store: Store, ranks: int, pauses: _Pauses) -> str:
    """Offer all processes' current words until all accept, and return the name; for rank 0."""
    words: list[str] = []
    attempt = ""
    while True:
        # Only who was started again says another word.
        if store.check([_word(rank) for rank in range(ranks)]):
            said = [store.get(_word(rank)).decode() for rank in range(ranks)]
            if said != words:
                words, attempt = said, _name(said)
                store.set(_OFFER, msgspec.json.encode(words).decode())
            if store.check([_accept(attempt, rank) for rank in range(1, ranks)]):
                store.set(_go(attempt), "")
                return attempt
        if not pauses.wait():
            absent = [
                str(rank)
                for rank in range(1, ranks)
                if not store.check([_accept(attempt, rank) if attempt else _word(rank)])
            ]
            reason = f"rank {format_names(absent)} of {ranks} did not come in {pauses.limit_s:g} s"
            store.set(_OFFER, msgspec.json.encode(reason).decode())
            raise PlinkError(reason)


def _accept_attempt(store: Store, rank: int, own: str, pauses: _Pauses) -> str:
    """Accept an offer with this process's word and return the name; for the other ranks."""
    first = offer = store.get(_OFFER).decode() if store.check([_OFFER]) else ""
    attempt = ""
    while True:
        if store.check([_OFFER]):
            offer = store.get(_OFFER).decode()
        words = msgspec.json.decode(offer) if offer else []
        if isinstance(words, str) and offer != first:
            raise PlinkError(words)
        if isinstance(words, list) and rank < len(words) and words[rank] == own:
            if attempt != _name(words):
                attempt = _name(words)
                store.set(_accept(attempt, rank), "")
            if store.check([_go(attempt)]):
                return attempt
        if not pauses.wait():
            raise PlinkError(f"rank 0 did not come in {pauses.limit_s:g} s")


class _Pauses:
    """Waits of growing length, up to a time limit."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._deadline = time.monotonic() + limit_s
        self._pause_s = _FIRST_PAUSE_S

    def wait(self) -> bool:
        """Wait a moment; return False once the time is up."""
        left_s = self._deadline - time.monotonic()
        time.sleep(max(0.0, min(self._pause_s, left_s)))
        self._pause_s = min(1.5 * self._pause_s, _LONGEST_PAUSE_S)
        return left_s > 0.0


def _name(words: list[str]) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:16]


def _word(rank: int) -> str:
    return f"word/{rank}"


def _accept(attempt: str, rank: int) -> str:
    return f"accept/{attempt}/{rank}"


def _go(attempt: str) -> str:
    return f"go/{attempt}"
