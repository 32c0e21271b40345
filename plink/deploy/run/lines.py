"""A stream of bytes as lines, whatever it holds. Pure."""

from __future__ import annotations

import re

# A longer line comes in pieces: a job's output is shown, never kept.
MAX_LINE = 1 << 14

# Progress bars end their lines with a carriage return.
_END = re.compile(rb"\r\n|\n|\r")


class LineSplitter:
    """Takes chunks and gives whole lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that are complete now, without their ends."""
        *lines, self._rest = _END.split(self._rest + chunk)
        while len(self._rest) > MAX_LINE:
            lines.append(self._rest[:MAX_LINE])
            self._rest = self._rest[MAX_LINE:]
        return [_text(line) for line in lines]

    def end(self) -> list[str]:
        """What is left when the stream ends."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.decode(errors="replace")
