"""The native machines and those in Python, which must do the same at every step."""

from __future__ import annotations

from collections.abc import Sequence

from plink.training.control import _native
from plink.training.control.actions import Action
from plink.training.control.bitvector import BitVector
from plink.training.control.cycles import Cycles
from plink.training.control.events import Event
from plink.training.control.full import Full
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.tree import Tree

Python = type[Tree] | type[Full] | type[BitVector]
Native = type[_native.Tree] | type[_native.Full] | type[_native.BitVector]

MODES: dict[str, tuple[Python, Native]] = {
    "tree": (Tree, _native.Tree),
    "full": (Full, _native.Full),
    "bitvector": (BitVector, _native.BitVector),
}


class Twins:
    """One rank's machine, twice.

    Args:
        place: in the tree.
        settings: of both.
        mode: a key of `MODES`.
    """

    def __init__(self, place: Place, settings: Settings, mode: str = "tree") -> None:
        python, native = MODES[mode]
        self._python = python(place, settings)
        self._native = native(place, settings)

    @property
    def python(self) -> Tree | Cycles:
        """The one whose inside can be looked at."""
        return self._python

    @property
    def cycles(self) -> int:
        """Begun by both, where there are any."""
        if isinstance(self._python, Tree):
            return 0
        assert not isinstance(self._native, _native.Tree)
        assert self._native.cycles == self._python.cycles
        return self._python.cycles

    @property
    def digest(self) -> int:
        """Of both."""
        assert self._native.digest == self._python.digest
        return self._python.digest

    @property
    def messages_taken(self) -> int:
        """By both."""
        assert self._native.messages_taken == self._python.messages_taken
        return self._python.messages_taken

    @property
    def pending(self) -> list[str]:
        """What this rank has announced and not got."""
        python = self._python
        known: list[str] = []
        if isinstance(python, Tree):
            marks, rank = python._part._marks, python._place.rank
            known = [python._table.now_at(one).name for one in marks if marks.is_said(rank, one)]
        return [*python._own._requests, *known]

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """What both want, messages included."""
        wanted = self._python.step(events, now_s)
        assert self._native.step(events, now_s) == wanted
        return wanted
