"""Assignment of table positions to requests by the root of `tree`."""

from __future__ import annotations

from collections import OrderedDict

from plink.training.control.requests import Request
from plink.training.control.table import Table
from plink.training.control.tree_messages import Member


class Positions:
    """Positions by name; when all are taken, the least recently released name gives up its own.

    Args:
        table: of the root's machine.
        most: positions that there are.
    """

    def __init__(self, table: Table, most: int) -> None:
        self._table = table
        self._most = most
        # Oldest release first.
        self._used: OrderedDict[str, int] = OrderedDict()

    def member(self, request: Request) -> Member:
        """Return how all ranks are told of it, which is being released."""
        position = self._used.pop(request.name, None)
        is_known = position is not None and self._table.position(request) == position
        if position is None:
            position = len(self._used)
            if position >= self._most:
                _, position = self._used.popitem(last=False)
        self._used[request.name] = position
        return Member(position, None if is_known else request)
