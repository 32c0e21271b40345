"""The file of one rank: it can be read at any time, and stays within a size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plink.training.timeline.lines import BETWEEN, CLOSING, OPENING


class TraceFile:
    """Lines go to it whole, so that what is there can be read also where the process was killed.

    When it is half full it is kept as `NAME.before.json`, in place of an older one.

    Args:
        path: of the file; what stands there is replaced.
        max_bytes: of both files together, about.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        before_of(path).unlink(missing_ok=True)
        self._begin()

    def write(self, lines: Sequence[str]) -> bool:
        """Add lines; whether it is full, and `go_on` to follow.

        Raises:
            OSError: there is no room.
        """
        if lines:
            first = OPENING if self._size_bytes == 0 else BETWEEN
            self._add(first + BETWEEN.join(lines))
        return self._size_bytes > self._max_bytes // 2

    def go_on(self) -> None:
        """Continue in a new file.

        Raises:
            OSError: it cannot be written.
        """
        self.close()
        self._path.replace(before_of(self._path))
        self._begin()

    def close(self) -> None:
        """Close the file.

        Raises:
            OSError: there is no room.
        """
        try:
            if self._size_bytes:
                self._add(CLOSING)
        finally:
            self._stream.close()

    def _begin(self) -> None:
        self._stream = self._path.open("wb", buffering=0)
        self._size_bytes = 0

    def _add(self, text: str) -> None:
        content = text.encode()
        written = 0
        while written < len(content):
            written += self._stream.write(content[written:])
        self._size_bytes += len(content)


def before_of(path: Path) -> Path:
    """Return the path of the part before this one."""
    return path.with_name(f"{path.name.removesuffix('.json')}.before.json")
