"""Channel of a rank without other ranks."""

from __future__ import annotations

import threading


class Alone:
    """Channel of a rank without other ranks: nothing is sent, and nothing comes."""

    def __init__(self) -> None:
        self._is_woken = threading.Event()

    def post_letter(self, rank: int, letter: bytes) -> None:
        """Do nothing: there is no other rank."""

    def letters(self, timeout_s: float) -> list[tuple[int, bytes | None]]:
        """Wait until the rank is woken or the time is over; return no messages."""
        self._is_woken.wait(timeout_s)
        self._is_woken.clear()
        return []

    def wake_letters(self) -> None:
        """Make `letters` return at once."""
        self._is_woken.set()
