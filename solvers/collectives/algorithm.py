"""Description of a collective algorithm: messages, latency cost and supported ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from plink.solvers.collectives.form import Form, RingForm, rounds_form
from plink.solvers.collectives.steps import PeerTable, reverse_rounds, scatter_in_groups

# Rounds that name every pair of ranks take as long to look at as there are pairs.
MOST_MESSAGES = 1 << 22


@dataclass(frozen=True)
class Algorithm:
    """Collective algorithm of a library: its messages, latency cost and supported ranks.

    The functions are called with two ranks or more, `build_table` and `build_form` only with a
    number that is not refused.

    Args:
        name: such as `gloo-ring`.
        about: one line: what it is, and whose.
        build_table: of ranks and bytes: who sends how much to whom.
        build_form: of ranks: what the latency form of its cost sums; None for the table's rounds.
        find_refusal: of ranks: why the library does not run it with so many, or None; None where
            it runs with any number.
        is_over_hosts: its ranks are hosts, however many processes run on each.
        count_messages: of ranks: about how many pairs of ranks its form and its table name; None
            for about log N rounds of all ranks.
        collective: that it carries out.
    """

    name: str
    about: str
    build_table: Callable[[int, int], PeerTable]
    build_form: Callable[[int], Form] | None = None
    find_refusal: Callable[[int], str | None] | None = None
    is_over_hosts: bool = field(default=False, kw_only=True)
    count_messages: Callable[[int], int] | None = field(default=None, kw_only=True)
    collective: str = field(default="all-reduce", kw_only=True)

    def refusal(self, ranks: int) -> str | None:
        """Return why the algorithm does not run with this number of ranks; None if it does."""
        if ranks < 2:
            return f"{self.name} needs at least 2 ranks, not {ranks}"
        return None if self.find_refusal is None else self.find_refusal(ranks)

    def messages(self, ranks: int) -> int:
        """Estimate the number of messages that `form` and `table` list one by one; 0 for a ring."""
        if self.count_messages is not None:
            return self.count_messages(ranks)
        return 0 if self.build_form is RingForm else 2 * ranks * max(1, ranks.bit_length())

    def table(self, ranks: int, size_bytes: int) -> PeerTable:
        """Return the messages by round for a buffer of this size: sender, receiver, bytes.

        Raises:
            ValueError: a number of ranks that is refused, or a negative number of bytes.
        """
        self._check(ranks)
        if size_bytes < 0:
            raise ValueError(f"size_bytes is {size_bytes}, expected 0 or more")
        return self.build_table(ranks, size_bytes)

    def form(self, ranks: int) -> Form:
        """Return the algorithm's latency cost: distances summed over a ring, rounds, or tree paths.

        Raises:
            ValueError: a number of ranks that is refused.
        """
        self._check(ranks)
        if self.build_form is None:
            return rounds_form(ranks, self.build_table(ranks, ranks).rounds)
        return self.build_form(ranks)

    def _check(self, ranks: int) -> None:
        reason = self.refusal(ranks)
        if reason is not None:
            raise ValueError(reason)


def exchange_in_groups(
    name: str,
    about: str,
    build_groups: Callable[[int], Sequence[int]],
    find_refusal: Callable[[int], str | None] | None = None,
    *,
    counts_first_half: bool = False,
) -> Algorithm:
    """Return an allreduce: a reduce-scatter in groups of ranks by round, then the same in reverse.

    `build_groups` returns how many ranks are in a group, round by round. Some papers count the
    latency of the first half, the reduce-scatter, alone.
    """

    def table(ranks: int, size_bytes: int) -> PeerTable:
        scatter = scatter_in_groups(ranks, build_groups(ranks), size_bytes)
        return PeerTable(ranks, [*scatter, *reverse_rounds(scatter)])

    def form(ranks: int) -> Form:
        return rounds_form(ranks, scatter_in_groups(ranks, build_groups(ranks), 1.0))

    return Algorithm(
        name,
        about,
        table,
        form if counts_first_half else None,
        find_refusal,
        count_messages=lambda ranks: ranks * sum(group - 1 for group in build_groups(ranks)),
    )
