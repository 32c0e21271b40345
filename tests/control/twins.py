"""The native machine and the one in Python, which must do the same at every step."""

from __future__ import annotations

from collections.abc import Sequence

from plink.training.control import _native
from plink.training.control.actions import Action
from plink.training.control.events import Event
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.tree import Tree


class Twins:
    """One rank's machine, twice.

    Args:
        place: in the tree.
        settings: of both.
    """

    def __init__(self, place: Place, settings: Settings) -> None:
        self._python = Tree(place, settings)
        self._native = _native.Tree(place, settings)

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
        return list(self._python._own._requests)

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """What both want, messages included."""
        wanted = self._python.step(events, now_s)
        assert self._native.step(events, now_s) == wanted
        return wanted
