"""The channel of a rank without others."""

from __future__ import annotations

import threading


class Alone:
    """Channel of a rank alone: nothing is sent, and nothing comes."""

    def __init__(self) -> None:
        self._is_woken = threading.Event()

    def post_letter(self, rank: int, letter: bytes) -> None:
        """Refuse: there is no other rank."""

    def letters(self, timeout_s: float) -> list[tuple[int, bytes | None]]:
        """None, once it is woken or the time is over."""
        self._is_woken.wait(timeout_s)
        self._is_woken.clear()
        return []

    def wake_letters(self) -> None:
        """Let `letters` return."""
        self._is_woken.set()
