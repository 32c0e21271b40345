"""The compact encoding of forests in messages and stores."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.strategies import forests
from plink.plans.forest import Forest
from plink.plans.wire import decode_forest, encode_forest


@given(forests())
def test_a_forest_comes_back_as_it_was(forest: Forest) -> None:
    again = decode_forest(encode_forest(forest), forest.ranks)
    for name in ("weights", "reduce_parents", "broadcast_parents"):
        assert np.array_equal(getattr(again, name), getattr(forest, name))
    with pytest.raises(ValueError, match="ranks"):
        decode_forest(encode_forest(forest), forest.ranks + 1)


@pytest.mark.parametrize("is_alike", [True, False])
def test_a_forest_takes_few_bytes(is_alike: bool) -> None:
    ranks = 300
    chains = np.tile(np.arange(-1, ranks - 1, dtype=np.int32), (ranks, 1))
    broadcast = chains if is_alike else np.where(chains < 0, chains, 0).astype(np.int32)
    assert len(encode_forest(Forest(np.arange(1.0, ranks + 1), chains, broadcast))) < 20_000


def encoded(routes: int, ranks: int, is_alike: bool, content: bytes) -> str:
    packed = struct.pack("<II?", routes, ranks, is_alike) + zlib.compress(content)
    return base64.b64encode(packed).decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AAAA",
        "no base64",
        "\N{GREEK SMALL LETTER MU}",
        encoded(0, 2, True, b""),
        encoded(1, 2, True, bytes(1 << 16)),
        encoded(1, 2, True, bytes(8)),
        encoded((1 << 32) - 1, 2, True, bytes(16)),
        encoded(1, 2, True, struct.pack("<dii", 1.0, 1, 0)),
        encoded(1, 2, True, struct.pack("<dii", float("nan"), -1, 0)),
        encoded(1, 2, False, struct.pack("<diiii", 1.0, -1, 0, 1, -1)),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  of any kind
        decode_forest(text, 2)


def test_too_many_routes_are_refused_with_their_limit() -> None:
    forest = Forest(
        np.ones(3), np.array([[-1, 0]] * 3, np.int32), np.array([[-1, 0]] * 3, np.int32)
    )
    with pytest.raises(ValueError, match="3 routes of 2 ranks, expected 1 to 2 routes"):
        decode_forest(encode_forest(forest), 2, max_parents=4)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_a_forest(content: bytes) -> None:
    try:
        forest = decode_forest(base64.b64encode(content).decode(), 2)
    except ValueError:
        return
    assert forest.ranks == 2
