"""Wait for descriptors, of any number."""

from __future__ import annotations

import select
from collections.abc import Sequence


def wait_readable(descriptors: Sequence[int], timeout_s: float | None = None) -> set[int]:
    """Wait for descriptors, and return those that are readable or closed; none after the timeout.

    Not by `select.select`, which knows no descriptor from 1,024 on.
    """
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    timeout_ms = None if timeout_s is None else 1e3 * timeout_s
    return {descriptor for descriptor, _ in poll.poll(timeout_ms)}
