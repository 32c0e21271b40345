"""Messages of machines that agree in cycles: one kind for each round of a cycle."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from plink.training.control.ranks import Ranks
from plink.training.control.tree_messages import (
    MOST_POSITIONS,
    Downward,
    pack_downward,
    parse_downward,
)
from plink.training.control.wire import Reader, WireError, Writer

# The rounds: in each, values go up the tree of ranks and one result comes down.
REQUESTS, AND, OR, SLEEP = range(4)
# Outside of rounds: nothing goes on.
FAIL = 4

# Status bits before those of positions. They travel inverted: under AND one 0 is heard by all.
SHUTDOWN, UNCACHED, INVALID = 1, 2, 4
STATUS_BITS = 3
STATUS = (1 << STATUS_BITS) - 1

_MOST_SLEEP_US = 10**9


@dataclass(slots=True)
class Response:
    """Response of the coordinator to all ranks.

    Args:
        said: what happens.
        joining: ranks that count as joined from the next cycle on.
        bound: of the cache from now on; 0 where there is none.
        stalled: names, and for how many milliseconds some rank has waited: all are to say who below
            them has announced these.
    """

    said: Downward = field(default_factory=Downward)
    joining: Ranks = field(default_factory=Ranks)
    bound: int = 0
    stalled: list[tuple[str, int]] = field(default_factory=list)


def pack_response(response: Response) -> bytes:
    """Encode a response."""
    writer = Writer()
    writer.ranks(response.joining)
    writer.number(response.bound)
    writer.number(len(response.stalled))
    for name, waited_ms in response.stalled:
        writer.text(name)
        writer.number(waited_ms)
    return writer.done() + pack_downward(response.said)


def parse_response(data: bytes, ranks: int) -> Response:
    """Parse the output of `pack_response` among `ranks` ranks.

    Raises:
        WireError: these bytes are something else.
    """
    reader = Reader(data)
    joining = reader.ranks(ranks)
    bound = reader.number(MOST_POSITIONS)
    stalled = [(reader.text(), reader.number()) for _ in range(reader.number(MOST_POSITIONS))]
    return Response(parse_downward(reader.rest(), ranks), joining, bound, stalled)


def pack_bits(bits: int) -> bytes:
    """Encode a bit vector, the lowest bits first."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def parse_bits(data: bytes, count: int) -> int:
    """Parse the output of `pack_bits` for at most `count` bits.

    Raises:
        WireError: there are more.
    """
    bits = int.from_bytes(data, "little")
    if bits >> count:
        raise WireError(f"a bit vector has more than {count} bits")
    return bits


def positions(bits: int) -> list[int]:
    """Return the positions of the bits that are 1, ascending."""
    data = np.frombuffer(pack_bits(bits), dtype=np.uint8)
    found: list[int] = np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()
    return found


def pack_sleep(sleep_us: int) -> bytes:
    """Encode a sleep time."""
    writer = Writer()
    writer.number(min(sleep_us, _MOST_SLEEP_US))
    return writer.done()


def parse_sleep(data: bytes) -> int:
    """Parse the output of `pack_sleep`.

    Raises:
        WireError: these bytes are something else.
    """
    reader = Reader(data)
    sleep_us = reader.number(_MOST_SLEEP_US)
    if not reader.is_at_end:
        raise WireError("a message has more than belongs to it")
    return sleep_us
