"""Notes of connections that were dropped, so folded that nobody can fill the log with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from plink.base.text import format_count

# For so long notes are gathered.
FOLD_S = 10.0
# Addresses that are named in that time.
_MOST_NAMED = 8


class Folding:
    """Says the first drop of an address at once, and counts what follows.

    Args:
        say: told a sentence.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._named: set[str] = set()
        self._more: dict[str, tuple[int, str]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def dropped(self, peer: str, source: str, why: str) -> None:
        """A connection was dropped.

        Args:
            peer: its address and port.
            source: what is counted together.
            why: what it did.
        """
        if source not in self._named and len(self._named) < _MOST_NAMED:
            self._named.add(source)
            self._say(f"{peer}: dropped: {why}")
        else:
            count, _ = self._more.get(source, (0, ""))
            self._more[source] = (count + 1, why)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FOLD_S, self._turn)

    def close(self) -> None:
        """Say what is left."""
        if self._timer is not None:
            self._timer.cancel()
        self._tell()

    def _turn(self) -> None:
        self._timer = None
        if self._more:
            # Who goes on is not named anew each time.
            self._timer = asyncio.get_running_loop().call_later(FOLD_S, self._turn)
        else:
            self._named.clear()
        self._tell()

    def _tell(self) -> None:
        most_first = sorted(self._more.items(), key=lambda item: -item[1][0])
        for source, (count, why) in most_first[:_MOST_NAMED]:
            self._say(
                f"{format_count(count, 'more connection')} from {source} dropped; the last: {why}"
            )
        rest = most_first[_MOST_NAMED:]
        if rest:
            count = sum(of_source for _, (of_source, _) in rest)
            self._say(
                f"{format_count(count, 'more connection')} from {len(rest)} other addresses dropped"
            )
        self._more.clear()
