"""What a host writes that nobody reads until the end, kept as far as anybody will."""

from __future__ import annotations

from paramiko.buffered_pipe import BufferedPipe


class TailPipe(BufferedPipe):  # type: ignore[type-arg]  # generic in the stubs alone
    """Keeps the last bytes only. What is dropped was never read, so that an honest server stops
    sending when its window is full; one that does not still fills no memory.

    Args:
        most_bytes: how many are kept.
    """

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self._most_bytes = most_bytes

    def feed(self, data: bytes | str) -> None:
        """Take what has arrived."""
        super().feed(data)
        surplus = len(self) - self._most_bytes
        if surplus > 0:
            self.read(surplus)
