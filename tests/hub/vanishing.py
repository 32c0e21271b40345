"""Workers whose processes or connections end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from plink.hub.worker import Worker


def vanish(worker: Worker) -> None:
    """As when its process is killed: nobody says a word, and the kernel closes the connections."""
    for control in worker._connected.controls:
        control.close()
    worker._connected.controls = []
    assert worker._client is not None
    worker._client.close()
    worker._client = None


def break_connections(worker: Worker) -> None:
    """As when a firewall forgets them: the data connections of this worker end at both ends."""
    own = {control._socket.fileno() for control in worker._connected.controls}
    for entry in Path("/proc/self/fd").iterdir():
        fd = int(entry.name)
        if fd in own:
            continue
        try:
            if "socket:" not in str(entry.readlink()):
                continue
            found = socket.socket(fileno=os.dup(fd))
        except OSError:
            continue
        with found:
            if found.family != socket.AF_INET:
                continue
            try:
                # Connections to different servers may have one local port.
                ports = (found.getsockname()[1], found.getpeername()[1])
            except OSError:
                continue
            if ports in worker._connected.data_ports:
                found.shutdown(socket.SHUT_RDWR)
