"""A collective algorithm as a library runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from solvers.collectives.form import Form
from solvers.collectives.table import PeerTable


@dataclass(frozen=True)
class Algorithm:
    """A collective algorithm.

    Args:
        name: such as `gloo-ring`.
        about: one line: what it is, and whose.
        refusal: of a number of ranks: why the library does not run it so, or None.
        table: of ranks and bytes: who sends how much to whom.
        form: of ranks: what the latency form of its cost sums.
        is_over_hosts: its ranks are hosts, however many processes run on each.
    """

    name: str
    about: str
    refusal: Callable[[int], str | None]
    table: Callable[[int, int], PeerTable]
    form: Callable[[int], Form]
    is_over_hosts: bool = False
