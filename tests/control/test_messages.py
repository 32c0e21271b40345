"""Bytes that ranks may send each other: taken as what was sent, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.programs import group, request
from plink.training.control.cycle_messages import (
    Response,
    pack_bits,
    pack_response,
    pack_sleep,
    parse_bits,
    parse_response,
    parse_sleep,
)
from plink.training.control.ranks import Ranks
from plink.training.control.tree_messages import (
    Downward,
    Member,
    Upward,
    Version,
    Waiting,
    pack_downward,
    pack_upward,
    parse_downward,
    parse_upward,
)
from plink.training.control.wire import WireError

RANKS = 8
BITS = 20
A = request("a")
DOWNWARD = Downward(
    batches=[(Member(0, A), Member(1, None)), (Member(2, group("g", "b", "c")),)],
    joined=True,
    refused=[("x", "it differs")],
    last=3,
    warnings=["'x' has waited"],
    stalled=[("x", 60_000)],
)
SENT = [
    pack_upward(
        Upward(
            seen=300,
            ready=[*range(40), 50],
            versions=[(Version(A, Ranks.of([1, 3])), Version(group("g", "a"), Ranks.of([2])))],
            joined=Ranks.of([0, 5]),
            waiting=[
                Waiting("ä", 60_000, Ranks.of([1])),
                Waiting("ä", 0, Ranks.of([1]), Ranks.of([0, 2])),
            ],
            check=(256, 2**63 + 5),
        )
    ),
    pack_downward(DOWNWARD),
    pack_response(Response(DOWNWARD, Ranks.of([2]), 1024, [("x", 900)])),
    pack_bits(0b1011 << 10),
    pack_sleep(12_345),
]
# What each kind of message is written as again, once it is read.
READ: dict[str, Callable[[bytes], bytes]] = {
    "upward": lambda data: pack_upward(parse_upward(data, RANKS)),
    "downward": lambda data: pack_downward(parse_downward(data, RANKS)),
    "response": lambda data: pack_response(parse_response(data, RANKS)),
    "bits": lambda data: pack_bits(parse_bits(data, BITS)),
    "sleep": lambda data: pack_sleep(parse_sleep(data)),
}


@pytest.mark.parametrize(("kind", "sent"), [*zip(READ, SENT, strict=True)])
def test_what_is_sent_is_read(kind: str, sent: bytes) -> None:
    assert READ[kind](sent) == sent


@pytest.mark.parametrize("kind", READ)
@given(
    st.sampled_from([b"", *SENT]),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3), st.binary(max_size=3)), max_size=3),
)
def test_what_nobody_sends_is_refused_or_has_a_meaning(
    kind: str, data: bytes, edits: list[tuple[int, int, bytes]]
) -> None:
    for at, cut, put in edits:
        data = data[:at] + put + data[at + cut :]
    try:
        again = READ[kind](data)
    except WireError:
        return
    assert READ[kind](again) == again


def test_seeds_of_the_fuzzers_are_messages() -> None:
    seeds = Path(__file__).parents[1] / "fuzz" / "corpus" / "agreement_messages"
    for seed in ("empty", "known", "news", "told"):
        data = (seeds / seed).read_bytes()
        assert pack_upward(parse_upward(data[1:], 1 + data[0])) == data[1:]
    for seed in ("released", "refused"):
        data = (seeds / seed).read_bytes()
        assert pack_downward(parse_downward(data[1:], 1 + data[0])) == data[1:]
