"""Somebody on the path between two ranks, who reads what they send and may change it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from plink.engine import DirectoryStore

_PIECE_BYTES = 1 << 16


class Between:
    """Passes everything on, while `gate` is set.

    Args:
        flip_at: of the first connection that carries so many bytes towards rank 0, the byte that
            is changed; None for none.
        cut_at: the same, but the connection is ended there, as if its sender had.
    """

    def __init__(self, flip_at: int | None = None, cut_at: int | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.target = ("127.0.0.1", 0)
        self._flip_at = flip_at
        self._cut_at = cut_at
        self.gate = threading.Event()
        self.gate.set()
        self._lock = threading.Lock()
        self._pieces: list[bytes] = []
        self._sockets: list[socket.socket] = []

    @property
    def seen(self) -> bytes:
        """All that went either way, connection by connection in no order."""
        return b"".join(self._pieces)

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                called = socket.create_connection(self.target)
                self._sockets += [caller, called]
                for ends in ((caller, called), (called, caller)):
                    threading.Thread(target=self._pass_on, args=(*ends, ends[0] is caller)).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, may_change: bool) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while piece := bytearray(source.recv(_PIECE_BYTES)):
                with self._lock:
                    self._pieces.append(bytes(piece))
                    at = self._flip_at
                    if may_change and at is not None and passed <= at < passed + len(piece):
                        piece[at - passed] ^= 1
                        self._flip_at = None
                    cut = self._cut_at
                    is_cut = may_change and cut is not None and cut < passed + len(piece)
                    if is_cut:
                        self._cut_at = None
                passed += len(piece)
                self.gate.wait()
                sink.sendall(piece)
                if is_cut:
                    break
            sink.shutdown(socket.SHUT_WR)
            while source.recv(_PIECE_BYTES):
                pass  # what comes after the cut, so that its sender notices nothing

    def close(self) -> None:
        self.gate.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


class MisleadingStore(DirectoryStore):
    """Sends whoever reads the table to somebody who stands before rank 0."""

    def __init__(self, folder: Path, between: Between) -> None:
        super().__init__(folder)
        self.between = between

    def get(self, key: str, timeout_s: float) -> bytes:
        value = super().get(key, timeout_s)
        if not key.endswith("/table"):
            return value
        table = json.loads(value)
        host, port = table["endpoints"][0][0]
        self.between.target = (host, port)
        table["endpoints"][0] = [[host, self.between.port]]
        return json.dumps(table).encode()


@contextlib.contextmanager
def between(flip_at: int | None = None, cut_at: int | None = None) -> Iterator[Between]:
    """Somebody on the path, until the context ends."""
    somebody = Between(flip_at, cut_at)
    thread = threading.Thread(target=somebody.serve)
    thread.start()
    try:
        yield somebody
    finally:
        somebody.close()
        thread.join()
