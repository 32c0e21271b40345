"""Description of a collective algorithm, with the numbers of ranks that it supports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plink.solvers.collectives.form import Form
from plink.solvers.collectives.steps import PeerTable

# Rounds that name every pair of ranks take as long to look at as there are pairs.
MOST_MESSAGES = 1 << 22


def ring_messages(ranks: int) -> int:  # noqa: ARG001
    """Return 0, as a ring's form has no single messages."""
    return 0


def few_messages(ranks: int) -> int:
    """Return the number of messages in about log N rounds with one or two peers per rank."""
    return 2 * ranks * max(1, ranks.bit_length())


@dataclass(frozen=True)
class Algorithm:
    """Collective algorithm of a library: messages, form and supported numbers of ranks.

    Args:
        name: such as `gloo-ring`.
        about: one line: what it is, and whose.
        refusal: of a number of ranks: why the library does not run it so, or None.
        table: of ranks and bytes: who sends how much to whom.
        form: of ranks: what the latency form of its cost sums.
        is_over_hosts: its ranks are hosts, however many processes run on each.
        messages: of ranks: about how many pairs of ranks its form and its table name.
        collective: that it carries out.
    """

    name: str
    about: str
    refusal: Callable[[int], str | None]
    table: Callable[[int, int], PeerTable]
    form: Callable[[int], Form]
    is_over_hosts: bool = False
    messages: Callable[[int], int] = few_messages
    collective: str = "all-reduce"


def any_number(ranks: int) -> str | None:  # noqa: ARG001
    """Return None: any number of ranks is supported."""
    return None


def define(
    name: str,
    about: str,
    table: Callable[[int, int], PeerTable],
    form: Callable[[int], Form],
    refusal: Callable[[int], str | None] = any_number,
    *,
    is_over_hosts: bool = False,
    messages: Callable[[int], int] = few_messages,
    collective: str = "all-reduce",
) -> Algorithm:
    """Return an algorithm of at least two ranks.

    Its `table` and `form` raise ValueError, with the refusal, for a number of ranks that it
    refuses; `table` also for a negative number of bytes.

    Args:
        name: as in `Algorithm`.
        about: as in `Algorithm`.
        table: table of two ranks or more that are not refused.
        form: form of two ranks or more that are not refused.
        refusal: of two ranks or more.
        is_over_hosts: as in `Algorithm`.
        messages: as in `Algorithm`.
        collective: as in `Algorithm`.
    """

    def refused(ranks: int) -> str | None:
        if ranks < 2:
            return f"{name} needs at least 2 ranks, not {ranks}"
        return refusal(ranks)

    def check(ranks: int) -> None:
        reason = refused(ranks)
        if reason is not None:
            raise ValueError(reason)

    def checked_table(ranks: int, size_bytes: int) -> PeerTable:
        check(ranks)
        if size_bytes < 0:
            raise ValueError(f"size_bytes is {size_bytes}, expected 0 or more")
        return table(ranks, size_bytes)

    def checked_form(ranks: int) -> Form:
        check(ranks)
        return form(ranks)

    return Algorithm(
        name,
        about,
        refused,
        checked_table,
        checked_form,
        is_over_hosts,
        messages,
        collective,
    )
