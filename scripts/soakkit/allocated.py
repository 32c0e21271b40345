"""What a process holds of malloc's memory."""

from __future__ import annotations

import ctypes


class _Mallinfo2(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def allocated_kb() -> int | None:
    """In all arenas and by itself, without what is free and kept for later, which the resident size
    has in it. None where the C library does not tell (glibc before 2.33).
    """
    try:
        told = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return None
    told.restype = _Mallinfo2
    found = told()
    return int(found.uordblks + found.hblkhd) // 1024
