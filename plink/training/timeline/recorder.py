"""Record a rank's events; a thread writes them that nothing waits for."""

from __future__ import annotations

import contextlib
import errno
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from plink.training.control.requests import Request
from plink.training.timeline.lines import Head
from plink.training.timeline.rows import Buffer, Rows
from plink.training.timeline.trace_file import TraceFile

DEFAULT_MAX_BYTES = 64 << 20

_LOG = logging.getLogger("plink.timeline")
# What happens within so long is written together.
_GATHER_S = 0.1
# More is not kept where the disk does not follow: some 30 MB.
_MOST_EVENTS = 200_000
# A file system that hangs does not keep a program from ending.
_LONGEST_END_S = 5.0

# Files that are being written by this process.
_open: set[Path] = set()

Event = tuple[Callable[[int, Any], None], int, Any]


class Recorder:
    """Notes take well under a microsecond each, and come from any thread.

    Args:
        path: of the file; its folder is made.
        head: of the file.
        max_bytes: of the file and the part before it together.
        now_ns: the clock.

    Raises:
        OSError: the file cannot be written, or is being written for another group.
    """

    def __init__(
        self,
        path: Path,
        head: Head,
        max_bytes: int = DEFAULT_MAX_BYTES,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._now_ns = now_ns
        self._rows = Rows(head)
        path = path.absolute()
        if path in _open:
            raise OSError(errno.EBUSY, "another group writes there")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TraceFile | None = TraceFile(path, max_bytes)
        self._path = path
        _open.add(path)
        self._events: deque[Event] = deque()
        self._missed = 0
        self._buffers = 0
        self._has_events = threading.Event()
        self._is_ending = threading.Event()
        self._write()
        # A daemon: a process that fails must not wait for the disk at its end.
        self._thread = threading.Thread(target=self._run, name="plink-timeline", daemon=True)
        self._thread.start()

    def announced(self, requests: Sequence[Request]) -> None:
        """Record requests of this rank; call it before telling the machine."""
        self._note(self._rows.announce, requests)

    def agreed(self, requests: Sequence[Request]) -> int:
        """All ranks are; the number of their buffer. One thread calls this, in the order in which
        buffers were released, which is the same on all ranks.
        """
        number = self._buffers
        self._buffers += 1
        self._note(self._rows.agree, Buffer(number, requests))
        return number

    def begun(self, number: int) -> None:
        """A buffer is handed to the engine."""
        self._note(self._rows.begin, number)

    def ended(self, number: int) -> None:
        """A buffer has ended, well or not."""
        self._note(self._rows.end, number)

    def refused(self, names: Sequence[str]) -> None:
        """Record names that failed before they were agreed on."""
        self._note(self._rows.refuse, names)

    def joined(self) -> None:
        """Record that this rank has no more data."""
        self._note(self._rows.join, None)

    def all_joined(self, last: int) -> None:
        """Record that no rank has more data."""
        self._note(self._rows.all_joined, last)

    def close(self) -> None:
        """Write what there is, and end."""
        self._is_ending.set()
        self._has_events.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_LONGEST_END_S)
        _open.discard(self._path)

    def _note(self, draw: Callable[[int, Any], None], what: object) -> None:
        if self._file is None:
            return
        if len(self._events) >= _MOST_EVENTS:
            self._missed += 1
            return
        self._events.append((draw, self._now_ns(), what))
        if not self._has_events.is_set():
            self._has_events.set()

    def _run(self) -> None:
        while not self._is_ending.is_set():
            self._has_events.wait()
            self._is_ending.wait(_GATHER_S)
            self._has_events.clear()
            self._write()
        self._write()
        self._end()

    def _write(self) -> None:
        for _ in range(len(self._events)):
            draw, at_ns, what = self._events.popleft()
            draw(at_ns, what)
        if self._missed:
            missed, self._missed = self._missed, 0
            self._rows.miss(self._now_ns(), missed)
        lines = self._rows.take()
        if self._file is None:
            return
        try:
            if self._file.write(lines):
                self._file.go_on()
                self._rows.go_on()
        except OSError as error:
            _LOG.warning("%s: the timeline ends here: %s", self._path, error.strerror or error)
            file, self._file = self._file, None
            with contextlib.suppress(OSError):
                file.close()

    def _end(self) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as error:
            _LOG.warning("%s: %s", self._path, error.strerror or error)
