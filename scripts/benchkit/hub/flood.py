"""A worker of bad faith, whose connections are proven all the same."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from plink.hub.hyper import Hyper, pack
from plink.hub.joining import Place, connect
from plink.hub.manifest import Key, Manifest

_TIMEOUT_S = 60.0
_STEP, _PUSH, _PULL = 1, 2, 8
_INITIAL = 1
_FRAME_BYTES = 16
_PATIENCE_S = 0.5


class FloodWay:
    """Sends as fast as its connections take it; what comes it throws away.

    Args:
        rank, ranks: of this process.
        servers: where they listen, in the service's order.
        namespace: of the service.
        secret: its, in hexadecimal digits.
        keys: lengths of the parameters.
        optimizer: of the service.
        options: `what`: `replays` of one push, which are well formed, or `garbage`.
    """

    def __init__(
        self,
        rank: int,
        ranks: int,
        *,
        servers: Sequence[str],
        namespace: str,
        secret: str,
        keys: Sequence[int],
        optimizer: str,
        options: dict[str, str],
    ) -> None:
        del rank, ranks, optimizer
        manifest = Manifest(tuple(Key(f"k{number}", (items,)) for number, items in enumerate(keys)))
        self._connected = connect(
            Place(servers, namespace, bytes.fromhex(secret), manifest, _TIMEOUT_S)
        )
        self._is_garbage = options["what"] == "garbage"
        self._is_cut = False
        self._come_bytes = dict.fromkeys(self._connected.sockets, 0)
        self._frames: dict[int, Iterator[memoryview]] = {
            loop: self._endless(loop) for loop in self._connected.sockets
        }
        for loop, connection in self._connected.sockets.items():
            connection.settimeout(_PATIENCE_S)
            threading.Thread(target=self._drain, args=(loop, connection), daemon=True).start()

    def _drain(self, loop: int, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                try:
                    self._come_bytes[loop] += len(connection.recv(1 << 16))
                except TimeoutError:
                    continue

    def _endless(self, loop: int) -> Iterator[memoryview]:
        joined, chunks = self._connected.joined, self._connected.chunks
        before = joined.iteration - 1
        its = np.flatnonzero(self._connected.placement.loops == loop).tolist()

        def frame(kind: int, flags: int, chunk: int, iteration: int, payload: bytes) -> memoryview:
            header = struct.pack(
                "<BBHIII", kind, flags, joined.incarnation, chunk, iteration, len(payload)
            )
            return memoryview(header + payload)

        def push(chunk: int, flags: int, iteration: int) -> memoryview:
            return frame(_PUSH, flags, chunk, iteration, bytes(4 * int(chunks.items[chunk])))

        yield frame(_PULL, 0, 0, before, b"")
        for chunk in its if joined.source else ():
            yield push(chunk, _INITIAL, before)
        expected = sum(_FRAME_BYTES + 4 * int(chunks.items[chunk]) for chunk in its)
        while self._come_bytes[loop] < expected:
            time.sleep(0.01)
        yield frame(_STEP, 0, 0, before + 1, pack([Hyper(lr=0.0001, momentum=0.9)]))
        last = memoryview(b"\xff" * (32 << 10)) if self._is_garbage else push(its[0], 0, before + 1)
        yield from itertools.repeat(last)

    def prepare(self) -> None:
        """Begin as an honest one does."""
        for _ in range(2 + len(self._connected.chunks.items)):
            self.once()

    def once(self) -> None:
        """Send a frame on every connection, unless they are cut."""
        for loop, connection in self._connected.sockets.items():
            piece = next(self._frames[loop])
            while piece and not self._is_cut:
                try:
                    count = connection.send(piece)
                except TimeoutError:
                    continue
                except OSError:
                    self._is_cut = True
                    break
                piece = piece[count:]
        if self._is_cut:
            time.sleep(_PATIENCE_S)

    def check(self) -> dict[str, Any]:
        """Whether the server has cut it off."""
        return {"is_cut": self._is_cut}

    def close(self) -> None:
        """Be gone."""
        self._connected.close_data()
        for control in self._connected.controls:
            control.close()
