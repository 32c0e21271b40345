"""The part of a rank that is played by hand in finding out whose fault a failure is."""

from __future__ import annotations

import socket

ABORT = 3


def agree(control: socket.socket) -> None:
    """Say what the other rank says of a failure, for it waits for this one's word."""
    with control.makefile("rb") as heard:
        while True:
            header = heard.read(12)
            text = heard.read(int.from_bytes(header[2:4], "little"))
            if header[0] == ABORT:
                control.sendall(header + text)
                return
